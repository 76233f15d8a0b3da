/**
 * A permission rule of a file or a plugin → what checks look at: its parts, its place, and what its tool's rules speak about.
 *
 * Invariant: which kind of rule it is says the tool, by what it declares to touch; no tool is known by its name.
 */
import { nearestName } from "../name.ts"
import { isBroadRule } from "../permission/broad-rule.ts"
import type { RuleSource } from "../permission/decision.ts"
import { parsePathPattern } from "../permission/path-pattern.ts"
import { parseRule } from "../permission/rule.ts"
import { type CompiledRule, createRule } from "../permission/specifier.ts"
import { isExact, parseWildcard } from "../permission/wildcard.ts"
import { homeFolder } from "../settings/scopes.ts"
import type { Tool } from "../tool.ts"
import { type Finding, type FindingPlace, findingOf } from "./check-finding.ts"

/** What a tool's rules speak about. */
export type RuleKind = "command" | "path" | "url" | "name" | "server" | "unknown"

/** A rule of a file or a plugin, ready to be looked at. */
export interface RuleView {
  source: RuleSource
  place: FindingPlace
  text: string
  tool: string
  specifier: string | undefined
  kind: RuleKind
  /** It fits one text only. */
  exact: boolean
  compiled: CompiledRule
}

/** What was found about one rule. */
export interface RuleFinding extends Pick<Finding, "level" | "problem" | "mend"> {
  view: RuleView
}

/** Where rules are looked at. */
export interface RuleGround {
  /** The tools that are here, by name. */
  tools: ReadonlyMap<string, Tool>
  /** Plugins that were not looked at may add tools. */
  isPartial: boolean
  /** Absolute: what relative paths and `/x` of a project's file start from. */
  cwd: string
  home: string
  /** The rules stand in a project that nobody has trusted. */
  isUntrusted?: boolean
}

/** A ground with the tools of a list. */
export function ruleGround(
  tools: readonly Tool[],
  { cwd, env, isPartial }: { cwd: string; env: Readonly<Record<string, string | undefined>>; isPartial: boolean },
): RuleGround {
  const byName = new Map(tools.map((tool) => [tool.name, tool] as const))
  return { tools: byName, isPartial, cwd, home: homeFolder(env) ?? "" }
}

/** `allow rule "Bash(ls)"`, cut where it is long. */
export function describeRule({ behavior, text }: Pick<RuleSource, "behavior" | "text">): string {
  return `${behavior} rule "${clip(text)}"`
}

/** Cut where it is long. */
export function clip(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}

/** The rule ready to be looked at, or why it is none. `kinds`: those of the tools that were met before. */
export function viewOf(source: RuleSource, ground: RuleGround, kinds: Map<string, RuleKind>): RuleView | Finding {
  const { text, file = "", line = 1, column = 1, by } = source
  const place = { file: file === "" && by !== undefined ? "" : file, line, column }
  try {
    const { tool, specifier } = parseRule(text)
    const { cwd, home } = ground
    const compiled = createRule({ tool, ...(specifier === undefined ? {} : { specifier }) }, source, {
      cwd,
      home,
      settings: cwd,
    })
    const kind = kinds.get(tool) ?? kindOf(tool, ground)
    kinds.set(tool, kind)
    const exact = specifier !== undefined && isExact(parseWildcard(specifier))
    return { source, place, text, tool, specifier, kind, exact, compiled }
  } catch (error) {
    const fault = findingOf(error, place.file)
    // A broken allow rule is void; a broken guard stops the start.
    const level = source.behavior === "allow" ? "warning" : "error"
    return { ...fault, ...place, level, what: describeRule(source), problem: problemOf(error) }
  }
}

function problemOf(error: unknown): string {
  const { details } = error as { details?: { problem?: string } }
  return details?.problem ?? (error as Error).message
}

const SAMPLE = {
  command: "true",
  file_path: "/x",
  notebook_path: "/x",
  path: "/x",
  pattern: "x",
  url: "https://example.com/",
  prompt: "x",
  name: "x",
  subagent_type: "x",
}

/** Told by what the tool says that it touches when it is handed a sample of everything. */
function kindOf(name: string, { tools }: RuleGround): RuleKind {
  if (/^mcp__|\*/.test(name)) return "server"
  const own = tools.get(name) ?? [...tools.values()].find(({ ruleName }) => ruleName === name)
  if (own === undefined) return "unknown"
  if (own.role === "shell") return "command"
  try {
    const kinds = new Set((own.targets?.(SAMPLE as never, { cwd: "/" }) ?? []).map(({ kind }) => kind))
    return (["path", "url", "command"] as const).find((kind) => kinds.has(kind)) ?? "name"
  } catch {
    return "name"
  }
}

/** True when a path of a rule can fit nothing. */
export function isPathVoid({ specifier = "", source }: RuleView, { cwd, home }: RuleGround): boolean {
  const side = source.behavior === "allow" ? "allow" : "refuse"
  return parsePathPattern(specifier, { cwd, home, settings: cwd }, side) === undefined
}

/** Names of tools of the field that rules are written for and that are not here; a rule for one waits for it. */
export const ELSEWHERE: ReadonlySet<string> = new Set(
  `AskUserQuestion BashOutput CronCreate EnterPlanMode EnterWorktree KillShell ListMcpResourcesTool LS LSP Monitor
  MultiEdit NotebookRead PowerShell ReadMcpResourceTool SendMessage Skill SlashCommand TaskCreate TaskGet TaskList
  TaskOutput TaskStop TaskUpdate TodoRead TodoWrite ToolSearch WebSearch Workflow`.split(/\s+/),
)

/** The tool that a misspelt name means; undefined: it is right, or of a tool that is not here. */
export function nearTool(name: string, tools: ReadonlyMap<string, Tool>): string | undefined {
  return ELSEWHERE.has(name) ? undefined : nearestName(name, tools.keys())
}

/** Allow rules that let a program run whatever it is handed: `Bash(node *)`. */
export function runsAnything({ source, kind, compiled }: RuleView): boolean {
  return source.behavior === "allow" && kind === "command" && !compiled.bare && isBroadRule(compiled)
}
