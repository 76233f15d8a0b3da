/**
 * The state of a loop between two turns, and the named ways from one to the next.
 *
 * Invariant: a state is replaced, never changed; every way to go on has a name and is counted.
 */
import type { Called } from "./call.ts"
import type { Compacting } from "./compact-due.ts"
import type { Conversation } from "./context/conversation.ts"
import { takeReminders } from "./context/remind.ts"
import type { ContentBlockParam, Usage } from "./message.ts"
import type { Model } from "./model.ts"
import type { OutputShape } from "./output.ts"
import type { AgentScope } from "./scope.ts"
import type { LoopStop } from "./stop.ts"
import type { CompactOptions } from "./tool.ts"

/** Everything that one loop is given. */
export interface LoopOptions {
  scope: AgentScope
  conversation: Conversation
  model: Model
  fallback?: () => Promise<Model | undefined>
  maxTurns: number
  output?: { shape: OutputShape; submitted: () => { value: unknown } | undefined }
  /** Says why the loop may not stop yet, or nothing. */
  verify?: (answer: unknown) => Promise<string | undefined>
  attempts?: number
  /** How its conversation is kept within the window; beats the run's. */
  compact?: CompactOptions
  /** Nothing is sent: the conversation is compacted, and that is all. The text: what matters most. */
  compactOnly?: string
  /** Takes over plugins that came since the last turn. */
  renew?: () => void
  /** What has come since the last call of it. */
  inbox: () => Promise<Heard>
}

/** What a conversation is told while it goes on. */
export interface Heard {
  /** By a person. */
  said: string[]
  /** By hooks and what else has woken it. */
  told: string[]
}

/** How a loop ended. */
export interface LoopResult {
  stop: LoopStop
  /** The text of the last answer. */
  text: string
  value?: unknown
  turns: number
  usage: Usage
  /** USD; absent when a price is unknown. */
  usd?: number
  /** What went wrong, for a person; absent when completed. */
  error?: string
}

/** Why the loop goes on: every `continue` of it has a name. */
export type Transition =
  | "start"
  | "tool_results"
  | "queued_message"
  | "stop_blocked"
  | "output_repair"
  | "verify_failed"
  | "limit_raised"
  | "answer_continued"
  | "pause_resumed"
  | "stream_retried"
  | "compacted"
  | "fell_back"

/** The whole state between two turns. */
export interface LoopState {
  transition: Transition
  /** Turns taken. */
  turn: number
  model: Model
  maxTokens: number
  /** How often each bounded way to go on was taken; `verify` and the like start at 0. */
  taken: Readonly<Partial<Record<Transition, number>>>
  /** The turn in which the conversation was last compacted for the model's sake. */
  compactedAt: number
  text: string
  value?: unknown
}

/** The next state, or the end. */
export type Next = LoopState | { stop: LoopStop; error?: string; text?: string; value?: unknown }

/** The loop as it runs: its options and what it has used. */
export interface Loop extends LoopOptions {
  used: { usage: Usage; usd: number; priced: boolean }
  compacting: Compacting
}

/** Output tokens asked for at first; raised to the model's own limit once an answer was cut. */
export const FIRST_OUTPUT_LIMIT = 32_000

/** The state after a transition, with that transition counted. */
export function follow(state: LoopState, transition: Transition, changes: Partial<LoopState> = {}): LoopState {
  const taken = { ...state.taken, [transition]: (state.taken[transition] ?? 0) + 1 }
  return { ...state, taken, transition, ...changes }
}

/**
 * Appends all results of a message first, then what hooks add, then what changed about the mode, then what context sources
 * remind of, then what a person has said meanwhile.
 */
export async function appendResults(loop: Loop, calls: readonly Called[], { said, told }: Heard): Promise<void> {
  const { scope, conversation, compacting } = loop
  const injected = calls.flatMap((call) => call.injected)
  const reminders = scope.reminders.splice(0)
  const reminded = await takeReminders(scope, conversation)
  const words = withoutCommands(said, compacting)
  const unsaid = [...injected, ...reminders, ...reminded.texts, ...told]
  const pinsAt = calls.length + injected.length + reminders.length
  const results: ContentBlockParam[] = calls.map((call) => call.result)
  const texts = [...unsaid, ...words].map((text) => ({ type: "text" as const, text }))
  conversation.append("user", [...results, ...texts], {
    ...(reminded.pins.length > 0 ? { pins: reminded.pins.map((pin) => ({ ...pin, block: pin.block + pinsAt })) } : {}),
    ...(words.length > 0 ? { said: words.map((_, index) => calls.length + unsaid.length + index) } : {}),
  })
  if (reminded.keys.length > 0) conversation.tell(reminded.keys)
}

/** What a person said but for `/compact`, which is done before the next request. */
export function withoutCommands(said: readonly string[], compacting: Compacting): string[] {
  return said.filter((text) => {
    const focus = compactCommand(text)
    if (focus !== undefined) compacting.asked = [compacting.asked, focus].filter(Boolean).join("\n")
    return focus === undefined
  })
}

/** What matters most, of `/compact [what matters most]`; undefined when it is no such command. */
export function compactCommand(text: string): string | undefined {
  return /^\/compact(?:\s+([\s\S]*))?$/.exec(text.trim()) ? text.trim().slice("/compact".length).trim() : undefined
}
