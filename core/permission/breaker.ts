/**
 * Counts the denials of a run: after some by a person plan mode is offered, after more than some without one it stops.
 *
 * Invariant: any allowed call sets the counts back; once the run has been stopped, it stays stopped.
 */

/** The circuit breaker of one run. */
export interface Breaker {
  /** A call was allowed. */
  allowed(): void
  /** A call was denied, with this reason. True: a person has denied so many in a row that plan mode is to be offered. */
  denied(reason: string, by: "person" | "rules"): boolean
  /** Takes a lower limit. */
  tighten(limit: number): void
  /** Why the run takes no further turn or step; undefined while it does. */
  tripped(): string | undefined
}

/** Denials by a person, in a row, after which plan mode is offered. */
const OFFER_AFTER = 3

/** `attended`: a person can be offered plan mode, so that what that person denies does not stop the run. */
export function createBreaker(options: { limit: number; attended: boolean }): Breaker {
  let { limit } = options
  let inARow = 0
  let byPerson = 0
  let stopped: string | undefined
  return {
    allowed() {
      inARow = 0
      byPerson = 0
    },
    denied(reason, by) {
      if (by === "person" && options.attended) return ++byPerson % OFFER_AFTER === 0
      if (++inARow >= limit) stopped ??= `${inARow} calls in a row were denied; the last one: ${reason}`
      return false
    },
    tighten(lower) {
      limit = Math.min(limit, lower)
    },
    tripped: () => stopped,
  }
}
