/**
 * Permission rules as people write them → a rule set, indexed by the tool that a rule speaks about.
 *
 * Invariant: a rule that does not parse never counts as one that matches nothing: on the allow side it is void with a
 * warning, on the deny or ask side it stops the start.
 */
import { dirname } from "node:path"
import { nearestName, SousError } from "../error.ts"
import { findHidden } from "../name.ts"
import type { RuleSource, Scope } from "./decision.ts"
import { compileFlags, type FlagGrants, type Follow } from "./flag.ts"
import type { PathAnchors } from "./path-pattern.ts"
import { PATH_RULES } from "./refuse.ts"
import { createTable, type RuleTable, rulesFor } from "./rule-table.ts"
import { type CompiledRule, createRule } from "./specifier.ts"

/** `Tool` or `Tool(specifier)`, cut in two. */
export interface ParsedRule {
  tool: string
  /** Left out for a bare rule; `*` is kept as it was written. */
  specifier?: string
}

/** All rules of a run, compiled once per change of settings. */
export interface RuleSet {
  deny: RuleTable
  ask: RuleTable
  allow: RuleTable
  /** The ordered list, by scope, strongest first. */
  ordered: readonly { scope: Scope; rules: readonly CompiledRule[] }[]
  /** What is void, unknown or odd, one sentence each. */
  warnings: readonly string[]
  anchors: Omit<PathAnchors, "settings">
  /** Some deny or ask rule speaks about a part of what this tool may do, so that what nobody can read is asked about. */
  guards(names: readonly string[]): boolean
}

export interface CompileOptions {
  /** Absolute: the folder that the run started in. */
  cwd: string
  home: string
  flags?: FlagGrants
  /** What `/x` in a rule of that scope starts from, absolute. Default: the folder of a user's or CLI file, else `cwd`. */
  settingsRoots?: Partial<Record<Scope, string>>
  /** Names that rules may use: those of the tools, and their `ruleName`s. Left out: nothing is reported as unknown. */
  knownTools?: Iterable<string>
  /** A deny or ask rule that does not parse is a warning instead of an error. */
  lenient?: boolean
  /** Where an absolute path leads when links are followed; asked once for each path that a rule or flag names. */
  follow?: Follow
}

/** The order in which scopes are asked, strongest first. */
const SCOPES: readonly Scope[] = ["managed", "cli", "session", "local", "project", "user", "recipe", "plugin"]

/** Cuts a rule in two. Throws PERMISSION_RULE_INVALID. */
export function parseRule(text: string): ParsedRule {
  const read = readRule(text)
  if ("problem" in read) throw new SousError("PERMISSION_RULE_INVALID", { rule: clip(text), ...read })
  return read
}

/** Compiles rules and flags. Throws PERMISSION_RULE_INVALID for a deny or ask rule that does not parse. */
export function compileRules(rules: readonly RuleSource[], options: CompileOptions): RuleSet {
  const warnings: string[] = []
  const known = options.knownTools && [...options.knownTools]
  const absent = new Map<string, AbsentTool>()
  const compiled = rules.flatMap((source) => compileOne(source, options, { warnings, known, absent }))
  warnings.push(...[...absent.values()].map(sayAbsent))
  const flags = options.flags ? compileFlags(options.flags, options.cwd, options) : []
  const plain = compiled.filter(({ source }) => !source.ordered)
  const table = (behavior: RuleSource["behavior"]) => createTable(plain, flags, behavior)
  const ordered = SCOPES.map((scope) => ({
    scope,
    rules: compiled.filter(({ source }) => source.ordered && source.scope === scope),
  }))
  const set = { deny: table("deny"), ask: table("ask"), allow: table("allow") }
  const guarding = compiled.filter(({ source, bare }) => source.behavior !== "allow" && !bare)
  const guarded = new Set(guarding.map(({ tool }) => tool))
  const guardPatterns = guarding.filter(({ toolPattern }) => toolPattern)
  return {
    ...set,
    ordered: ordered.filter(({ rules: list }) => list.length > 0),
    warnings,
    anchors: { cwd: options.cwd, home: options.home },
    guards: (names) =>
      set.deny.flags.length > 0 ||
      names.some((name) => guarded.has(name) || guardPatterns.some((rule) => rule.speaksOf(name))),
  }
}

/** A bare deny rule takes the whole tool away: the model is not even shown it. */
export function isRemoved(rules: RuleSet, names: readonly string[]): boolean {
  return rulesFor(rules.deny, names).some((rule) => rule.bare)
}

const compiledGrants = new WeakMap<RuleSource, { key: string; rule: CompiledRule | undefined }>()

/** Compiles a grant or a filter, once per object; undefined when it does not parse. */
export function compileGrant(source: RuleSource, anchors: RuleSet["anchors"]): CompiledRule | undefined {
  const key = [source.behavior, source.text, anchors.cwd, anchors.home].join("\0")
  const known = compiledGrants.get(source)
  if (known?.key === key) return known.rule
  const read = readRule(source.text)
  const rule = "problem" in read ? undefined : createRule(read, source, { ...anchors, settings: anchors.cwd })
  compiledGrants.set(source, { key, rule })
  return rule
}

/** Names a rule's place in words: `project settings, .sous/settings.json:3`. */
export function describeOrigin({ scope, file, line, by, granted }: RuleSource): string {
  const who = by === undefined ? scope : `${scope} ${by}`
  const place = file === undefined ? [] : [`${file}${line === undefined ? "" : `:${line}`}`]
  if (granted !== undefined) return [`${who} grant of ${granted.slice(0, 10)}`, ...place].join(", ")
  return [place.length === 0 ? who : `${who} settings`, ...place].join(", ")
}

type Problem = { problem: string; mend: string }

/** Longer tool names are no names. */
const MAX_NAME_CHARS = 200
/** Longer rules are no work of a person. */
const MAX_RULE_CHARS = 1_000_000

function readRule(text: string): ParsedRule | Problem {
  if (text.length > MAX_RULE_CHARS) {
    return { problem: `it has ${text.length} characters`, mend: `write a shorter one: ${MAX_RULE_CHARS} at most` }
  }
  const hidden = findHidden(text)
  if (hidden !== undefined)
    return { problem: `it holds a character that nobody sees, ${hidden}`, mend: "write the rule without it" }
  const trimmed = text.trim()
  const open = trimmed.indexOf("(")
  const tool = open < 0 ? trimmed : trimmed.slice(0, open)
  if (tool === "") return { problem: "it names no tool", mend: `write the tool first: "Bash(${clip(trimmed)})"` }
  if (tool.length > MAX_NAME_CHARS || !/^[\w*.:-]+$/.test(tool)) {
    return { problem: `"${clip(tool)}" is no tool name`, mend: 'write "Tool" or "Tool(specifier)"' }
  }
  if (open < 0) return tool.includes(")") ? unopened(trimmed) : { tool }
  if (!trimmed.endsWith(")")) {
    const closed = trimmed.lastIndexOf(")")
    if (closed < 0) return { problem: "its parenthesis is not closed", mend: `write "${clip(trimmed)})"` }
    return { problem: "text follows its specifier", mend: `write "${clip(trimmed.slice(0, closed + 1))}"` }
  }
  const specifier = trimmed.slice(open + 1, -1)
  if (specifier.trim() === "")
    return { problem: "its parentheses are empty", mend: `write "${tool}" for every call of ${tool}` }
  return { tool, specifier }
}

function unopened(text: string): Problem {
  return { problem: "its parenthesis is not opened", mend: `write "Tool(${clip(text)}"` }
}

/** Rules of one file about one tool that is not there: the first of them, and how many more. */
interface AbsentTool {
  source: RuleSource
  unknown: string
  more: number
}

function sayAbsent({ source, unknown, more }: AbsentTool): string {
  const first = `"${clip(source.text)}" (${describeOrigin(source)})`
  if (more === 0) return `The ${source.behavior} rule ${first} names a tool that is not there: ${unknown}`
  return `The ${source.behavior} rules ${first} and ${more} more name a tool that is not there: ${unknown}`
}

function compileOne(
  source: RuleSource,
  options: CompileOptions,
  report: { warnings: string[]; known: string[] | undefined; absent: Map<string, AbsentTool> },
): CompiledRule[] {
  const read = typeof source.text === "string" ? readRule(source.text) : NOT_TEXT
  const checked = "problem" in read ? read : (twoRules(read, source, report.known) ?? checkSide(read, source))
  if ("problem" in checked) {
    if (source.behavior !== "allow" && !options.lenient) {
      const from = source.file === undefined ? source.scope : `${source.file}:${source.line ?? 1}:${source.column ?? 1}`
      throw new SousError("PERMISSION_RULE_INVALID", { rule: clip(String(source.text)), from, ...checked })
    }
    report.warnings.push(
      `The ${source.behavior} rule "${clip(String(source.text))}" (${describeOrigin(source)}) is void: ${checked.problem}; ${checked.mend}`,
    )
    return []
  }
  const unknown = report.known && unknownTool(checked.tool, report.known)
  if (unknown !== undefined) {
    const key = [source.behavior, source.scope, source.file, checked.tool].join("\0")
    const one = report.absent.get(key)
    if (one === undefined) report.absent.set(key, { source, unknown, more: 0 })
    else one.more++
  }
  if (checked.specifier !== undefined && checked.specifier !== checked.specifier.trim()) {
    report.warnings.push(
      `The ${source.behavior} rule "${clip(source.text)}" (${describeOrigin(source)}) has blanks inside its parentheses: write "${checked.tool}(${clip(checked.specifier.trim())})"`,
    )
  }
  const { cwd, home, follow } = options
  const rule = createRule(checked, source, {
    cwd,
    home,
    settings: settingsRoot(source, options),
    ...(follow ? { follow } : {}),
  })
  // Links are followed now, so that deciding looks at no disk.
  if (source.behavior !== "allow" && (rule.speaksOf(PATH_RULES.read) || rule.speaksOf(PATH_RULES.write))) rule.path()
  return [rule]
}

/** Rules joined in one text, as flags take them: as a guard it would fit what nobody writes. */
function twoRules(
  { tool, specifier = "" }: ParsedRule,
  { behavior }: RuleSource,
  known: readonly string[] = [],
): Problem | undefined {
  const [joint = "", next = ""] = /\)\s*[,;|]?\s*([A-Z]\w*)\(/.exec(specifier) ?? []
  if (behavior === "allow" || !known.includes(next)) return undefined
  const at = specifier.indexOf(joint)
  const [first, second] = [`${tool}(${specifier.slice(0, at)})`, `${next}(${specifier.slice(at + joint.length)})`]
  return { problem: "it holds more than one rule", mend: `write "${clip(first)}" and "${clip(second)}" as two entries` }
}

const NOT_TEXT: Problem = { problem: "it is no text", mend: 'write "Tool" or "Tool(specifier)"' }
/** Fields whose rules have a syntax of their own. */
const CONTENT = /^\s*(command|file_path|path|notebook_path|url)\s*:/

function checkSide(rule: ParsedRule, { behavior }: RuleSource): ParsedRule | Problem {
  if (behavior === "allow" && rule.tool.includes("*") && !/^mcp__[^*]+?__/.test(rule.tool)) {
    return { problem: "a pattern of tools cannot be allowed", mend: 'name the tool, or one server: "mcp__server__*"' }
  }
  if (
    behavior === "allow" &&
    rule.tool.startsWith("mcp__") &&
    (rule.specifier ?? "").replaceAll("*", "").trim() !== ""
  ) {
    return { problem: "parameters are matched by deny and ask rules alone", mend: `write "${rule.tool}"` }
  }
  const content = behavior === "allow" ? null : CONTENT.exec(rule.specifier ?? "")
  if (content) {
    const value = rule.specifier!.slice(content[0].length).trim()
    return { problem: `"${content[1]}" is not matched as a parameter`, mend: `write "${rule.tool}(${clip(value)})"` }
  }
  return rule
}

function unknownTool(tool: string, known: readonly string[]): string | undefined {
  if (/[_*]/.test(tool) || known.includes(tool) || tool === "Task") return undefined
  const near = nearestName(tool, known)
  return near === undefined ? "no tool has a name like it" : `did you mean "${near}"?`
}

function settingsRoot({ scope, file }: RuleSource, options: CompileOptions): string {
  const given = options.settingsRoots?.[scope]
  if (given !== undefined) return given
  return file !== undefined && (scope === "user" || scope === "cli") ? dirname(file) : options.cwd
}

function clip(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
