/** A whole run recorded in one folder and replayed in another: tools, subagents, shell, everything that is volatile. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { RunResult } from "sous"
import { expect, it } from "vitest"
import { folder, serve, testKit } from "../../harness.ts"

const turns = [
  {
    when: { first_user_contains: "Look around" },
    content: [{ tool: { Read: { file_path: "a.txt" } } }, { tool: { Bash: { command: "pwd; date; echo done" } } }],
  },
  {
    when: { first_user_contains: "Look around" },
    tool: { Agent: { description: "count words now", prompt: "Count the words" } },
  },
  { when: { first_user_contains: "Count the words" }, text: "Three words" },
  { when: { first_user_contains: "Look around" }, text: "There is a file of three words" },
]
const flags = { allow: { all: true } as const, deny: {} }
const files = { "a.txt": "one two three\n" }

it("a run replays in another folder, without a request", async () => {
  const file = join(folder(), "run.cassette.json")
  const server = await serve(turns)
  const there = await testKit(server, { cwd: folder(files) })
  const recorded = await there.prompt("Look around", { model: "claude-opus-5-5", flags, record: file }).result
  expect(recorded.failure).toBeUndefined()
  expect(recorded).toMatchObject({ status: "ok", output: "There is a file of three words" })
  expect(server.asked()).toHaveLength(4)
  expect(JSON.parse(readFileSync(file, "utf8")).entries).toHaveLength(4)

  const replay = async (prompt: string, more: Record<string, string> = {}): Promise<RunResult> => {
    const here = await testKit(server, { cwd: folder({ ...files, ...more }) })
    return here.prompt(prompt, { model: `cassette:${file}`, flags }).result
  }
  const again = await replay("Look around")
  expect(again.failure).toBeUndefined()
  expect(again).toMatchObject({ status: "ok", output: recorded.output, usage: recorded.usage })
  expect(server.asked()).toHaveLength(4)

  const changed = await replay("Look about")
  expect(changed).toMatchObject({
    status: "failed",
    failure: { error: expect.stringMatching(/-.*Look around[\s\S]*\+.*Look about/) },
  })
  const other = await replay("Look around", { "a.txt": "four five six\n" })
  expect(other).toMatchObject({ status: "failed", failure: { error: expect.stringContaining("four five six") } })
})
