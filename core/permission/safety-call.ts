/**
 * A call and its facts → what a safety classifier learns of it: simple commands, files, hosts, as plain data.
 *
 * Invariant: nothing that the analyser found is left out; what it only guesses is said to be a guess.
 */
import type { SafetyCall, SafetyCommand, SafetyPath } from "../safety.ts"
import type { Tool } from "../tool.ts"
import type { PermissionCall, PermissionFacts } from "./decision.ts"
import { surelyReads, whatGitRuns } from "./git-plain.ts"
import { createPlace, isInside } from "./place.ts"
import type { Segment } from "./segment.ts"
import { type PathUnit, pathsOf, unitsOf } from "./unit.ts"
import { programName } from "./wrapper.ts"

/** Takes a call apart for a classifier. */
export function describeForSafety(tool: Tool, call: PermissionCall, facts: PermissionFacts): SafetyCall {
  const units = unitsOf(call, facts)
  const analyses = units.flatMap((unit) => (unit.kind === "command" ? [unit.analysis] : []))
  const trouble = analyses.find((analysis) => analysis.trouble !== undefined)?.trouble
  return {
    tool: tool.name,
    description: tool.description,
    ...(tool.role ? { role: tool.role } : {}),
    ...(tool.sideEffects ? { sideEffects: tool.sideEffects } : {}),
    input: call.input,
    targets: call.targets,
    commands: analyses.flatMap(({ all }) => all.map((segment) => describeSegment(segment, facts))),
    paths: pathsOf(units).flatMap((path) => (path.loose ? [] : [describePath(path, facts)])),
    ...(trouble === undefined ? {} : { trouble }),
    cwd: facts.cwd,
    roots: facts.roots,
    home: facts.home,
  }
}

function describeSegment(segment: Segment, facts: PermissionFacts): SafetyCommand {
  const { words, assignments, bases } = segment
  const runs = whatGitRuns(segment, facts)
  const opaque = segment.opaque ?? (runs && `the repository makes git run what nobody has seen: ${runs}`)
  return {
    program: programName(words),
    words: words.map((word) => word.value ?? word.guesses[0] ?? word.raw),
    open: words.flatMap((word, index) => (word.value === undefined || word.glob ? [index] : [])),
    sets: assignments.map(({ name }) => name),
    ...(opaque === undefined ? {} : { opaque }),
    readOnly: surelyReads(segment, facts),
    inside: bases?.every((base) => standsInside(base, facts)) ?? false,
    bases,
  }
}

function standsInside(base: string, { cwd, paths, roots }: PermissionFacts): boolean {
  if (base === cwd) return true
  return isInside(createPlace(base, base, { resolved: paths.get(base) }), roots)
}

function describePath(path: PathUnit, { roots }: PermissionFacts): SafetyPath {
  const { access, change, written, exact, places } = path
  const known = places.flatMap((place) => place.known.map(({ allow }) => `/${allow.join("/")}`))
  return {
    access,
    change,
    written,
    exact,
    places: known.length > 0 ? [...new Set(known)] : places.map(({ lexical }) => lexical),
    inside: exact && places.length > 0 && places.every((place) => isInside(place, roots)),
  }
}
