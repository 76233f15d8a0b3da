/**
 * How one execution of a hook is bounded and how it can end: from what was heard of a handler to what counts.
 *
 * Invariant: an ending is a reply, a failure or a calling off; nothing else comes out of an execution.
 */
import type { HookReply } from "./hook-answer.ts"
import type { HookFiring, HookSurroundings } from "./hook-fire.ts"
import type { CompiledHook } from "./hook-match.ts"
import type { HookSource } from "./hook-source.ts"

/** How one execution ended. */
export type Execution = Ending & { durationMs: number }
export type Ending = (
  | { reply: HookReply }
  /** A clause that goes on after "the hook failed: ". */
  | { failure: string }
  | { calledOff: true }
) & {
  /** Exit code of a command, status of an HTTP response. */
  exit?: number
  /** What it said in so many words. */
  answer?: string
}

/** What bounds an execution. */
export interface ExecutionLimits {
  /** Calls it off: the handler is told by its own signal and not waited for. */
  signal: AbortSignal
  /** In ms. */
  timeoutMs: number
}

/** Why a handler that ran out of time has failed. */
export function lateFailure(timeoutMs: number): string {
  return `it did not answer within ${timeoutMs / 1000} s`
}

/** One external hook at work. */
export interface Outside {
  compiled: CompiledHook
  source: HookSource
  firing: HookFiring
  /** The payload as JSON. */
  json: string
  surroundings: HookSurroundings
  limits: ExecutionLimits
}

/** What was heard of a handler: its output, or why there is none. A prompt has its reply at once. */
export type Heard =
  | (HookOutput & { status?: number; env?: Readonly<Record<string, string>> })
  | { reply: HookReply }
  | { failure: string; exit?: number }
  | { calledOff: true }

/** What a handler printed. `exit`: of a command; an HTTP response that is one counts as 0. */
export interface HookOutput {
  exit: number | null
  stdout: string
  stderr: string
}
