/**
 * Permission tables → each case decided on the disk as it is, and compared with what the table expects.
 *
 * Invariant: the rules are those of the table, or of the project alone; nothing of the user or the machine changes a result.
 */
import { readFile } from "node:fs/promises"
import { resolve } from "node:path"
import { isSousError, SousError } from "../error.ts"
import { prepareCommands } from "../permission/command.ts"
import type { Decision, RuleSource } from "../permission/decision.ts"
import { createDiskLook, followNow } from "../permission/disk.ts"
import { createCall, createForeignCall, type ExplainOptions, explain } from "../permission/explain.ts"
import { compileRules } from "../permission/rule.ts"
import { stateFolderFor } from "../session/store.ts"
import { type FlagValues, grantsOfFlags, settingsOfFlags } from "../settings/flag.ts"
import { loadProjectSettings } from "../settings/load.ts"
import { mergeSettings, modeOf, type SettingsScope, type SettingsSource } from "../settings/merge.ts"
import { findProjectRoot, homeFolder, resolveWritten } from "../settings/scopes.ts"
import type { Tool } from "../tool.ts"
import { parseCommandLine } from "./command-line.ts"
import { fitInput } from "./explain-input.ts"
import { findFolders } from "./explain-situation.ts"
import { placeOf } from "./explain-text.ts"
import type { Host } from "./host.ts"
import { readTable, type TableCase, type TableGroup } from "./table.ts"
import { callOfCase } from "./table-call.ts"
import { describeCount, type Tested } from "./tested.ts"

/** Where the tables of one start are decided. */
interface Ground {
  /** Absolute: the project, or the current folder. */
  project: string
  home: string
  state: string
  tools: ReadonlyMap<string, Tool>
}

/** Runs a table; its file is relative to the current folder. */
export async function createTableRunner(host: Host): Promise<(file: string) => Promise<Tested>> {
  const cwd = await host.cwd()
  const home = homeFolder(host.env) ?? "/nonexistent"
  const plugins = await host.shippedPlugins()
  const tools = new Map(plugins.flatMap(({ tools: list = [] }) => list.map((tool) => [tool.name, tool] as const)))
  const ground = { project: findProjectRoot(cwd, { home }) ?? cwd, home, state: stateFolderFor({}, home), tools }
  await prepareCommands()
  return async (file) => {
    try {
      const groups = await readTable(file, await readFile(resolve(cwd, file), "utf8"))
      return summarise(file, await runGroups(file, groups, ground))
    } catch (error) {
      if (!isSousError(error)) throw error
      const { code, message, mend } = error
      const failures = [`${message}\n  mend  ${mend}`]
      return { file, ok: false, count: "it cannot be run", failures, details: [{ code, message, mend }] }
    }
  }
}

interface Checked {
  about: string | undefined
  one: TableCase
  tool: string
  input: unknown
  decision: Decision
}

async function runGroups(file: string, groups: readonly TableGroup[], ground: Ground): Promise<Checked[]> {
  const checked: Checked[] = []
  const names = { CWD: ground.project, HOME: ground.home, STATE: ground.state }
  for (const written of groups) {
    const { at } = written
    const group = { ...fill({ ...written, at: undefined }, names), at }
    const options = await situate(file, group, ground)
    for (const one of group.cases) {
      const { tool, input } = callOfCase(one, ground.tools)
      const decision = await decideCase({ tool, input }, options, ground).catch((error) => {
        const problem = error instanceof Error ? error.message : String(error)
        throw new SousError("CLI_TABLE_INVALID", {
          file,
          problem,
          line: one.line,
          mend: "give the input that the tool takes",
        })
      })
      checked.push({ about: group.about, one, tool, input, decision })
    }
  }
  return checked
}

async function decideCase(
  call: { tool: string; input: unknown },
  options: ExplainOptions,
  { tools }: Ground,
): Promise<Decision> {
  const tool = tools.get(call.tool)
  const { cwd } = options.facts
  const subject = tool
    ? await createCall(tool, await fitInput(tool, call.input), cwd)
    : createForeignCall(call.tool, call.input)
  return await explain(subject, options)
}

/** The rules and facts of a group. */
async function situate(file: string, group: TableGroup, { project, home }: Ground): Promise<ExplainOptions> {
  const { flags = [], tools, headless, cwd, mode } = group
  const values = await readFlags(flags)
  const cli: SettingsSource = { scope: "cli", base: project, values: settingsOfFlags(values) }
  const { permissions } = mergeSettings([cli, ...(await sourcesOf(file, group, project))])
  const disk = createDiskLook()
  const further = permissions.additionalDirectories.map(({ value, base, origin }) => ({
    path: resolveWritten(value, base, home),
    isNamed: origin.scope === "cli" || origin.scope === "managed",
  }))
  const folders = await findFolders({ cwd: project, home, env: {}, further, disk })
  const rules = compileRules(permissions.rules, {
    cwd: folders.cwd,
    home: folders.home,
    follow: followNow,
    flags: grantsOfFlags(values, { cwd: project, home }),
  })
  const start = cwd === undefined ? folders.cwd : resolve(folders.cwd, cwd)
  const chosen = mode === undefined ? permissions.defaultMode : modeOf(mode)
  const facts = { aborted: false, mode: chosen, canAsk: !headless, ...folders, cwd: start }
  return { rules, facts, disk, ...(tools ? { extra: { filters: [tools] } } : {}) }
}

async function sourcesOf(
  file: string,
  { settings, scopes = {}, at }: TableGroup,
  project: string,
): Promise<SettingsSource[]> {
  const inTable = (scope: SettingsScope, values: SettingsSource["values"], path: string[]): SettingsSource => {
    return { scope, file: resolve(project, file), base: project, values, at: (inner) => at([...path, ...inner]) }
  }
  const others = Object.entries(scopes).map(([scope, values]) =>
    inTable(scope as SettingsScope, values, ["scopes", scope]),
  )
  const own = settings ? [inTable("project", settings, ["settings"])] : await loadProjectSettings(project)
  return [...own, ...others]
}

async function readFlags(flags: readonly string[]): Promise<FlagValues> {
  return flags.length === 0 ? {} : (await parseCommandLine([...flags, "-p", "a prompt"])).values
}

function summarise(file: string, checked: readonly Checked[]): Tested {
  const wrong = checked.filter(({ one, decision }) => !isAsExpected(one, decision))
  const count = describeCount(checked.length, wrong.length, "case")
  return { file, ok: wrong.length === 0, count, failures: wrong.map(describe), details: wrong.map(detailOf) }
}

function isAsExpected({ expect, source }: TableCase, decision: Decision): boolean {
  const fits = expect === "not-allow" ? decision.behavior !== "allow" : decision.behavior === expect
  return fits && (source === undefined || source === decision.source)
}

/** `12: expected deny, got allow: Bash git push — it publishes; decided by the rule "Bash(git *)" (project, …)`. */
function describe({ about, one, tool, input, decision }: Checked): string {
  const { expect, source, because, line } = one
  const wanted = source === undefined ? expect : `${expect} by ${source}`
  const got = source === undefined ? decision.behavior : `${decision.behavior} by ${decision.source}`
  const text = one.command ?? one.path ?? one.url ?? JSON.stringify(input)
  const by = decision.rule ? `${describeRule(decision.rule)}` : decision.source
  const head = about === undefined ? "" : ` (${about})`
  return `line ${line}: expected ${wanted}, got ${got}: ${tool} ${text} — ${because}; decided by ${by}${head}`
}

function describeRule(rule: RuleSource): string {
  return `"${rule.behavior} ${rule.text}" (${placeOf(rule)})`
}

function detailOf({ about, one, tool, input, decision }: Checked): object {
  const { line, expect, because } = one
  const { behavior, source, reason, rule } = decision
  return { line, about, tool, input, expect, because, behavior, source, reason, rule }
}

/** Puts folders for `{{CWD}}` and the like, in every text at any depth. */
function fill<T>(value: T, names: Readonly<Record<string, string>>): T {
  if (typeof value === "string")
    return value.replaceAll(/\{\{([A-Z]+)\}\}/g, (all, name: string) => names[name] ?? all) as T
  if (Array.isArray(value)) return value.map((one) => fill(one, names)) as T
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fill(one, names)])) as T
}
