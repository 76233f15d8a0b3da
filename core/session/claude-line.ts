/**
 * The text of a session file of Claude Code → the lines that were sent to the model, in their order.
 *
 * Invariant: a line that is no JSON, or of a kind that nobody knows, is passed over; what subagents said, and branches
 * that were left, are not in it.
 */
import type { ContentBlockParam } from "../message.ts"
import { takenBlocks, textBlocks } from "./claude-block.ts"
import { parseJson } from "./own-file.ts"

/** A message of the main conversation. */
export interface Line {
  uuid: string
  type: "user" | "assistant"
  timestamp: string | undefined
  /** Lines with the same one are parts of one answer. */
  messageId: string | undefined
  blocks: readonly ContentBlockParam[]
  /** A person said it. */
  isSaid: boolean
}

/** What may stand on a line; every field may be missing. */
interface Raw {
  type: string
  uuid: string
  parentUuid: string | null
  timestamp: string
  isSidechain: boolean
  isMeta: boolean
  isCompactSummary: boolean
  isVisibleInTranscriptOnly: boolean
  isApiErrorMessage: boolean
  message: { id?: string; content?: unknown }
}

/** Chooses the lines: the last one's chain of parents, and what belongs to the answers in it. */
export function chosenLines(text: string): Line[] {
  const raw = text.split("\n").flatMap((line) => {
    const value = parseJson(line) as Partial<Raw> | null | undefined
    return typeof value?.uuid === "string" && value.isSidechain !== true
      ? [value as Partial<Raw> & { uuid: string }]
      : []
  })
  const chain = chainOf(raw)
  const answers = new Set(raw.flatMap(({ uuid, message }) => (chain.has(uuid) && message?.id ? [message.id] : [])))
  const parts = raw.filter(({ uuid, message }) => chain.has(uuid) || (message?.id && answers.has(message.id)))
  const asked = new Set(parts.flatMap(idsAsked))
  const kept = new Set(parts)
  // Results of calls that were made together each name another line as their parent.
  return raw.filter((line) => kept.has(line) || givesResult(line, asked)).flatMap(lineOf)
}

function chainOf(raw: readonly (Partial<Raw> & { uuid: string })[]): Set<string> {
  const places = new Map(raw.map(({ uuid }, index) => [uuid, index]))
  const chain = new Set<string>()
  for (let index = raw.findLastIndex(isMessage); index >= 0; ) {
    const { uuid, parentUuid } = raw[index]!
    chain.add(uuid)
    if (parentUuid === null || parentUuid === undefined) break
    const parent = places.get(parentUuid)
    // A line that is lost costs nothing of what stands before it.
    index = parent !== undefined && parent < index ? parent : index - 1
  }
  return chain
}

function isMessage({ type }: Partial<Raw>): boolean {
  return type === "user" || type === "assistant"
}

function idsAsked({ message }: Partial<Raw>): string[] {
  return blocksOf(message?.content).flatMap((block) => (block.type === "tool_use" ? [block.id] : []))
}

function givesResult({ type, message }: Partial<Raw>, asked: ReadonlySet<string>): boolean {
  if (type !== "user") return false
  return blocksOf(message?.content).some((block) => block.type === "tool_result" && asked.has(block.tool_use_id))
}

function lineOf(raw: Partial<Raw> & { uuid: string }): Line[] {
  const { type, uuid, timestamp, message } = raw
  if ((type !== "user" && type !== "assistant") || raw.isVisibleInTranscriptOnly || raw.isApiErrorMessage) return []
  const isSaid = type === "user" && !raw.isMeta && !raw.isCompactSummary
  const date = typeof timestamp === "string" ? timestamp : undefined
  return [{ uuid, type, timestamp: date, messageId: message?.id, blocks: blocksOf(message?.content), isSaid }]
}

function blocksOf(content: unknown): readonly ContentBlockParam[] {
  return typeof content === "string" ? textBlocks(content) : takenBlocks(content)
}
