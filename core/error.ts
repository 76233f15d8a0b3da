/**
 * A fault that a person must act on: a code, a sentence, and how to mend it. The table of them is error-table.ts.
 *
 * Invariant: the code decides the sentence and the mend; nobody writes either where it is thrown.
 */
import { ERRORS } from "./error-table.ts"

export { nearestName, suggest } from "./name.ts"

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

export type ErrorCode = keyof typeof ERRORS
export type ErrorDetails<C extends ErrorCode> = Parameters<(typeof ERRORS)[C]>[0]
