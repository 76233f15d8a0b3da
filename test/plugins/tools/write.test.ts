import { chmodSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { editTool } from "../../../plugins/tools/edit.ts"
import { readTool } from "../../../plugins/tools/read.ts"
import { writeTool } from "../../../plugins/tools/write.ts"
import { createToolContext, runTool, type TestContext } from "../../contract/tool.ts"

let context: TestContext
beforeEach(() => {
  context = createToolContext()
})
afterEach(() => context.release())

const path = (name: string) => join(context.cwd, name)
const contentOf = (name: string) => readFileSync(path(name), "utf8")
const put = (name: string, text: string) => writeFileSync(path(name), text)
const read = (file_path: string, more: object = {}) => runTool(readTool, { file_path, ...more }, context)
const write = (file_path: string, content: string) => runTool(writeTool, { file_path, content }, context)

describe("Write", () => {
  test("creates a file and its folders", async () => {
    const { text, data } = await write("deep/er/a.txt", "one\ntwo\n")
    expect(text).toBe('Created "deep/er/a.txt" (2 lines)')
    expect(data).toEqual({ path: path("deep/er/a.txt"), created: true, bytes: 8 })
    expect(contentOf("deep/er/a.txt")).toBe("one\ntwo\n")
    expect(statSync(path("deep/er/a.txt")).mode & 0o777).toBe(0o666 & ~process.umask())
  })

  test("replaces a file that was read to its end, and its own", async () => {
    put("a.txt", "old")
    await read("a.txt")
    expect((await write("a.txt", "new")).text).toBe('Replaced "a.txt" (1 line)')
    expect((await write("a.txt", "newer")).isError).toBe(false)
    expect(
      (await runTool(editTool, { file_path: "a.txt", old_string: "newer", new_string: "x" }, context)).isError,
    ).toBe(false)
    expect(contentOf("a.txt")).toBe("x")
  })

  test("replaces a file that was read page after page", async () => {
    put("a.txt", "1\n2\n3\n")
    await read("a.txt", { limit: 2 })
    expect((await write("a.txt", "new")).text).toContain("read only in part (up to line 2)")
    await read("a.txt", { offset: 3 })
    expect((await write("a.txt", "new")).isError).toBe(false)
  })

  test("refuses to overwrite what a model has not read, or what changed since", async () => {
    put("a.txt", "old")
    expect((await write("a.txt", "new")).text).toContain("has not been read yet")
    await read("a.txt")
    put("a.txt", "changed by a person")
    expect((await write("a.txt", "new")).text).toContain("has changed on disk")
    expect(contentOf("a.txt")).toBe("changed by a person")
  })

  test("overwrites for a recipe", async () => {
    put("a.txt", "old")
    const recipe = { ...context, caller: "recipe" as const }
    const { isError } = await runTool(writeTool, { file_path: "a.txt", content: "new" }, recipe)
    expect(isError).toBe(false)
    expect(contentOf("a.txt")).toBe("new")
  })

  test("keeps mode and link, and tells that CRLF line endings are gone", async () => {
    mkdirSync(path("real"))
    put("real/a.sh", "one\r\ntwo\r\n")
    chmodSync(path("real/a.sh"), 0o755)
    symlinkSync("real/a.sh", path("a.sh"))
    await read("a.sh")
    const { text } = await write("a.sh", "1\n2\n")
    expect(text).toContain("The old file had CRLF line endings, the new one has LF")
    expect(lstatSync(path("a.sh")).isSymbolicLink()).toBe(true)
    expect(contentOf("real/a.sh")).toBe("1\n2\n")
    expect(statSync(path("real/a.sh")).mode & 0o777).toBe(0o755)
  })

  test("refuses a folder, a device, a link that leads nowhere and a file as a folder", async () => {
    mkdirSync(path("folder"))
    symlinkSync("nowhere", path("link"))
    put("file", "x")
    expect((await write("folder", "x")).text).toContain("is a folder")
    expect((await write("/dev/null", "x")).text).toContain("belongs to the system")
    expect((await write("link", "x")).text).toContain("is a link to a file that does not exist")
    expect((await write("file/a.txt", "x")).text).toContain("a part of the path is a file")
  })

  test("refuses a file in the place of a folder also when the path was judged", async () => {
    put("file", "x")
    const judged = new Map([["file/a.txt", { lexical: path("file/a.txt"), real: path("file/a.txt") }]])
    const { text } = await runTool(writeTool, { file_path: "file/a.txt", content: "x" }, { ...context, judged })
    expect(text).toMatch(/^Not done for ".*": (something of that name stands in its way|a part of the path is a file)/)
  })

  test("refuses when the judged folder has become a link", async () => {
    mkdirSync(path("outside"))
    symlinkSync(path("outside"), path("folder"))
    const judged = new Map([["folder/a.txt", { lexical: path("folder/a.txt"), real: path("folder/a.txt") }]])
    const input = { file_path: "folder/a.txt", content: "x" }
    const { text, isError } = await runTool(writeTool, input, { ...context, judged })
    expect(isError).toBe(true)
    expect(text).toContain("was changed by somebody else")
    expect(() => statSync(path("outside/a.txt"))).toThrow()
  })
})
