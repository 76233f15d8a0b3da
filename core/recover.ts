/**
 * What a loop does about a turn that did not end well: send again, raise, continue, shorten, hand over, or stop.
 *
 * Invariant: every way on is bounded, and none of them sends a tool_use that was cut off or runs one twice.
 */
import { runCalls } from "./batch.ts"
import type { EventBody } from "./event.ts"
import { appendResults, follow, type Loop, type LoopState, type Next } from "./loop-state.ts"
import type { ContentBlockParam } from "./message.ts"
import { limitsOf, type ModelFault, type ModelFaultKind } from "./model.ts"
import type { Turn } from "./turn.ts"

type Answered = Turn & { kind: "answer" }

/** Times that a broken stream is sent again, in one turn. */
const STREAM_RETRIES = 4
/** Times that a cut answer is continued, in one loop. */
const CONTINUATIONS = 3

const TRANSIENT: ReadonlySet<ModelFaultKind> = new Set(["rate_limit", "overloaded", "server", "connection", "stall"])
const TOO_LONG: ReadonlySet<ModelFaultKind> = new Set(["prompt_too_long", "request_too_large"])

/** The next state after a turn that brought no answer, or one that cannot be taken as it is. */
export async function* recover(loop: Loop, state: LoopState, turn: Turn): AsyncGenerator<EventBody, Next> {
  if (turn.kind === "aborted") return { stop: "aborted" }
  if (turn.kind === "spent") return { stop: "budget", error: turn.reason }
  if (turn.kind === "fault") return yield* recoverFault(loop, state, turn)
  switch (turn.answer.stopReason) {
    case "max_tokens":
      return await continueCut(loop, state, turn)
    case "refusal":
      return (
        (yield* fallBack(loop, state, "it refused to answer")) ?? {
          stop: "refused",
          error: "The model refused to answer",
        }
      )
    default:
      return yield* shorten(loop, state, undefined)
  }
}

async function* recoverFault(
  loop: Loop,
  state: LoopState,
  { fault }: Turn & { kind: "fault" },
): AsyncGenerator<EventBody, Next> {
  if (TOO_LONG.has(fault.fault)) return yield* shorten(loop, state, fault.excessTokens)
  if (!TRANSIENT.has(fault.fault)) return { stop: "model_error", error: describeFault(fault) }
  const retries = state.taken.stream_retried ?? 0
  // What the provider has tried again by itself, before the first byte, is not tried once more.
  if (!fault.retried && retries < STREAM_RETRIES) {
    const delayMs = fault.retryAfterMs ?? Math.min(500 * 2 ** retries, 30_000)
    const message = `The model's answer broke off (${fault.message}); it is asked again in ${delayMs / 1000} s`
    yield { type: "notice", level: "warning", message }
    await loop.scope.engine.clock.sleep(delayMs, loop.scope.signal).catch(() => {})
    return follow(state, "stream_retried")
  }
  return (yield* fallBack(loop, state, fault.message)) ?? { stop: "infra_error", error: describeFault(fault) }
}

function describeFault(fault: ModelFault): string {
  return fault.mend ? `${fault.message}; ${fault.mend}` : fault.message
}

/** Hands the conversation over to the fallback model, once. */
async function* fallBack(loop: Loop, state: LoopState, why: string): AsyncGenerator<EventBody, LoopState | undefined> {
  if (state.taken.fell_back) return undefined
  const model = await loop.fallback?.()
  if (model === undefined || model.id === state.model.id) return undefined
  yield {
    type: "notice",
    level: "warning",
    message: `The model "${state.model.id}" is replaced by "${model.id}": ${why}`,
  }
  // Thinking is signed for the model that thought it.
  loop.conversation.forgetThinking()
  const told = { cause: "model" as const, by: model.id, tokens: loop.conversation.inputTokens() }
  loop.scope.engine.emit({ type: "cache_break", ...told }, loop.scope.agent)
  const { maxOutput } = await limitsOf(model)
  return follow(state, "fell_back", { model, maxTokens: Math.min(state.maxTokens, maxOutput) })
}

async function continueCut(loop: Loop, state: LoopState, turn: Answered): Promise<Next> {
  const { maxOutput } = await limitsOf(state.model)
  if (!state.taken.limit_raised && state.maxTokens < maxOutput) {
    return follow(state, "limit_raised", { maxTokens: maxOutput })
  }
  if ((state.taken.answer_continued ?? 0) >= CONTINUATIONS) {
    return {
      stop: "model_error",
      error: `The answer was cut at the output limit ${CONTINUATIONS + 1} times`,
      text: state.text,
    }
  }
  const { content, cut } = withoutCutBlock(turn.answer.content)
  const uses = turn.answer.uses.filter((use) => use.id !== cut?.id)
  loop.conversation.append("assistant", content)
  const calls = await runCalls(loop.scope, uses, turn.early)
  const text = cut
    ? `Your call of ${cut.name} was cut off at the output limit and was not run. Make it again, in smaller parts if it is long.`
    : "Your answer was cut off at the output limit. Go on exactly where it stopped, without repeating anything."
  await appendResults(loop, calls, { said: [], told: [text] })
  return follow(state, "answer_continued")
}

/** An answer without the block in which it was cut, where that block cannot stand by itself. */
function withoutCutBlock(content: ContentBlockParam[]): {
  content: ContentBlockParam[]
  cut?: { id: string; name: string }
} {
  const last = content.at(-1)
  if (last?.type === "tool_use") return { content: content.slice(0, -1), cut: last }
  if (last?.type === "thinking") return { content: content.slice(0, -1) }
  return { content }
}

/** Compacts because the model said that the conversation is too long. */
async function* shorten(
  loop: Loop,
  state: LoopState,
  excessTokens: number | undefined,
): AsyncGenerator<EventBody, Next> {
  const { shortenForModel } = await import("./compact.ts")
  const stop = yield* shortenForModel(loop, state, excessTokens)
  return stop ?? follow(state, "compacted", { compactedAt: state.turn })
}
