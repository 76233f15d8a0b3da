/**
 * A part of a command that nothing covers → what would: the programs that a flag has to name, or whether a rule can.
 *
 * Invariant: what is answered here covers the part once it is given; where nothing does, nothing is answered.
 */
import { basesInside, clearInner, coverSegment } from "./cover-command.ts"
import { type Coverage, withoutClassifier } from "./coverage.ts"
import { feedsWords, setsHarmlessly } from "./read-only.ts"
import type { Segment } from "./segment.ts"
import type { CommandUnit } from "./unit.ts"

/** The programs that `--allow-run` has to name for a part that is not covered; undefined: no such flag covers it. */
export function programsToAllow(segment: Segment, unit: CommandUnit, coverage: Coverage): string[] | undefined {
  const [program] = segment.words
  if (segment.changed !== undefined || !setsHarmlessly(segment)) return undefined
  if (program?.value === undefined || program.glob) return undefined
  const through = clearInner(segment)
  const inside = through && feedsWords(segment) ? withoutClassifier(coverage) : coverage
  const inner = (through ?? segment.inner.flatMap(({ segments }) => segments))
    .filter((one) => coverSegment(one, { ...inside, unit }) === undefined)
    .map((one) => programsToAllow(one, unit, inside))
  const own = through ? [] : [program.value]
  return inner.some((one) => one === undefined) ? undefined : [...own, ...inner.flatMap((one) => one ?? [])]
}

/** True when a rule that names the segment letter by letter covers it. */
export function takesExactRule(segment: Segment, { facts }: Coverage): boolean {
  return segment.changed === undefined && !segment.nested && basesInside(segment, facts, facts.roots)
}
