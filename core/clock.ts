/**
 * The real clock: the only place where a run reads the time or waits for it.
 *
 * Invariant: a sleep that was called off leaves no timer behind.
 */

/** The clock that a run reads; tests bring their own. */
export interface Clock {
  /** ms since the epoch. */
  now(): number
  /** Rejects with the signal's reason when that fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** What `setTimeout` can wait for at most, ms; more would fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647

/** Makes a clock that runs with the machine's time. */
export function createClock(): Clock {
  return { now: () => Date.now(), sleep }
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  for (let left = ms; ; left -= LONGEST_TIMER_MS) {
    await wait(Math.min(left, LONGEST_TIMER_MS), signal)
    if (left <= LONGEST_TIMER_MS) return
  }
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop)
      resolve()
    }, ms)
    signal?.addEventListener("abort", stop, { once: true })
  })
}
