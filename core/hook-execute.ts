/**
 * Runs one handler: from a payload to its reply, to why it failed, or to the fact that it was called off.
 *
 * Invariant: it always settles: a handler that does not return is left behind when its time is over or its signal fires,
 * and whatever it does to its payload stays its own.
 */
import { reasonOf } from "./error.ts"
import { parseAnswer } from "./hook-answer.ts"
import { type Ending, type Execution, type ExecutionLimits, lateFailure } from "./hook-ending.ts"
import type { HookContext, HookFiring } from "./hook-fire.ts"
import type { CompiledHook } from "./hook-match.ts"
import type { PluginHook } from "./registry.ts"

const TIME_OVER = Symbol("time over")

/** Runs a handler on its own copy of the payload. Never throws. */
export async function executeHook(
  compiled: CompiledHook,
  firing: HookFiring,
  context: HookContext,
  limits: ExecutionLimits,
): Promise<Execution> {
  const { hook } = compiled
  const start = context.clock.now()
  context.spent.add(hook)
  const ending: Ending | Promise<Ending> = limits.signal.aborted
    ? { calledOff: true }
    : hook.source === undefined
      ? runHandler(hook, firing.fields, { ...limits, clock: context.clock })
      : runElsewhere({ ...compiled, source: hook.source }, firing, context, limits)
  return { ...(await ending), durationMs: context.clock.now() - start }
}

async function runElsewhere(...work: Parameters<typeof import("./hook-outside.ts")["runOutside"]>): Promise<Ending> {
  // No part of it is loaded before an external hook fires.
  const { runOutside } = await import("./hook-outside.ts")
  return await runOutside(...work)
}

type Limits = ExecutionLimits & Pick<HookContext, "clock">

async function runHandler(hook: PluginHook, payload: object, limits: Limits): Promise<Ending> {
  const own = new AbortController()
  let answer: unknown
  try {
    answer = hook.handler(structuredClone(payload), { signal: own.signal })
    if (isThenable(answer)) answer = await settle(answer, own, limits)
  } catch (error) {
    if (limits.signal.aborted) return { calledOff: true }
    return { failure: `it threw "${reasonOf(error)}"` }
  }
  if (answer === TIME_OVER) return { failure: lateFailure(limits.timeoutMs) }
  try {
    return { reply: parseAnswer(answer, hook.event) }
  } catch (error) {
    return { failure: (error as Error).message }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"
}

/** The answer or TIME_OVER; rejects when the signal fires. In both cases the handler's own signal fires as well. */
function settle(answer: PromiseLike<unknown>, own: AbortController, limits: Limits): Promise<unknown> {
  const { clock, signal, timeoutMs } = limits
  const timer = new AbortController()
  return new Promise((resolve, reject) => {
    const stop = () => {
      reject(signal.reason)
      own.abort(signal.reason)
      // A handler that never settles must not keep the process alive until its time is over.
      finish()
    }
    const finish = () => {
      signal.removeEventListener("abort", stop)
      timer.abort()
    }
    signal.addEventListener("abort", stop, { once: true })
    const timeOver = clock.sleep(timeoutMs, timer.signal).then(() => {
      resolve(TIME_OVER)
      own.abort(new Error("The hook's time is over"))
    })
    timeOver.catch(() => {})
    Promise.resolve(answer).then(resolve, reject).finally(finish)
  })
}
