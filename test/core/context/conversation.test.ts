import { describe, expect, it } from "vitest"
import { createConversation, type RequestFrame } from "../../../core/context/conversation.ts"
import { applyEntry, createHistory, type History } from "../../../core/context/history.ts"
import type { ContentBlockParam, Usage } from "../../../core/message.ts"

type Entry = { type: string; fields: object }

const frame: RequestFrame = {
  system: [{ type: "text", text: "s".repeat(3_000) }],
  tools: [{ name: "Read", description: "r".repeat(1_000), input_schema: { type: "object" } }],
}
const extra = { name: "Extra", description: "e".repeat(500), input_schema: { type: "object" } }
const text = (length: number): ContentBlockParam[] => [{ type: "text", text: "x".repeat(length) }]
const usage = (input: number, output = 0): Usage => ({ input, output, cacheRead: 0, cacheWrite: 0 })

/** A conversation with what it wrote down and told. */
function open({ history, at = frame, model = "m" }: { history?: History; at?: RequestFrame; model?: string } = {}) {
  const entries: Entry[] = []
  const breaks: { cause: string; by: string; tokens: number }[] = []
  const transcript = {
    append: (type: string, fields: object) => String(entries.push({ type, fields })),
    flush: async () => {},
  }
  const onBreak = (told: (typeof breaks)[number]) => void breaks.push(told)
  const conversation = createConversation(at, transcript, { ...(history ? { history } : {}), model, onBreak })
  /** One turn: an answer that the API counted. */
  const answer = (counted: Usage, length = 40, model = "m") => {
    conversation.counted(counted, { model, at: 1_000 })
    conversation.append("assistant", text(length))
  }
  return { conversation, entries, breaks, answer }
}

const readBack = (entries: readonly Entry[]) => {
  const history = createHistory()
  // As they come from a file.
  for (const { type, fields } of JSON.parse(JSON.stringify(entries))) applyEntry(history, type, fields)
  return history
}

describe("inputTokens()", () => {
  it("is exact for what was sent, and estimates only what came after", () => {
    const { conversation, answer } = open()
    conversation.append("user", text(400_000))
    const guess = conversation.inputTokens()
    expect(guess).toBeGreaterThan(100_000)
    answer({ input: 10, output: 300, cacheRead: 70_000, cacheWrite: 9_690 }, 90_000)
    // Its answer was counted as output, whatever its length.
    expect(conversation.inputTokens()).toBe(80_000)
    expect(conversation.contextTokens()).toBe(80_000)
    conversation.append("user", text(5_000))
    const ratio = (400_000 + 50) / 79_700
    expect(conversation.inputTokens()).toBeGreaterThan(80_000 + 5_000 / (ratio + 0.1))
    expect(conversation.inputTokens()).toBeLessThan(80_000 + 5_050 / (ratio - 0.1) + 2)
  })

  it("counts nothing old twice over many turns", () => {
    const { conversation, answer } = open()
    let exact = 2_000
    for (let turn = 0; turn < 50; turn++) {
      conversation.append("user", text(8_000))
      exact += 2_000
      answer(usage(exact, 100))
      exact += 100
      expect(conversation.inputTokens()).toBe(exact)
    }
    expect(conversation.sizes()).toHaveLength(100)
  })

  it("comes nearer to the tokens of its model as these are counted", () => {
    const { conversation, answer } = open()
    let exact = 0
    const errors: number[] = []
    for (let turn = 0; turn < 10; turn++) {
      conversation.append("user", text(20_000))
      // Two characters a token, which nobody guesses at first.
      exact += turn === 0 ? 12_300 : 10_020
      errors.push(Math.abs(conversation.inputTokens() - exact) / exact)
      answer(usage(exact, 10))
      exact += 10
    }
    expect(errors[0]).toBeGreaterThan(0.3)
    expect(Math.max(...errors.slice(1))).toBeLessThan(0.02)
  })

  it("learns anew when another model answers", () => {
    const { conversation, answer } = open()
    conversation.append("user", text(100_000))
    answer(usage(50_000))
    conversation.append("user", text(1_000))
    const two = conversation.sizeOf({ role: "user", content: text(100_000) })
    expect(two).toBeGreaterThan(45_000)
    answer(usage(26_400), 40, "other")
    const four = conversation.sizeOf({ role: "user", content: text(100_000) })
    expect(four).toBeGreaterThan(24_000)
    expect(four).toBeLessThan(26_000)
    expect(conversation.inputTokens()).toBe(26_400)
  })

  it("estimates all of it again after a compaction, by what was learned", () => {
    const { conversation, answer } = open()
    for (let turn = 1; turn <= 3; turn++) {
      conversation.append("user", text(40_000))
      answer(usage(turn * 10_000 + 1_200), 40)
    }
    conversation.compact({ keepFrom: 4, opening: text(400) as never, strategy: "cut" })
    expect(conversation.contextTokens()).toBe(0)
    expect(conversation.sizes()).toHaveLength(3)
    expect(conversation.inputTokens()).toBeGreaterThan(10_500)
    expect(conversation.inputTokens()).toBeLessThan(12_500)
    answer(usage(11_111))
    expect(conversation.inputTokens()).toBe(11_111)
  })

  it("is, read back, what it was", () => {
    const first = open()
    first.conversation.append("user", text(30_000))
    first.answer(usage(9_000, 50))
    first.conversation.append("user", text(700))
    const again = open({ history: readBack(first.entries) })
    expect(again.conversation.inputTokens()).toBe(first.conversation.inputTokens())
    expect(again.conversation.request(10)).toEqual(first.conversation.request(10))
    expect(again.entries).toEqual([])
    expect(again.breaks).toEqual([])
  })
})

describe("worstInputTokens()", () => {
  it("is never below what is sent, and takes an image for no text", () => {
    const { conversation, answer } = open()
    conversation.append("user", text(3_000))
    expect(conversation.worstInputTokens()).toBeGreaterThan(7_000)
    answer(usage(1_000, 10))
    const data = "A".repeat(4_000_000)
    conversation.append("user", [{ type: "image", source: { type: "base64", media_type: "image/png", data } }])
    expect(conversation.worstInputTokens()).toBeGreaterThan(2_600)
    expect(conversation.worstInputTokens()).toBeLessThan(8_000)
  })
})

describe("breaks of the cache", () => {
  it("are told with what did them and how much has to be read again", () => {
    const { conversation, breaks, answer } = open()
    conversation.redeclare([...frame.tools, extra])
    expect(breaks).toEqual([])
    conversation.append("user", text(4_000))
    answer(usage(5_000))
    expect(conversation.redeclare([...frame.tools, extra])).toBe(false)
    conversation.redeclare(frame.tools)
    expect(conversation.redeclare(frame.tools)).toBe(false)
    conversation.drop({ results: [{ id: "t", text: "gone" }], strategy: "micro" })
    conversation.compact({ keepFrom: 2, opening: text(10) as never, strategy: "summary" })
    expect(breaks.map(({ cause, by }) => [cause, by])).toEqual([
      ["tools", "other plugins"],
      ["compaction", "micro"],
      ["compaction", "summary"],
    ])
    expect(breaks[0]!.tokens).toBe(5_000)
  })

  it("come with a frame that is another one than the session had", () => {
    const first = open()
    first.conversation.append("user", text(4_000))
    first.answer(usage(5_000))
    const history = readBack(first.entries)
    const other = open({ history: readBack(first.entries), model: "other", at: { ...frame, tools: [] } })
    expect(other.breaks).toMatchObject([{ cause: "model", by: "other" }])
    const { entries, breaks } = open({ history, at: { ...frame, tools: [extra, ...frame.tools] } })
    expect(breaks).toMatchObject([{ cause: "settings", by: "tools" }])
    expect(entries).toMatchObject([{ type: "frame", fields: { tools: [{ name: "Read" }, { name: "Extra" }] } }])
  })
})

describe("request()", () => {
  it("is one array that grows, and shares what was sent before", () => {
    const { conversation, answer } = open()
    conversation.append("user", text(10))
    const { messages, system, tools } = conversation.request(1)
    const [first] = messages
    answer(usage(10))
    conversation.append("user", text(10))
    const next = conversation.request(1)
    expect([next.messages, next.system, next.tools]).toEqual([messages, system, tools])
    expect(next.messages).toBe(messages)
    expect(next.messages[0]).toBe(first)
  })
})
