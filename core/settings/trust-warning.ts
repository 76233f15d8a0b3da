/**
 * What was left out of a project that does not count → one sentence that says what, why, and what to do about it.
 *
 * Invariant: it names what changed by file, and never says that something is trusted.
 */
import type { ProjectTrust, TrustChange } from "./project-trust.ts"

/** What a file sets that does not apply. */
export interface LeftOut {
  /** Absolute. */
  file: string
  keys: string[]
}

/** How many changed files are named. */
const NAMED = 5

/** The sentence; undefined when nothing was left out and nothing changed. */
export function trustWarning(leftOut: readonly LeftOut[], trust: ProjectTrust): string | undefined {
  const { state, changes, fault, since } = trust
  if (trust.isTrusted || (leftOut.length === 0 && state !== "changed" && fault === undefined)) return undefined
  const parts = leftOut.map(({ file, keys }) => `${keys.join(", ")} of "${file}"`)
  const left = parts.length === 0 ? "" : `: ${parts.join("; ")}`
  const mend = 'Look at it and say yes with "sous trust", or --trust applies it for this start'
  if (state === "changed") {
    const what = changes.length === 0 ? "it" : changesInWords(changes)
    const reason = fault === undefined ? "" : ` (${fault.message})`
    if (left === "")
      return `This project is not any more what was trusted on ${since?.slice(0, 10)}, ${what}${reason}, and so it does not count. ${mend}`
    return `Left out, since this project is not any more what was trusted on ${since?.slice(0, 10)}, ${what}${reason}${left}. ${mend}`
  }
  const reason = fault === undefined ? "nobody has trusted this project" : fault.message
  return `Left out, since ${reason}${left}. ${mend}`
}

/** `changed "a.ts"; added "b.ts"; and 3 more`. */
export function changesInWords(changes: readonly TrustChange[], most = NAMED): string {
  const named = changes.slice(0, most).map(({ file, how }) => `${how} "${file}"`)
  return [...named, ...(changes.length > most ? [`and ${changes.length - most} more`] : [])].join("; ")
}
