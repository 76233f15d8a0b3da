/**
 * `sous check` without a file: the settings, rules, hooks, plugins, packs, recipes and tables of this place → what is wrong
 * with them.
 *
 * Invariant: each file by itself first, so that one which is broken hides no other; what is code is loaded only where
 * somebody trusts it.
 */
import { join } from "node:path"
import type { HookSource } from "../hook-source.ts"
import type { RuleSource } from "../permission/decision.ts"
import { listFolder } from "../settings/find.ts"
import { hookFilesElsewhere, hookFilesOf } from "../settings/hook-find.ts"
import type { SettingsScope } from "../settings/merge.ts"
import { claudePlaces, ownPlaces } from "../settings/scope-file.ts"
import { homeFolder, resolveWritten, type ScopeFolders, scopeFolders } from "../settings/scopes.ts"
import { readSettingsText } from "../settings/text-file.ts"
import { needsTrust } from "../settings/trust.ts"
import { doubleKeys } from "./check-double.ts"
import { type CheckedFile, type CheckReport, type Finding, findingOf } from "./check-finding.ts"
import { checkHooks } from "./check-hook.ts"
import { checkRules } from "./check-rule.ts"
import { ruleGround } from "./check-rule-view.ts"
import { checkSettingsFile, type SettingsFindings, type SettingsForm } from "./check-settings.ts"
import { checkStart, type Start } from "./check-start.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"

/** Looks at everything that a run started here would read. */
export async function checkPlace(line: CommandLine, host: Host): Promise<CheckReport> {
  const { folders, cwd, found } = await openPlace(line, host)
  const root = folders.root ?? cwd
  const start = await checkStart(line, host)
  const code = await personalCode(folders, { tools: start.tools, host })
  const more = await checkMore(folders, { start, host })
  const known = [
    ...found.findings,
    ...code.findings,
    ...(await checkRulesHere(found, start, { host, cwd: root })),
    ...hooksHere({ ...found, hooks: [...found.hooks, ...start.hooks] }, named(start), { host, cwd, root }),
  ]
  return {
    files: [...found.files, ...code.files, ...more.files],
    findings: [...known, ...startFindings(start, known), ...more.findings],
  }
}

/** Settings of this person and of the organisation that are code; a start loads them whatever the project is. */
async function personalCode(
  folders: ScopeFolders,
  { tools, host }: { tools: Start["tools"]; host: Host },
): Promise<CheckReport> {
  const report: CheckReport = { files: [], findings: [] }
  for (const { folder, name, scope } of ownPlaces(folders)) {
    const present = namesIn(folder)
    const isCode = present.includes(`${name}.ts`) && !ENDINGS.some((ending) => present.includes(name + ending))
    if (!isCode || needsTrust(scope)) continue
    const { checkFile } = await import("./check-file.ts")
    const file = join(folder, `${name}.ts`)
    const { as, findings } = await checkFile(file, { host, tools })
    report.files.push({ file, as })
    report.findings.push(...findings)
  }
  return report
}

function named({ tools, agents }: Start): { tools: string[]; agents: readonly string[] } {
  return { tools: tools.map(({ name }) => name), agents }
}

/** The same of the files by themselves, without a start: their hooks, and not their rules. */
export async function checkFilesHere(line: CommandLine, host: Host): Promise<CheckReport> {
  const { folders, cwd, found } = await openPlace(line, host)
  const tools = (await host.shippedPlugins()).flatMap(({ tools: list = [] }) => list.map(({ name }) => name))
  const hooks = hooksHere(found, { tools, agents: [] }, { host, cwd, root: folders.root ?? cwd })
  return { files: found.files, findings: [...found.findings, ...hooks] }
}

async function openPlace(line: CommandLine, host: Host) {
  const [cwd, home] = [await host.cwd(), homeFolder(host.env)]
  const folders = scopeFolders({ cwd, env: host.env, home })
  const tools = (await host.shippedPlugins()).flatMap(({ tools: list = [] }) => list)
  const found = await readFiles(filesOf({ folders, cwd, home, line }), tools)
  const hooks = hookFilesOf(folders).map(({ file }) => file)
  found.findings.push(
    ...doubleKeys(found.sets),
    ...besideSettings(folders),
    ...hookFilesElsewhere(cwd, hooks).map(notRead),
  )
  return { folders, cwd, found }
}

interface PlacedFile {
  file: string
  scope: SettingsScope
  form: SettingsForm
}

const ENDINGS = [".json", ".yaml", ".yml"]

/** The data files that hold settings or hooks here, strongest scope first. */
function filesOf(place: {
  folders: ScopeFolders
  cwd: string
  home: string | undefined
  line: CommandLine
}): PlacedFile[] {
  const { folders, cwd, home, line } = place
  const given = [line.values.settings ?? []].flat().filter((one) => !one.trimStart().startsWith("{"))
  const own = ownPlaces(folders).flatMap(({ folder, name, scope }): PlacedFile[] => {
    const present = namesIn(folder)
    const file = ENDINGS.map((ending) => name + ending).find((one) => present.includes(one))
    return file === undefined ? [] : [{ file: join(folder, file), scope, form: "own" }]
  })
  const claude = claudePlaces(folders, cwd, new Map()).flatMap(({ folder, name, scope }): PlacedFile[] =>
    namesIn(folder).includes(`${name}.json`) ? [{ file: join(folder, `${name}.json`), scope, form: "claude" }] : [],
  )
  return [
    ...given.map((file): PlacedFile => ({ file: resolveWritten(file, cwd, home), scope: "cli", form: "own" })),
    ...own,
    ...claude,
    ...hookFilesOf(folders).map(({ file, scope }): PlacedFile => ({ file, scope, form: "hooks" })),
  ]
}

function namesIn(folder: string): readonly string[] {
  try {
    return listFolder(folder, new Map())
  } catch {
    // What cannot be read is told of by the start.
    return []
  }
}

interface Found extends CheckReport {
  /** The keys of each settings file. */
  sets: (PlacedFile & Pick<SettingsFindings, "keys">)[]
  rules: RuleSource[]
  hooks: HookSource[]
  variables: string[]
}

async function readFiles(files: readonly PlacedFile[], tools: Start["tools"]): Promise<Found> {
  const found: Found = { files: [], findings: [], sets: [], rules: [], hooks: [], variables: [] }
  for (const { file, scope, form } of files) {
    found.files.push({ file, as: wordsFor(form, scope) })
    try {
      const one = await checkSettingsFile({ file, text: readSettingsText(file), form, scope, tools })
      found.findings.push(...one.findings)
      found.sets.push({ file, scope, form, keys: one.keys })
      found.rules.push(...one.rules)
      found.hooks.push(...one.hooks)
      found.variables.push(...one.variables)
    } catch (error) {
      found.findings.push(findingOf(error, file))
    }
  }
  return found
}

function wordsFor(form: SettingsForm, scope: SettingsScope): string {
  if (form === "hooks") return `hooks (${scope})`
  return form === "claude" ? `settings of Claude Code (${scope})` : `settings (${scope})`
}

/** Files beside settings whose names look as if they were read. */
function besideSettings(folders: ScopeFolders): Finding[] {
  const { managed, project, user, claude } = folders
  const all = [managed, project, user, claude.managed, claude.project, claude.user]
  return all.flatMap((folder) => {
    if (folder === undefined) return []
    const isClaude = folder === claude.project || folder === claude.user || folder === claude.managed
    const present = namesIn(folder)
      // The schema that "sous init" writes is for editors.
      .filter((name) => /^(?:managed-)?settings(?:\.local)?\.(?!schema\.json$)\w/.test(name))
      .sort()
    return present.flatMap((name) => {
      const reason = whyNotRead(name, present, isClaude)
      return reason === undefined ? [] : [notRead(`"${join(folder, name)}" is not read: ${reason}`)]
    })
  })
}

function whyNotRead(name: string, present: readonly string[], isClaude: boolean): string | undefined {
  const [, stem = "", ending = ""] = /^((?:managed-)?settings(?:\.local)?)\.(.*)$/.exec(name) ?? []
  const endings = isClaude ? ["json"] : ["json", "yaml", "yml", "ts"]
  const first = endings.find((one) => present.includes(`${stem}.${one}`))
  if (!endings.includes(ending)) return `write "${stem}.json" where it should count`
  return first === ending ? undefined : `"${stem}.${first}" beside it is`
}

function notRead(sentence: string): Finding {
  const [, file = "", reason = sentence] = /^"(.*?)" is not read: (.*)$/s.exec(sentence) ?? []
  const [, mend] = /^(write .*)$/.exec(reason) ?? []
  const problem = mend === undefined ? `it is not read: ${reason}` : "it is not read under this name"
  return { level: "warning", file, line: 1, column: 1, what: "", problem, mend: mend ?? "remove it, or move it" }
}

async function checkRulesHere(
  { rules }: Found,
  start: Start,
  { host, cwd }: { host: Host; cwd: string },
): Promise<Finding[]> {
  const ground = ruleGround(start.tools, { cwd, env: host.env, isPartial: start.isPartial })
  return await checkRules([...rules, ...start.rules], { ...ground, isUntrusted: start.isUntrusted })
}

function hooksHere(
  { hooks, variables }: Found,
  { tools, agents }: { tools: readonly string[]; agents: readonly string[] },
  { host, cwd, root }: { host: Host; cwd: string; root: string },
): Finding[] {
  return checkHooks(hooks, {
    tools,
    agents,
    surroundings: { cwd, projectDir: root, env: host.env },
    variables: new Set([...variables, ...Object.keys(host.env)]),
  })
}

/** What a start says beyond what the files said by themselves. */
function startFindings({ findings }: Start, known: readonly Finding[]): Finding[] {
  return findings.filter(
    (one) =>
      !known.some(
        ({ code, file, line }) => code !== undefined && code === one.code && file === one.file && line === one.line,
      ),
  )
}

/** Packs, recipes, tables. */
async function checkMore(
  folders: ScopeFolders,
  { start, host }: { start: Start; host: Host },
): Promise<{ files: CheckedFile[]; findings: Finding[] }> {
  const { checkLocks, checkRecipes, checkTables } = await import("./check-more.ts")
  const parts = [
    await checkLocks(folders, { loaded: start.loaded, env: host.env }),
    await checkRecipes(folders, { loaded: start.loaded, host, tools: start.tools }),
    await checkTables(folders),
  ]
  return { files: parts.flatMap(({ files }) => files), findings: parts.flatMap(({ findings }) => findings) }
}
