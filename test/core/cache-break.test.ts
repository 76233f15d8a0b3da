import { describe, expect, test } from "vitest"
import { folder, runPrompt, type TestRun } from "../harness.ts"

const breaks = ({ events }: TestRun) =>
  events.flatMap((event) => (event.type === "cache_break" ? [[event.cause, event.by]] : []))
const read = { tool: { Read: { file_path: "a.txt" } } }
const files = { "a.txt": "line of text\n".repeat(1_500) }

describe("cache_break", () => {
  test("is not told of a run that only grows", async () => {
    const run = await runPrompt([read, read, { text: "done" }], { files })
    expect(breaks(run)).toEqual([])
  })

  test("names the strategy that shortened the conversation", async () => {
    const fault = {
      kind: "status" as const,
      status: 400,
      message: "prompt is too long: 210000 tokens > 200000 maximum",
    }
    const run = await runPrompt([read, read, read, read, { fault, text: "done" }], {
      ...{ files, rewrites: true },
      kit: { plugins: (await import("../../plugins/default.ts")).defaultPlugins.filter(isNoSummary) },
    })
    expect(run.result.status).toBe("ok")
    const told = run.events.filter(({ type }) => type === "compaction" || type === "cache_break")
    const strategies = told.flatMap((event) => (event.type === "compaction" && event.ok ? [event.strategy] : []))
    expect(breaks(run)).toEqual(strategies.map((strategy) => ["compaction", strategy]))
    expect(strategies).toHaveLength(1)
    expect(told.find(({ type }) => type === "cache_break")).toMatchObject({
      agent: expect.any(String),
      tokens: expect.any(Number),
    })
  })

  test("names the model that took over", async () => {
    const refusal = { text: "no", stop_reason: "refusal" as const }
    const run = await runPrompt([read, refusal, { text: "done" }], {
      files,
      fallbackModel: "claude-haiku-5-5",
      rewrites: true,
    })
    expect(breaks(run)).toEqual([["model", "claude-haiku-5-5"]])
  })

  test("tells what a session that goes on has otherwise than before", async () => {
    const [state, cwd] = [folder(), folder(files)]
    const first = await runPrompt([read, { text: "done" }], { cwd, kit: { state } })
    const session = { resume: first.result.run }
    const same = await runPrompt([{ text: "more" }], { cwd, kit: { state }, session })
    expect([same.result.status, breaks(same)]).toEqual(["ok", []])
    const fewer = await runPrompt([{ text: "more" }], { cwd, kit: { state }, session, tools: ["Read"] })
    expect(breaks(fewer)).toEqual([["settings", "tools"]])
    const other = await runPrompt([{ text: "more" }], { cwd, kit: { state }, session, model: "claude-haiku-5-5" })
    expect(breaks(other)).toEqual([["model", "claude-haiku-5-5"]])
  })
})

function isNoSummary({ name }: { name: string }): boolean {
  return name !== "compaction-summary"
}
