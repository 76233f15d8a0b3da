/**
 * What a decision tells a person and the model: what was refused, by which rule, and the flag or rule that would allow it.
 *
 * Invariant: a suggested rule fits only what was shown; where no exact one exists, none is suggested.
 */
import type { Target } from "../tool.ts"
import { programsToAllow, takesExactRule } from "./allowing.ts"
import { clip } from "./clip.ts"
import { uncovered } from "./cover.ts"
import { textOfSegment, uncoveredParts } from "./cover-command.ts"
import { type Coverage, hidesFromGuards } from "./coverage.ts"
import type { DecidedTarget, PermissionCall, PermissionFacts, RuleSource } from "./decision.ts"
import { whatLooksRun } from "./git-plain.ts"
import { escapePath } from "./path-pattern.ts"
import { PATH_RULES } from "./refuse.ts"
import { describeOrigin } from "./rule.ts"
import type { Segment } from "./segment.ts"
import { type CommandUnit, type PathUnit, targetOfPath, targetOfSegment, type Unit } from "./unit.ts"
import { escapeWildcard } from "./wildcard.ts"

/** Rules that a sentence suggests. */
const MAX_SUGGESTED = 8

/** `The rule "Bash(rm *)" (project settings, .sous/settings.json:3)`. */
export function describeRule(rule: RuleSource): string {
  const kind = rule.text.startsWith("-") ? "flag" : "rule"
  return `The ${kind} "${clip(rule.text)}" (${describeOrigin(rule)})`
}

/** The call by what it would touch. */
export function describeCall(call: PermissionCall): string {
  const [first, ...more] = call.targets
  if (first === undefined) return call.tool
  return `${describeTarget(call, first)}${more.length > 0 ? ` and ${more.length} more` : ""}`
}

/** One target of the call; without one, its tool. */
export function describeTarget(call: PermissionCall, target: Target | undefined): string {
  if (target === undefined) return call.tool
  if (target.kind === "command") return `the command "${clip(target.text)}"`
  if (target.kind === "url") return `${call.tool} of "${clip(target.url)}"`
  if (target.kind === "name") return `${call.tool} "${clip(target.name)}"`
  return `${target.access === "read" ? "reading" : "writing"} "${clip(target.path)}"`
}

/** Why a call needs an answer, or gets none. */
export function noRule(missing: Missing, { call, facts }: Coverage): string {
  return `No rule allows ${describeCall(call)}${ofGit(segmentsOf(missing), facts)}`
}

function segmentsOf({ parts }: Missing): Segment[] {
  return [...parts.values()].flatMap(({ segments }) => segments)
}

/** A clause for commands of git that would pass in another repository; empty for all others. */
export function ofGit(segments: readonly Segment[], facts: PermissionFacts): string {
  const runs = whatLooksRun(segments, facts)
  return runs === undefined ? "" : `: git may run a program there that the repository names (${runs})`
}

/** The flag and the rules that would allow what is not covered: `run again with --allow-run=npm, or add …`. */
export function howToAllow(units: readonly Unit[], missing: Missing, coverage: Coverage): string {
  const commands = units.filter((unit) => unit.kind === "command")
  const trouble = commands.find(({ analysis }) => analysis.trouble !== undefined)?.analysis.trouble
  if (trouble !== undefined) return `no rule or flag can allow a command when ${trouble}; write it as simple commands`
  if (missing.hidden !== undefined && coverage.call.skipsDenied && !coverage.facts.filtersReads)
    return `a deny or ask rule guards files that ${missing.hidden} may hold; in a run ${coverage.call.tool} leaves those out of what it finds, and goes on without a question`
  if (missing.hidden !== undefined)
    return `a deny or ask rule guards files that ${missing.hidden} may hold; name the very files, or search with a tool that leaves them out`
  const flags = flagsFor(missing, coverage).map(clip)
  const all = rulesFor(units, missing, coverage)
  const rules = all.slice(0, MAX_SUGGESTED).map((rule) => `"${clip(rule)}"`)
  const more = all.length > rules.length ? [`${all.length - rules.length} more`] : []
  const parts = [
    ...(flags.length > 0 ? [`run again with ${flags.join(" ")}`] : []),
    ...(rules.length > 0
      ? [`add the ${rules.length > 1 ? "rules" : "rule"} ${[...rules, ...more].join(" and ")}`]
      : []),
  ]
  if (parts.length === 0) return "no exact rule can allow it; write it as simple commands"
  const isWarned = whatLooksRun(segmentsOf(missing), coverage.facts) !== undefined
  return `${isWarned ? "look at what the repository makes git run; if you want that, " : ""}${parts.join(", or ")}`
}

/** What nothing covers. */
export interface Missing {
  units: readonly Unit[]
  /** Of each command, the parts. */
  parts: ReadonlyMap<Unit, ReturnType<typeof uncoveredParts>>
  /** A path that no rule can allow, since a guard cannot be held against what it stands for; in quotes. */
  hidden: string | undefined
}

/** Finds the parts of a call that nothing covers. */
export function findMissing(units: readonly Unit[], coverage: Coverage): Missing {
  const missing = uncovered(units, coverage)
  const commands = missing.filter((unit) => unit.kind === "command" && unit.analysis.trouble === undefined)
  const parts = new Map(commands.map((unit) => [unit as Unit, uncoveredParts(unit as CommandUnit, coverage)]))
  return { units: missing, parts, hidden: hiddenPath(missing, coverage) }
}

/** The first part of the call that nothing allows. */
export function firstUncovered({ units: [first], parts }: Missing): DecidedTarget | undefined {
  const found = first && parts.get(first)
  if (first?.kind !== "command" || found === undefined) return first?.target
  const { segments, files } = found
  if (segments[0]) return targetOfSegment(segments[0], first)
  return files[0] ? targetOfPath(files[0]) : first.target
}

function hiddenPath(missing: readonly Unit[], coverage: Coverage): string | undefined {
  for (const unit of missing) {
    const paths = unit.kind === "path" ? [unit] : unit.kind === "command" ? unit.paths : []
    const hidden = paths.find((path) => hidesFromGuards([path], coverage))
    if (hidden) return `"${clip(hidden.written)}"`
  }
  return undefined
}

function rulesFor(units: readonly Unit[], { units: missing, parts, hidden }: Missing, coverage: Coverage): string[] {
  const { call } = coverage
  if (units.length === 0) return [call.tool]
  if (hidden !== undefined) return []
  const found = missing.map((unit): (string | undefined)[] => {
    if (unit.kind === "command") return commandRules(parts.get(unit), coverage)
    if (unit.kind === "path") return [pathRule(unit)]
    if (unit.kind === "name") return [`${call.tool}(${escapeWildcard(unit.name)})`]
    return [unit.host === undefined ? undefined : `${call.ruleName}(domain:${unit.host})`]
  })
  const rules = found.flat()
  if (rules.length === 0) return [call.tool]
  return rules.some((rule) => rule === undefined) ? [] : [...new Set(rules as string[])]
}

function commandRules(
  parts: ReturnType<typeof uncoveredParts> | undefined,
  coverage: Coverage,
): (string | undefined)[] {
  if (parts === undefined) return [undefined]
  const rules = parts.segments.map((segment) => {
    const text = takesExactRule(segment, coverage) ? textOfSegment(segment) : undefined
    return text === undefined ? undefined : `${coverage.call.ruleName}(${escapeWildcard(text)})`
  })
  return [...rules, ...parts.files.map(pathRule)]
}

function pathRule({ access, exact, places }: PathUnit): string | undefined {
  const [place] = places
  if (!exact || places.length !== 1 || place === undefined || place.known.length === 0) return undefined
  return `${PATH_RULES[access]}(${escapePath(place.lexical)})`
}

function flagsFor({ units: missing, parts }: Missing, coverage: Coverage): string[] {
  const wanted: Record<"run" | "read" | "write" | "net", string[]> = { run: [], read: [], write: [], net: [] }
  const addPath = (path: PathUnit) =>
    wanted[path.access].push(path.places[0] ? shorten(path.places[0].lexical, coverage) : path.written)
  for (const unit of missing) {
    if (unit.kind === "path") addPath(unit)
    if (unit.kind === "url" && unit.host !== undefined) wanted.net.push(unit.host)
    if (unit.kind !== "command") continue
    const { segments, files } = parts.get(unit) ?? { segments: [], files: [] }
    for (const segment of segments) {
      const programs = programsToAllow(segment, unit, coverage)
      if (programs === undefined) return []
      wanted.run.push(...programs)
    }
    for (const path of files) addPath(path)
  }
  return Object.entries(wanted).flatMap(([kind, values]) =>
    values.length > 0 ? [`--allow-${kind}=${[...new Set(values)].join(",")}`] : [],
  )
}

function shorten(path: string, { facts }: Coverage): string {
  const root = facts.roots[0]
  return root !== undefined && path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path
}
