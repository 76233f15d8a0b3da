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
  if (!isSousError(error)) return reasonOf(error)
  return `${error.message}\n  mend  ${error.mend}\n  code  ${error.code}`
}

/** Characters of what code of a plugin says about its own failure. */
const MOST_CHARS = 4000

/** Why something failed, of whatever was thrown: also what is no error, or one that breaks when it is looked at. */
export function reasonOf(thrown: unknown): string {
  try {
    const text = `${thrown instanceof Error ? thrown.message : String(thrown)}`
    return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS)}…` : text
  } catch {
    return "it threw what cannot be read"
  }
}

export type ErrorCode = keyof typeof ERRORS
export type ErrorDetails<C extends ErrorCode> = Parameters<(typeof ERRORS)[C]>[0]
