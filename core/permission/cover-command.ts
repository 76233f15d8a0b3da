/**
 * A shell command against allow rules, flags, classifier and mode: every simple command, every redirect.
 *
 * Invariant: a word that is known only when the command runs, a place that the analyser does not model, a folder that
 * is not known: none of them fits the literal part of a rule.
 */
import {
  type Coverage,
  type Covered,
  coverPath,
  coverPathByRule,
  hidesFromGuards,
  liesIn,
  withoutClassifier,
} from "./coverage.ts"
import type { PermissionFacts, RuleSource } from "./decision.ts"
import { coversByMode } from "./edit-command.ts"
import { whatGitRuns } from "./git-plain.ts"
import { cutPath } from "./path-pattern.ts"
import { isBelow, readableFolders } from "./place.ts"
import type { Effect } from "./program/option-set.ts"
import { isGit, programOf } from "./program/table.ts"
import { feedsWords, isReadOnly, onlyLists, opensFolders, setsHarmlessly } from "./read-only.ts"
import { namesOf } from "./refuse.ts"
import type { Segment } from "./segment.ts"
import type { ShellWord } from "./shell-word.ts"
import type { CommandUnit, PathUnit } from "./unit.ts"
import { isExact, matchesWildcard, type Wildcard } from "./wildcard.ts"
import { isRunningCode } from "./wrapper-code.ts"

/** A coverage, and the command that the segments are part of. */
export interface SegmentCoverage extends Coverage {
  unit: CommandUnit
}

/** How the whole command is covered; undefined when a part is not. */
export function coverCommand(unit: CommandUnit, coverage: Coverage): Covered | undefined {
  const { analysis, paths } = unit
  if (analysis.trouble !== undefined) return undefined
  const broad = broadRule(unit, coverage)
  if (broad) return { rule: broad }
  let first: Covered | undefined
  for (const part of [...analysis.segments, ...paths]) {
    if (!isPart(part)) continue
    const covered = coverPart(part, unit, coverage)
    if (covered === undefined) return undefined
    first ??= covered.rule && covered
  }
  return first ?? {}
}

/** Of the paths of a command, those that its redirects open are parts of their own. */
function isPart(part: Segment | PathUnit): boolean {
  return !("from" in part) || part.from === "redirect"
}

/** What was found out about the parts already, for as long as the same coverage is asked about. */
const judged = new WeakMap<Coverage, Map<Segment | PathUnit, Covered | undefined>>()

function coverPart(part: Segment | PathUnit, unit: CommandUnit, coverage: Coverage): Covered | undefined {
  let known = judged.get(coverage)
  if (known === undefined) {
    known = new Map()
    judged.set(coverage, known)
  }
  if (known.has(part)) return known.get(part)
  const covered = "from" in part ? coverPath(part, coverage) : coverSegment(part, { ...coverage, unit })
  known.set(part, covered)
  return covered
}

/** The simple commands and redirects that are not covered, as written. */
export function uncoveredParts(
  unit: CommandUnit,
  coverage: Coverage,
): { segments: Segment[]; files: CommandUnit["paths"] } {
  const { analysis, paths } = unit
  const isMissing = (part: Segment | PathUnit) => isPart(part) && coverPart(part, unit, coverage) === undefined
  return { segments: analysis.segments.filter(isMissing), files: paths.filter(isMissing) }
}

/** True when the allow rules of the coverage fit every simple command; redirects are not looked at. */
export function coverCommandByRules(unit: CommandUnit, coverage: Coverage): boolean {
  const { analysis } = unit
  return analysis.trouble === undefined && coverList(analysis.segments, { ...coverage, unit }) !== undefined
}

/** A segment as text for allow patterns: the program by its value, the other words as they were written. */
export function textOfSegment(segment: Segment): string | undefined {
  return viewsOf(segment)[0]?.text
}

/** The same with the variables that are set in front of it. */
export function fullTextOfSegment(segment: Segment): string | undefined {
  return viewsOf(segment).at(-1)?.text
}

/** `Bash`, `Bash(*)` or `-A`: the whole command, unless a guard is set that could not see what it does. */
function broadRule({ analysis, paths }: CommandUnit, coverage: Coverage): RuleSource | undefined {
  const { call, rules, flags } = coverage
  const names = namesOf(call)
  const all = flags ? rules.allow.flags.find(({ kind }) => kind === "all") : undefined
  const broad = coverage.allow(names, "").find(({ bare }) => bare) ?? all
  if (broad === undefined) return undefined
  const blind = rules.guards(names) && analysis.all.some(({ opaque }) => opaque !== undefined)
  return blind || hidesFromGuards(paths, coverage) ? undefined : broad.source
}

/** One simple command, with what it runs in turn. */
export function coverSegment(segment: Segment, coverage: SegmentCoverage): Covered | undefined {
  const { words, assignments } = segment
  if (words.length === 0 && assignments.length === 0) return {}
  if (segment.changed !== undefined) return undefined
  const paths = coverage.unit.bySegment.get(segment) ?? []
  // Rules come first, so that the decision can name the one that counted.
  const byRule = hidesFromGuards(paths, coverage)
    ? undefined
    : (coverByFlag(segment, coverage) ?? coverByRule(segment, coverage))
  if (byRule) return byRule
  const plain = coverage.classifier ? coverPlainly(segment, coverage) : undefined
  if (plain) return plain
  if (coverage.mode === "all" && coversByMode(segment, paths, coverage.facts)) return {}
  return coverThrough(segment, coverage)
}

function coverList(segments: readonly Segment[], coverage: SegmentCoverage): Covered | undefined {
  return allCovered(segments.map((segment) => coverSegment(segment, coverage)))
}

function allCovered(parts: readonly (Covered | undefined)[]): Covered | undefined {
  return parts.some((one) => one === undefined) ? undefined : (parts.find((one) => one?.rule) ?? {})
}

/** A read-only command in the working folders, on files in them or on files that a rule lets it read. */
function coverPlainly(segment: Segment, coverage: SegmentCoverage): Covered | undefined {
  const { facts, unit } = coverage
  if (!isReadOnly(segment) || !basesInside(segment, facts, readableFolders(facts))) return undefined
  // A folder that nobody chose may become anybody's repository.
  if (isGit(programOf(segment.words)) && !segment.bases?.every((base) => facts.roots.includes(base))) return undefined
  if (whatGitRuns(segment, facts) !== undefined) return undefined
  const named = (unit.bySegment.get(segment) ?? []).filter(({ from }) => from === "operand")
  const paths = onlyLists(segment) ? named.map((path) => (path.listed ? { ...path, exact: true } : path)) : named
  if (hidesFromGuards(paths, coverage)) return undefined
  if (opensFolders(segment) && paths.some(({ places }) => places.some(({ directory }) => directory))) return undefined
  return allCovered(
    paths.filter(({ loose }) => !loose).map((path) => coverPath({ ...path, from: "redirect" }, coverage)),
  )
}

/** True when wherever it may be started lies in one of the folders. */
export function basesInside({ bases }: Segment, facts: PermissionFacts, folders: readonly string[]): boolean {
  if (bases === undefined) return false
  return bases.every((base) => {
    const real = base === facts.cwd ? base : facts.paths.get(base)?.real
    return real !== undefined && folders.some((folder) => isBelow(cutPath(real), cutPath(folder)))
  })
}

/** `--allow-run=git`: the program of the segment, and of everything that it runs in turn. */
function coverByFlag(segment: Segment, coverage: SegmentCoverage): Covered | undefined {
  const { flags, rules, call } = coverage
  const [program] = segment.words
  if (!flags || program === undefined || !setsHarmlessly(segment)) return undefined
  const flag = rules.allow.flags.find(
    ({ kind, value }) => kind === "run" && (value === undefined || (value === program.value && !program.glob)),
  )
  if (flag === undefined || (flag.value === undefined && segment.opaque !== undefined && rules.guards(namesOf(call))))
    return undefined
  return segment.inner.every(({ segments }) => coverList(segments, coverage)) ? { rule: flag.source } : undefined
}

function coverByRule(segment: Segment, coverage: SegmentCoverage): Covered | undefined {
  const { facts, unit } = coverage
  if (segment.nested || !basesInside(segment, facts, facts.roots)) return undefined
  const views = viewsOf(segment)
  if (views.length === 0) return undefined
  const outside = unit.bySegment.get(segment)!.filter((path) => {
    return path.from === "operand" && (path.access === "write" || path.steers) && !liesIn(path, facts.roots)
  })
  const names = namesOf(coverage.call)
  const found = views.map(({ text }) => coverage.allow(names, firstWord(text)))
  const rules = found.length === 1 ? found[0]! : [...new Set(found.flat())]
  const rule = rules.find((one) => {
    // A person granted the words; what is fed to them was not shown.
    if (segment.fed && one.source.granted !== undefined) return false
    return one.commands().some((pattern) => {
      const view = views.find(({ text }) => matchesWildcard(pattern, text))
      if (view === undefined) return false
      const reach = reachOf(pattern)
      // What a wildcard let in may not write where no rule on paths lets it.
      if (reach < view.needs || (reach < Infinity && !outside.every((path) => coverPathByRule(path, coverage))))
        return false
      if (leadsBack(view, reach)) return false
      const further = segment.inner.filter(({ at, owned }) => !owned && reach < (view.ends[at] ?? Infinity))
      return further.every(({ segments }) => coverList(segments, coverage))
    })
  })
  return rule && { rule: rule.source }
}

function firstWord(text: string): string {
  return /^\S*/.exec(text)![0]
}

/** `src/*` does not stand for `src/../x`: the word that a wildcard goes on with climbs out of what was named. */
function leadsBack({ text, ends }: View, reach: number): boolean {
  const end = ends.find((one) => reach < one)
  if (end === undefined || /^\s?$/.test(text[reach - 1] ?? "")) return false
  return /(?:^|\/)\.\.(?:\/|$)/.test(text.slice(reach, end).replace(/["'\\]/g, ""))
}

/** How far the pattern names the text letter by letter. */
function reachOf(pattern: Wildcard): number {
  return isExact(pattern) ? Infinity : pattern.chunks[0]!.length
}

/** `timeout 5 npm test`: what a wrapper runs, when the wrapper cannot change what it means. */
function coverThrough(segment: Segment, coverage: SegmentCoverage): Covered | undefined {
  const inner = clearInner(segment)
  if (inner === undefined) return undefined
  // The words that xargs adds are not known, so that only a rule may speak for its command.
  return coverList(inner, feedsWords(segment) ? withoutClassifier(coverage) : coverage)
}

/** What a wrapper runs whose own words cannot change it. */
export function clearInner(segment: Segment): readonly Segment[] | undefined {
  const through = segment.inner.find(({ clear }) => clear)
  if (through === undefined || segment.nested || !setsHarmlessly(segment)) return undefined
  const known = segment.words.slice(0, through.at).every((word) => word.value !== undefined && !word.glob)
  return known ? through.segments : undefined
}

interface View {
  text: string
  /** How far the literal part of a pattern has to reach: over words that are only known when the command runs, or run something. */
  needs: number
  /** Where each word ends. */
  ends: readonly number[]
}

const viewCache = new WeakMap<Segment, readonly View[]>()

function viewsOf(segment: Segment): readonly View[] {
  let views = viewCache.get(segment)
  if (views === undefined) {
    views = readViews(segment)
    viewCache.set(segment, views)
  }
  return views
}

function readViews(segment: Segment): View[] {
  const { words, assignments } = segment
  const [program] = words
  if (program && (program.value === undefined || program.glob || /\s/.test(program.raw))) return []
  const plain = program && setsHarmlessly(segment) ? [viewOf(segment, [])] : []
  const prefix = assignments.map(({ word }) => word.raw)
  return prefix.length > 0 ? [...plain, viewOf(segment, prefix)] : plain
}

function viewOf({ words }: Segment, prefix: readonly string[]): View {
  const running = runningWords(words)
  // No word makes such a program do anything else, so that what a command prints is as good as any other.
  const free = programOf(words)?.row.plain?.fed === true
  let text = prefix.join(" ")
  let needs = 0
  const ends = words.map((word, i) => {
    text += (text === "" ? "" : " ") + (i === 0 ? word.value! : word.raw)
    // With variables in front the literal part must name the program too: `* --version` says nothing about them.
    if ((isOpen(word) && !(free && i > 0 && word.printed)) || (i > 0 ? running?.has(i) : prefix.length > 0))
      needs = text.length
    return text.length
  })
  return { text, needs: words.length === 0 ? Infinity : needs, ends }
}

/** The words by which the program runs another one, or code; an allow rule has to name them letter by letter. */
function runningWords(words: readonly ShellWord[]): ReadonlySet<number> | undefined {
  const program = programOf(words)
  if (program === undefined) return undefined
  const { row, match, before } = program
  const options = [...before, match].flatMap(({ hits }) => hits.filter(({ option }) => RUNS.has(option.effect)))
  const places = options.map(({ at }) => at)
  for (const [i, word] of words.entries()) if (isRunningCode(program.name, word)) places.push(i)
  if (row.running) for (const [i, word] of words.entries()) if (row.running.test(word.value ?? "")) places.push(i)
  return new Set(places)
}

const RUNS: ReadonlySet<Effect> = new Set(["run", "code"])

/** Known only when the command runs, or not what it looks like. */
function isOpen({ value, raw }: ShellWord): boolean {
  return value === undefined || (value.includes("\n") && !raw.includes("\n"))
}
