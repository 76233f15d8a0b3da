import fc from "fast-check"
import { checkConversation } from "sous/testing"
import { describe, expect, test, vi } from "vitest"
import { type Scenery, type Shortened, shorten } from "../../../core/context/compact.ts"
import { type Conversation, createConversation } from "../../../core/context/conversation.ts"
import { applyEntry, createHistory } from "../../../core/context/history.ts"
import type { ContentBlockParam, MessageParam } from "../../../core/message.ts"
import type { Compaction, CompactionProposal } from "../../../core/plugin.ts"

/** Ten thousand take a minute. */
vi.setConfig({ testTimeout: 300_000 })
const CASES = { numRuns: process.env["SOUS_TEST_FULL"] === "1" ? 10_000 : 200 }

/** One turn of a random history: what the model asks for, how much comes back, who says something behind it. */
const round = fc.record({
  thinks: fc.boolean(),
  words: fc.integer({ min: 1, max: 300 }),
  results: fc.array(fc.integer({ min: 0, max: 4000 }), { maxLength: 3 }),
  behind: fc.constantFrom("nothing", "person", "pinned reminder", "reminder"),
})
type Round = typeof round extends fc.Arbitrary<infer T> ? T : never
const rounds = fc.array(round, { minLength: 1, maxLength: 14 })

/** A conversation of these rounds, and the entries that it was written down as. */
function converse(all: readonly Round[]) {
  const entries: [string, object][] = []
  const transcript = {
    append(type: string, fields: object) {
      entries.push([type, structuredClone(fields)])
      return ""
    },
    flush: async () => {},
  }
  const system = [{ type: "text" as const, text: "You are an agent" }]
  const conversation = createConversation({ system, tools: [] }, transcript)
  conversation.append("user", [text("<memory>never push</memory>"), text("Mend the build")], {
    pins: [{ block: 0, source: "memory" }],
    said: [1],
  })
  for (const [turn, one] of all.entries()) take(conversation, one, turn)
  return { conversation, entries }
}

function take(conversation: Conversation, { thinks, words, results, behind }: Round, turn: number): void {
  const uses = results.map((_, at) => `t${turn}-${at}`)
  conversation.append("assistant", [
    ...(thinks ? [{ type: "thinking" as const, thinking: "hm ".repeat(9), signature: "c2ln" }] : []),
    text("word ".repeat(words)),
    ...uses.map((id) => ({ type: "tool_use" as const, id, name: "Look", input: { at: id } })),
  ])
  const content: ContentBlockParam[] = results.map((size, at) => ({
    type: "tool_result",
    tool_use_id: uses[at]!,
    content: "x ".repeat(size),
  }))
  const more = behind === "nothing" ? (content.length === 0 ? "go on" : undefined) : `${behind} ${turn}`
  if (more !== undefined) content.push(text(more))
  const last = content.length - 1
  const isSaid = more !== undefined && (behind === "person" || behind === "nothing")
  conversation.append("user", content, {
    ...(isSaid ? { said: [last] } : {}),
    ...(behind === "pinned reminder" ? { pins: [{ block: last, source: `rules r${turn}` }] } : {}),
  })
}

function text(value: string) {
  return { type: "text" as const, text: value }
}

function viewOf(conversation: Conversation, budget = 1e9) {
  const { messages, marks, sizeOf } = conversation
  return { messages, marks, sizeOf, sizes: conversation.sizes(), tokens: conversation.inputTokens(), budget }
}

const SCENERY: Scenery = {
  start: { content: [text("<memory>never push</memory>")], pins: [{ block: 0, source: "memory" }] },
  scene: ["<tasks>one is open</tasks>", "<file>much</file>".repeat(40)],
}

function ask(strategies: Compaction[], view: ReturnType<typeof viewOf>, patienceMs?: number) {
  return shorten(strategies, view, {
    asked: {
      trigger: "auto",
      keep: 100,
      files: { read: [], changed: [] },
      notes: () => ({ get: () => undefined, set() {}, delete() {}, entries: () => [] }),
      ask: async () => "",
    },
    signal: new AbortController().signal,
    scenery: async () => SCENERY,
    ...(patienceMs === undefined ? {} : { patienceMs }),
  })
}

function says(name: string, proposal: unknown): Compaction {
  return { name, propose: async () => proposal as CompactionProposal }
}

function apply(conversation: Conversation, { keepFrom, opening, mark, dropped, strategy }: Shortened): void {
  if (keepFrom > 0) conversation.compact({ keepFrom, opening, strategy, ...mark })
  if (dropped.length > 0) conversation.drop({ results: dropped, strategy })
}

function blocksOf({ content }: MessageParam): ContentBlockParam[] {
  return typeof content === "string" ? [text(content)] : content
}

/** The text of all blocks whose index a kind of mark names. */
function marked({ messages, marks }: Conversation, of: "pins" | "said"): string[] {
  return messages.flatMap((message, index) => {
    const { pins = [], said = [] } = marks[index]!
    const at = of === "said" ? said : pins.map(({ block }) => block)
    return at.map((block) => JSON.stringify(blocksOf(message)[block]))
  })
}

describe("any proposal", () => {
  const proposal = fc.record({
    at: fc.integer({ min: 0, max: 100 }),
    isSound: fc.boolean(),
    summary: fc.constantFrom("", "So far: much", "More", "Most", "long ".repeat(2000)),
    drops: fc.array(fc.nat(60), { maxLength: 20 }),
    budget: fc.constantFrom(500, 6000, 1e9, 1e9, 1e9),
  })

  test("shorten() keeps pairs, pinned blocks and the person's last words, and what is left fits", async () => {
    let taken = 0
    await fc.assert(
      fc.asyncProperty(rounds, proposal, async (all, { at, isSound, summary, drops, budget }) => {
        const { conversation, entries } = converse(all)
        const before = structuredClone(conversation.messages)
        const view = viewOf(conversation, budget)
        const between = Math.round((at / 100) * before.length)
        const answer = before.findIndex(({ role }, index) => role === "assistant" && index >= between)
        const keepFrom = isSound && between > 0 ? (answer < 0 ? before.length : answer) : between
        const ids = before.slice(keepFrom).flatMap(blocksOf)
        const results = ids.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []))
        const dropped = [...new Set(drops.flatMap((index) => results[index] ?? []))]
        const [pinned, said] = [marked(conversation, "pins"), marked(conversation, "said")]
        const found = await ask([says("random", { keepFrom, summary, dropped })], view)
        expect(conversation.messages).toEqual(before)
        if (!found.ok) return
        taken++
        apply(conversation, found)
        checkConversation(conversation.messages)
        expect(marked(conversation, "pins")).toEqual(expect.arrayContaining(pinned))
        expect(marked(conversation, "said").at(-1)).toBe(said.at(-1))
        expect(conversation.inputTokens()).toBeLessThanOrEqual(budget)
        const messages = (sizes: readonly number[]) => sizes.reduce((sum, size) => sum + size, 0)
        expect(messages(conversation.sizes())).toBeLessThanOrEqual(messages(view.sizes) * 0.8 + 1)
        const again = createHistory()
        for (const [type, fields] of entries) applyEntry(again, type, fields)
        expect(JSON.stringify(again.messages)).toBe(JSON.stringify(conversation.messages))
      }),
      CASES,
    )
    expect(taken).toBeGreaterThan(CASES.numRuns / 20)
  })

  test("shorten() takes it no second time for more than it is: a conversation may be shortened again and again", async () => {
    await fc.assert(
      fc.asyncProperty(rounds, rounds, async (first, second) => {
        const { conversation } = converse(first)
        for (const [turn, one] of second.entries()) {
          const found = await ask(
            [says("all", { keepFrom: conversation.messages.length, summary: "s" })],
            viewOf(conversation),
          )
          const pinned = marked(conversation, "pins")
          const words = marked(conversation, "said").at(-1)
          if (found.ok) apply(conversation, found)
          expect(marked(conversation, "pins").sort()).toEqual(pinned.sort())
          expect(marked(conversation, "said").at(-1)).toBe(words)
          take(conversation, one, 100 + turn)
          checkConversation(conversation.messages)
        }
      }),
      CASES,
    )
  })
})

describe("a bad strategy", () => {
  const good: Compaction = {
    name: "good",
    propose: async ({ messages }) => ({ keepFrom: messages.length, summary: "All of it was looked at" }),
  }
  const big = () =>
    converse([...Array(8)].map(() => ({ thinks: false, words: 50, results: [900], behind: "nothing" as const })))
  const bad: [string, Compaction, RegExp][] = [
    ["that parts pairs", says("bad", { keepFrom: 2, summary: "x" }), /tool_use/],
    ["that keeps from nowhere", says("bad", { keepFrom: 99, summary: "x" }), /no message/],
    ["that keeps from a half", says("bad", { keepFrom: 1.5, summary: "x" }), /no message/],
    ["that says nothing of what it leaves out", says("bad", { keepFrom: 3, summary: "  " }), /empty/],
    ["that grows", says("bad", { keepFrom: 3, summary: "more ".repeat(99_999) }), /fifth|fit/],
    ["that drops what is not there", says("bad", { keepFrom: 3, summary: "x", dropped: ["nowhere"] }), /nowhere/],
    ["that returns nothing", says("bad", undefined), /nothing/],
    ["that returns functions", says("bad", { keepFrom: 3, summary: "x", extra: () => {} }), /bad: ./],
    ["that throws", { name: "bad", propose: async () => Promise.reject(new Error("broken")) }, /broken/],
    [
      "that throws at once",
      {
        name: "bad",
        propose: () => {
          throw new Error("at once")
        },
      },
      /at once/,
    ],
    ["that throws no error", { name: "bad", propose: () => Promise.reject("words") }, /words/],
    ["that hangs", { name: "bad", propose: () => new Promise(() => {}) }, /bad/],
  ]

  test.each(bad)("shorten() passes over one %s, and the next takes over", async (_, strategy, reason) => {
    const { conversation } = big()
    const found = await ask([strategy, good], viewOf(conversation), 50)
    expect(found).toMatchObject({ ok: true, strategy: "good" })
    const alone = await ask([strategy], viewOf(conversation), 50)
    expect(alone).toMatchObject({ ok: false, reasons: [expect.stringMatching(reason)] })
  })

  test("shorten() gives each a copy: what one changes changes nothing for the next, nor the conversation", async () => {
    const { conversation } = big()
    const before = structuredClone(conversation.messages)
    const vandal: Compaction = {
      name: "vandal",
      async propose({ messages, sizes }) {
        ;(messages as MessageParam[]).length = 1
        ;(messages[0] as MessageParam).content = "gone"
        ;(sizes as number[]).fill(0)
        return undefined
      },
    }
    const seen: unknown[] = []
    const witness: Compaction = {
      ...good,
      async propose(request) {
        seen.push(request.messages)
        return await good.propose(request)
      },
    }
    const found = await ask([vandal, witness], viewOf(conversation))
    expect(found.ok).toBe(true)
    expect(seen).toEqual([before])
    expect(conversation.messages).toEqual(before)
  })

  test("shorten() takes nothing but what holds from a strategy that returns anything at all", async () => {
    await fc.assert(
      fc.asyncProperty(rounds, fc.anything({ withNullPrototype: true }), async (all, proposal) => {
        const { conversation } = converse(all)
        const found = await ask([says("wild", proposal)], viewOf(conversation))
        expect(found.ok).toBe(false)
      }),
      CASES,
    )
  })
})
