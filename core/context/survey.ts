/**
 * A conversation → what occupies its window, part by part.
 *
 * Invariant: the parts add up to what the next request holds; where the API has counted it, they share its count by what
 * each is estimated to have.
 */
import type { ContentBlockParam, MessageParam, TextBlockParam } from "../message.ts"
import type { ToolDeclaration } from "../model.ts"
import type { History, Mark } from "./history.ts"
import { addWeights, tokensOf, type Weight, weigh } from "./usage.ts"

/** What a part of a request is, in the order in which they are shown. */
export const CONTEXT_KINDS = [
  "system",
  "tools",
  "memory",
  "context",
  "summary",
  "person",
  "answers",
  "results",
  "reminders",
] as const
export type ContextKind = (typeof CONTEXT_KINDS)[number]

/** All of one kind. */
export interface ContextPart {
  kind: ContextKind
  tokens: number
  /** Tools, or blocks of messages. */
  count: number
  /** What it is made of, the largest first: tools, sources of memory, tools that gave results. */
  items: { name: string; tokens: number }[]
}

/** What occupies a window. */
export interface ContextSurvey {
  /** Tokens of the next request. */
  tokens: number
  /** Tokens of it that the API has counted; 0: all is estimated. */
  counted: number
  messages: number
  /** Kinds that there are none of are left out. */
  parts: ContextPart[]
}

/** Looks at a conversation. `isCompacted`: its first message stands for earlier ones. */
export function surveyHistory(history: History, { isCompacted = false } = {}): ContextSurvey {
  const { counted, messages } = history
  const pieces = [...framePieces(history), ...messagePieces(history, isCompacted)]
  const tokens = (weights: Iterable<Weight>) => tokensOf(addWeights(weights), history.gauge)
  const estimated = tokens(pieces.map(({ weight }) => weight))
  const fresh = messages.slice(counted.messages).map(weigh)
  const total = counted.messages < 0 ? estimated : counted.tokens + tokens(fresh)
  const share = estimated === 0 ? 1 : total / estimated
  const size = (some: readonly Piece[]) => Math.round(tokens(some.map(({ weight }) => weight)) * share)
  const parts = CONTEXT_KINDS.flatMap((kind) => {
    const own = pieces.filter((piece) => piece.kind === kind)
    return own.length === 0 ? [] : [{ kind, tokens: size(own), count: own.length, items: itemsOf(own, size) }]
  })
  return { tokens: total, counted: counted.tokens, messages: messages.length, parts: addingUp(parts, total) }
}

interface Piece {
  kind: ContextKind
  name?: string
  weight: Weight
}

function framePieces({ system, tools }: { system: readonly TextBlockParam[]; tools: readonly ToolDeclaration[] }) {
  const piece = (kind: ContextKind, name: string, value: object): Piece => ({
    ...{ kind, name },
    weight: { chars: JSON.stringify(value).length, media: 0 },
  })
  return [...system.map((block) => piece("system", "", block)), ...tools.map((tool) => piece("tools", tool.name, tool))]
}

function messagePieces({ messages, marks }: History, isCompacted: boolean): Piece[] {
  const names = new Map<string, string>()
  return messages.flatMap((message, index) =>
    blocksOf(message).map((block, at) => {
      if (block.type === "tool_use") names.set(block.id, block.name)
      const mark = marks[index] ?? {}
      const kind = kindOf(block, {
        role: message.role,
        mark,
        at,
        place: index > 0 ? "later" : isCompacted ? "summary" : "first",
      })
      const source = mark.pins?.find((pin) => pin.block === at)?.source
      const name = block.type === "tool_result" ? (names.get(block.tool_use_id) ?? "") : source
      return { kind, ...(name === undefined ? {} : { name }), weight: weigh({ role: "user", content: [block] }) }
    }),
  )
}

interface Place {
  role: MessageParam["role"]
  mark: Mark
  /** The block's index. */
  at: number
  place: "first" | "summary" | "later"
}

function kindOf(block: ContentBlockParam, { role, mark, at, place }: Place): ContextKind {
  if (role === "assistant") return "answers"
  if (block.type === "tool_result") return "results"
  if (mark.pins?.some((pin) => pin.block === at)) return "memory"
  if (mark.said?.includes(at)) return "person"
  if (place === "summary") return "summary"
  // What stands before the first words is what the sources say at a start.
  return place === "first" && at < (mark.said?.[0] ?? Number.POSITIVE_INFINITY) ? "context" : "reminders"
}

function itemsOf(pieces: readonly Piece[], size: (some: readonly Piece[]) => number): ContextPart["items"] {
  const named = new Map<string, Piece[]>()
  for (const piece of pieces) {
    if (piece.name) named.set(piece.name, [...(named.get(piece.name) ?? []), piece])
  }
  return [...named]
    .map(([name, some]) => ({ name, tokens: size(some) }))
    .sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1))
}

/** What rounding left over goes to the largest. */
function addingUp(parts: ContextPart[], total: number): ContextPart[] {
  const rest = total - parts.reduce((sum, part) => sum + part.tokens, 0)
  const largest = parts.reduce((one, other) => (other.tokens > one.tokens ? other : one), parts[0]!)
  return parts.map((part) => (part === largest ? { ...part, tokens: part.tokens + rest } : part))
}

function blocksOf({ content }: MessageParam): readonly ContentBlockParam[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content
}
