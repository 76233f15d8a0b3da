/**
 * The ordered list: scope by scope from the strongest down, inside a scope the first rule that decides about a part.
 *
 * Invariant: a weaker scope may only tighten what a stronger one said; the strictest answer over parts and scopes holds.
 */

import { coverAll } from "./cover.ts"
import type { Coverage } from "./coverage.ts"
import type { Behavior, DecidedTarget, RuleSource } from "./decision.ts"
import { cutPath } from "./path-pattern.ts"
import { decidedByRule, fitsCall, namesOf, refusesUnit } from "./refuse.ts"
import type { RuleSet } from "./rule.ts"
import { flatten, type Segment } from "./segment.ts"
import type { CompiledRule } from "./specifier.ts"
import type { CommandUnit, Unit } from "./unit.ts"

/** What the list says, and by which rule. */
export interface OrderedMatch {
  behavior: Behavior
  rule: RuleSource
  target?: DecidedTarget
}

const STRICTNESS: Record<Behavior, number> = { allow: 0, ask: 1, deny: 2 }

/**
 * The strictest answer over all parts and scopes; undefined when no entry speaks of some part that is not plainly safe.
 * Loose paths are only hinted at: entries that refuse look at them with every part, and nobody has to allow them.
 */
export function orderedMatch(
  ordered: RuleSet["ordered"],
  units: readonly Unit[],
  coverage: Coverage,
): OrderedMatch | undefined {
  if (ordered.length === 0) return undefined
  const isHint = (unit: Unit) => unit.kind === "path" && unit.loose
  const hints = units.filter(isHint)
  const own = units.filter((unit) => !isHint(unit))
  const parts = own.length === 0 ? [[]] : own.flatMap(partsOf).map((unit) => [unit])
  const found = parts.map((part) => {
    return { part, match: strictest(ordered.map(({ rules }) => firstMatch(rules, part, { coverage, hints }))) }
  })
  const strict = strictest(found.map(({ match }) => match))
  if (strict?.behavior !== "allow") return strict
  // An allow counts when every part got one, or needs none.
  const plainly = { ...coverage, allow: () => [], flags: false }
  return found.every(({ part, match }) => match || coverAll(part, plainly)) ? strict : undefined
}

const cutCommands = new WeakMap<CommandUnit["analysis"], CommandUnit["analysis"][]>()

/** A command by its simple commands, each with what it runs in turn, and by the text of all of them. */
function partsOf(unit: Unit): Unit[] {
  if (unit.kind !== "command" || unit.analysis.trouble !== undefined || unit.analysis.segments.length < 2) return [unit]
  const { analysis, bySegment } = unit
  let cuts = cutCommands.get(analysis)
  if (cuts === undefined) {
    const one = (segment: Segment) => ({
      text: segment.tails[0] ?? "",
      segments: [segment],
      all: flatten([segment]),
      spans: [],
      forkBomb: false,
    })
    cuts = [...analysis.segments.map(one), { ...analysis, segments: [], all: [] }]
    cutCommands.set(analysis, cuts)
  }
  return cuts.map((cut): CommandUnit => {
    return { ...unit, analysis: cut, paths: cut.all.flatMap((segment) => bySegment.get(segment) ?? []) }
  })
}

function firstMatch(
  rules: readonly CompiledRule[],
  part: readonly Unit[],
  { coverage, hints }: { coverage: Coverage; hints: readonly Unit[] },
): OrderedMatch | undefined {
  const { call, facts } = coverage
  const names = namesOf(call)
  const cwd = cutPath(facts.cwd)
  const [unit] = part
  const before: CompiledRule[] = []
  for (const rule of rules) {
    const { behavior } = rule.source
    if (behavior === "allow") {
      before.push(rule)
      const allow = (wanted: readonly string[]) => before.filter((one) => wanted.some((name) => one.speaksOf(name)))
      const covered = coverAll(part, { ...coverage, allow, flags: false })
      if (covered?.rule) return { behavior, rule: rule.source, ...(unit && { target: unit.target }) }
      continue
    }
    if (names.some((name) => rule.speaksOf(name)) && fitsCall(rule, call)) {
      return { behavior, rule: rule.source, ...(unit && { target: decidedByRule(rule, unit, cwd) }) }
    }
    const refused = [...part, ...hints].find((one) => refusesUnit(rule, one, names, cwd))
    if (refused) return { behavior, rule: rule.source, target: decidedByRule(rule, refused, cwd) }
  }
  return undefined
}

function strictest(found: readonly (OrderedMatch | undefined)[]): OrderedMatch | undefined {
  let best: OrderedMatch | undefined
  for (const one of found) if (one && (!best || STRICTNESS[one.behavior] > STRICTNESS[best.behavior])) best = one
  return best
}
