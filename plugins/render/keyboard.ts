/**
 * A terminal's keyboard → the keys that are pressed while a question stands.
 *
 * Invariant: what was typed before the question stood there is thrown away; Ctrl-C is never taken for an answer; when
 * nobody listens the keyboard is as it was.
 */
import { setImmediate, setTimeout } from "node:timers/promises"

/** The keyboard, as far as it is needed; `process.stdin` of a terminal is one. */
export interface Keyboard {
  setRawMode?(raw: boolean): unknown
  setEncoding(encoding: "utf8"): unknown
  on(event: "data" | "end", listener: (text: string) => void): unknown
  off(event: "data" | "end", listener: (text: string) => void): unknown
  resume(): unknown
  pause(): unknown
}

/** A person who types gets this many times the settling time to stop. */
const TYPING_FACTOR = 10
/** How long typing may hold up a question, ms. */
const MOST_SETTLE_MS = 5000

/** Keys read while a question stands. */
export interface Keys {
  /** The next keys as they came; undefined at the end of the input or when `signal` fired. */
  next(): Promise<string | undefined>
  /** Throws away what comes until nobody types any more. */
  settle(): Promise<void>
}

/** The Escape key, when it was pressed alone. */
export const ESCAPE = "\x1b"

export interface ListenOptions {
  /** Called for Ctrl-C, which is a plain key while a question stands. */
  interrupt(): void
  /** How long typed-ahead keys are taken out of the way before a question is shown, ms. Default 30. */
  settleMs?: number
}

/** Turns the keyboard on, throws away what was typed before, and gives what comes from then on. */
export async function listen(
  keyboard: Keyboard,
  signal: AbortSignal,
  options: ListenOptions,
): Promise<{ keys: Keys; stop(): void }> {
  const typed: string[] = []
  let wake: ((text: string | undefined) => void) | undefined
  const left = new AbortController()
  let heard = false
  const leave = () => {
    left.abort()
    wake?.(undefined)
  }
  const hear = (chunk: string) => {
    heard = true
    if (chunk.includes("\x03")) return options.interrupt()
    const text = withoutFunctionKeys(chunk)
    if (text === "") return
    if (wake) wake(text)
    else typed.push(text)
  }
  keyboard.setEncoding("utf8")
  keyboard.setRawMode?.(true)
  keyboard.on("data", hear)
  keyboard.on("end", leave)
  signal.addEventListener("abort", leave)
  keyboard.resume()
  const settle = async () => {
    const until = performance.now() + MOST_SETTLE_MS
    const pause = options.settleMs ?? 30
    for (let wait = pause; ; wait = pause * TYPING_FACTOR) {
      heard = false
      await rest(wait, left.signal)
      if (!heard || left.signal.aborted || performance.now() > until) break
    }
    typed.length = 0
  }
  await settle()
  const next = () => {
    if (left.signal.aborted) return Promise.resolve(undefined)
    const text = typed.shift()
    if (text !== undefined) return Promise.resolve(text)
    return new Promise<string | undefined>((resolve) => {
      wake = (value) => {
        wake = undefined
        resolve(value)
      }
    })
  }
  return {
    keys: { next, settle },
    stop() {
      keyboard.off("data", hear)
      keyboard.off("end", leave)
      signal.removeEventListener("abort", leave)
      keyboard.setRawMode?.(false)
      keyboard.pause()
    },
  }
}

/** A while, and one look at what came meanwhile: after a busy moment the clock comes before the keys. */
async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {})
  await setImmediate()
}

/** Arrow and function keys end in letters; none of them is an answer. */
function withoutFunctionKeys(chunk: string): string {
  return chunk === ESCAPE ? chunk : chunk.replace(/\x1b(\[[0-?]*[ -/]*[@-~]|O.|.)?/gs, "")
}
