/**
 * What every kind of test gives back to `sous test`: one file, how it went, what was counted.
 *
 * Invariant: words and numbers only; how they are printed is up to the command.
 */

/** What became of one file. */
export interface Tested {
  file: string
  ok: boolean
  /** What was counted: `12 cases`. */
  count: string
  /** One text for each thing that failed; what a test program printed is one of them. */
  failures: readonly string[]
  /** The same for machines. */
  details?: readonly object[]
}

/** `1 case`, `3 of 4 cases`. */
export function describeCount(all: number, wrong: number, one: string): string {
  return `${wrong > 0 ? `${wrong} of ` : ""}${all} ${all === 1 ? one : `${one}s`}`
}
