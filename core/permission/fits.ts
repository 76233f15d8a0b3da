/**
 * One permission rule and a call → whether the rule speaks of the call; for what is narrowed by a rule and grants nothing.
 *
 * Invariant: in doubt it fits: a rule that does not parse, and a command that nobody can read, narrow nothing.
 */
import type { PermissionCall, PermissionFacts, RuleSource } from "./decision.ts"
import { findRefusal } from "./refuse.ts"
import { compileGrant, type RuleSet } from "./rule.ts"
import { createTable, type RuleTable } from "./rule-table.ts"
import type { CompiledRule } from "./specifier.ts"
import { hintsOf, unitsOf } from "./unit.ts"

/** One object for each text, so that it is compiled once. */
const known = new Map<string, RuleSource>()
const tables = new WeakMap<CompiledRule, RuleTable>()

/** True when any part of the call fits, as for a deny rule. `facts.paths` has to come from `resolveTargets`. */
export function fitsRule(
  text: string,
  call: PermissionCall,
  facts: PermissionFacts,
  anchors: RuleSet["anchors"],
): boolean {
  const source = known.get(text) ?? { text, behavior: "deny", scope: "cli" }
  known.set(text, source)
  const rule = compileGrant(source, anchors)
  if (rule === undefined) return true
  const units = [...unitsOf(call, facts), ...hintsOf(call, facts)]
  const table = tables.get(rule) ?? createTable([rule], [], "deny")
  tables.set(rule, table)
  return findRefusal(call, units, table, facts) !== undefined
}
