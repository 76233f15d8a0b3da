/**
 * The ordered list: scope by scope from the strongest down, inside a scope the first rule that decides about a part.
 *
 * Invariant: a weaker scope may only tighten what a stronger one said; the strictest answer over parts and scopes holds.
 */

import type { Target } from "../tool.ts"
import { coverAll } from "./cover.ts"
import type { Coverage } from "./coverage.ts"
import type { Behavior, RuleSource } from "./decision.ts"
import { cutPath } from "./path-pattern.ts"
import { fitsCall, namesOf, refusesUnit } from "./refuse.ts"
import type { RuleSet } from "./rule.ts"
import type { CompiledRule } from "./specifier.ts"
import type { Unit } from "./unit.ts"

/** What the list says, and by which rule. */
export interface OrderedMatch {
  behavior: Behavior
  rule: RuleSource
  target?: Target
}

const STRICTNESS: Record<Behavior, number> = { allow: 0, ask: 1, deny: 2 }

/** The strictest answer of all scopes; undefined when no scope speaks about the whole call. */
export function orderedMatch(
  ordered: RuleSet["ordered"],
  units: readonly Unit[],
  coverage: Coverage,
): OrderedMatch | undefined {
  return strictest(ordered.map(({ rules }) => matchScope(rules, units, coverage)))
}

function matchScope(
  rules: readonly CompiledRule[],
  units: readonly Unit[],
  coverage: Coverage,
): OrderedMatch | undefined {
  const parts = units.length === 0 ? [[]] : units.map((unit) => [unit])
  const found = parts.map((part) => firstMatch(rules, part, coverage))
  const silent = found.some((one) => one === undefined)
  const strict = strictest(found)
  // An allow counts when every part got one.
  return silent && strict?.behavior === "allow" ? undefined : strict
}

function firstMatch(
  rules: readonly CompiledRule[],
  part: readonly Unit[],
  coverage: Coverage,
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
    } else if (
      (names.some((name) => rule.speaksOf(name)) && fitsCall(rule, call)) ||
      (unit && refusesUnit(rule, unit, names, cwd))
    ) {
      return { behavior, rule: rule.source, ...(unit && { target: unit.target }) }
    }
  }
  return undefined
}

function strictest(found: readonly (OrderedMatch | undefined)[]): OrderedMatch | undefined {
  let best: OrderedMatch | undefined
  for (const one of found) if (one && (!best || STRICTNESS[one.behavior] > STRICTNESS[best.behavior])) best = one
  return best
}
