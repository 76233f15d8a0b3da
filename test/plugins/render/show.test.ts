import type { EventBody } from "sous"
import { expect, test } from "vitest"
import { openShow, type ShowOptions } from "../../../plugins/render/show.ts"
import { event, result } from "./events.ts"
import { createTerminal } from "./screen.ts"

async function conclude(
  options: Partial<ShowOptions>,
  changes: Parameters<typeof result>[0] = {},
  before: readonly EventBody[] = [],
) {
  const { screen, written } = createTerminal({ isTTY: false })
  let stdout = ""
  const write = (text: string) => {
    stdout += text
  }
  const show = await openShow(screen, { kind: "run", isTerminal: false, write, ...options })
  const end = result(changes)
  for (const body of before) show.handle(event(body))
  show.handle(event({ type: "run_finished", result: end }))
  show.close()
  show.conclude(end)
  return { stdout, stderr: written() }
}

test("openShow() writes the answer to stdout and the summary to stderr", async () => {
  expect(await conclude({}, { output: "fine" })).toEqual({
    stdout: "fine\n",
    stderr: "✓ review ok · 4 turns · 11.9k in, 100 out · $0.0123 · 12s\n",
  })
})

test("openShow() writes an output that is no text as JSON, and no output as nothing", async () => {
  expect((await conclude({}, { output: [{ real: true }] })).stdout).toBe(`[\n  {\n    "real": true\n  }\n]\n`)
  expect((await conclude({})).stdout).toBe("")
})

test("openShow() says how often the prompt's cache broke, and what did it", async () => {
  const breaks = [
    { type: "cache_break" as const, cause: "compaction" as const, by: "cut", tokens: 80_000 },
    { type: "cache_break" as const, cause: "tools" as const, by: "Look", tokens: 1_000 },
    { type: "cache_break" as const, cause: "tools" as const, by: "Look", tokens: 2_100 },
  ]
  const line = "3 breaks of the prompt's cache, about 83.1k tokens: compaction (cut), tools (Look) 2 ×\n"
  expect((await conclude({}, {}, breaks)).stderr).toMatch(new RegExp(`^${line.replace(/[()]/g, "\\$&")}✓ review ok`))
  expect((await conclude({}, {}, breaks.slice(0, 1))).stderr).toMatch(
    /^1 break of .* 80\.0k tokens: compaction \(cut\)$/m,
  )
  expect((await conclude({ quiet: true }, {}, breaks)).stderr).toBe("")
})

test("openShow() with print says nothing on stderr when all went well", async () => {
  expect(await conclude({ kind: "prompt", print: true }, { output: "fine\n" })).toEqual({
    stdout: "fine\n",
    stderr: "",
  })
})

test("openShow() says what failed and what was denied", async () => {
  const failure = { cause: "denied" as const, error: "Too many denials\nthe last one: ls", step: "fix", code: "X_Y" }
  const denials = [
    { tool: "Bash", reason: "no rule" },
    { tool: "Bash", reason: "no rule" },
  ]
  const { stderr } = await conclude({ print: true }, { status: "denied", exit: 4, failure, denials })
  expect(stderr).toBe(
    'Failed in step "fix" (denied): Too many denials\n  the last one: ls\n  code  X_Y\nBash was denied: no rule\n',
  )
})

test("openShow() with json writes one event a line on stdout, and no answer", async () => {
  const { stdout, stderr } = await conclude({ json: true }, { output: "fine" })
  expect(stdout.split("\n")).toHaveLength(2)
  expect(JSON.parse(stdout)).toMatchObject({
    v: 1,
    type: "run_finished",
    run: "r1",
    result: { output: "fine", status: "ok" },
  })
  expect(stderr).toBe("")
})
