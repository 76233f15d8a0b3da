/**
 * Deny and ask rules against a call: one part that fits is enough, in any spelling, wrapper or substitution.
 *
 * Invariant: refusing may guess; a doubt about what a command means falls to the side of the rule.
 */

import type { DecidedTarget, PermissionCall, PermissionFacts, RuleSource } from "./decision.ts"
import type { FlagRule } from "./flag.ts"
import { cutPath, matchesPath, mayMatchBelow, type PathParts } from "./path-pattern.ts"
import { isBelow } from "./place.ts"
import { gitCommandAt, plainName } from "./program/table.ts"
import { commandRulesFor, pathRulesFor, type RuleTable, rulesFor, wholeRulesFor } from "./rule-table.ts"
import type { Segment } from "./segment.ts"
import { literalWord, splitWords } from "./shell-word.ts"
import type { CompiledRule } from "./specifier.ts"
import { type CommandUnit, type PathUnit, targetOfPath, targetOfSegment, type Unit, type UrlUnit } from "./unit.ts"
import { matchesWildcard } from "./wildcard.ts"
import { programName } from "./wrapper.ts"

/** The words that rules use for reading and for writing a path, whatever tool does it. */
export const PATH_RULES = { read: "Read", write: "Edit" } as const

/** A rule that fits, and the part of the call that it fits. */
export interface RuleMatch {
  rule: RuleSource
  target?: DecidedTarget
}

/** The names that rules may use for the call as a whole. */
export function namesOf(call: PermissionCall): string[] {
  const names = [call.tool, call.ruleName]
  return names.some((name) => name === "Task" || name === "Agent") ? [...names, "Task", "Agent"] : names
}

/** The first rule of the table that fits any part of the call. */
export function findRefusal(
  call: PermissionCall,
  units: readonly Unit[],
  table: RuleTable,
  facts: PermissionFacts,
): RuleMatch | undefined {
  const names = namesOf(call)
  const whole = wholeRulesFor(table, names, parametersOf(call)).find((rule) => fitsCall(rule, call))
  if (whole) return { rule: whole.source }
  const guard: Guard = { names, table, cwd: cutPath(facts.cwd) }
  for (const unit of units) {
    const match = refusalOfUnit(unit, guard)
    if (match) return match
  }
  return undefined
}

/** True when a rule that speaks of the tool fits the call as a whole: it is bare, or a parameter fits. */
export function fitsCall(rule: CompiledRule, call: PermissionCall): boolean {
  return rule.bare || fitsParameter(rule, call)
}

/** True when one rule, read as a guard, fits the unit or a path in it. `names`: those of the call; `cwd`: its folder. */
export function refusesUnit(rule: CompiledRule, unit: Unit, names: readonly string[], cwd: PathParts): boolean {
  if (names.some((name) => rule.speaksOf(name)) && fitsUnit(rule, unit, cwd)) return true
  const paths = unit.kind === "path" ? [unit] : unit.kind === "command" ? unit.paths : []
  return paths.some((path) => {
    const spoken = rule.speaksOf(PATH_RULES.read) || (path.access === "write" && rule.speaksOf(PATH_RULES.write))
    return spoken && fitsPath(rule, path, cwd)
  })
}

function fitsUnit(rule: CompiledRule, unit: Unit, cwd: PathParts): boolean {
  if (unit.kind === "path") return fitsPath(rule, unit, cwd)
  if (unit.kind === "name") return rule.name(unit.name)
  if (unit.kind === "url") return fitsUrl(rule, unit)
  const word = rule.firstWord()
  const texts = textsOfCommand(unit)
  const patterns = rule.commands()
  const fits = (list: readonly string[]) =>
    list.some((text) => patterns.some((pattern) => matchesWildcard(pattern, text)))
  return word === undefined ? [...texts.values()].some(fits) : fits(texts.get(word) ?? [])
}

/** By its host, or by the address as it was written and as it will be asked for. */
function fitsUrl(rule: CompiledRule, { host, text }: UrlUnit): boolean {
  const byHost = rule.domain(host ?? "")
  if (byHost === true || rule.specifier?.startsWith("domain:")) return byHost ?? false
  const texts = URL.canParse(text) ? [text, new URL(text).href] : [text]
  return rule.commands().some((pattern) => texts.some((one) => matchesWildcard(pattern, one)))
}

/** True when one of the guards could fit something below a folder that the unit reads. */
export function mayRefuseBelow(
  unit: PathUnit,
  guards: { rules: readonly CompiledRule[]; flags: readonly FlagRule[] },
  cwd: PathParts,
): boolean {
  const spellings = unit.places.flatMap((place) => place.spellings)
  const fitsBelow = (rule: CompiledRule) => {
    const pattern = rule.path()
    return pattern !== undefined && spellings.some((path) => mayMatchBelow(pattern, path, cwd))
  }
  const denied = guards.flags.flatMap((flag) => (flag.kind === "read" ? foldersOf(flag) : []))
  return (
    guards.rules.some((rule) => rule.speaksOf(PATH_RULES.read) && fitsBelow(rule)) ||
    denied.some((folder) => spellings.some((path) => isBelow(cutPath(folder), path, "refuse")))
  )
}

/** Of a path in a command only its own names count. */
const NAMELESS: readonly string[] = []

interface Guard {
  names: readonly string[]
  table: RuleTable
  cwd: PathParts
}

function refusalOfUnit(unit: Unit, guard: Guard): RuleMatch | undefined {
  const flag = guard.table.flags.find((rule) => fitsFlag(rule, unit))
  if (flag) return { rule: flag.source, target: decidedBy(unit, ({ words }) => fitsProgram(flag, words)) }
  if (unit.kind === "path") return refusalOfPath(unit, guard.names, guard)
  const own = rulesFor(guard.table, guard.names)
  const isIndexed = unit.kind === "command" && own.length > 0
  const near = isIndexed ? commandRulesFor(guard.table, guard.names, textsOfCommand(unit)) : own
  const rule = near.find((one) => fitsUnit(one, unit, guard.cwd))
  if (rule) return { rule: rule.source, target: decidedBy(unit, (segment) => fitsTexts(rule, textsOfSegment(segment))) }
  if (unit.kind !== "command") return undefined
  for (const path of unit.paths) {
    const found = refusalOfPath(path, NAMELESS, guard)
    if (found) return found
    const denied = guard.table.flags.find((one) => fitsFlag(one, path))
    if (denied) return { rule: denied.source, target: targetOfPath(path) }
  }
  return undefined
}

/** The first simple command that decided or, when only several together did, the whole. */
export function decidedBy(unit: Unit, test: (segment: Segment) => boolean): DecidedTarget {
  if (unit.kind === "path") return targetOfPath(unit)
  const segment = unit.kind === "command" ? unit.analysis.all.find(test) : undefined
  return segment && unit.kind === "command" ? targetOfSegment(segment, unit) : unit.target
}

/** The part that one rule, read as a guard, fits. */
export function decidedByRule(rule: CompiledRule, unit: Unit, cwd: PathParts): DecidedTarget {
  const path = unit.kind === "command" ? unit.paths.find((one) => refusesUnit(rule, one, [], cwd)) : undefined
  return path ? targetOfPath(path) : decidedBy(unit, (segment) => fitsTexts(rule, textsOfSegment(segment)))
}

function fitsTexts(rule: CompiledRule, texts: readonly string[]): boolean {
  return texts.some((text) => rule.commands().some((pattern) => matchesWildcard(pattern, text)))
}

/** A rule on reading a path holds for writing it too: whoever edits a file sees it. */
function refusalOfPath(unit: PathUnit, names: readonly string[], { table, cwd }: Guard): RuleMatch | undefined {
  const spoken = unit.access === "read" ? [PATH_RULES.read] : [PATH_RULES.write, PATH_RULES.read]
  const rule = firstPathRule(table, names, unit, cwd) ?? firstPathRule(table, spoken, unit, cwd)
  return rule && { rule: rule.source, target: targetOfPath(unit) }
}

function firstPathRule(
  table: RuleTable,
  names: readonly string[],
  unit: PathUnit,
  cwd: PathParts,
): CompiledRule | undefined {
  if (names.length === 0) return undefined
  const [only, ...more] = unit.places
  const spellings = more.length === 0 ? (only?.spellings ?? []) : unit.places.flatMap((place) => place.spellings)
  return pathRulesFor(table, names)(spellings, cwd).find((rule) => fitsPath(rule, unit, cwd))
}

function fitsPath(rule: CompiledRule, unit: PathUnit, cwd: PathParts): boolean {
  if (rule.bare) return !unit.loose
  const pattern = rule.path()
  return (
    pattern !== undefined &&
    unit.places.some((place) => place.spellings.some((path) => matchesPath(pattern, path, cwd)))
  )
}

function parametersOf({ input, targets }: PermissionCall): string[] {
  const given = typeof input === "object" && input !== null ? Object.keys(input) : []
  return [...given, ...targets.flatMap((target) => (target.kind === "name" ? Object.keys(target.params ?? {}) : []))]
}

function fitsParameter(rule: CompiledRule, call: PermissionCall): boolean {
  const parameter = rule.parameter()
  if (parameter === undefined) return false
  const given = call.targets.flatMap((target) => (target.kind === "name" ? [target.params?.[parameter.name]] : []))
  const input = call.input
  if (typeof input === "object" && input !== null && Object.hasOwn(input, parameter.name)) {
    given.push((input as Record<string, string>)[parameter.name])
  }
  return given.some(
    (value) => /^(?:string|number|boolean)$/.test(typeof value) && matchesWildcard(parameter.value, String(value)),
  )
}

/** `--deny-…`: a program anywhere in the command, a path in any spelling, a host. */
export function fitsFlag(flag: FlagRule, unit: Unit): boolean {
  const { kind, value } = flag
  if (unit.kind === "command") {
    return kind === "run" && (value === undefined || unit.analysis.all.some(({ words }) => fitsProgram(flag, words)))
  }
  if (unit.kind === "url") return kind === "net" && (value === undefined || fitsHost(value, unit.host ?? ""))
  if (unit.kind !== "path" || kind !== unit.access) return false
  if (value === undefined) return !unit.loose
  const folders = foldersOf(flag).map(cutPath)
  return unit.places.some((place) =>
    place.spellings.some((path) => folders.some((folder) => isBelow(path, folder, "refuse"))),
  )
}

function fitsProgram({ value }: FlagRule, words: Segment["words"]): boolean {
  if (value === undefined || words[0] === undefined) return false
  const name = programName(words)
  return name === value || plainName(name) === value || words[0].guesses.includes(value)
}

/** The folders that a flag on paths names: as it was written, and where that leads. */
export function foldersOf({ value, real }: FlagRule): string[] {
  return [value, real].filter((folder) => folder !== undefined)
}

/** `example.com`, or `*.example.com` for what is below it; a port in the flag is not looked at. */
export function fitsHost(value: string, host: string): boolean {
  const wanted = value.toLowerCase().replace(/:\d+$/, "")
  return wanted.startsWith("*.") ? host.endsWith(wanted.slice(1)) && host.length > wanted.length - 1 : wanted === host
}

type Texts = ReadonlyMap<string, readonly string[]>
const textCache = new WeakMap<CommandUnit["analysis"], Texts>()

/** Everything that a pattern may be held against, by first word: the whole text, each list, each simple command. */
function textsOfCommand({ analysis }: CommandUnit): Texts {
  const known = textCache.get(analysis)
  if (known) return known
  const found = new Set([analysis.text.trim(), ...analysis.spans, ...analysis.all.flatMap(textsOfSegment)])
  const texts = new Map<string, string[]>()
  const collapsed = (one: string) => (/[ \t]{2}|\t/.test(one) ? [one, one.replace(/[ \t]+/g, " ")] : [one])
  for (const text of new Set([...found].flatMap(collapsed))) {
    const word = /^\S*/.exec(text)![0]
    const list = texts.get(word)
    if (list) list.push(text)
    else texts.set(word, [text])
  }
  textCache.set(analysis, texts)
  return texts
}

function textsOfSegment({ words, assignments, tails }: Segment): string[] {
  if (words.length === 0) return []
  const variants = words.reduce((most, word) => Math.max(most, word.guesses.length), 1)
  const guesses = Array.from({ length: Math.min(variants, 16) }, (_, i) =>
    splitWords(words).map((word) => word.guesses[Math.min(i, word.guesses.length - 1)]!),
  )
  const raw = words.map((word) => word.raw)
  const named = [...guesses, raw].flatMap((parts) => {
    const written = programName([words[0]!])
    const program = plainName(written)
    const plain = [...new Set([parts[0]!, written, program])].map((name) => [name, ...parts.slice(1)])
    if (program !== "git") return plain
    return [...plain, ["git", ...parts.slice(gitCommandAt(parts.map((part) => literalWord(part))))]]
  })
  const assigned = assignments.length > 0 ? [[...assignments.map(({ word }) => word.raw), ...raw]] : []
  return [...named, ...assigned, tails.slice(0, 1)].map((parts) => parts.join(" "))
}
