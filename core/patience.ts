/**
 * Work that may never end → the same, or a fault once somebody has waited long enough.
 *
 * Invariant: what is waited for no longer is left alone, and its late failure disturbs nobody.
 */
import { SousError } from "./error.ts"

/** Waits for a plugin's work, at most so many milliseconds. Throws WORK_UNENDING, or what the work throws. */
export async function within<T>(ms: number, what: string, work: () => T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SousError("WORK_UNENDING", { what, seconds: ms / 1000 })), ms)
  })
  const running = (async () => await work())()
  running.catch(() => {})
  try {
    return await Promise.race([running, late])
  } finally {
    clearTimeout(timer)
  }
}

/** What is no longer waited for once a signal was aborted. */
export interface Patience {
  /** Rejects with the signal's reason when its time is over. */
  over: Promise<never>
  /** Ends the waiting. */
  forget(): void
}

/** Waits with a signal: `graceMs` after its abort the patience is over. Call `forget` whatever happens. */
export function untilAborted(signal: AbortSignal, { graceMs = 0 } = {}): Patience {
  let timer: NodeJS.Timeout | undefined
  let onAbort = () => {}
  const over = new Promise<never>((_, reject) => {
    onAbort = () => {
      if (graceMs === 0) reject(signal.reason)
      else timer = setTimeout(() => reject(signal.reason), graceMs)
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener("abort", onAbort, { once: true })
  })
  // Nobody may be waiting yet, or any more.
  over.catch(() => {})
  return {
    over,
    forget() {
      signal.removeEventListener("abort", onAbort)
      clearTimeout(timer)
    },
  }
}
