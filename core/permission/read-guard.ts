/**
 * The deny and ask rules → a test that a tool asks of each file that it finds, so that it can leave refused ones out.
 *
 * Invariant: what is asked about counts as refused, since nobody is asked about every file of a search; only a rule
 * that fitted the call itself was answered already.
 */
import type { PermissionCall, PermissionFacts, RuleSource } from "./decision.ts"
import { orderedMatch } from "./ordered.ts"
import { cutPath } from "./path-pattern.ts"
import { fitsCall, fitsFlag, namesOf, PATH_RULES, refusesUnit } from "./refuse.ts"
import type { RuleSet } from "./rule.ts"
import { rulesFor } from "./rule-table.ts"
import { once } from "./specifier.ts"
import { type Unit, unitsOf } from "./unit.ts"

/** What is known about a call that runs. `paths`: where those that it names lead. */
type RunningFacts = Pick<PermissionFacts, "cwd" | "home" | "roots" | "paths">

/**
 * Makes the test for one call that may run; `call` is made when it is first needed. The test takes absolute paths, with
 * links followed or not, and looks at no disk.
 */
export function createReadGuard(
  rules: RuleSet,
  call: () => PermissionCall,
  running: RunningFacts,
): (path: string) => boolean {
  const guard = once(() => {
    const names = [...new Set([...namesOf(call()), PATH_RULES.read])]
    const facts: PermissionFacts = { ...running, aborted: false, mode: "default", readRoots: [], canAsk: false }
    return rules.guards(names) ? guardFiles(rules, { call: call(), names, facts }) : () => true
  })
  return (path) => guard()(path)
}

function guardFiles(
  rules: RuleSet,
  { call, names, facts }: { call: PermissionCall; names: readonly string[]; facts: PermissionFacts },
): (path: string) => boolean {
  const cwd = cutPath(facts.cwd)
  const units = unitsOf(call, facts)
  const settled = orderedRule(rules, { call, facts, units })
  const open = [rules.deny, rules.ask]
    .flatMap((table) => rulesFor(table, names))
    .filter((rule) => !fitsCall(rule, call) && !units.some((unit) => refusesUnit(rule, unit, names, cwd)))
  return (path) => {
    const about: PermissionCall = { ...call, targets: [{ kind: "path", access: "read", path }] }
    const here = { ...facts, paths: new Map([[path, { lexical: path, real: path }]]) }
    const file = unitsOf(about, here)
    if (file.some((unit) => open.some((rule) => refusesUnit(rule, unit, names, cwd)))) return false
    if (file.some((unit) => rules.deny.flags.some((flag) => fitsFlag(flag, unit)))) return false
    const ordered = orderedRule(rules, { call: about, facts: here, units: file })
    return ordered === undefined || ordered === settled
  }
}

/** The rule of the ordered list that refuses or asks about the units. */
function orderedRule(
  rules: RuleSet,
  { units, ...about }: { call: PermissionCall; facts: PermissionFacts; units: readonly Unit[] },
): RuleSource | undefined {
  if (rules.ordered.length === 0) return undefined
  const coverage = { ...about, rules, allow: () => [], flags: false, classifier: false, mode: "none" as const }
  const found = orderedMatch(rules.ordered, units, coverage)
  return found?.behavior === "allow" ? undefined : found?.rule
}
