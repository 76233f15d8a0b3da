/**
 * A call, the rules and the facts → one decision: eleven sources in order, the first that has an answer gives it.
 *
 * Invariant: pure and synchronous; the trace lists every source, and no source after the answer is asked.
 *
 * Trail: 3 of 6, from dispatch.ts, next hook.ts.
 */
import { broadnessOf, withoutBroadRules } from "./broad-rule.ts"
import { clip } from "./clip.ts"
import { coverAll, isReadOnlyCall } from "./cover.ts"
import { type Coverage, whyUnguarded } from "./coverage.ts"
import {
  type Behavior,
  DECISION_SOURCES,
  type Decision,
  type DecisionSource,
  type PermissionCall,
  type PermissionFacts,
  type RuleSource,
} from "./decision.ts"
import { exactRules } from "./exact.ts"
import { passesFilters } from "./filter.ts"
import { floorOfUnits } from "./floor.ts"
import { planExit } from "./mode.ts"
import { type OrderedMatch, orderedMatch } from "./ordered.ts"
import type { PathParts } from "./path-pattern.ts"
import { whyProtected } from "./protected.ts"
import {
  describeCall,
  describeRule,
  describeTarget,
  findMissing,
  firstUncovered,
  howToAllow,
  noRule,
  ofGit,
} from "./reason.ts"
import { findRefusal, namesOf, type RuleMatch } from "./refuse.ts"
import { compileGrant, type RuleSet } from "./rule.ts"
import { pathRulesFor, type RuleTable, rulesFor, wordRulesFor } from "./rule-table.ts"
import { type CompiledRule, once } from "./specifier.ts"
import { whyNot } from "./trace.ts"
import { hintsOf, pathsOf, targetOfPath, type Unit, unitsOf } from "./unit.ts"

/** What one conversation or step adds to the rules of the run. */
export interface DecideExtra {
  /** Allow rules of this conversation. They never beat a deny or ask rule. */
  grants?: readonly RuleSource[]
  /**
   * A step's entries such as `Bash(npm test*)`: a call whose tool they name has to fit one of them. They grant nothing. A
   * list for each agent on the way down: a call has to pass them all.
   */
  filters?: readonly (readonly string[])[]
}

/** Everything that the sources look at. */
interface Subject {
  call: PermissionCall
  rules: RuleSet
  facts: PermissionFacts
  filters: readonly (readonly string[])[]
  units: readonly Unit[]
  /** The same and what the call only hints at, for rules that refuse. */
  guarded: readonly Unit[]
  coverage: Coverage
  /** What the ordered list says. */
  listed(): OrderedMatch | undefined
}

interface Match {
  behavior: Behavior
  reason: string
  mend?: string
  rule?: RuleSource
  target?: Decision["target"]
}

/** The sources, in the order in which they are asked. */
const SOURCES: Record<(typeof DECISION_SOURCES)[number], (subject: Subject) => Match | undefined> = {
  abort: ({ facts }) => (facts.aborted ? { behavior: "deny", reason: "The run is being aborted" } : undefined),
  floor,
  deny: (subject) => denyRule(subject) ?? filters(subject),
  plan,
  // What the ordered list denies, no question of another source may open.
  ask: (subject) => (listDenies(subject) ? undefined : askRule(subject)),
  protected: (subject) => (listDenies(subject) ? undefined : protectedPath(subject)),
  rules: orderedRules,
  classifier: plainlySafe,
  allow: allowRule,
  mode,
  approval,
}

/** Decides about one call. `facts.paths` has to come from `resolveTargets` for the same targets and folder. */
export function decide(
  call: PermissionCall,
  rules: RuleSet,
  facts: PermissionFacts,
  extra: DecideExtra = {},
): Decision {
  const subject = createSubject(call, rules, facts, extra)
  const trace: Decision["trace"] = []
  let decided: (Match & { source: DecisionSource }) | undefined
  for (const source of DECISION_SOURCES) {
    if (decided) {
      trace.push({ source, outcome: "not reached" })
      continue
    }
    const match = SOURCES[source](subject)
    if (match) decided = { ...match, source }
    const why = match
      ? pick(match)
      : {
          reason: whyNot(source, { rules, facts, isWhole: call.targets.length === 0, listDenies: listDenies(subject) }),
        }
    trace.push({ source, outcome: match ? "match" : "no match", ...why })
  }
  // The last source always answers.
  const { behavior, reason, source, mend } = decided!
  return { behavior, source, reason, ...(mend === undefined ? {} : { mend }), ...pick(decided), trace }
}

/** The rules that "always" would add after such a decision; empty when no rule can answer it, or no exact one. */
export function suggestGrants(
  decision: Decision,
  call: PermissionCall,
  rules: RuleSet,
  facts: PermissionFacts,
  extra: DecideExtra = {},
): string[] {
  if (decision.behavior !== "ask" || (decision.source !== "approval" && decision.source !== "mode")) return []
  const { units, coverage } = createSubject(call, rules, facts, extra)
  const exact = exactRules(units, coverage)
  const granted = exact.map((text): RuleSource => ({ text, behavior: "allow", scope: "session" }))
  const after = decide(call, rules, facts, { ...extra, grants: [...(extra.grants ?? []), ...granted] })
  return after.behavior === "allow" ? exact : []
}

/** A decision to ask that nobody answered, as the denial that it is then. */
export function denyUnanswered(decision: Decision): Decision {
  const { reason, mend } = decision
  return {
    ...decision,
    behavior: "deny",
    reason: `${reason}, and nobody answered${mend === undefined ? "" : `: ${mend}`}`,
  }
}

function pick(match: Match | undefined): { rule?: RuleSource; target?: NonNullable<Decision["target"]> } {
  return { ...(match?.rule && { rule: match.rule }), ...(match?.target && { target: match.target }) }
}

function createSubject(call: PermissionCall, given: RuleSet, facts: PermissionFacts, extra: DecideExtra): Subject {
  const suspends = facts.mode === "auto" || facts.belowAuto === true
  const rules = suspends ? withoutBroadRules(given, call) : given
  const isBroad = suspends ? broadnessOf(call) : () => false
  const grants = (extra.grants ?? [])
    .map((source) => compileGrant(source, rules.anchors))
    .filter((rule): rule is CompiledRule => rule !== undefined && rule.source.behavior === "allow")
  const allow: Coverage["allow"] = (names, near) => {
    const own = rulesNear(rules.allow, names, near)
    const granted = grants.filter((rule) => names.some((name) => rule.speaksOf(name)))
    const found = granted.length === 0 ? own : [...own, ...granted]
    return suspends ? found.filter((rule) => !isBroad(rule)) : found
  }
  const coverage: Coverage = { call, rules, facts, allow, flags: true, classifier: true, mode: "none" }
  const units = unitsOf(call, facts)
  const guarded = [...units, ...hintsOf(call, facts)]
  const listed = once(() => orderedMatch(rules.ordered, guarded, coverage))
  return { call, rules, facts, filters: extra.filters ?? [], units, guarded, coverage, listed }
}

function rulesNear(
  table: RuleTable,
  names: readonly string[],
  near: string | PathParts | undefined,
): readonly CompiledRule[] {
  if (near === undefined) return rulesFor(table, names)
  return typeof near === "string" ? wordRulesFor(table, names, near) : pathRulesFor(table, names)([near])
}

function floor({ units, facts }: Subject): Match | undefined {
  const hit = floorOfUnits(units, facts)
  if (hit === undefined) return undefined
  const reason = `No agent may do this: ${hit.reason}. No rule can allow it; reach the goal without it, or ask the person to do it`
  return { behavior: "deny", reason, target: hit.target }
}

function denyRule({ call, guarded, rules, facts }: Subject): Match | undefined {
  const found = findRefusal(call, guarded, rules.deny, facts)
  if (found === undefined) return undefined
  const what = describeTarget(call, found.target)
  return {
    behavior: "deny",
    ...found,
    reason: `${describeRule(found.rule)} denies ${what}. Go on without it; another way to the same end is denied too`,
  }
}

function filters({ call, units, filters: lists, coverage, rules }: Subject): Match | undefined {
  if (lists.length === 0) return undefined
  const asked = { ...coverage, names: namesOf(call), anchors: rules.anchors }
  const failed = lists.map((texts) => passesFilters(texts, units, asked)).find((list) => list !== undefined)
  if (failed === undefined) return undefined
  const list = failed.map((text) => `"${clip(text)}"`).join(", ")
  const rule: RuleSource = { text: failed[0]!, behavior: "deny", scope: "recipe" }
  return {
    behavior: "deny",
    rule,
    reason: `This step narrows ${call.tool} to ${list}, and ${describeCall(call)} does not fit`,
  }
}

function plan({ call, units, facts }: Subject): Match | undefined {
  if (call.leavesPlan) return planExit(facts)
  if (facts.mode !== "plan" || isReadOnlyCall(call, units, facts)) return undefined
  const segments = units.flatMap((unit) => (unit.kind === "command" ? unit.analysis.segments : []))
  const reason = `This is plan mode, and ${describeCall(call)} is not read-only${ofGit(segments, facts)}. Look around, then put the change into the plan`
  return { behavior: "deny", reason }
}

function askRule({ call, guarded, rules, facts }: Subject): Match | undefined {
  const found = findRefusal(call, guarded, rules.ask, facts)
  return (
    found && onlyPerson(facts, found, `${describeRule(found.rule)} asks about ${describeTarget(call, found.target)}`)
  )
}

function protectedPath({ call, units, facts }: Subject): Match | undefined {
  for (const path of pathsOf(units)) {
    const why = whyProtected(path, facts)
    if (why === undefined) continue
    const reason = `Writing "${clip(path.written)}" with ${call.tool} needs a person's answer: ${why}`
    return onlyPerson(facts, { target: targetOfPath(path) }, reason)
  }
  return undefined
}

/** A question that no rule, hook or classifier can answer. */
function onlyPerson(facts: PermissionFacts, found: Partial<RuleMatch>, reason: string): Match {
  if (facts.mode === "dontAsk")
    return { behavior: "deny", ...found, reason: `${reason}, and the mode dontAsk asks nobody` }
  if (!facts.canAsk) return { behavior: "deny", ...found, reason: `${reason}, and nobody can answer here` }
  return { behavior: "ask", ...found, reason }
}

function listDenies({ listed }: Subject): boolean {
  return listed()?.behavior === "deny"
}

function orderedRules({ call, facts, listed }: Subject): Match | undefined {
  const found = listed()
  if (found === undefined) return undefined
  const reason = `${describeRule(found.rule)} decides about ${describeTarget(call, found.target)}`
  return found.behavior === "ask" ? onlyPerson(facts, found, reason) : { ...found, reason }
}

function plainlySafe({ call, units, coverage }: Subject): Match | undefined {
  const covered = coverAll(units, { ...coverage, allow: () => [], flags: false })
  return covered && { behavior: "allow", reason: `${describeCall(call)} only reads, inside the working folders` }
}

function allowRule({ call, units, coverage }: Subject): Match | undefined {
  const covered = coverAll(units, coverage)
  if (covered?.rule === undefined) return undefined
  return { behavior: "allow", rule: covered.rule, reason: `${describeRule(covered.rule)} allows ${describeCall(call)}` }
}

function mode({ call, units, facts, coverage }: Subject): Match | undefined {
  if (facts.mode === "bypassPermissions") {
    const why = whyUnguarded(units, coverage)
    if (why !== undefined) return onlyPerson(facts, {}, why)
    return { behavior: "allow", reason: "The mode bypassPermissions asks nobody" }
  }
  if (facts.mode === "acceptEdits" || facts.mode === "auto") {
    const covered = coverAll(units, {
      ...coverage,
      mode: facts.mode === "acceptEdits" && !facts.belowAuto ? "all" : "tools",
    })
    const what = call.keepsNotes ? "notes" : "edits inside the working folders"
    if (covered) return { behavior: "allow", reason: `The mode ${facts.mode} lets ${what} pass` }
  }
  if (facts.mode === "auto") {
    return { behavior: "ask", reason: `The mode auto leaves ${describeCall(call)} to the safety classifier` }
  }
  if (facts.mode !== "dontAsk") return undefined
  const missing = findMissing(units, coverage)
  const mend = howToAllow(units, missing, coverage)
  return { behavior: "deny", mend, reason: `${noRule(missing, coverage)}, and the mode dontAsk asks nobody: ${mend}` }
}

function approval({ units, facts, coverage }: Subject): Match {
  const missing = findMissing(units, coverage)
  const mend = howToAllow(units, missing, coverage)
  const target = firstUncovered(missing)
  const where = target ? { target } : {}
  const why = noRule(missing, coverage)
  if (facts.canAsk) return { behavior: "ask", mend, reason: why, ...where }
  return { behavior: "deny", mend, reason: `${why}, and nobody can answer here: ${mend}`, ...where }
}
