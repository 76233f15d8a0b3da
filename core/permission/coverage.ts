/**
 * What may cover the parts of a call, and how a part was covered.
 *
 * Invariant: data only; who may answer is said once, and every part is asked the same way.
 */
import type { PermissionCall, PermissionFacts, RuleSource } from "./decision.ts"
import { cutPath, matchesPath, type PathParts } from "./path-pattern.ts"
import { isBelow, isInside, readableFolders } from "./place.ts"
import { foldersOf, mayRefuseBelow, namesOf, PATH_RULES } from "./refuse.ts"
import type { RuleSet } from "./rule.ts"
import { rulesFor } from "./rule-table.ts"
import type { CompiledRule } from "./specifier.ts"
import type { PathUnit, Unit } from "./unit.ts"

/** Who may answer for a part. */
export interface Coverage {
  call: PermissionCall
  rules: RuleSet
  facts: PermissionFacts
  /** Allow rules that speak of one of the names; those that may fit a path, or a command that begins with a word. */
  allow(names: readonly string[], near?: string | PathParts): readonly CompiledRule[]
  /** `--allow-…` flags. */
  flags: boolean
  /** Reading in the working folders. */
  classifier: boolean
  /** Edits, by the mode: those of tools, or those of commands and redirects as well. */
  mode: "none" | "tools" | "all"
}

/** How a part was covered: by a rule, or by classifier or mode without one. */
export interface Covered {
  rule?: RuleSource
}

/** The same, in which only rules and flags may speak. */
export function withoutClassifier<C extends Coverage>(coverage: C): C {
  return { ...coverage, classifier: false, mode: "none" }
}

/** Covers a path that a tool opens, or that a redirect of a command does. */
export function coverPath(unit: PathUnit, coverage: Coverage): Covered | undefined {
  const { facts, classifier, mode } = coverage
  if (!unit.exact || hidesRefused(unit, coverage)) return undefined
  const byRule = coverPathByRule(unit, coverage)
  if (byRule) return byRule
  if (classifier && unit.access === "read" && liesIn(unit, readableFolders(facts))) return {}
  const byMode = mode === "all" || (mode === "tools" && unit.from === "tool")
  return byMode && unit.access === "write" && liesIn(unit, facts.roots) ? {} : undefined
}

/** Covers a path by a flag or a rule alone. */
export function coverPathByRule(unit: PathUnit, coverage: Coverage): Covered | undefined {
  const { call, facts } = coverage
  const flags = coverage.flags ? coverage.rules.allow.flags : []
  const flag = flags.find((one) => {
    return one.kind === "all" || (one.kind === unit.access && (one.value === undefined || liesIn(unit, foldersOf(one))))
  })
  if (flag) return { rule: flag.source }
  // Who may edit a file with a tool may read it; a command reads by the rules on reading alone.
  const names =
    unit.from === "tool" ? [...namesOf(call), PATH_RULES[unit.access], PATH_RULES.write] : [PATH_RULES[unit.access]]
  // A rule has to fit every place, and so this one.
  const rules = coverage.allow(names, unit.places[0]?.known[0])
  const rule = rules.find((one) =>
    one.specifier === undefined ? allowsAnywhere(one, unit, coverage) : allowsPath(one, unit, facts),
  )
  return rule && { rule: rule.source }
}

function allowsPath(rule: CompiledRule, { places }: PathUnit, facts: PermissionFacts): boolean {
  const pattern = rule.path()
  const cwd = cutPath(facts.cwd)
  return (
    pattern !== undefined &&
    places.every(({ known }) => known.length > 0 && known.every((path) => matchesPath(pattern, path, cwd)))
  )
}

/** A bare rule speaks for its own tool alone, and not for a link that leads out of a working folder. */
function allowsAnywhere(rule: CompiledRule, unit: PathUnit, { call, facts }: Coverage): boolean {
  if (unit.from !== "tool" || !rule.speaksOf(call.tool)) return false
  const roots = facts.roots.map(cutPath)
  return unit.places.every(({ known }) => {
    const inside = known.filter((path) => roots.some((root) => isBelow(path, root)))
    return known.length > 0 && (inside.length === 0 || inside.length === known.length)
  })
}

/** True when every place that the path may be lies in one of the folders. */
export function liesIn(unit: PathUnit, folders: readonly string[]): boolean {
  return unit.places.length > 0 && unit.places.every((place) => isInside(place, folders))
}

/** A folder that is read with all that is in it, some of which a deny or ask rule may refuse. */
function hidesRefused(unit: PathUnit, { rules, facts }: Coverage): boolean {
  if (!unit.recursive) return false
  const ordered = rules.ordered.flatMap(({ rules: list }) => list.filter(({ source }) => source.behavior !== "allow"))
  const listed = [rules.deny, rules.ask].flatMap((table) => rulesFor(table, [PATH_RULES.read]))
  return mayRefuseBelow(unit, { rules: [...listed, ...ordered], flags: rules.deny.flags }, cutPath(facts.cwd))
}

/** True when a guard on paths is set, and one of these paths cannot be held against it. */
export function hidesFromGuards(paths: readonly PathUnit[], coverage: Coverage): boolean {
  if (!coverage.rules.guards([PATH_RULES.read, PATH_RULES.write])) return false
  return paths.some((path) => !path.loose && (!path.exact || hidesRefused(path, coverage)))
}

/** Why a command that nobody can read is asked about in every mode: some rule refuses a part of what it may do. */
export function whyUnguarded(units: readonly Unit[], coverage: Coverage): string | undefined {
  const { call, rules } = coverage
  const names = namesOf(call)
  const isGuarded = rules.guards([...names, PATH_RULES.read, PATH_RULES.write])
  for (const unit of units) {
    if (unit.kind !== "command" || !isGuarded) continue
    const { trouble, all } = unit.analysis
    if (trouble !== undefined)
      return `No deny or ask rule can be held against this command, since ${trouble}: write it as simple commands`
    const blind = rules.guards(names) ? all.find(({ opaque }) => opaque !== undefined)?.opaque : undefined
    if (blind !== undefined)
      return `No deny or ask rule can be held against this command, since ${blind}: write out what it runs`
  }
  return undefined
}
