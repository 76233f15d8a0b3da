/**
 * A shell command → whether it changes nothing, wherever it reads: what plan mode lets pass.
 *
 * Invariant: a command that is not known to only read does not.
 */
import { clearInner } from "./cover-command.ts"
import { feedsWords, isReadOnly, staysReadOnly } from "./read-only.ts"
import type { Segment } from "./segment.ts"
import type { CommandUnit } from "./unit.ts"

/** True when the command changes nothing, wherever it reads. */
export function looksOnly({ analysis, paths }: CommandUnit): boolean {
  if (analysis.trouble !== undefined) return false
  return (
    analysis.segments.every(segmentLooksOnly) &&
    !paths.some((path) => path.from === "redirect" && path.access === "write")
  )
}

function segmentLooksOnly(segment: Segment): boolean {
  if (isReadOnly(segment)) return true
  // The words that xargs adds are not known, so that its program must be harmless whatever they are.
  return clearInner(segment)?.every(feedsWords(segment) ? staysReadOnly : segmentLooksOnly) ?? false
}
