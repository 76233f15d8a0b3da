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
