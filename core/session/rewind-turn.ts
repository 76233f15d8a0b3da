/**
 * The entries of a conversation → its turns: what a person had said, and the entry at which each ended.
 *
 * Invariant: a turn ends behind the results of its calls, so that going back to it leaves no call without a result.
 */
import type { TranscriptEntry } from "./transcript.ts"

/** A turn: one answer with what came of it; 0 is what was there before the first. */
export interface SessionTurn {
  turn: number
  /** ISO 8601, UTC: when the answer came. */
  at: string
  /** What a person said right before it. */
  said?: string
  /** The entry at which it ended. */
  end: string
}

/** The turns of a chain, turn 0 first. None for a conversation without an entry. */
export function turnsOf(chain: readonly TranscriptEntry[]): SessionTurn[] {
  const [first] = chain
  if (first === undefined) return []
  const turns: SessionTurn[] = [{ turn: 0, at: first.ts, end: first.uuid }]
  let isOpen = true
  let said: string | undefined
  for (const entry of chain) {
    const { type, uuid, ts } = entry
    said = saidIn(entry) ?? said
    if (type === "assistant") {
      turns.push({ turn: turns.length, at: ts, end: uuid, ...(said === undefined ? {} : { said }) })
      isOpen = true
      said = undefined
    } else if (endsTurn(entry, turns.length)) isOpen = false
    else if (isOpen) turns.at(-1)!.end = uuid
  }
  return turns
}

/** It belongs to what comes next: another run, a prompt, or the room that was made for the next request. */
function endsTurn({ type, message }: TranscriptEntry, count: number): boolean {
  if (type === "run") return count > 1
  if (type === "compaction" || type === "dropped") return true
  return type === "user" && !contentOf(message).some((block) => block.type === "tool_result")
}

function saidIn({ type, message, said }: TranscriptEntry): string | undefined {
  if (type !== "user" || !Array.isArray(said)) return undefined
  const blocks = contentOf(message)
  const texts = said.flatMap((index) => blocks[index as number]?.text ?? [])
  return texts.length === 0 ? undefined : texts.join("\n")
}

function contentOf(message: unknown): { type?: string; text?: string }[] {
  const { content } = (message ?? {}) as { content?: unknown }
  return Array.isArray(content) ? content : []
}
