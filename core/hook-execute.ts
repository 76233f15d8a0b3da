/**
 * Runs one handler: from a payload to its reply, to why it failed, or to the fact that it was called off.
 *
 * Invariant: it always settles: a handler that does not return is left behind when its time is over or its signal fires,
 * and whatever it does to its payload stays its own.
 */
import type { Clock } from "./clock.ts"
import { type HookReply, parseAnswer } from "./hook-answer.ts"
import type { CompiledHook } from "./hook-match.ts"

/** How one execution ended. */
export type Execution = Ending & { durationMs: number }
type Ending =
  | { reply: HookReply }
  /** A clause that goes on after "the hook failed: ". */
  | { failure: string }
  | { calledOff: true }

/** What bounds an execution. */
export interface ExecutionLimits {
  clock: Clock
  /** Calls it off: the handler is told by its own signal and not waited for. */
  signal: AbortSignal
  /** In ms. */
  timeoutMs: number
}

const TIME_OVER = Symbol("time over")

/** Runs a handler on its own copy of the payload. Never throws. */
export async function executeHook(
  compiled: CompiledHook,
  payload: object,
  limits: ExecutionLimits,
): Promise<Execution> {
  const start = limits.clock.now()
  const ending = limits.signal.aborted ? { calledOff: true as const } : await run(compiled, payload, limits)
  return { ...ending, durationMs: limits.clock.now() - start }
}

async function run({ hook }: CompiledHook, payload: object, limits: ExecutionLimits): Promise<Ending> {
  const own = new AbortController()
  let answer: unknown
  try {
    answer = hook.handler(structuredClone(payload), { signal: own.signal })
    if (isThenable(answer)) answer = await settle(answer, own, limits)
  } catch (error) {
    if (limits.signal.aborted) return { calledOff: true }
    return { failure: `it threw "${error instanceof Error ? error.message : String(error)}"` }
  }
  if (answer === TIME_OVER) return { failure: `it did not answer within ${limits.timeoutMs / 1000} s` }
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
function settle(answer: PromiseLike<unknown>, own: AbortController, limits: ExecutionLimits): Promise<unknown> {
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
