/**
 * A model's window and the settings of compaction → when a conversation is too long, and what it may hold afterwards.
 *
 * Invariant: what is left of the window at the limit holds an answer, and a summary's question and answer.
 */
import type { Loop, LoopState } from "./loop-state.ts"
import { limitsOf, type Model } from "./model.ts"
import type { CompactionRequest } from "./plugin.ts"
import type { CompactOptions } from "./tool.ts"

/** All in tokens. */
export interface Room {
  model: Model
  window: number
  /** It is shortened above. */
  limit: number
  /** What it may hold after that. */
  budget: number
  /** What should stay as it is at its end. */
  keep: number
}

/** Kept free for an answer, and beyond that for what was estimated wrongly. */
const RESERVE = { tokens: 20_000, share: 0.1 }
const BUFFER = { tokens: 13_000, share: 0.065 }
/** What is left of the limit after a compaction, so that the next one is some turns away. */
const AFTER = 0.7

/** The settings of compaction for one loop: those of its step or agent beat those of the run. */
export function compactingOptions({ scope, compact }: Loop): CompactOptions {
  return { ...scope.engine.compact, ...compact }
}

/** What there is room for. */
export async function roomFor(
  { model, maxTokens }: Pick<LoopState, "model" | "maxTokens">,
  { threshold, keep }: CompactOptions,
): Promise<Room> {
  const { contextWindow: window } = await limitsOf(model)
  const limit = threshold === undefined ? window - reserveOf(window, maxTokens) : Math.floor(window * threshold)
  const budget = Math.floor(limit * AFTER)
  return { model, window, limit, budget, keep: keep ?? Math.min(20_000, Math.floor(window / 10)) }
}

/**
 * Tokens at the end of a conversation that should stay: never more than half of what it may hold, and where a person asks
 * for a shorter one never more than a quarter of what it has.
 */
export function keepOf({ keep, budget }: Room, trigger: CompactionRequest["trigger"], tokens: number): number {
  return Math.floor(Math.min(keep, trigger === "manual" ? tokens / 4 : budget / 2))
}

/** Tokens of a window that are kept free. */
export function reserveOf(window: number, maxTokens: number): number {
  const reserve = Math.min(maxTokens, RESERVE.tokens, window * RESERVE.share)
  return Math.ceil(reserve + Math.min(BUFFER.tokens, window * BUFFER.share))
}
