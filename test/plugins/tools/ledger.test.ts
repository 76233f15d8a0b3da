import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createConversation } from "../../../core/context/conversation.ts"
import { applyEntry, createHistory } from "../../../core/context/history.ts"
import { editTool } from "../../../plugins/tools/edit.ts"
import { readTool } from "../../../plugins/tools/read.ts"
import { writeTool } from "../../../plugins/tools/write.ts"
import { createToolContext, runTool, type TestContext } from "../../contract/tool.ts"

/** A conversation whose entries are kept as the lines of its transcript. */
function openConversation(lines: string[] = []) {
  const history = createHistory()
  for (const line of lines) {
    const { type, fields } = JSON.parse(line)
    applyEntry(history, type, fields)
  }
  const append = (type: string, fields: object) => `${lines.push(JSON.stringify({ type, fields }))}`
  const conversation = createConversation({ system: [], tools: [] }, { append, flush: async () => {} }, { history })
  return { conversation, lines }
}

let context: TestContext
let lines: string[]
beforeEach(() => {
  const opened = openConversation()
  lines = opened.lines
  context = createToolContext({ notes: opened.conversation.notes })
})
afterEach(() => context.release())

const put = (name: string, text: string) => writeFileSync(join(context.cwd, name), text)
const call = (tool: any, input: object) => runTool(tool, input, context)

/** As after a start of its own that reads the transcript back. */
function resume(): void {
  context = { ...context, notes: openConversation(lines).conversation.notes, state: (_, create) => create() }
}

describe("ledgerOf()", () => {
  test("knows after a resume what was read, to its end or in part", async () => {
    put("whole.txt", "one\ntwo\n")
    put("part.txt", "one\ntwo\nthree\n")
    await call(readTool, { file_path: "whole.txt" })
    await call(readTool, { file_path: "part.txt", limit: 1 })
    resume()
    const written = await call(writeTool, { file_path: "whole.txt", content: "new\n" })
    expect(written.text).toBe('Replaced "whole.txt" (1 line)')
    const refused = await call(writeTool, { file_path: "part.txt", content: "new\n" })
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining("only in part (up to line 1)") })
    const edited = await call(editTool, { file_path: "part.txt", old_string: "one", new_string: "1" })
    expect(edited.text).toBe('Edited "part.txt" at line 1')
  })

  test("refuses after a resume what changed meanwhile, and what was never read", async () => {
    put("a.txt", "one\n")
    put("b.txt", "one\n")
    await call(readTool, { file_path: "a.txt" })
    resume()
    put("a.txt", "two\n")
    const changed = await call(writeTool, { file_path: "a.txt", content: "x" })
    expect(changed).toMatchObject({ isError: true, text: expect.stringContaining("has changed on disk") })
    const unread = await call(writeTool, { file_path: "b.txt", content: "x" })
    expect(unread).toMatchObject({ isError: true, text: expect.stringContaining("has not been read yet") })
  })

  test("a file that was written is known whole after a resume, whatever JSON makes of its numbers", async () => {
    await call(writeTool, { file_path: "new.txt", content: "one\n" })
    expect(lines.join("\n")).not.toContain("null")
    resume()
    const again = await call(writeTool, { file_path: "new.txt", content: "two\n" })
    expect(again.text).toBe('Replaced "new.txt" (1 line)')
    await call(readTool, { file_path: "new.txt" })
    expect((await call(writeTool, { file_path: "new.txt", content: "three\n" })).isError).toBe(false)
  })
})
