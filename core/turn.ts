/**
 * One request and its answer: reserves what it may cost, streams, starts early what may start early, counts.
 *
 * Invariant: an answer that did not arrive whole leaves nothing behind in the conversation, and nobody waits for its
 * early calls but their own results.
 */
import { createEarlyCalls } from "./batch.ts"
import type { Called } from "./call.ts"
import { isSousError, reasonOf } from "./error.ts"
import type { EventBody } from "./event.ts"
import type { Loop, LoopState } from "./loop-state.ts"
import type { Usage } from "./message.ts"
import { createModelFault, isModelFault, limitsOf, type ModelFault } from "./model.ts"
import { untilAborted } from "./patience.ts"
import { costOf } from "./recipe/spend.ts"
import { type Answer, type Progress, readAnswer } from "./stream.ts"

/** What a request led to. */
export type Turn =
  | { kind: "answer"; answer: Answer; text: string; early: ReadonlyMap<string, Promise<Called>> }
  | { kind: "fault"; fault: ModelFault }
  | { kind: "spent"; reason: string }
  | { kind: "aborted" }

/** Sends the conversation and reads the answer. */
export async function* requestAnswer(loop: Loop, state: LoopState): AsyncGenerator<EventBody, Turn> {
  const { scope, conversation } = loop
  const { model } = state
  yield { type: "turn_started", turn: state.turn + 1, model: model.id }
  const reservation = await scope.spend.reserve({
    inputTokens: () => conversation.worstInputTokens(),
    maxOutput: await outputRoom(loop, state),
    price: model.price,
    model: model.id,
    signal: scope.signal,
  })
  if ("spent" in reservation)
    return scope.signal.aborted ? { kind: "aborted" } : { kind: "spent", reason: reservation.spent }
  const progress: Progress = { begun: false, usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }
  const early = createEarlyCalls(scope)
  try {
    const streamed = model.stream(conversation.request(reservation.maxOutput), { signal: scope.signal })
    const events = whileWaitedFor(streamed, scope.signal)
    const written = conversation.flush()
    // Awaited below; until then a disk that is full must not end the process.
    written.catch(() => {})
    const answer = yield* readAnswer(events, progress, early.offer)
    await written
    if (answer.stopReason === null && !scope.signal.aborted)
      throw createModelFault("connection", "The stream ended before the answer did")
    reservation.settle(progress.usage)
    yield count(loop, state, answer)
    return { kind: "answer", answer, text: textOf(answer), early: await early.settled() }
  } catch (error) {
    // A request that died settles at what was reserved for it: the API may have billed all of it.
    if (progress.begun) reservation.settle()
    else reservation.release()
    if (scope.signal.aborted) return { kind: "aborted" }
    if (isSousError(error)) throw error
    return { kind: "fault", fault: asFault(error) }
  }
}

/** Output tokens that an answer has at least, however full the window is. */
const LEAST_OUTPUT = 1024

/** The share by which an estimate may be too low. */
const UNSURE = 0.5

/** Output tokens to ask for: no more than the window holds beside the conversation. */
async function outputRoom({ conversation }: Loop, { model, maxTokens }: LoopState): Promise<number> {
  if (!conversation.gauged) return maxTokens
  const { contextWindow } = await limitsOf(model)
  const tokens = conversation.inputTokens()
  const room = Math.floor(contextWindow - tokens - (tokens - conversation.contextTokens()) * UNSURE)
  return Math.max(Math.min(LEAST_OUTPUT, maxTokens), Math.min(maxTokens, room))
}

/** How long a model's stream may take to end by itself after an abort, ms; then it is left alone. */
const ABORT_GRACE_MS = 2000

/** The same events; a stream that does not heed the abort is not waited for. */
async function* whileWaitedFor<T>(events: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = events[Symbol.asyncIterator]()
  const patience = untilAborted(signal, { graceMs: ABORT_GRACE_MS })
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), patience.over])
      if (next.done) return
      yield next.value
    }
  } finally {
    patience.forget()
    void Promise.resolve(iterator.return?.()).catch(() => {})
  }
}

function count(loop: Loop, state: LoopState, answer: Answer): EventBody {
  const { used, conversation } = loop
  const { model } = state
  const usd = model.price && costOf(answer.usage, model.price)
  addUsage(used.usage, answer.usage)
  used.usd += usd ?? 0
  used.priced &&= usd !== undefined
  conversation.counted(answer.usage, { model: model.id, at: loop.scope.engine.clock.now() })
  return {
    type: "usage",
    turn: state.turn + 1,
    model: model.id,
    usage: answer.usage,
    ...(usd === undefined ? {} : { usd }),
    stopReason: answer.stopReason,
    contextTokens: conversation.contextTokens(),
  }
}

/** Adds to a running total. */
export function addUsage(total: Usage, more: Usage): void {
  total.input += more.input
  total.output += more.output
  total.cacheRead += more.cacheRead
  total.cacheWrite += more.cacheWrite
}

function textOf(answer: Answer): string {
  return answer.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("")
}

/** An error without a kind is a plugin's model breaking: not worth a second try. */
function asFault(error: unknown): ModelFault {
  if (isModelFault(error)) return error
  return createModelFault("invalid_request", reasonOf(error), { cause: error })
}
