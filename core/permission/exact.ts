/**
 * The parts of a call that nothing covers → the rules that "always" adds: each fits what was shown, and nothing else.
 *
 * Invariant: where a part has no such rule (what is fed to it, a word that is known only when it runs) there is none for
 * the whole call. Of a tool that does not say what it touches its name is all that is known, of an address its host.
 */
import { uncovered } from "./cover.ts"
import { fullTextOfSegment, uncoveredParts } from "./cover-command.ts"
import type { Coverage } from "./coverage.ts"
import { escapePath } from "./path-pattern.ts"
import { PATH_RULES } from "./refuse.ts"
import { compileGrant } from "./rule.ts"
import type { Segment } from "./segment.ts"
import type { CommandUnit, PathUnit, Unit } from "./unit.ts"
import { escapeWildcard } from "./wildcard.ts"

/** The rules, one for each part; empty when there are none that fit the call alone. */
export function exactRules(units: readonly Unit[], coverage: Coverage): string[] {
  const { call } = coverage
  const rules = units.length === 0 ? [call.tool] : uncovered(units, coverage).flatMap((unit) => ruleOf(unit, coverage))
  const isExact = rules.every((rule) => rule !== undefined && !standsForMore(rule, coverage))
  return isExact ? [...new Set(rules as string[])] : []
}

/** A tool whose name reads as that of a whole server. */
function standsForMore(text: string, { rules }: Coverage): boolean {
  const compiled = compileGrant({ text, behavior: "allow", scope: "session" }, rules.anchors)
  return compiled === undefined || compiled.toolPattern
}

function ruleOf(unit: Unit, coverage: Coverage): (string | undefined)[] {
  const { call } = coverage
  if (unit.kind === "command") return rulesOfCommand(unit, coverage)
  if (unit.kind === "path") return [ruleOfPath(unit)]
  if (unit.kind === "name") return [`${call.tool}(${escapeWildcard(unit.name)})`]
  // An address may hold a star, which in a rule would stand for other hosts.
  return [unit.host === undefined || unit.host.includes("*") ? undefined : `${call.ruleName}(domain:${unit.host})`]
}

function rulesOfCommand(unit: CommandUnit, coverage: Coverage): (string | undefined)[] {
  if (unit.analysis.trouble !== undefined) return [undefined]
  const { segments, files } = uncoveredParts(unit, coverage)
  const rules = segments.map((segment) => {
    const text = isWholeInWords(segment) ? fullTextOfSegment(segment) : undefined
    return text === undefined ? undefined : `${coverage.call.ruleName}(${escapeWildcard(text)})`
  })
  return [...rules, ...files.map(ruleOfPath)]
}

function isWholeInWords({ nested, fed, words }: Segment): boolean {
  return !nested && !fed && words.every(({ value }) => value !== undefined)
}

function ruleOfPath({ access, exact, places }: PathUnit): string | undefined {
  const [place] = places
  if (!exact || places.length !== 1 || place === undefined || place.known.length === 0) return undefined
  return `${PATH_RULES[access]}(${escapePath(place.lexical)})`
}
