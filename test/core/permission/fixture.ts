/**
 * A project on the disk, and the tools of a test by what they would touch.
 */
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type DecideExtra, decide } from "../../../core/permission/decide.ts"
import type { Decision, PermissionCall, PermissionFacts, RuleSource } from "../../../core/permission/decision.ts"
import { resolveTargets } from "../../../core/permission/path.ts"
import { type CompileOptions, compileRules, type RuleSet } from "../../../core/permission/rule.ts"
import type { Target } from "../../../core/tool.ts"

/** Rules and flags of a test. */
export interface TestRules {
  allow?: string[]
  ask?: string[]
  deny?: string[]
  ordered?: string[]
  run?: true | string[]
  write?: true | string[]
  read?: true | string[]
  net?: true | string[]
  denyRun?: string[]
  all?: true
  mode?: "default" | "acceptEdits" | "plan" | "auto" | "dontAsk" | "bypassPermissions"
  headless?: true
}

export interface Folders {
  base: string
  project: string
  outside: string
  home: string
  state: string
}

/** Makes the project of the corpus in a temporary folder. */
export async function makeProject(): Promise<Folders & { remove(): Promise<void> }> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "sous-permission-")))
  const project = join(base, "work", "project")
  const outside = join(base, "work", "outside")
  const home = join(base, "home")
  const state = join(home, ".local", "state", "sous")
  for (const folder of [join(project, "src"), join(project, "secret"), outside, state, join(home, "notes")]) {
    await mkdir(folder, { recursive: true })
  }
  const files = { "src/a.ts": "", ".env": "", "secret/k.txt": "", ".env.example": "" }
  for (const name of Object.keys(files)) await writeFile(join(project, name), "x\n")
  await writeFile(join(outside, "o.txt"), "x\n")
  await symlink("src", join(project, "inner"))
  await symlink("../outside", join(project, "out"))
  return { base, project, outside, home, state, remove: () => rm(base, { recursive: true, force: true }) }
}

/** A call of one of the usual tools; `subject` is its command, path, address or name. */
export function callOf(tool: string, subject: string, input?: unknown): PermissionCall {
  const [target, readOnly, ruleName, key] = shapeOf(tool, subject)
  return { tool, ruleName, input: input ?? { [key]: subject }, readOnly, targets: target ? [target] : [] }
}

function shapeOf(tool: string, text: string): [Target | undefined, boolean, string, string] {
  if (tool === "Bash") return [{ kind: "command", text }, false, "Bash", "command"]
  if (tool === "Read") return [{ kind: "path", access: "read", path: text }, true, "Read", "file_path"]
  if (tool === "Write") return [{ kind: "path", access: "write", path: text }, false, "Edit", "file_path"]
  if (tool === "WebFetch") return [{ kind: "url", url: text }, true, "WebFetch", "url"]
  if (tool === "Agent") return [{ kind: "name", name: text }, false, "Agent", "subagent_type"]
  return [undefined, false, tool, "value"]
}

/** The rules of a group, compiled for the project. */
export function rulesOf(rules: TestRules, folders: Folders, options: Partial<CompileOptions> = {}): RuleSet {
  const { allow = [], ask = [], deny = [], ordered = [] } = rules
  const list = (behavior: RuleSource["behavior"], texts: string[]) =>
    texts.map((text): RuleSource => ({ text, behavior, scope: "project" }))
  const entries = ordered.map((text): RuleSource => {
    const [behavior, ...rule] = text.split(" ")
    return { text: rule.join(" "), behavior: behavior as RuleSource["behavior"], scope: "project", ordered: true }
  })
  const { run, write, read, net, all, denyRun } = rules
  const given = Object.entries({ run, write, read, net, all }).filter(([, value]) => value !== undefined)
  return compileRules([...list("deny", deny), ...list("ask", ask), ...list("allow", allow), ...entries], {
    cwd: folders.project,
    home: folders.home,
    flags: { allow: Object.fromEntries(given), deny: denyRun ? { run: denyRun } : {} },
    ...options,
  })
}

/** Resolves the call's paths and decides. */
export async function decideIn(
  folders: Folders,
  call: PermissionCall,
  rules: RuleSet,
  more: Partial<PermissionFacts> & DecideExtra = {},
): Promise<Decision> {
  const { grants, filters, ...facts } = more
  const cwd = facts.cwd ?? folders.project
  const paths = await resolveTargets(call.targets, cwd, { home: folders.home })
  const known: PermissionFacts = {
    aborted: false,
    mode: "default",
    cwd,
    roots: [folders.project],
    readRoots: [],
    home: folders.home,
    stateFolders: [folders.state],
    paths,
    canAsk: true,
    ...facts,
  }
  return decide(call, rules, known, { ...(grants ? { grants } : {}), ...(filters ? { filters } : {}) })
}
