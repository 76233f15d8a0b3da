/**
 * Watches one request to a model: its attempts become `retry` events, a silence becomes a stall.
 *
 * Invariant: any byte is life, pings too; the time between two attempts counts for no silence.
 */
import type { ModelEvent } from "sous"
import { retryAfterOf } from "./fault.ts"
import type { Headers } from "./headers.ts"
import type { TransportWatcher } from "./transport.ts"

/** A wait that the server asks for and that is longer than this (ms) is left to the loop, which has a budget and a person. */
const LONGEST_WAIT_MS = 60_000

export interface Watch {
  watcher: TransportWatcher
  /** Fires when the caller's signal does, or when a response that had begun falls silent. */
  signal: AbortSignal
  /** True when it was silence that ended the last attempt. */
  stalled(): boolean
  /** Yields a `retry` event for each failed attempt until `opening` is settled. */
  untilOpen(opening: Promise<unknown>): AsyncGenerator<ModelEvent>
  /** Ends what is still under way. */
  close(): void
}

/** `stallMs`: 0 waits for ever. `maxRetries`: how often the SDK tries again. */
export function createWatch(caller: AbortSignal, options: { stallMs: number; maxRetries: number }): Watch {
  const controller = new AbortController()
  const abort = () => controller.abort(caller.reason)
  if (caller.aborted) abort()
  else caller.addEventListener("abort", abort, { once: true })
  const silence = createSilence(options.stallMs, () => controller.abort())
  const retries = createRetries(options.maxRetries)
  return {
    signal: controller.signal,
    stalled: silence.stalled,
    untilOpen: retries.untilOpen,
    watcher: {
      sent: silence.begin,
      alive: silence.alive,
      settled: silence.end,
      failed(reason, response) {
        silence.end()
        return retries.add(reason, response)
      },
    },
    close() {
      silence.end()
      caller.removeEventListener("abort", abort)
      controller.abort()
    },
  }
}

/** Before its first byte a silent attempt is dropped, and made again; after it, the request is over. */
function createSilence(stallMs: number, onStall: () => void) {
  let timer: NodeJS.Timeout | undefined
  let stalled = false
  let heard = false
  const end = () => {
    clearTimeout(timer)
    timer = undefined
  }
  return {
    end,
    stalled: () => stalled,
    alive() {
      heard = true
      timer?.refresh()
    },
    begin(drop: (error: Error) => void) {
      end()
      stalled = heard = false
      if (stallMs === 0) return
      timer = setTimeout(() => {
        stalled = true
        if (heard) onStall()
        else drop(new Error(`nothing came for ${stallMs / 1000} s`))
      }, stallMs)
    },
  }
}

function createRetries(maxRetries: number) {
  const waiting: ModelEvent[] = []
  let attempt = 0
  let wake = () => {}
  return {
    /** False: the SDK is not to try again. */
    add(reason: string, response?: { status: number; headers: Headers }): boolean {
      attempt += 1
      const asked = retryAfterOf(response?.headers)
      if (asked !== undefined && asked > LONGEST_WAIT_MS) return false
      if (attempt > maxRetries || (response !== undefined && !isRetried(response))) return true
      waiting.push({
        type: "retry",
        attempt,
        delayMs: asked ?? usualDelay(attempt),
        reason: reasonOf(reason, response),
      })
      wake()
      return true
    },
    async *untilOpen(opening: Promise<unknown>): AsyncGenerator<ModelEvent> {
      let open = false
      const settle = () => {
        open = true
        wake()
      }
      opening.then(settle, settle)
      while (!open || waiting.length > 0) {
        const event = waiting.shift()
        if (event !== undefined) yield event
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    },
  }
}

/** What the SDK tries again; it obeys `x-should-retry` first. */
function isRetried({ status, headers }: { status: number; headers: Headers }): boolean {
  const said = headers.get("x-should-retry")
  if (said === "true" || said === "false") return said === "true"
  return status === 408 || status === 409 || status === 429 || status >= 500
}

/** The SDK's own delay, ms, without its jitter of a quarter less at most: half a second, doubled up to eight. */
function usualDelay(attempt: number): number {
  return Math.min(500 * 2 ** (attempt - 1), 8000)
}

function reasonOf(reason: string, response: { status: number } | undefined): string {
  return response === undefined ? `the connection failed (${reason})` : `the server answered ${reason}`
}
