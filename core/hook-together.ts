/**
 * Hooks that run all at once: the first decision of several (first), or nothing but the fact that all have settled
 * (observe).
 *
 * Invariant: a handler that lost the race is told by its signal and never waited for; none of them can hold up the end
 * of an aborted run.
 */
import type { Execution } from "./hook-ending.ts"
import { executeHook } from "./hook-execute.ts"
import { type HookContext, type HookFiring, outcomeOf, passOn, tellHook, warnHook } from "./hook-fire.ts"
import { whoIs } from "./hook-judge.ts"
import type { CompiledHook } from "./hook-match.ts"
import { waitedFor } from "./hook-order.ts"

/** The first decision that a hook took. */
export interface FirstAnswer {
  answer:
    | { kind: "allow"; reason?: string; input?: unknown; rules?: readonly string[] }
    | { kind: "block"; reason: string }
  /** Who brought the hook. */
  owner: string
}

const isOutside = ({ hook }: CompiledHook) => hook.source !== undefined

/** How long an observer may take when the run was aborted before, ms. */
const CLOSING_TIMEOUT_MS = 5_000

/** Starts all; undefined when none decides, or when `settled` fires: somebody else has answered. */
export async function runFirst(
  hooks: readonly CompiledHook[],
  firing: HookFiring,
  context: HookContext & { settled: AbortSignal },
): Promise<FirstAnswer | undefined> {
  if (hooks.length === 0) return undefined
  const race = new AbortController()
  const signal = AbortSignal.any([race.signal, context.settled, firing.from.signal ?? context.signal])
  const waited = hooks.some(isOutside) ? await waitedFor(hooks, firing, context) : hooks
  const answers = waited.map(async (compiled) => {
    const execution = await executeHook(compiled, firing, context, { signal, timeoutMs: compiled.timeoutMs })
    tell(compiled, firing, execution, context)
    const answer = answerOf(compiled, execution)
    if (answer === undefined) throw new Error("no answer")
    return answer
  })
  const first = await Promise.any(answers).catch(() => undefined)
  race.abort()
  return first
}

function tell(compiled: CompiledHook, firing: HookFiring, execution: Execution, context: HookContext): void {
  const { durationMs, exit, answer } = execution
  const heard = { durationMs, exit, answer }
  if ("reply" in execution) {
    const { reply } = execution
    tellHook(compiled, firing, { outcome: outcomeOf(reply), reason: reply.reason, ...heard }, context)
    passOn(reply, firing, context)
  } else if ("failure" in execution) {
    tellHook(compiled, firing, { outcome: "failed", reason: execution.failure, ...heard }, context)
    warnHook(compiled, firing, execution.failure, context)
  } else {
    tellHook(compiled, firing, { outcome: "pass", reason: "it was called off before it answered", ...heard }, context)
  }
}

function answerOf(compiled: CompiledHook, execution: Execution): FirstAnswer | undefined {
  if (!("reply" in execution)) return undefined
  const { owner } = compiled
  const { decision, reason, input, rules } = execution.reply
  if (decision === "block") {
    return { owner, answer: { kind: "block", reason: reason || `${whoIs(compiled)} blocks, and gives no reason` } }
  }
  if (decision !== "allow") return undefined
  const extra = {
    ...(reason === undefined ? {} : { reason }),
    ...(input === undefined ? {} : { input: input.value }),
    ...(rules === undefined ? {} : { rules }),
  }
  return { owner, answer: { kind: "allow", ...extra } }
}

/** Starts all and returns when each has settled, failed or run out of time. */
export async function runObserve(
  hooks: readonly CompiledHook[],
  firing: HookFiring,
  context: HookContext,
): Promise<void> {
  const given = firing.from.signal ?? context.signal
  // The events that close an aborted run must still reach those who clean up after it.
  const signal = given.aborted ? new AbortController().signal : given
  const longest = given.aborted ? CLOSING_TIMEOUT_MS : Number.POSITIVE_INFINITY
  const waited = hooks.some(isOutside) ? await waitedFor(hooks, firing, context) : hooks
  await Promise.all(
    waited.map(async (compiled) => {
      const limits = { signal, timeoutMs: Math.min(compiled.timeoutMs, longest) }
      tell(compiled, firing, await executeHook(compiled, firing, context, limits), context)
    }),
  )
}
