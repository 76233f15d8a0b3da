import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  applyEntry,
  createHistory,
  type History,
  type HistoryEntries,
  type HistoryType,
} from "../../../core/context/history.ts"
import { FIRST_GAUGE } from "../../../core/context/usage.ts"
import type { MessageParam } from "../../../core/message.ts"

const user = (text: string): MessageParam => ({ role: "user", content: [{ type: "text", text }] })
const said = (text: string): MessageParam => ({ role: "assistant", content: [{ type: "text", text }] })
const usage = (input: number, output = 0): HistoryEntries["usage"] => ({
  usage: { input, output, cacheRead: 0, cacheWrite: 0 },
  ...{ model: "m", at: 7, gauge: FIRST_GAUGE },
})
const tool = (description: string) => ({ name: "Read", description, input_schema: {} })

function make(...entries: { [T in HistoryType]: [T, HistoryEntries[T]] }[HistoryType][]): History {
  const history = createHistory()
  for (const [type, fields] of entries) applyEntry(history, type, fields)
  return history
}

describe("applyEntry()", () => {
  it("counts an answer with the request that it came of, once", () => {
    const history = make(
      ["user", { message: user("a") }],
      ["usage", usage(100, 20)],
      ["assistant", { message: said("b") }],
    )
    expect(history.counted).toEqual({ tokens: 120, messages: 2 })
    expect(history).toMatchObject({ turns: 1, model: "m", answeredAt: 7 })
    applyEntry(history, "assistant", { message: said("added by hand") })
    expect(history.counted.messages).toBe(3)
  })

  it("adds tools that came after the count, byte for byte", () => {
    const history = make(["frame", { tools: [tool("short")] }], ["user", { message: user("a") }], ["usage", usage(100)])
    applyEntry(history, "frame", { tools: [tool("longer by 100 ".padEnd(105, "."))] })
    expect(history.counted.tokens).toBe(200)
    applyEntry(history, "frame", { tools: [] })
    expect(history.counted.tokens).toBe(200)
  })

  it("keeps marks beside their messages through whatever replaces them", () => {
    const history = make(
      ["user", { message: user("a"), said: [0] }],
      ["assistant", { message: { role: "assistant", content: [{ type: "thinking", thinking: "t", signature: "s" }] } }],
      ["user", { message: user("b"), pins: [{ block: 0, source: "memory" }] }],
      ["assistant", { message: said("c") }],
    )
    applyEntry(history, "thinking_forgotten", {})
    expect(history.messages).toEqual([user("a"), user("b"), said("c")])
    expect(history.marks).toEqual([{ said: [0] }, { pins: [{ block: 0, source: "memory" }] }, {}])
    applyEntry(history, "compaction", {
      keepFrom: 2,
      opening: [{ type: "text", text: "sum" }],
      strategy: "cut",
      said: [0],
    })
    expect(history.messages).toEqual([user("sum"), said("c")])
    expect(history.marks).toEqual([{ said: [0] }, {}])
    expect(history.counted.messages).toBe(-1)
  })

  it("puts one line in the place of a result, and leaves its pair and its neighbours", () => {
    const results: MessageParam = {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "1", content: "long", is_error: true },
        { type: "tool_result", tool_use_id: "2", content: "stays" },
      ],
    }
    const history = make(["user", { message: results }])
    const before = history.messages
    applyEntry(history, "dropped", { results: [{ id: "1", text: "gone" }], strategy: "micro" })
    expect(history.messages).not.toBe(before)
    expect(results.content[0]).toMatchObject({ content: "long" })
    expect(history.messages[0]!.content).toEqual([
      { type: "tool_result", tool_use_id: "1", content: "gone", is_error: true },
      { type: "tool_result", tool_use_id: "2", content: "stays" },
    ])
  })

  it("keeps notes, the newest last, and forgets those without a value", () => {
    const note = (key: string, value?: unknown): ["note", HistoryEntries["note"]] => ["note", { set: "s", key, value }]
    const history = make(note("a", 1), note("b", 2), note("a", 3), note("c", 4), note("c"))
    expect([...history.notes.get("s")!]).toEqual([
      ["b", 2],
      ["a", 3],
    ])
  })

  it("forgets at a compaction what was told, unless it is pinned", () => {
    const history = make(["told", { keys: [{ key: "a" }, { key: "b", pinned: true }] }])
    applyEntry(history, "compaction", { keepFrom: 0, opening: [], strategy: "s" })
    expect([...history.told.keys()]).toEqual(["b"])
  })

  it("passes over entries of other types", () => {
    const history = make()
    for (const type of ["session", "run", "hook", "toString", "constructor"]) applyEntry(history, type, { x: 1 })
    expect(history).toEqual(createHistory())
  })

  it("has a mark for each message, whatever comes in which order", () => {
    const entry = fc.oneof(
      fc.constant(["user", { message: user("u"), said: [0] }] as const),
      fc.constant(["assistant", { message: said("a") }] as const),
      fc.constant(["thinking_forgotten", {}] as const),
      fc.constant(["usage", usage(10)] as const),
      fc.nat(6).map((keepFrom) => ["compaction", { keepFrom, opening: [], strategy: "s" }] as const),
    )
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 40 }), (entries) => {
        const history = createHistory()
        for (const [type, fields] of entries) {
          applyEntry(history, type, fields)
          expect(history.marks).toHaveLength(history.messages.length)
          expect(history.counted.messages).toBeLessThanOrEqual(history.messages.length)
        }
      }),
    )
  })
})
