/**
 * Every fault that a person must act on: a code, a sentence, and how to mend it.
 *
 * Invariant: one table; a code that is thrown nowhere, reached by no test, or missing here does not land.
 */

/** A fault with its code; print it with `formatError`. */
export class SousError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = "SousError"
  readonly code: C
  readonly details: ErrorDetails<C>
  /** One imperative line: what to do about it. */
  readonly mend: string

  constructor(code: C, details: ErrorDetails<C>, options: { cause?: unknown } = {}) {
    const { message, mend } = ERRORS[code](details as never)
    super(message, options)
    this.code = code
    this.details = details
    this.mend = mend
  }
}

/** True for a SousError of any copy of the library. */
export function isSousError(error: unknown): error is SousError {
  return error instanceof Error && error.name === "SousError" && typeof (error as { code?: unknown }).code === "string"
}

/** The three lines that a terminal shows. */
export function formatError(error: unknown): string {
  if (!isSousError(error)) return error instanceof Error ? error.message : String(error)
  return `${error.message}\n  mend  ${error.mend}\n  code  ${error.code}`
}

/** The known name nearest to a wrong one, if any is near enough to be meant. */
export function nearestName(wrong: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(wrong.length / 3)) + 1
  for (const name of known) {
    const distance = editDistance(wrong.toLowerCase(), name.toLowerCase())
    if (distance < bestDistance) [best, bestDistance] = [name, distance]
  }
  return best
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
    }
    row = next
  }
  return row[b.length]!
}

/** Ends a mend with the nearest right name, or with the list of all. */
export function suggest(wrong: string, known: Iterable<string>): string {
  const names = [...known]
  const near = nearestName(wrong, names)
  if (near !== undefined) return `write "${near}"`
  return names.length === 0 ? "there are none to choose from" : `choose one of ${names.slice(0, 20).join(", ")}`
}

type Entry<D> = (details: D) => { message: string; mend: string }
function entry<D>(make: Entry<D>): Entry<D> {
  return make
}

/** Code → sentence and mend. Areas: CLI SETTINGS PLUGIN HOOK PERMISSION TOOL MODEL SESSION RECIPE STEP RUN. */
export const ERRORS = {
  PLUGIN_EXPORT_INVALID: entry((d: { from: string; found: string }) => ({
    message: `Cannot load plugin "${d.from}": its default export is ${d.found}`,
    mend: `export definePlugin({ name: … }) as the default from ${d.from}`,
  })),
}
export type ErrorCode = keyof typeof ERRORS
export type ErrorDetails<C extends ErrorCode> = Parameters<(typeof ERRORS)[C]>[0]
