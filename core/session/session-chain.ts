/**
 * The entries of a file → those that count: from the last one back, each to the entry that it names as the one before it.
 *
 * Invariant: what was undone is left out; a line that is lost never costs what stands before it, and what stands behind it
 * only when it does not fit what is left.
 */
import type { ContentBlockParam, MessageParam } from "../message.ts"
import type { TranscriptEntry } from "./transcript.ts"

/** What counts of a file. */
export interface Chain {
  /** From the first one on. */
  entries: TranscriptEntry[]
  /** Lines were lost between entries of it. */
  isBridged: boolean
  /** Entries behind a lost line do not fit what stands before it, and are left out. */
  isCut: boolean
}

/** Follows the chain of a file's entries (in its order). */
export function followChain(entries: readonly TranscriptEntry[]): Chain {
  const { chain, gaps } = walkBack(entries, entries.length - 1)
  const [first] = gaps
  if (first === undefined) return { entries: chain, isBridged: false, isCut: false }
  const behind = chain.slice(chain.indexOf(entries[first]!))
  if (isPaired(chain) && !behind.some(({ type }) => type === "compaction"))
    return { entries: chain, isBridged: true, isCut: false }
  return { entries: walkBack(entries, first - 1).chain, isBridged: false, isCut: true }
}

/** The calls of a conversation that its last message asks for and that have no result: their ids. */
export function openCalls(entries: readonly TranscriptEntry[]): string[] {
  const last = entries.findLast(({ type }) => type === "assistant" || type === "user")
  return last === undefined ? [] : asked(last)
}

/** `gaps`: entries whose parent is not there, by index; the first in the file first. */
function walkBack(entries: readonly TranscriptEntry[], last: number): { chain: TranscriptEntry[]; gaps: number[] } {
  const places = new Map<string, number>()
  for (const [index, { uuid }] of entries.entries()) if (!places.has(uuid)) places.set(uuid, index)
  const chain: TranscriptEntry[] = []
  const gaps: number[] = []
  for (let index = last; index >= 0; ) {
    const entry = entries[index]!
    chain.push(entry)
    const parent = places.get(entry.parentUuid ?? "")
    const isThere = parent !== undefined && parent < index
    if (!isThere && index > 0) gaps.push(index)
    index = isThere ? parent : index - 1
  }
  return { chain: chain.reverse(), gaps: gaps.reverse() }
}

/** True when each result stands right behind the message that asks for it, and each call but the last ones has one. */
function isPaired(chain: readonly TranscriptEntry[]): boolean {
  let open: string[] = []
  for (const entry of chain) {
    if (entry.type !== "user" && entry.type !== "assistant") continue
    const given = blocksOf(entry).flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []))
    if (given.length !== open.length || !open.every((id) => given.includes(id))) return false
    open = asked(entry)
  }
  return true
}

function asked(entry: TranscriptEntry): string[] {
  if (entry.type !== "assistant") return []
  return blocksOf(entry).flatMap((block) => (block.type === "tool_use" ? [block.id] : []))
}

function blocksOf(entry: TranscriptEntry): readonly ContentBlockParam[] {
  const { content } = (entry.message ?? {}) as Partial<MessageParam>
  return Array.isArray(content) ? content : []
}
