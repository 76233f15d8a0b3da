/**
 * What may cover the parts of a call, and how a part was covered.
 *
 * Invariant: data only; who may answer is said once, and every part is asked the same way.
 */
import type { PermissionCall, PermissionFacts, RuleSource } from "./decision.ts"
import { cutPath, matchesPath } from "./path-pattern.ts"
import { isInside, readableFolders } from "./place.ts"
import { findRefusalBelow, namesOf, PATH_RULES } from "./refuse.ts"
import type { RuleSet } from "./rule.ts"
import type { CompiledRule } from "./specifier.ts"
import type { PathUnit } from "./unit.ts"

/** Who may answer for a part. */
export interface Coverage {
  call: PermissionCall
  rules: RuleSet
  facts: PermissionFacts
  /** Allow rules that speak of one of the names. */
  allow(names: readonly string[]): readonly CompiledRule[]
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

/** Covers a path that a tool opens, or that a redirect of a command does. */
export function coverPath(unit: PathUnit, coverage: Coverage): Covered | undefined {
  const { facts, classifier, mode } = coverage
  if (!unit.exact || hidesRefused(unit, coverage)) return undefined
  if (classifier && unit.access === "read" && liesIn(unit, readableFolders(facts))) return {}
  const byMode = mode === "all" || (mode === "tools" && unit.from === "tool")
  if (byMode && unit.access === "write" && liesIn(unit, facts.roots)) return {}
  return coverPathByRule(unit, coverage)
}

/** Covers a path by a flag or a rule alone. */
export function coverPathByRule(unit: PathUnit, coverage: Coverage): Covered | undefined {
  const { call, rules, facts } = coverage
  const flags = coverage.flags ? rules.allow.flags : []
  const flag = flags.find(({ kind, value }) => kind === "all" || (kind === unit.access && (value === undefined || liesIn(unit, [value]))))
  if (flag) return { rule: flag.source }
  const names: string[] = unit.access === "read" ? [PATH_RULES.read, PATH_RULES.write] : [PATH_RULES.write]
  const cwd = cutPath(facts.cwd)
  const rule = coverage.allow(unit.from === "tool" ? [...namesOf(call), ...names] : names).find((one) => {
    const pattern = one.path()
    if (one.specifier !== undefined && pattern === undefined) return false
    return unit.places.every(({ known }) => known.length > 0 && known.every((path) => pattern === undefined || matchesPath(pattern, path, cwd)))
  })
  return rule && { rule: rule.source }
}

/** True when every place that the path may be lies in one of the folders. */
export function liesIn(unit: PathUnit, folders: readonly string[]): boolean {
  return unit.places.length > 0 && unit.places.every((place) => isInside(place, folders))
}

/** A folder that is read with all that is in it, some of which a deny or ask rule may refuse. */
export function hidesRefused(unit: PathUnit, { rules, facts }: Coverage): boolean {
  if (!unit.recursive) return false
  const cwd = cutPath(facts.cwd)
  return [rules.deny, rules.ask].some((table) => findRefusalBelow(unit, table, cwd) !== undefined)
}

/** True when a guard on paths is set, and one of these paths cannot be held against it. */
export function hidesFromGuards(paths: readonly PathUnit[], coverage: Coverage): boolean {
  if (!coverage.rules.guards([PATH_RULES.read, PATH_RULES.write])) return false
  return paths.some((path) => !path.loose && (!path.exact || hidesRefused(path, coverage)))
}
