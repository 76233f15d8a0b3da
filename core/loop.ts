/**
 * Turns, until the model stops asking for tools or a stop condition says so: the five lines that everything stands on.
 *
 * Invariant: state is replaced, never changed, at the end of each turn, with the transition named in it; whatever
 * happens, the conversation that is left is valid.
 *
 * Trail: 1 of 6, next dispatch.ts.
 */
import { runCalls } from "./batch.ts"
import type { Called } from "./call.ts"
import type { Conversation } from "./context/conversation.ts"
import type { EventBody } from "./event.ts"
import type { ContentBlockParam, Usage } from "./message.ts"
import { limitsOf, type Model } from "./model.ts"
import type { OutputShape } from "./output.ts"
import { recover } from "./recover.ts"
import { type AgentScope, hookSource } from "./scope.ts"
import type { LoopStop } from "./stop.ts"
import { requestAnswer, type Turn } from "./turn.ts"

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
  /** Messages that a person has queued since the last call of it. */
  inbox: () => Promise<string[]>
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
}

/** How often Stop hooks may send a loop on. */
const STOP_BLOCKS = 8
const OUTPUT_REPAIRS = 2

/** Runs turns until it stops. Yields what happens, returns why it stopped; it rejects only on a fault of its own. */
export async function* runLoop(options: LoopOptions): AsyncGenerator<EventBody, LoopResult> {
  const used = { usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, usd: 0, priced: true }
  const loop: Loop = { ...options, used }
  const { maxOutput } = await limitsOf(options.model)
  let state: LoopState = {
    transition: "start",
    turn: 0,
    model: options.model,
    maxTokens: Math.min(maxOutput, FIRST_OUTPUT_LIMIT),
    taken: {},
    compactedAt: -1,
    text: "",
  }
  while (true) {
    const next = yield* takeTurn(loop, state)
    if ("stop" in next) return finish(loop, state, next)
    state = next
  }
}

/** Output tokens asked for at first; raised to the model's own limit once an answer was cut. */
export const FIRST_OUTPUT_LIMIT = 32_000

/** The state after a transition, with that transition counted. */
export function follow(state: LoopState, transition: Transition, changes: Partial<LoopState> = {}): LoopState {
  const taken = { ...state.taken, [transition]: (state.taken[transition] ?? 0) + 1 }
  return { ...state, taken, transition, ...changes }
}

async function* takeTurn(loop: Loop, state: LoopState): AsyncGenerator<EventBody, Next> {
  const stop = stopBefore(loop, state)
  if (stop) return stop
  const turn = yield* requestAnswer(loop, state)
  await loop.conversation.flush()
  if (turn.kind !== "answer") return yield* recover(loop, state, turn)
  const answered = afterAnswer(state, turn.text)
  switch (turn.answer.stopReason) {
    case "model_context_window_exceeded":
      return yield* recover(loop, state, turn)
    case "max_tokens":
    case "refusal":
      return yield* recover(loop, answered, turn)
    default:
      if (turn.answer.uses.length > 0) return await answerTools(loop, answered, turn)
      if (turn.answer.stopReason !== "pause_turn") return await tryToEnd(loop, answered, turn)
      loop.conversation.append("assistant", turn.answer.content)
      return follow(answered, "pause_resumed")
  }
}

function afterAnswer(state: LoopState, text: string): LoopState {
  const before = state.transition === "answer_continued" ? state.text : ""
  return { ...state, turn: state.turn + 1, text: before + text, taken: { ...state.taken, stream_retried: 0 } }
}

function stopBefore(loop: Loop, state: LoopState): Next | undefined {
  const { scope } = loop
  if (scope.signal.aborted) return { stop: "aborted" }
  if (state.turn >= loop.maxTurns)
    return { stop: "max_turns", error: `The agent used all of its ${loop.maxTurns} turns` }
  if (scope.denialsInARow >= scope.engine.limits.denialLimit) {
    return {
      stop: "denied",
      error: `${scope.denialsInARow} calls in a row were denied; the last one: ${scope.denials.at(-1)?.reason}`,
    }
  }
  return undefined
}

async function answerTools(loop: Loop, state: LoopState, turn: Turn & { kind: "answer" }): Promise<Next> {
  const { conversation, scope } = loop
  conversation.append("assistant", turn.answer.content)
  const calls = await runCalls(scope, turn.answer.uses, turn.early)
  const queued = scope.signal.aborted ? [] : await loop.inbox()
  conversation.append("user", resultBlocks(calls, queued))
  const submitted = loop.output?.submitted()
  if (submitted) return await checkAndEnd(loop, { ...state, value: submitted.value })
  return follow(state, "tool_results")
}

/** All results of a message first, then what hooks add, then what a person has said meanwhile. */
export function resultBlocks(calls: readonly Called[], queued: readonly string[]): ContentBlockParam[] {
  const injected = calls.flatMap((call) => call.injected)
  return [
    ...calls.map((call) => call.result),
    ...[...injected, ...queued].map((text) => ({ type: "text" as const, text })),
  ]
}

async function tryToEnd(loop: Loop, state: LoopState, turn: Turn & { kind: "answer" }): Promise<Next> {
  const { conversation, output } = loop
  conversation.append("assistant", turn.answer.content)
  const queued = await loop.inbox()
  if (queued.length > 0) return goOn(loop, state, "queued_message", queued.join("\n\n"))
  if (output === undefined) return await checkAndEnd(loop, { ...state, value: state.text })
  const parsed = output.shape.parse(state.text)
  if (parsed.ok) return await checkAndEnd(loop, { ...state, value: parsed.value })
  const error = `The answer does not have the form that was asked for: ${parsed.error}`
  if ((state.taken.output_repair ?? 0) >= OUTPUT_REPAIRS) return { stop: "output_invalid", error, text: state.text }
  return goOn(loop, state, "output_repair", `${error}. Answer again with nothing but that form`)
}

/** The answer stands; verify and Stop hooks may still send the loop on. */
async function checkAndEnd(loop: Loop, state: LoopState): Promise<Next> {
  const { text, value } = state
  if (loop.scope.signal.aborted) return { stop: "aborted" }
  const objection = await loop.verify?.(value)
  if (objection !== undefined) {
    const attempts = loop.attempts ?? 3
    if ((state.taken.verify_failed ?? 0) < attempts) return goOn(loop, state, "verify_failed", objection)
    return {
      stop: "output_invalid",
      error: `The result did not pass its check in ${attempts} attempts: ${objection}`,
      text,
    }
  }
  const blocked = await askStopHooks(loop, state)
  if (blocked !== undefined) return goOn(loop, state, "stop_blocked", blocked)
  return { stop: "completed", text, value }
}

async function askStopHooks(loop: Loop, state: LoopState): Promise<string | undefined> {
  const { scope } = loop
  const blocks = state.taken.stop_blocked ?? 0
  const event = scope.agent.depth > 0 ? "SubagentStop" : "Stop"
  if (blocks >= STOP_BLOCKS || !scope.engine.hooks.has(event, scope.hooks)) return undefined
  const payload = { last_message: state.text, stop_hook_active: blocks > 0 }
  const outcome = await scope.engine.hooks.gate(event, payload, hookSource(scope))
  return outcome.decision === "block" ? outcome.reasons.join("\n") : undefined
}

function goOn(loop: Loop, state: LoopState, transition: Transition, text: string): LoopState {
  loop.conversation.append("user", [{ type: "text", text }])
  return follow(state, transition)
}

async function finish(loop: Loop, state: LoopState, end: Exclude<Next, LoopState>): Promise<LoopResult> {
  await loop.conversation.flush()
  const { usage, usd, priced } = loop.used
  return {
    stop: end.stop,
    text: end.text ?? state.text,
    turns: state.turn,
    usage,
    ...(priced ? { usd } : {}),
    ...(end.value === undefined ? {} : { value: end.value }),
    ...(end.error === undefined ? {} : { error: end.error }),
  }
}
