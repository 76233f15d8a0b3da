/**
 * A tool's name and an input, rules and facts → the decision that a run would take about it, without running anything.
 *
 * Invariant: the same parts as in a run: the tool says what it touches, the same rules are compiled, the same paths are
 * looked up; a tool that is not there is judged by its name and its parameters alone.
 */
import { factsOf, type Target, type Tool } from "../tool.ts"
import { analyseCommand } from "./command.ts"
import { type DecideExtra, decide } from "./decide.ts"
import type { Decision, PermissionCall, PermissionFacts } from "./decision.ts"
import type { Disk } from "./disk.ts"
import { resolveCall } from "./path.ts"
import { hintedPaths } from "./path-hint.ts"
import type { RuleSet } from "./rule.ts"

/** What a call is held against. */
export interface ExplainOptions {
  rules: RuleSet
  facts: Omit<PermissionFacts, "paths">
  extra?: DecideExtra
  /** Default: the disk as it is at each question. */
  disk?: Disk
}

/** Decides about one call. Looks its paths up, and nothing else. */
export async function explain(call: PermissionCall, options: ExplainOptions): Promise<Decision> {
  const { rules, facts, extra, disk } = options
  const { cwd, home } = facts
  const paths = await resolveCall(call, cwd, disk ? { home, disk } : { home })
  return decide(call, rules, { ...facts, paths }, extra)
}

/**
 * The simple commands of a call that would be decided like the whole, each by itself; empty where it takes more than one
 * of them, or where the call is one already.
 */
export async function findDecisiveParts(
  call: PermissionCall,
  decision: Decision,
  options: ExplainOptions,
): Promise<string[]> {
  const parts = call.targets.flatMap((target) => (target.kind === "command" ? partsOf(target.text, options.facts) : []))
  const found: string[] = []
  for (const text of parts) {
    const { behavior, source, rule } = await explain({ ...call, targets: [{ kind: "command", text }] }, options)
    const isAlike = behavior === decision.behavior && source === decision.source && rule?.text === decision.rule?.text
    if (isAlike && !found.includes(text)) found.push(text)
  }
  return found
}

/** A call as the permission layer sees it, by what its tool declares. Rejects with what keeps that from being known. */
export async function createCall(tool: Tool, input: unknown, cwd: string): Promise<PermissionCall> {
  const { targets, readOnly } = await factsOf(tool, input, { cwd })
  return {
    tool: tool.name,
    ruleName: tool.ruleName ?? tool.name,
    input,
    readOnly,
    targets,
    ...hintsFor(targets, input, { readOnly }),
    ...(tool.skipsDenied ? { skipsDenied: true } : {}),
    ...(tool.role === "exitPlan" ? { leavesPlan: true } : {}),
    ...(tool.role === "memory" ? { keepsNotes: true } : {}),
  }
}

/**
 * A call of a tool that is not there. Each text among its parameters is an address or a name that a rule may mean: one
 * that a guard fits is enough to refuse the call, while what allows it has to fit them all.
 */
export function createForeignCall(tool: string, input: unknown): PermissionCall {
  const values = typeof input === "object" && input !== null ? Object.values(input) : []
  const texts = values.filter((value): value is string => typeof value === "string")
  const targets = texts.map(targetOfText)
  return { tool, ruleName: tool, input, readOnly: false, targets, ...hintsFor(targets, input, { readOnly: false }) }
}

/** What looks like a file among the parameters of a tool that says nothing of files, commands or addresses. */
function hintsFor(
  targets: readonly Target[],
  input: unknown,
  { readOnly }: { readOnly: boolean },
): Pick<PermissionCall, "hints"> {
  if (targets.some(({ kind }) => kind === "path" || kind === "command")) return {}
  const paths = hintedPaths(input)
  if (paths.length === 0) return {}
  const target = (access: "read" | "write") => (path: string) => ({ kind: "path", access, path }) as const
  return { hints: [...paths.map(target("read")), ...(readOnly ? [] : paths.map(target("write")))] }
}

function targetOfText(text: string): Target {
  return /^\s*https?:/i.test(text) ? { kind: "url", url: text } : { kind: "name", name: text }
}

/** The outer simple commands as written, when there are several. */
function partsOf(text: string, { cwd, home }: ExplainOptions["facts"]): string[] {
  const { segments, trouble } = analyseCommand(text, { cwd, home })
  return trouble !== undefined || segments.length < 2 ? [] : segments.flatMap(({ tails }) => tails.slice(0, 1))
}
