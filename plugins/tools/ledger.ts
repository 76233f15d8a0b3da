/**
 * What an agent has read of which file, so that it changes nothing it has not seen.
 *
 * Invariant: one ledger for each agent; "changed" means other content wherever the content was hashed, whatever the
 * clock of the disk says.
 */
import type { Notebook, Notes, ToolContext } from "sous"
import { Refused } from "./refusal.ts"

/** A file's content at one moment. Without `hash` (a file too large to be scanned) size and time stand for it. */
export interface Stamp {
  size: number
  mtimeMs: number
  hash?: string
}

/** What was seen of a file. */
export interface Seen extends Stamp {
  /** Lines 1 to this one were shown. */
  upTo: number
  /** All of it was shown. */
  whole: boolean
  /** The first line of what was shown last. Left out: 1. */
  from?: number
}

/** The agent's ledger, by real path, the file that it read or changed last at the end; kept with its session. */
export function ledgerOf({ notes }: { notes: Notebook }): Notes<Seen> {
  return notes("files read")
}

/** Notes that lines `first` to `last` were shown; pages that follow one another add up. */
export function noteRead(
  context: ToolContext,
  real: string,
  page: { stamp: Stamp; first: number; last: number; isEnd: boolean },
): void {
  const before = ledgerOf(context).get(real)
  const known = before !== undefined && isSame(before, page.stamp) ? before : { upTo: 0, whole: false }
  const joins = page.first <= known.upTo + 1
  const upTo = joins ? Math.max(known.upTo, page.last) : known.upTo
  const whole = known.whole || (joins && page.isEnd)
  ledgerOf(context).set(real, { ...page.stamp, upTo, whole, ...(page.first > 1 ? { from: page.first } : {}) })
}

/** Notes an edit that the agent made: it knows as much of the file as before. */
export function noteEdited(context: ToolContext, real: string, stamp: Stamp): void {
  const { upTo, whole, from } = ledgerOf(context).get(real) ?? { upTo: 0, whole: false }
  ledgerOf(context).set(real, { ...stamp, upTo, whole, ...(from === undefined ? {} : { from }) })
}

/** Notes a change by somebody else that the agent was shown, behind so many lines that stayed as they were. */
export function noteShown(moment: { notes: Notebook }, real: string, change: { stamp: Stamp; after: number }): void {
  const seen = ledgerOf(moment).get(real)
  if (seen === undefined) return
  const { upTo, whole, from } = seen
  const known = { upTo: whole ? upTo : Math.min(upTo, change.after), whole }
  ledgerOf(moment).set(real, { ...change.stamp, ...known, ...(from === undefined ? {} : { from }) })
}

/** Notes content that the agent wrote from its first to its last character. */
export function noteWritten(context: ToolContext, real: string, stamp: Stamp): void {
  ledgerOf(context).set(real, { ...stamp, upTo: Number.MAX_SAFE_INTEGER, whole: true })
}

/** Refuses a change of a file that a model has not read, or that is no longer what it read. */
export function checkRead(context: ToolContext, file: { path: string; real: string; stamp: Stamp }): void {
  if (context.caller === "recipe") return
  const seen = ledgerOf(context).get(file.real)
  if (seen === undefined) throw new Refused(`"${file.path}" has not been read yet: Read it first, then change it`)
  if (!isSame(seen, file.stamp)) {
    throw new Refused(`"${file.path}" has changed on disk since it was last read: Read it again, then change it`)
  }
}

/** True when both stand for the same content. */
export function isSame(a: Stamp, b: Stamp): boolean {
  if (a.hash !== undefined && b.hash !== undefined) return a.hash === b.hash
  return a.size === b.size && a.mtimeMs === b.mtimeMs
}
