/**
 * A budget of minutes → a signal that fires when they are over, for the time of some work.
 *
 * Invariant: a deadline that passed reads as `budget`, an abort by a person as `cancelled`; finished work leaves no timer.
 */
import type { StepResult } from "../step.ts"
import { cancelled, failureOf, type Place } from "./context.ts"

/** Does some work where the place's own budget ends it. It does not reject. */
export async function withDeadline(place: Place, work: (place: Place) => Promise<StepResult>): Promise<StepResult> {
  const done = new AbortController()
  const signal = armDeadline(place, done.signal)
  try {
    return judge(await work({ ...place, signal }), signal)
  } catch (error) {
    return judge(failureOf(error, signal), signal)
  } finally {
    done.abort()
  }
}

/** True when somebody ended it, and not a budget. */
export function isInterrupted(signal: AbortSignal): boolean {
  return signal.aborted && spentBy(signal) === undefined
}

function armDeadline({ engine, signal, spend }: Place, done: AbortSignal): AbortSignal {
  const { minutes } = spend.budget
  const deadline = spend.deadline()
  if (minutes === undefined || deadline === undefined) return signal
  const over = new AbortController()
  const end = () => over.abort({ spent: `The budget of ${minutes} minutes is spent` })
  engine.clock.sleep(Math.max(0, deadline - engine.clock.now()), done).then(end, () => {})
  return AbortSignal.any([signal, over.signal])
}

function judge(result: StepResult, signal: AbortSignal): StepResult {
  if (result.ok || !signal.aborted) return result
  const partial = result.partial === undefined ? {} : { partial: result.partial }
  const spent = spentBy(signal)
  if (spent !== undefined) return { ok: false, cause: "budget", error: spent, ...partial }
  return { ...cancelled(), ...partial }
}

function spentBy({ aborted, reason }: AbortSignal): string | undefined {
  const spent = aborted ? (reason as { spent?: unknown } | null | undefined)?.spent : undefined
  return typeof spent === "string" ? spent : undefined
}
