/**
 * Turns, until the model stops asking for tools or a stop condition says so: the five lines that everything stands on.
 *
 * Invariant: state is replaced, never changed, at the end of each turn, with the transition named in it; whatever
 * happens, the conversation that is left is valid.
 *
 * Trail: 1 of 6, next dispatch.ts.
 */
import { runCalls } from "./batch.ts"
import { keepRoom, letFollow, strategyFault } from "./compact-due.ts"
import type { EventBody } from "./event.ts"
import {
  appendResults,
  FIRST_OUTPUT_LIMIT,
  follow,
  type Heard,
  type Loop,
  type LoopOptions,
  type LoopResult,
  type LoopState,
  type Next,
  type Transition,
  withoutCommands,
} from "./loop-state.ts"
import { limitsOf } from "./model.ts"
import { recover } from "./recover.ts"
import { hookSource } from "./scope.ts"
import { requestAnswer, type Turn } from "./turn.ts"

/** How often Stop hooks may send a loop on. */
const STOP_BLOCKS = 8
const OUTPUT_REPAIRS = 2

/** Runs turns until it stops. Yields what happens, returns why it stopped; it rejects only on a fault of its own. */
export async function* runLoop(options: LoopOptions): AsyncGenerator<EventBody, LoopResult> {
  const used = { usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, usd: 0, priced: true }
  const compacting = { failures: 0, refills: 0, off: false, told: new Set<string>() }
  const loop: Loop = { ...options, used, compacting }
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
  const fault = strategyFault(loop)
  if (fault !== undefined) yield { type: "notice", level: "warning", message: fault }
  if (options.compactOnly !== undefined) return await finish(loop, state, yield* compactOnly(loop, state))
  try {
    while (true) {
      const next = yield* takeTurn(loop, state)
      if ("stop" in next) {
        // A person's /compact that came with the last turn.
        if (loop.compacting.asked !== undefined && next.stop !== "aborted") yield* keepRoom(loop, state)
        return await finish(loop, state, next)
      }
      state = next
    }
  } finally {
    loop.compacting.unfollow?.()
  }
}

async function* takeTurn(loop: Loop, state: LoopState): AsyncGenerator<EventBody, Next> {
  const stop = stopBefore(loop, state)
  if (stop) return stop
  // Behind results, the look that was taken before these calls will do: the next is taken before the next calls.
  if (state.transition !== "tool_results") await loop.scope.engine.refresh()
  loop.renew?.()
  const full = yield* keepRoom(loop, state)
  if (full !== undefined) return full
  const turn = yield* requestAnswer(loop, state)
  // Behind an answer that calls tools, it is written down together with that.
  if (turn.kind !== "answer" || turn.answer.uses.length === 0) await loop.conversation.flush()
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

/** A prompt that is only /compact. */
async function* compactOnly(loop: Loop, state: LoopState): AsyncGenerator<EventBody, Exclude<Next, LoopState>> {
  const { conversation, compacting } = loop
  if (conversation.messages.length === 0) {
    const nothing = "There is nothing to compact: the conversation has not begun"
    return { stop: "completed", text: nothing, value: nothing }
  }
  const { messages } = conversation
  const before = conversation.inputTokens()
  compacting.asked = loop.compactOnly ?? ""
  yield* keepRoom(loop, state)
  if (loop.scope.signal.aborted) return { stop: "aborted" }
  // What was not shortened is the very same array.
  if (conversation.messages === messages)
    return { stop: "context_exhausted", error: "The conversation could not be compacted, and is as it was" }
  const text = `The conversation was compacted from about ${before} to ${conversation.inputTokens()} tokens`
  return { stop: "completed", text, value: text }
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
  if (scope.stopped !== undefined) return { stop: "hook_stopped", error: `A hook stopped the agent: ${scope.stopped}` }
  const tripped = scope.engine.breaker.tripped()
  return tripped === undefined ? undefined : { stop: "denied", error: tripped }
}

async function answerTools(loop: Loop, state: LoopState, turn: Turn & { kind: "answer" }): Promise<Next> {
  const { conversation, scope } = loop
  conversation.append("assistant", turn.answer.content)
  const written = conversation.flush()
  // Awaited below; until then a disk that is full must not end the process.
  written.catch(() => {})
  // What calls have changed when the process is killed must not be unknown to the conversation.
  if (turn.answer.uses.some(({ name }) => scope.tools.get(name)?.readOnly !== true)) await written
  const calls = await runCalls(scope, turn.answer.uses, turn.early)
  await written
  const queued = scope.signal.aborted ? { said: [], told: [] } : await loop.inbox()
  await appendResults(loop, calls, queued)
  letFollow(loop, state)
  const { conclusion } = scope
  scope.conclusion = undefined
  if (conclusion !== undefined && loop.output === undefined)
    return await checkAndEnd(loop, { ...state, text: conclusion, value: conclusion })
  const submitted = loop.output?.submitted()
  if (submitted) return await checkAndEnd(loop, { ...state, value: submitted.value })
  return follow(state, "tool_results")
}

async function tryToEnd(loop: Loop, state: LoopState, turn: Turn & { kind: "answer" }): Promise<Next> {
  const { conversation, output } = loop
  conversation.append("assistant", turn.answer.content)
  const { said, told } = await loop.inbox()
  const queued = { said: withoutCommands(said, loop.compacting), told }
  if (queued.said.length + told.length > 0) return goOnWith(loop, state, queued)
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
  if (loop.scope.signal.aborted) return { stop: "aborted" }
  if (blocked !== undefined) return goOn(loop, state, "stop_blocked", blocked)
  return { stop: "completed", text, value }
}

async function askStopHooks(loop: Loop, state: LoopState): Promise<string | undefined> {
  const { scope } = loop
  const blocks = state.taken.stop_blocked ?? 0
  const event = scope.agent.depth > 0 ? "SubagentStop" : "Stop"
  const { hooks, emit } = scope.engine
  if (!hooks.has(event, scope.hooks)) return undefined
  if (blocks >= STOP_BLOCKS) {
    const message = `The agent ends although ${event} hooks may not be done with it: they kept it going ${blocks} times`
    emit({ type: "notice", level: "warning", message }, scope.agent)
    return undefined
  }
  const payload = { last_message: state.text, stop_hook_active: blocks > 0 }
  const outcome = await hooks.gate(event, payload, hookSource(scope))
  // A hook that wants the agent to stop has what it wants, whatever others say.
  if (scope.stopped !== undefined) return undefined
  return outcome.decision === "block" ? outcome.reasons.join("\n") : undefined
}

function goOn(loop: Loop, state: LoopState, transition: Transition, text: string): LoopState {
  loop.conversation.append("user", [{ type: "text", text }])
  return follow(state, transition)
}

function goOnWith(loop: Loop, state: LoopState, { said, told }: Heard): LoopState {
  const texts = [said, told].filter((part) => part.length > 0).map((part) => part.join("\n\n"))
  const content = texts.map((text) => ({ type: "text" as const, text }))
  loop.conversation.append("user", content, said.length > 0 ? { said: [0] } : {})
  return follow(state, "queued_message")
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
