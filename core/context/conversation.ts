/**
 * One agent's messages: grows at its end, is written down as it grows, and becomes the body of each request.
 *
 * Invariant: what was sent once is sent again byte for byte; what replaces it is an entry of its own, counted and
 * attributed; a turn costs what is new in it.
 */
import type { CacheBreak } from "../event.ts"
import type { ContentBlockParam, JsonSchema, MessageParam, TextBlockParam, Usage } from "../message.ts"
import type { ModelRequest, ToolDeclaration } from "../model.ts"
import type { Transcript } from "../session/transcript.ts"
import type { Effort, Notebook, Notes } from "../tool.ts"
import { applyEntry, createHistory, type History, type HistoryEntries, type HistoryType, type Mark } from "./history.ts"
import { addWeights, FIRST_GAUGE, learn, mostTokens, tokensOf, type Weight, weigh } from "./usage.ts"

/** The parts of a request that stay the same for a whole conversation. */
export interface RequestFrame {
  system: readonly TextBlockParam[]
  tools: readonly ToolDeclaration[]
  effort?: Effort
  outputSchema?: JsonSchema
}

export interface Conversation {
  readonly messages: readonly MessageParam[]
  /** One for each message. */
  readonly marks: readonly Mark[]
  /** Answers so far, over all runs of the session. */
  readonly turns: number
  /** True once the model's own count has shown how many characters its tokens have. */
  readonly gauged: boolean
  /** When the last answer came, ms since the epoch. */
  readonly answeredAt: number | undefined
  append(role: "user" | "assistant", content: ContentBlockParam[], mark?: Mark): void
  /**
   * Shows the model these tools in the place of all that it was shown; true when that changes what is sent. What stays as
   * it is keeps its place.
   */
  redeclare(tools: readonly ToolDeclaration[]): boolean
  /** The next request. Its messages array is only good until the next append. */
  request(maxTokens: number): ModelRequest
  /** Remembers what the API counted for the last request and its answer. `at`: ms since the epoch. */
  counted(usage: Usage, from: { model: string; at: number }): void
  /** Tokens at the most of the next request's input: what was counted, and one for each byte that is new. */
  worstInputTokens(): number
  /** Tokens of the next request's input, as near as can be told. */
  inputTokens(): number
  /** Tokens of each message, estimated. */
  sizes(): number[]
  /** Tokens that such a message would have. */
  sizeOf(message: MessageParam): number
  /** Tokens of the system text and the tools, estimated. */
  frameTokens(): { system: number; tools: number }
  /** Tokens of the window in use, as last counted. */
  contextTokens(): number
  /** Puts an opening in the place of all messages before `keepFrom`. */
  compact(entry: HistoryEntries["compaction"]): void
  /** Puts one line in the place of results. */
  drop(entry: HistoryEntries["dropped"]): void
  /** Takes the thinking out of earlier answers, for a model that did not think it. */
  forgetThinking(): void
  notes: Notebook
  told(key: string): boolean
  /** Notes that reminders were told. */
  tell(keys: HistoryEntries["told"]["keys"]): void
  flush(): Promise<void>
}

/** What a conversation is opened with beside its frame. */
export interface ConversationOptions {
  /** The one that its transcript holds; left out: an empty one. The frame beats its tools and its system text. */
  history?: History
  /** The id of the model that will answer. */
  model?: string
  /** Told of each break of the prompt's cache. */
  onBreak?(told: { cause: CacheBreak; by: string; tokens: number }): void
}

/** Opens a conversation that is written to a transcript. */
export function createConversation(
  frame: RequestFrame,
  transcript: Pick<Transcript, "append" | "flush">,
  { history = createHistory(), model, onBreak = () => {} }: ConversationOptions = {},
): Conversation {
  const { effort, outputSchema } = frame
  const rest = { ...(effort ? { effort } : {}), ...(outputSchema ? { outputSchema } : {}) }
  const desk = createDesk(frame, { history, transcript, onBreak })
  const changed = openFrame(history, frame, desk.record)
  if (model !== undefined && model !== (history.model ?? model)) desk.broke("model", model)
  else if (changed.length > 0) desk.broke("settings", changed.join(", "))
  const base = {
    get messages() {
      return history.messages
    },
    get marks() {
      return history.marks
    },
    get turns() {
      return history.turns
    },
    get gauged() {
      return history.gauge.learned > 0
    },
    get answeredAt() {
      return history.answeredAt
    },
    request: (maxTokens: number) => ({
      ...{ system: history.system, tools: history.tools, messages: history.messages, cacheLast: true },
      ...rest,
      maxTokens,
    }),
    notes: createNotebook(history, desk.record),
    flush: () => transcript.flush(),
  }
  return Object.assign(base, growing(desk), counting(desk), shortening(desk))
}

type Record = <T extends HistoryType>(type: T, fields: HistoryEntries[T]) => void

/** What all parts of a conversation work on. */
interface Desk {
  history: History
  record: Record
  broke(cause: CacheBreak, by: string): void
  /** One for each message. */
  weights: Weight[]
  frameWeight: { system: Weight; tools: Weight }
  tokens(weight: Weight): number
  /** All of the next request, and what of it was not counted yet. */
  whole(): Weight
  fresh(): Weight
  inputTokens(): number
}

interface DeskParts {
  history: History
  transcript: Pick<Transcript, "append">
  onBreak: NonNullable<ConversationOptions["onBreak"]>
}

function createDesk(frame: RequestFrame, { history, transcript, onBreak }: DeskParts): Desk {
  const desk: Desk = {
    history,
    weights: history.messages.map(weigh),
    frameWeight: { system: weightOf(frame.system), tools: weightOf(frame.tools) },
    record(type, fields) {
      transcript.append(type, fields)
      applyEntry(history, type, fields)
    },
    broke(cause, by) {
      // Before the first answer there is nothing in the cache.
      if (history.turns > 0) onBreak({ cause, by, tokens: desk.inputTokens() })
    },
    tokens: (weight) => tokensOf(weight, history.gauge),
    whole: () => addWeights([desk.frameWeight.system, desk.frameWeight.tools, ...desk.weights]),
    fresh: () => addWeights(desk.weights.slice(history.counted.messages)),
    inputTokens: () =>
      history.counted.messages < 0 ? desk.tokens(desk.whole()) : history.counted.tokens + desk.tokens(desk.fresh()),
  }
  return desk
}

function growing(desk: Desk): Pick<Conversation, "append" | "redeclare" | "told" | "tell"> {
  const { history, record, broke } = desk
  return {
    append(role, blocks, marks = {}) {
      const { content, mark } = withoutBlanks(blocks, marks)
      if (content.length === 0) return
      const message: MessageParam = { role, content }
      desk.weights.push(weigh(message))
      if (role === "user") record("user", { message, ...mark })
      else record("assistant", { message })
    },
    redeclare(next) {
      const tools = inPlace(history.tools, next)
      if (JSON.stringify(tools) === JSON.stringify(history.tools)) return false
      record("frame", { tools })
      desk.frameWeight = { ...desk.frameWeight, tools: weightOf(tools) }
      broke("tools", "other plugins")
      return true
    },
    told: (key) => history.told.has(key),
    tell: (keys) => record("told", { keys }),
  }
}

/** The API refuses a text that says nothing, wherever it came from: a model, a tool, a hook, a person. */
function withoutBlanks(blocks: ContentBlockParam[], mark: Mark): { content: ContentBlockParam[]; mark: Mark } {
  const whole = blocks.map(withoutBlankInside)
  if (!whole.some(isBlank)) return { content: whole, mark }
  const content = whole.filter((block) => !isBlank(block))
  const place = (block: number) => content.indexOf(whole[block]!)
  const pins = mark.pins?.map((pin) => ({ ...pin, block: place(pin.block) })).filter(({ block }) => block >= 0)
  const said = mark.said?.map(place).filter((block) => block >= 0)
  return { content, mark: { ...(pins?.length ? { pins } : {}), ...(said?.length ? { said } : {}) } }
}

function withoutBlankInside(block: ContentBlockParam): ContentBlockParam {
  if (block.type !== "tool_result" || !Array.isArray(block.content) || !block.content.some(isBlank)) return block
  return { ...block, content: block.content.filter((part) => !isBlank(part)) }
}

function isBlank(block: { type: string; text?: unknown }): boolean {
  return block.type === "text" && !/\S/.test(`${block.text ?? ""}`)
}

type Counting = "counted" | "worstInputTokens" | "inputTokens" | "sizes" | "sizeOf" | "frameTokens" | "contextTokens"

function counting(desk: Desk): Pick<Conversation, Counting> {
  const { history, record, tokens, whole, fresh } = desk
  return {
    counted(usage, from) {
      const sent = usage.input + usage.cacheRead + usage.cacheWrite
      const { counted, gauge, model = from.model } = history
      // Tokens of two models are not alike: nothing that was learned of one, or counted by it, says anything of another.
      if (model !== from.model) record("usage", { usage, ...from, gauge: learn(FIRST_GAUGE, whole(), sent) })
      else if (counted.messages < 0) record("usage", { usage, ...from, gauge: learn(gauge, whole(), sent) })
      else record("usage", { usage, ...from, gauge: learn(gauge, fresh(), sent - counted.tokens) })
    },
    worstInputTokens() {
      const { counted, system, tools, messages } = history
      if (counted.messages < 0) return byteLength([system, tools]) + mostTokens(messages)
      return counted.tokens + mostTokens(messages.slice(counted.messages))
    },
    inputTokens: desk.inputTokens,
    sizes: () => desk.weights.map(tokens),
    sizeOf: (message) => tokens(weigh(message)),
    frameTokens: () => ({ system: tokens(desk.frameWeight.system), tools: tokens(desk.frameWeight.tools) }),
    contextTokens: () => history.counted.tokens,
  }
}

function shortening(desk: Desk): Pick<Conversation, "compact" | "drop" | "forgetThinking"> {
  const { history, record, broke } = desk
  function replace<T extends HistoryType>(type: T, fields: HistoryEntries[T]): void {
    record(type, fields)
    desk.weights = history.messages.map(weigh)
  }
  return {
    compact(entry) {
      replace("compaction", entry)
      broke("compaction", entry.strategy)
    },
    drop(entry) {
      replace("dropped", entry)
      broke("compaction", entry.strategy)
    },
    forgetThinking: () => replace("thinking_forgotten", {}),
  }
}

/** A conversation that goes on keeps its words; what its frame says otherwise is written down, and named. */
function openFrame(history: History, { system, tools }: RequestFrame, record: Record): string[] {
  const next = inPlace(history.tools, tools)
  const changed = {
    ...(JSON.stringify(system) === JSON.stringify(history.system) ? {} : { system }),
    ...(JSON.stringify(next) === JSON.stringify(history.tools) ? {} : { tools: next }),
  }
  const names = Object.keys(changed)
  if (names.length > 0) record("frame", changed)
  return names
}

/** The next tools, those that were there before first and in their order. */
function inPlace(before: readonly ToolDeclaration[], next: readonly ToolDeclaration[]): ToolDeclaration[] {
  const named = new Map(next.map((tool) => [tool.name, tool]))
  const kept = before.flatMap(({ name }) => named.get(name) ?? [])
  return [...kept, ...next.filter(({ name }) => !before.some((tool) => tool.name === name))]
}

function createNotebook(history: History, record: Record): Notebook {
  return <T>(set: string): Notes<T> => ({
    get: (key) => history.notes.get(set)?.get(key) as T | undefined,
    set: (key, value) => record("note", { set, key, value }),
    delete(key) {
      if (history.notes.get(set)?.has(key)) record("note", { set, key })
    },
    entries: () => [...((history.notes.get(set) ?? new Map()) as Map<string, T>)],
  })
}

function weightOf(value: unknown): Weight {
  return { chars: JSON.stringify(value).length, media: 0 }
}

function byteLength(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
