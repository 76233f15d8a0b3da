/**
 * The entries of a transcript, one after the other → the conversation that they make: what was sent, and what stands
 * beside it.
 *
 * Invariant: a conversation at work and one that is read back go through `applyEntry` alike, so both send the same bytes.
 */
import type { ContentBlockParam, MessageParam, TextBlockParam, Usage } from "../message.ts"
import type { ToolDeclaration } from "../model.ts"
import { FIRST_GAUGE, type Gauge } from "./usage.ts"

/** What stands beside a message. */
export interface Mark {
  /** Blocks that every compaction keeps byte for byte, by index, and which context source they came from. */
  pins?: readonly Pin[]
  /** Indexes of the blocks that a person said. */
  said?: readonly number[]
}
export interface Pin {
  block: number
  source: string
}

/** A conversation as its entries made it. */
export interface History {
  /** Grows at its end; another array once anything else in it has changed. */
  messages: MessageParam[]
  /** One for each message. */
  marks: Mark[]
  system: readonly TextBlockParam[]
  tools: readonly ToolDeclaration[]
  /** Tokens of the last request and its answer, as the API counted them, and how many messages these were. */
  counted: { tokens: number; messages: number }
  /** What its model's tokens were found to be. */
  gauge: Gauge
  /** Notes by set and key, the newest last. */
  notes: Map<string, Map<string, unknown>>
  /** Keys of the reminders that stand in the conversation, and the index of their message; pinned ones are kept always. */
  told: Map<string, { pinned: boolean; message: number }>
  /** Answers so far, over all runs. */
  turns: number
  /** The model of the last answer. */
  model: string | undefined
  /** ms since the epoch of the last answer. */
  answeredAt: number | undefined
}

/** The fields of each type of entry that changes a conversation. */
export interface HistoryEntries {
  /** What stands before the messages. */
  frame: { system?: readonly TextBlockParam[]; tools?: readonly ToolDeclaration[] }
  user: { message: MessageParam } & Mark
  assistant: { message: MessageParam }
  usage: { usage: Usage; model: string; at: number; gauge: Gauge }
  compaction: { keepFrom: number; opening: ContentBlockParam[]; strategy: string } & Mark
  /** Results that became one line. */
  dropped: { results: readonly { id: string; text: string }[]; strategy: string }
  thinking_forgotten: object
  note: { set: string; key: string; value?: unknown }
  told: { keys: readonly { key: string; pinned?: boolean }[] }
}
export type HistoryType = keyof HistoryEntries

/** An empty one. */
export function createHistory(): History {
  return {
    messages: [],
    marks: [],
    system: [],
    tools: [],
    counted: { tokens: 0, messages: -1 },
    gauge: FIRST_GAUGE,
    notes: new Map(),
    told: new Map(),
    turns: 0,
    model: undefined,
    answeredAt: undefined,
  }
}

/** Takes one entry in. Entries of other types change nothing. */
export function applyEntry(history: History, type: string, fields: unknown): void {
  const apply = (APPLY as Record<string, ((history: History, fields: never) => void) | undefined>)[type]
  apply?.(history, fields as never)
}

const APPLY: { [T in HistoryType]: (history: History, fields: HistoryEntries[T]) => void } = {
  frame(history, { system, tools }) {
    if (system !== undefined) history.system = system
    if (tools === undefined) return
    // Until they are counted, each new byte is a token at the most.
    if (history.counted.messages >= 0) history.counted.tokens += Math.max(0, bytes(tools) - bytes(history.tools))
    history.tools = tools
  },
  user(history, { message, pins, said }) {
    history.messages.push(message)
    history.marks.push({ ...(pins ? { pins } : {}), ...(said ? { said } : {}) })
  },
  assistant(history, { message }) {
    const { counted } = history
    // An answer's own tokens were counted with it.
    if (counted.messages === history.messages.length) counted.messages++
    history.messages.push(message)
    history.marks.push({})
    history.turns++
  },
  usage(history, { usage, model, at, gauge }) {
    const tokens = usage.input + usage.cacheRead + usage.cacheWrite + usage.output
    history.counted = { tokens, messages: history.messages.length }
    history.model = model
    history.gauge = gauge
    history.answeredAt = at
  },
  compaction(history, { keepFrom, opening, pins, said }) {
    history.messages = [{ role: "user", content: opening }, ...history.messages.slice(keepFrom)]
    history.marks = [{ ...(pins ? { pins } : {}), ...(said ? { said } : {}) }, ...history.marks.slice(keepFrom)]
    moveTold(history, (message) => (message < keepFrom ? undefined : message - keepFrom + 1))
    forgetCount(history)
  },
  dropped(history, { results }) {
    const texts = new Map(results.map(({ id, text }) => [id, text]))
    history.messages = history.messages.map((message) => withTexts(message, texts))
    forgetCount(history)
  },
  thinking_forgotten(history) {
    const kept = history.messages.map(withoutThinking)
    history.marks = history.marks.filter((_, index) => kept[index] !== undefined)
    const places: number[] = []
    for (const message of kept) places.push((places.at(-1) ?? -1) + (message === undefined ? 0 : 1))
    moveTold(history, (message) => places[message])
    history.messages = kept.filter((message) => message !== undefined)
    forgetCount(history)
  },
  note(history, { set, key, value }) {
    const notes = history.notes.get(set) ?? new Map<string, unknown>()
    notes.delete(key)
    if (value !== undefined) notes.set(key, value)
    history.notes.set(set, notes)
  },
  told(history, { keys }) {
    const message = history.messages.length - 1
    for (const { key, pinned = false } of keys) history.told.set(key, { pinned, message })
  },
}

/** After messages went: where each reminder stands now. One that does not any more can be told again. */
function moveTold({ told }: History, placeOf: (message: number) => number | undefined): void {
  for (const [key, { pinned, message }] of told) {
    const place = placeOf(message)
    if (place === undefined && !pinned) told.delete(key)
    // What is pinned stands in the opening then.
    else told.set(key, { pinned, message: place ?? 0 })
  }
}

function bytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

function forgetCount(history: History): void {
  history.counted = { tokens: 0, messages: -1 }
}

function withTexts(message: MessageParam, texts: ReadonlyMap<string, string>): MessageParam {
  if (typeof message.content === "string") return message
  if (!message.content.some((block) => block.type === "tool_result" && texts.has(block.tool_use_id))) return message
  const content = message.content.map((block) => {
    const text = block.type === "tool_result" ? texts.get(block.tool_use_id) : undefined
    return text === undefined ? block : ({ ...block, content: text } as ContentBlockParam)
  })
  return { role: message.role, content } as MessageParam
}

/** A message as a model may see it that did not think it; undefined: nothing is left. */
export function withoutThinking(message: MessageParam): MessageParam | undefined {
  if (message.role !== "assistant" || typeof message.content === "string") return message
  const content = message.content.filter(({ type }) => type !== "thinking" && type !== "redacted_thinking")
  if (content.length === message.content.length) return message
  return content.length === 0 ? undefined : { role: message.role, content }
}
