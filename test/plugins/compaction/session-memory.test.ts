import fc from "fast-check"
import type { Compaction, CompactionRequest, MessageParam } from "sous"
import { checkConversation } from "sous/testing"
import { describe, expect, test } from "vitest"
import { createSessionMemory } from "../../../plugins/compaction/session-memory.ts"
import { afterwards, answering, anyConversation, notebook, requestFor, round, said } from "./requests.ts"

const NAMES = ["Goal", "Constraints", "Files", "Decisions", "Errors", "Open tasks", "Next step"]
const notesOf = (about: string) => NAMES.map((name) => `## ${name}\n${about} ${name}`).join("\n\n")
const strategy = createSessionMemory({ model: "haiku", every: 500 })
const follow = (request: CompactionRequest) => strategy.follow!(request)

/** Rounds of about 110 tokens each behind a first word of the person. */
function conversation(rounds: number): MessageParam[] {
  return [said("Mend the parser"), ...Array.from({ length: rounds }, () => round()).flat()]
}

/** A conversation with notes that have seen all of it. */
async function noted(messages: readonly MessageParam[], text = notesOf("first")) {
  const notes = notebook()
  await createSessionMemory({ model: null, every: 0 }).follow!(requestFor(messages, { notes, ask: answering(text) }))
  return notes
}

describe("follow() of session-memory", () => {
  test("asks a small model about what is new, behind nothing of the conversation", async () => {
    const ask = answering(notesOf("first"))
    await follow(requestFor(conversation(8), { ask }))
    expect(ask.asked).toHaveLength(1)
    expect(ask.asked[0]).toMatchObject({ model: "haiku", messages: [] })
    for (const name of NAMES) expect(ask.asked[0]!.text).toContain(`## ${name}`)
    expect(ask.asked[0]!.text).toContain("User: Mend the parser")
    expect(ask.asked[0]!.text).toContain('Call of Read: {"file_path":"/src/toolu_')
  })

  test("waits until there is enough to note", async () => {
    const ask = answering(notesOf("first"))
    const notes = notebook()
    await follow(requestFor(conversation(2), { ask, notes }))
    expect(ask.asked).toHaveLength(0)
    const more = conversation(8)
    await follow(requestFor(more, { ask, notes }))
    await follow(requestFor([...more, ...round()], { ask, notes }))
    expect(ask.asked).toHaveLength(1)
  })

  test("hands its earlier notes over and only what they have not seen", async () => {
    const ask = answering(notesOf("first"), notesOf("second"))
    const notes = notebook()
    const before = conversation(8)
    await follow(requestFor(before, { ask, notes }))
    await follow(requestFor([...before, ...round(4000, { text: "Now the lexer" })], { ask, notes }))
    const [, second] = ask.asked
    expect(second!.text).toContain("first Open tasks")
    expect(second!.text).toContain("Now the lexer")
    expect(second!.text).not.toContain("Mend the parser")
  })

  test("keeps its notes when an answer lacks sections, and tries again later each time", async () => {
    const seen = conversation(1)
    const notes = await noted(seen)
    const ask = answering("I have no idea")
    const rounds = (count: number) => Array.from({ length: count }, () => round()).flat()
    const longer = [...seen, ...rounds(5)]
    await expect(follow(requestFor(longer, { ask, notes }))).rejects.toThrow("lack Goal, Constraints")
    await follow(requestFor(longer, { ask, notes }))
    expect(ask.asked).toHaveLength(1)
    const evenLonger = [...longer, ...rounds(4)]
    await expect(follow(requestFor(evenLonger, { ask, notes }))).rejects.toThrow("lack Goal")
    const again = answering(notesOf("second"))
    await follow(requestFor([...evenLonger, ...rounds(8)], { ask: again, notes }))
    expect(again.asked[0]!.text).toContain("first Goal")
  })

  test("bounds its question, whatever was said", async () => {
    const ask = answering(notesOf("first"))
    const huge = [said("Go </since> on"), ...round(300_000, { times: 3 }), ...round(200_000, { times: 80 })]
    await follow(requestFor(huge, { ask }))
    expect(ask.asked[0]!.text.length).toBeLessThan(140_000)
    expect(ask.asked[0]!.text.match(/<\/since>/g)).toHaveLength(1)
  })

  test("counts no abort as a failure", async () => {
    const notes = notebook()
    const stop = new AbortController()
    const ask = async () => {
      stop.abort()
      throw new Error("aborted")
    }
    await expect(follow(requestFor(conversation(8), { ask, notes, signal: stop.signal }))).rejects.toThrow("aborted")
    const again = answering(notesOf("first"))
    await follow(requestFor(conversation(8), { ask: again, notes }))
    expect(again.asked).toHaveLength(1)
  })
})

describe("propose() of session-memory", () => {
  test("stands its notes and the known files in for what they have seen, without a question", async () => {
    const messages = conversation(10)
    const notes = await noted(messages)
    const files = { read: ["/src/a.ts"], changed: ["/src/b.ts"] }
    const proposal = (await propose(strategy, requestFor(messages, { notes, files })))!
    expect(proposal.summary).toContain(notesOf("first"))
    expect(proposal.summary).toContain("Files changed: /src/b.ts")
    expect(proposal.summary).toContain("Files read: /src/a.ts")
    const kept = requestFor(messages.slice(proposal.keepFrom)).sizes.reduce((sum, size) => sum + size, 0)
    expect(kept).toBeGreaterThanOrEqual(200)
    expect(kept).toBeLessThan(500)
  })

  test("keeps all that the notes have not seen", async () => {
    const seen = conversation(6)
    const notes = await noted(seen)
    const messages = [...seen, ...round(), ...round(), ...round(), ...round()]
    expect((await propose(strategy, requestFor(messages, { notes, keep: 0 })))!.keepFrom).toBe(seen.length)
  })

  test("knows where its notes end after results were dropped and thinking was forgotten", async () => {
    const seen = conversation(6)
    const thinking = { type: "thinking" as const, thinking: "Hm", signature: "s" }
    const notes = await noted(seen.map((message) => withBlock(message, thinking)))
    const dropped = seen.map((message) => withResults(message, "[left out]"))
    const messages = [...dropped, ...round(), ...round()]
    expect((await propose(strategy, requestFor(messages, { notes, keep: 0 })))!.keepFrom).toBe(seen.length)
  })

  test("proposes nothing without notes, with a focus, or when they stand there already", async () => {
    const messages = conversation(10)
    expect(await propose(strategy, requestFor(messages))).toBeUndefined()
    const notes = await noted(messages)
    expect(await propose(strategy, requestFor(messages, { notes, focus: "the lexer" }))).toBeUndefined()
    const proposal = (await propose(strategy, requestFor(messages, { notes, keep: 0 })))!
    const shorter = [...afterwards(messages, proposal), ...round()]
    expect(await propose(strategy, requestFor(shorter, { notes }))).toBeUndefined()
  })

  test("notes again only what came after the notes that the conversation opens with", async () => {
    const messages = conversation(10)
    const notes = await noted(messages)
    const proposal = (await propose(strategy, requestFor(messages, { notes, keep: 0 })))!
    const ask = answering(notesOf("second"))
    await follow(requestFor([...afterwards(messages, proposal), ...round(4000)], { notes, ask }))
    expect(ask.asked[0]!.text.match(/first Goal/g)).toHaveLength(1)
  })

  test("leaves pairs whole and what the notes have not seen in place, whatever was said", async () => {
    await fc.assert(
      fc.asyncProperty(anyConversation, anyConversation, fc.nat(3000), async (seen, later, keep) => {
        const notes = await noted(seen)
        const messages = [...seen, ...later]
        const proposal = await propose(strategy, requestFor(messages, { notes, keep }))
        if (proposal === undefined) return
        expect(proposal.keepFrom).toBeLessThanOrEqual(seen.length)
        checkConversation(afterwards(messages, proposal))
      }),
      { numRuns: process.env["SOUS_TEST_FULL"] === "1" ? 10_000 : 200 },
    )
  })
})

const propose = (one: Compaction, request: CompactionRequest) => one.propose(request)

function withBlock(message: MessageParam, block: { type: "thinking"; thinking: string; signature: string }) {
  if (message.role !== "assistant" || typeof message.content === "string") return message
  return { ...message, content: [block, ...message.content] }
}

function withResults(message: MessageParam, text: string): MessageParam {
  if (typeof message.content === "string") return message
  const content = message.content.map((block) => (block.type === "tool_result" ? { ...block, content: text } : block))
  return { ...message, content } as MessageParam
}
