import { definePlugin, defineTool, type Model, type ModelEvent, type Plugin, z } from "sous"
import { checkConversation } from "sous/testing"
import { describe, expect, test } from "vitest"
import { createKit } from "../../core/kit.ts"
import { after, folder } from "../harness.ts"

const start = { type: "message_start", message: { usage: { input_tokens: 1, output_tokens: 0 } } }
const end = (stop_reason: string) => [
  { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 1 } },
  { type: "message_stop" },
]
const text = (said: string) => [
  start,
  { type: "content_block_start", index: 0, content_block: { type: "text", text: said } },
  { type: "content_block_stop", index: 0 },
  ...end("end_turn"),
]
const use = (index: unknown, id: unknown) => ({
  type: "content_block_start",
  index,
  content_block: { type: "tool_use", id, name: "One", input: {} },
})
const stop = (index: unknown) => ({ type: "content_block_stop", index })

/** A model that streams these events, one list for each request, and keeps what it was asked. */
function rawModel(lists: object[][]) {
  const asked: any[] = []
  const model: Model = {
    id: "raw",
    knownLimits: { contextWindow: 200_000, maxOutput: 8000 },
    limits: async () => ({ contextWindow: 200_000, maxOutput: 8000 }),
    async *stream(request) {
      asked.push([...request.messages])
      yield* (lists[asked.length - 1] ?? text("done")) as unknown as ModelEvent[]
    },
  }
  return {
    asked,
    plugin: definePlugin({ name: "raw", models: [{ name: "raw", handles: () => true, open: () => model }] }),
  }
}

const one = definePlugin({
  name: "one",
  tools: [
    defineTool({
      name: "One",
      description: "One",
      input: z.strictObject({}),
      readOnly: true,
      execute: async () => "1",
    }),
  ],
})

async function run(plugins: Plugin[], abortAfter?: number) {
  const cwd = folder()
  const clock = { now: () => Date.now(), sleep: async () => {} }
  const kit = await createKit({ plugins, cwd, env: {}, home: cwd, strict: true, clock })
  after(() => kit.close())
  const running = kit.prompt("go", { model: "raw" })
  if (abortAfter !== undefined) setTimeout(() => running.abort(), abortAfter)
  return await running.result
}

describe("readAnswer()", () => {
  test.each([
    ["ends a block that the model did not end", [start, use(0, "a"), ...end("tool_use")]],
    ["takes a block that was ended twice once", [start, use(0, "a"), stop(0), stop(0), ...end("tool_use")]],
    [
      "is not bothered by indexes that count nothing",
      [start, use(1e9, "a"), stop(1e9), use(-3, "b"), stop(-3), ...end("tool_use")],
    ],
  ])("%s, and leaves a valid conversation", async (_, events) => {
    const { asked, plugin } = rawModel([events])
    const result = await run([plugin, one])
    expect(result).toMatchObject({ status: "ok", output: "done", turns: 2 })
    for (const messages of asked) checkConversation(messages)
    expect(asked[1]).toHaveLength(3)
  })

  test.each([
    ["two blocks with one index", [start, use(0, "a"), stop(0), use(0, "b"), stop(0), ...end("tool_use")]],
    ["two tool_uses with one id", [start, use(0, "a"), stop(0), use(1, "a"), stop(1), ...end("tool_use")]],
    ["a tool_use without an id", [start, use(0, ""), stop(0), ...end("tool_use")]],
  ])("drops a stream with %s and asks again", async (_, events) => {
    const { asked, plugin } = rawModel([events])
    const result = await run([plugin, one])
    expect(result).toMatchObject({ status: "ok", output: "done" })
    expect(asked).toHaveLength(2)
    expect(asked[1]).toEqual(asked[0])
  })
})

describe("what a model can send", () => {
  test("arguments nested too deeply are an error result, not the end of the run", async () => {
    const json = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`
    const deep = { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: json } }
    const { asked, plugin } = rawModel([[start, use(0, "a"), deep, stop(0), ...end("tool_use")]])
    expect(await run([plugin, one])).toMatchObject({ status: "ok" })
    expect(JSON.stringify(asked[1])).toContain("nested more than 500 deep")
  })

  test("usage that is no number counts nothing and switches no budget off", async () => {
    const lies = { ...start, message: { usage: { input_tokens: Number.NaN, output_tokens: -5 } } }
    const { plugin } = rawModel([[lies, ...text("fine").slice(1)]])
    expect(await run([plugin, one])).toMatchObject({ status: "ok", usage: { input: 0, output: 1 } })
  })
})

describe("untilAborted()", () => {
  test("does not wait for a stream that does not heed the abort", async () => {
    const deaf: Model = {
      id: "deaf",
      limits: async () => ({ contextWindow: 1, maxOutput: 1 }),
      stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }),
    }
    const plugin = definePlugin({ name: "deaf", models: [{ name: "deaf", handles: () => true, open: () => deaf }] })
    expect(await run([plugin], 20)).toMatchObject({ status: "cancelled", exit: 130 })
  })
})
