/**
 * A signal → a controller that it aborts, and that can also be aborted by itself.
 *
 * Invariant: the signal of a run outlives thousands of calls, so every link to it is cut when its call ends.
 */

/** Follows `signal` until `unlink` is called. */
export function linkAbort(signal: AbortSignal): { controller: AbortController; unlink(): void } {
  const controller = new AbortController()
  const onAbort = () => controller.abort(signal.reason)
  if (signal.aborted) onAbort()
  else signal.addEventListener("abort", onAbort, { once: true })
  return { controller, unlink: () => signal.removeEventListener("abort", onAbort) }
}
