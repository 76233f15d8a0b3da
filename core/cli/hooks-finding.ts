/**
 * A configured hook → what is wrong with it before it ever runs: a script that is not there, a matcher that fits nothing.
 *
 * Invariant: nothing is started; what only a shell could work out is left to the shell.
 */
import { accessSync, constants, existsSync, statSync } from "node:fs"
import { delimiter, join, resolve } from "node:path"
import { nearestName, SousError } from "../error.ts"
import { HOOKS, type HookEvent, type HookSpec } from "../hook.ts"
import { fallOf } from "../hook-judge.ts"
import { missingScript, programOf } from "../hook-launch.ts"
import { compileHooks } from "../hook-match.ts"
import { type HookSource, placeOf, suppressionOf } from "../hook-source.ts"
import { registerSources } from "../registry.ts"
import type { Session } from "./session.ts"

/** What is wrong with a hook, one clause. */
export interface HookFinding {
  /** error: the hook would block all that it guards. */
  level: "error" | "warning"
  problem: string
  /** One imperative clause. */
  mend?: string
}

/** Where commands of hooks would start, and with what. */
export interface Surroundings {
  cwd: string
  projectDir: string
  env: Readonly<Record<string, string | undefined>>
}

/** Warns of active hooks whose script is not there. Throws HOOK_SCRIPT_MISSING for one that would block everything. */
export function checkScripts({ loaded, cwd, host }: Session): string[] {
  const surroundings = { cwd, projectDir: loaded.folders.root ?? cwd, env: host.env }
  return loaded.hooks.sources.flatMap((source) => {
    const [event, place] = [source.event, placeOf(source.origin)]
    // What settings have switched off, somebody wanted to be off; what cannot run here, nobody knows of.
    if (source.suppressed !== undefined) return []
    const impossible = suppressionOf(source)
    if (impossible !== undefined) return [`The ${event} hook of ${place} never runs: ${impossible}`]
    const found = scriptFinding(source, surroundings)
    if (found === undefined) return []
    if (found.level === "error") throw new SousError("HOOK_SCRIPT_MISSING", { event, place, problem: found.problem })
    return [`The ${event} hook of ${place} will fail: ${found.problem}`]
  })
}

/** A script or program that is not there or cannot be run. */
export function scriptFinding(source: HookSource, { cwd, projectDir, env }: Surroundings): HookFinding | undefined {
  const { form, dialect, event } = source
  if (form.type !== "command") return undefined
  const given = { ...env, CLAUDE_PROJECT_DIR: projectDir, SOUS_PROJECT_DIR: projectDir }
  const known = Object.fromEntries(Object.entries(given).flatMap(([name, value]) => (value ? [[name, value]] : [])))
  const folder = dialect === "claude-code" ? cwd : projectDir
  const problem = scriptProblem(form, { folder, env: known })
  if (problem === undefined) return undefined
  const falls = fallOf({ hook: { event, source }, dialect }, event)
  return { level: falls === "block" ? "error" : "warning", ...problem }
}

function scriptProblem(
  form: Extract<HookSource["form"], { type: "command" }>,
  { folder, env }: { folder: string; env: Readonly<Record<string, string>> },
): Problem | undefined {
  const program = programOf(form, env)
  if (program?.includes("/")) return programProblem(resolve(folder, program), program)
  // A bare word of a shell may be anything that the shell knows.
  if (program !== undefined && form.args !== undefined && !isInPath(program, env))
    return { problem: `there is no program "${program}"`, mend: "install it, or write its path" }
  const script = missingScript(form, { cwd: folder, env })
  return script === undefined ? undefined : { problem: `there is no file "${script}" in "${folder}"`, mend: MEND_PATH }
}

type Problem = Required<Pick<HookFinding, "problem" | "mend">>

const MEND_PATH = "write the file, or correct its path"

function programProblem(file: string, written: string): Problem | undefined {
  if (!existsSync(file)) return { problem: `there is no file "${written}"`, mend: MEND_PATH }
  if (!statSync(file).isFile()) return { problem: `"${written}" is no file`, mend: MEND_PATH }
  return isExecutable(file) ? undefined : { problem: `"${written}" is not executable`, mend: `chmod +x ${written}` }
}

function isInPath(program: string, env: Readonly<Record<string, string>>): boolean {
  return (env.PATH ?? "").split(delimiter).some((folder) => folder !== "" && isExecutable(join(folder, program)))
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** What the field that an event's matcher reads can be, where that is known; the rest only a run can tell. */
const VALUES: Readonly<Partial<Record<HookEvent, readonly string[]>>> = {
  SessionStart: ["startup", "resume", "clear", "compact"],
  UserPromptSubmit: ["human", "system", "agent"],
  PreCompact: ["manual", "auto", "reactive"],
  PostCompact: ["manual", "auto", "reactive"],
  ConfigChange: ["managed", "cli", "local", "project", "user"],
}

/** A matcher that fits nothing here. `tools`: the names of all tools; `agents`: those of all kinds of subagent. */
export function matcherFinding(
  source: HookSource,
  { tools, agents }: { tools: readonly string[]; agents: readonly string[] },
): HookFinding | undefined {
  const { event, matcher } = source
  const spec: HookSpec = HOOKS[event]
  const byField: Record<string, readonly string[]> = { tool_name: tools, agent_type: agents }
  const values = VALUES[event] ?? byField[spec.matches ?? ""]
  const [hook] = registerSources([source])
  if (matcher === undefined || values === undefined || hook === undefined) return undefined
  try {
    const [compiled] = compileHooks([hook]).get(event)!
    // Where no value is known, only a run can tell.
    if (values.length === 0 || values.some(compiled!.matches) || mayFitLater(matcher, spec)) return undefined
    return { level: "warning", problem: `its matcher "${matcher}" fits nothing here${hintFor(matcher, values)}` }
  } catch (error) {
    const { message, mend } = error as SousError
    return { level: "error", problem: message, mend }
  }
}

/** Tools of servers are known once these are connected: a pattern may fit them, a full name too, a server's name never. */
function mayFitLater(matcher: string, { matches }: HookSpec): boolean {
  return matches === "tool_name" && /\bmcp__(?:\w*\W|\w+?__\w)/.test(matcher)
}

function hintFor(matcher: string, values: readonly string[]): string {
  if (matcher === "mcp__") return ' (write "mcp__.*" for all tools of all servers)'
  if (/^mcp__[\w-]+$/.test(matcher)) return ` (write "${matcher}__.*" for all tools of that server)`
  const near = nearestName(matcher, values)
  return near === undefined ? "" : ` (did you mean "${near}"?)`
}
