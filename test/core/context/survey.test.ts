import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { applyEntry, createHistory, type History, type Mark } from "../../../core/context/history.ts"
import { surveyHistory } from "../../../core/context/survey.ts"
import { FIRST_GAUGE } from "../../../core/context/usage.ts"

const text = (length: number) => ({ type: "text", text: "x".repeat(length) })
const result = (id: string, length: number) => ({ type: "tool_result", tool_use_id: id, content: "x".repeat(length) })
const use = (id: string, name: string) => ({ type: "tool_use", id, name, input: {} })

function make(...messages: [role: "user" | "assistant", content: object[], mark?: Mark][]): History {
  const history = createHistory()
  const tool = { name: "Read", description: "d".repeat(600), input_schema: {} }
  applyEntry(history, "frame", { system: [text(900)], tools: [tool, { ...tool, name: "Look", description: "" }] })
  for (const [role, content, mark] of messages) applyEntry(history, role, { message: { role, content }, ...mark })
  return history
}

const count = (history: History, input: number) =>
  applyEntry(history, "usage", {
    usage: { input, output: 0, cacheRead: 0, cacheWrite: 0 },
    ...{ model: "m", at: 1, gauge: FIRST_GAUGE },
  })

const byKind = (history: History, options = {}) => {
  const { parts, tokens } = surveyHistory(history, options)
  expect(parts.reduce((sum, part) => sum + part.tokens, 0)).toBe(tokens)
  return Object.fromEntries(parts.map((part) => [part.kind, part]))
}

describe("surveyHistory()", () => {
  it("tells the kinds of blocks apart", () => {
    const history = make(
      ["user", [text(3_000), text(1_500), text(300)], { pins: [{ block: 0, source: "memory" }], said: [2] }],
      ["assistant", [text(600), use("a", "Read"), use("b", "Look")]],
      ["user", [result("a", 30_000), result("b", 9_000), text(1_200), text(150)], { said: [3] }],
    )
    const found = byKind(history)
    const kinds = Object.fromEntries(Object.entries(found).map(([kind, { count }]) => [kind, count]))
    expect(kinds).toEqual({
      system: 1,
      tools: 2,
      memory: 1,
      context: 1,
      person: 2,
      answers: 3,
      results: 2,
      reminders: 1,
    })
    expect(found.results!.items.map(({ name }) => name)).toEqual(["Read", "Look"])
    expect(found.memory!.items).toEqual([{ name: "memory", tokens: found.memory!.tokens }])
    expect(found.tools!.items[0]!.name).toBe("Read")
    expect(found.results!.tokens / found.memory!.tokens).toBeGreaterThan(12)
  })

  it("takes what a compaction put first for its summary", () => {
    const mark = { pins: [{ block: 0, source: "memory" }], said: [2] }
    const history = make(["user", [text(500), text(4_000), text(80), text(2_000)], mark], ["assistant", [text(10)]])
    expect(byKind(history, { isCompacted: true })).toMatchObject({
      memory: { count: 1 },
      summary: { count: 2 },
      person: { count: 1 },
    })
  })

  it("shares out what was counted, and adds what is new", () => {
    const history = make(["user", [text(40_000)], { said: [0] }])
    const guess = surveyHistory(history)
    expect(guess.counted).toBe(0)
    count(history, 26_000)
    applyEntry(history, "assistant", { message: { role: "assistant", content: [text(500)] } })
    expect(surveyHistory(history)).toMatchObject({ tokens: 26_000, counted: 26_000, messages: 2 })
    expect(byKind(history).person!.tokens).toBeGreaterThan(24_000)
    applyEntry(history, "user", { message: { role: "user", content: [result("a", 32_000)] } })
    expect(surveyHistory(history).tokens).toBe(26_000 + Math.ceil(32_050 / FIRST_GAUGE.ratio))
  })

  it("adds up for any conversation, also an empty one", () => {
    expect(surveyHistory(createHistory())).toEqual({ tokens: 0, counted: 0, messages: 0, parts: [] })
    const block = fc.oneof(
      fc.nat(5_000).map(text),
      fc.nat(9_000).map((length) => result("a", length)),
      fc.constant({ type: "image", source: { type: "url", url: "u" } }),
    )
    const message = fc.tuple(fc.constantFrom("user" as const, "assistant" as const), fc.array(block, { minLength: 1 }))
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), fc.option(fc.nat(90_000)), (messages, counted) => {
        const history = make(...messages)
        if (counted !== null) count(history, counted)
        byKind(history)
      }),
    )
  })
})
