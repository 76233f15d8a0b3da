/**
 * Conversations for tests of compaction strategies: by hand, and of all kinds for properties.
 */
import fc from "fast-check"
import type { CompactionQuestion, CompactionRequest, MessageParam, Notebook, Notes } from "sous"

/** A request as the kernel would make it, with a notebook of its own. */
export function requestFor(
  messages: readonly MessageParam[],
  given: Partial<CompactionRequest> = {},
): CompactionRequest {
  const sizes = messages.map((message) => Math.ceil(JSON.stringify(message).length / 4))
  return {
    messages,
    sizes,
    trigger: "auto",
    tokens: 1000 + sizes.reduce((sum, size) => sum + size, 0),
    budget: 10_000,
    keep: 200,
    said: [],
    files: { read: [], changed: [] },
    notes: notebook(),
    ask: async () => {
      throw new Error("Nothing is to be asked here")
    },
    signal: new AbortController().signal,
    ...given,
  }
}

/** Notes in memory. */
export function notebook(): Notebook {
  const sets = new Map<string, Map<string, unknown>>()
  return <T>(name: string): Notes<T> => {
    const notes = (sets.get(name) ?? sets.set(name, new Map()).get(name)) as Map<string, T>
    return {
      get: (key) => notes.get(key),
      set: (key, value) => void notes.set(key, value),
      delete: (key) => void notes.delete(key),
      entries: () => [...notes],
    }
  }
}

/** Answers questions with these texts in turn, the last one for ever, and keeps what was asked. */
export function answering(...answers: string[]): CompactionRequest["ask"] & { asked: CompactionQuestion[] } {
  const asked: CompactionQuestion[] = []
  const ask = async (question: CompactionQuestion) => {
    asked.push(question)
    return answers[Math.min(asked.length, answers.length) - 1]!
  }
  return Object.assign(ask, { asked })
}

/** What a person says. */
export function said(text: string): MessageParam {
  return { role: "user", content: [{ type: "text", text }] }
}

let calls = 0

/** An answer that calls a tool so often, and the results, each of `chars` characters. */
export function round(chars = 400, { tool = "Read", times = 1, text = "" } = {}): MessageParam[] {
  const ids = Array.from({ length: times }, () => `toolu_${++calls}`)
  const uses = ids.map((id) => ({ type: "tool_use" as const, id, name: tool, input: { file_path: `/src/${id}.ts` } }))
  return [
    { role: "assistant", content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...uses] },
    {
      role: "user",
      content: ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: "x".repeat(chars) })),
    },
  ]
}

/** Rounds of calls between words of people and answers without calls. */
export const anyConversation: fc.Arbitrary<MessageParam[]> = fc
  .tuple(
    fc.string({ minLength: 1, maxLength: 200 }),
    fc.array(
      fc.oneof(
        fc.tuple(fc.nat(3000), fc.integer({ min: 1, max: 3 })).map(([chars, times]) => round(chars, { times })),
        fc
          .string({ minLength: 1, maxLength: 300 })
          .map((text): MessageParam[] => [
            { role: "assistant", content: [{ type: "text", text: `Done: ${text}` }] },
            said(`And now ${text}`),
          ]),
      ),
      { maxLength: 12 },
    ),
  )
  .map(([first, rest]) => [said(first), ...rest.flat()])

/** What stays when a proposal is taken. */
export function afterwards(
  messages: readonly MessageParam[],
  { keepFrom, summary }: { keepFrom: number; summary: string },
) {
  return keepFrom === 0 ? [...messages] : [said(summary), ...messages.slice(keepFrom)]
}
