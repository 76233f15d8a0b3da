/**
 * A shell command → whether it changes nothing, wherever it reads: what plan mode lets pass.
 *
 * Invariant: a command that is not known to only read does not.
 */
import { clearInner } from "./cover-command.ts"
import type { PermissionFacts } from "./decision.ts"
import { surelyReads } from "./git-plain.ts"
import { feedsWords, staysReadOnly } from "./read-only.ts"
import type { Segment } from "./segment.ts"
import type { CommandUnit } from "./unit.ts"

/** True when the command changes nothing, wherever it reads. */
export function looksOnly({ analysis, paths }: CommandUnit, facts: PermissionFacts): boolean {
  if (analysis.trouble !== undefined) return false
  return (
    analysis.segments.every((segment) => segmentLooksOnly(segment, facts)) &&
    !paths.some((path) => path.from === "redirect" && path.access === "write")
  )
}

function segmentLooksOnly(segment: Segment, facts: PermissionFacts): boolean {
  if (surelyReads(segment, facts)) return true
  // The words that xargs adds are not known, so that its program must be harmless whatever they are.
  const isHarmless = feedsWords(segment) ? staysReadOnly : (inner: Segment) => segmentLooksOnly(inner, facts)
  return clearInner(segment)?.every(isHarmless) ?? false
}
