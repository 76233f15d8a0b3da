/**
 * The entries that narrow a step's tools → whether a call fits one of those that name its tool.
 *
 * Invariant: a filter takes away and never gives; an entry that does not parse lets nothing of its tool pass.
 */
import { coverCommandByRules } from "./cover-command.ts"
import { type Coverage, coverPathByRule } from "./coverage.ts"
import type { RuleSource } from "./decision.ts"
import { compileGrant, type RuleSet } from "./rule.ts"
import type { Unit } from "./unit.ts"

const sources = new Map<string, RuleSource>()

/** The entries that name the tool, when the call fits none of them; undefined when it may pass. */
export function passesFilters(
  texts: readonly string[],
  units: readonly Unit[],
  options: Coverage & { names: readonly string[]; anchors: RuleSet["anchors"] },
): readonly string[] | undefined {
  if (texts.length === 0) return undefined
  const { names } = options
  const compiled = texts.map((text) => ({ text, rule: compileGrant(sourceOf(text), options.anchors) }))
  const naming = compiled.filter(({ text, rule }) =>
    rule ? names.some((name) => rule.speaksOf(name)) : names.some((name) => text.startsWith(`${name}(`)),
  )
  if (naming.length === 0 || naming.some(({ rule }) => rule?.bare)) return undefined
  const rules = naming.flatMap(({ rule }) => rule ?? [])
  const coverage: Coverage = { ...options, allow: () => rules, flags: false, classifier: false, mode: "none" }
  const fits = units.length > 0 && units.every((unit) => fitsFilter(unit, coverage))
  return fits ? undefined : naming.map(({ text }) => text)
}

function fitsFilter(unit: Unit, coverage: Coverage): boolean {
  const rules = coverage.allow([])
  if (unit.kind === "command") return coverCommandByRules(unit, coverage)
  if (unit.kind === "path") return unit.exact && coverPathByRule(unit, coverage) !== undefined
  if (unit.kind === "name") return rules.some((rule) => rule.name(unit.name))
  return unit.host !== undefined && rules.some((rule) => rule.domain(unit.host!) === true)
}

/** One object for each text, so that it is compiled once. */
function sourceOf(text: string): RuleSource {
  let source = sources.get(text)
  if (source === undefined) {
    source = { text, behavior: "allow", scope: "recipe" }
    sources.set(text, source)
  }
  return source
}
