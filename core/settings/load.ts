/**
 * The folders of the scopes, the flags and `--settings` → the settings in force, each value with its origin.
 *
 * Invariant: nothing of a project that nobody trusted widens what may run, and none of its code is loaded; a file that is
 * broken stops the start.
 */
import { dirname, join, resolve } from "node:path"
import { SousError } from "../error.ts"
import { dataFolderFor, stateFolderFor } from "../session/store.ts"
import { type ClaudeColumn, readClaudeColumn } from "./claude-column.ts"
import type { HookFile } from "./hook-entry.ts"
import { type HooksFound, hookFilesElsewhere, hookFilesOf, readHooks } from "./hook-find.ts"
import type { ConfiguredHooks, HookFilePlace } from "./hook-load.ts"
import { leaveOutForeign, leaveOutUntrusted } from "./left-out.ts"
import { type EffectiveSettings, mergeSettings, rankSources, type SettingsScope, type SettingsSource } from "./merge.ts"
import { type ProjectTrust, settleTrust } from "./project-trust.ts"
import type { Settings } from "./schema.ts"
import {
  type CodeFile,
  claudePlaces,
  createReading,
  ownPlaces,
  type Reading,
  readOwn,
  readOwnFiles,
} from "./scope-file.ts"
import { homeFolder, resolveWritten, type ScopeFolders, type ScopeOptions, scopeFolders } from "./scopes.ts"
import { readNamedText } from "./text-file.ts"
import { needsTrust } from "./trust.ts"

export interface LoadSettingsOptions extends ScopeOptions {
  /** `--settings`: a file, or JSON itself; of several the last wins. */
  settings?: string | readonly string[] | undefined
  /** What the flags set; beats `settings` within the CLI scope. */
  flags?: Settings | undefined
  /** The project is trusted for this start. Default: if a person trusted what it brings. */
  trust?: boolean | undefined
  /** Where trust is kept; absolute. Default: from env and home, as a kit's. */
  state?: string | undefined
  /** Where copies of what is trusted are kept; absolute. Default: from env and home. */
  data?: string | undefined
  /** Loads settings that are code, by their file (absolute): what the module exports. Left out: such a file is a fault. */
  load?: ((file: string) => Promise<unknown>) | undefined
  /** Files (absolute) that are not read, `.hooks.json` among them, each with what it said when it was good. */
  instead?: ReadonlyMap<string, SettingsSource | undefined> | undefined
}

export interface LoadedSettings {
  settings: EffectiveSettings
  folders: ScopeFolders
  /** The files that were read. */
  files: { scope: SettingsScope; file: string }[]
  hooks: ConfiguredHooks
  trust: ProjectTrust
  /** The settings of each file, strongest first, as they count; with what does not. */
  sources: readonly SettingsSource[]
  /** One sentence each; one of them names all that was left out of a project that nobody trusts. */
  warnings: string[]
  /** What is odd and harms nobody, one sentence each: for `sous check` and `sous config`, not for every start. */
  notes: string[]
  /** When the reading began, ms since the epoch. */
  at: number
}

/** Reads and merges the settings of all scopes. Throws SETTINGS_… errors. */
export async function loadSettings(given: LoadSettingsOptions): Promise<LoadedSettings> {
  const at = Date.now()
  const options = { home: homeFolder(given.env), ...given }
  const folders = scopeFolders(options)
  const reading = createReading(options.instead)
  const read = await readAll(options, folders, reading)
  const { places, found } = await findHooks(options, folders, read, reading)
  const trust = await askTrust(options, folders, { read, hooks: found.files })
  const { sources, code } = await settleSources(options, read, trust)
  reading.warnings.push(...leaveOutForeign(sources))
  const leftOut = leaveOutUntrusted(sources, { folders, hooks: places, code: read.code }, trust)
  if (leftOut !== undefined) reading.warnings.push(leftOut)
  const hooks = await found.settle(sources, { trust: trust.isTrusted, more: code })
  return {
    settings: mergeSettings(sources),
    folders,
    files: filesOf([...sources, ...places]),
    hooks: { ...hooks, sources: await trust.bindHooks(hooks.sources) },
    trust,
    sources,
    warnings: reading.warnings,
    notes: [...reading.notes, ...(await columnNotes(sources))],
    at,
  }
}

async function columnNotes(sources: readonly SettingsSource[]): Promise<string[]> {
  if (sources.every(({ dialect }) => dialect === undefined)) return []
  return (await import("./column-note.ts")).sameKeyNotes(sources)
}

/** What the files of a project itself set, without its local ones, strongest first. Throws SETTINGS_… errors. */
export async function loadProjectSettings(root: string): Promise<SettingsSource[]> {
  const reading = createReading()
  const [project, claude] = [join(root, ".sous"), join(root, ".claude")]
  const folders = { managed: "", root, project, claude: { managed: "", project: claude } }
  const { sources, code } = await readOwnFiles(ownPlaces(folders).filter(isProject), reading)
  const loaded = await Promise.all(code.map((file) => sourceOfCode(file, {})))
  const own = [...sources, ...loaded]
  const column = await readClaudeColumn(own, claudePlaces(folders, root, reading.lists).filter(isProject), reading)
  return [...own, ...column.settle(own, { isTrusted: true })]
}

function isProject({ scope }: { scope: SettingsScope }): boolean {
  return scope === "project"
}

/** All that was read before anybody was asked about trust. */
interface ReadFiles {
  cli: readonly SettingsSource[]
  own: readonly SettingsSource[]
  claude: ClaudeColumn
  /** Settings of the project that are code: not loaded. */
  code: readonly CodeFile[]
  /** All of these. */
  sources: readonly SettingsSource[]
}

async function readAll(options: LoadSettingsOptions, folders: ScopeFolders, reading: Reading): Promise<ReadFiles> {
  const cli = [...(options.flags ? [flagSource(options.flags, options.cwd)] : [])]
  for (const one of [options.settings ?? []].flat().reverse()) cli.push(await commandLineSource(one, options, reading))
  const files = await readOwnFiles(ownPlaces(folders), reading)
  const code = files.code.filter(({ scope }) => needsTrust(scope))
  const personal = files.code.filter(({ scope }) => !needsTrust(scope))
  const loaded = await Promise.all(personal.map((file) => sourceOfCode(file, options)))
  const own = rankSources([...cli, ...files.sources, ...loaded])
  const claude = await readClaudeColumn(own, claudePlaces(folders, options.cwd, reading.lists), reading)
  return { cli, own, claude, code, sources: [...own, ...claude.sources] }
}

async function sourceOfCode(
  { scope, file, base }: CodeFile,
  { load, copy }: { load?: LoadSettingsOptions["load"]; copy?: string },
): Promise<SettingsSource> {
  const { loadCode } = await import("./code.ts")
  return { scope, file, base, values: await loadCode(file, { load, copy }) }
}

async function commandLineSource(
  given: string,
  { cwd, home }: LoadSettingsOptions,
  { instead }: Reading,
): Promise<SettingsSource> {
  if (given.trimStart().startsWith("{")) {
    return { scope: "cli", base: cwd, ...(await readOwn("--settings", given)) }
  }
  const file = resolveWritten(given, cwd, home)
  const base = dirname(file)
  if (instead.has(file)) return instead.get(file) ?? { scope: "cli", file, base, values: {} }
  return { scope: "cli", file, base, ...(await readOwn(file, await readText(file))) }
}

async function readText(file: string): Promise<string> {
  try {
    return await readNamedText(file)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message
    throw new SousError("SETTINGS_FILE_UNREADABLE", { file, reason }, { cause: error })
  }
}

function flagSource(values: Settings, cwd: string): SettingsSource {
  return { scope: "cli", base: resolve(cwd), values }
}

async function findHooks(
  { cwd }: LoadSettingsOptions,
  folders: ScopeFolders,
  { sources }: ReadFiles,
  { instead, warnings }: Reading,
): Promise<{ places: readonly HookFilePlace[]; found: HooksFound }> {
  const places = hookFilesOf(folders)
  const files = places.map(({ file }) => file)
  warnings.push(...hookFilesElsewhere(cwd, files))
  const toRead = places.filter(({ file }) => !instead.has(file))
  return { places: toRead, found: await readHooks(sources, toRead) }
}

async function askTrust(
  options: LoadSettingsOptions,
  { root }: ScopeFolders,
  { read, hooks }: { read: ReadFiles; hooks: readonly HookFile[] },
): Promise<ProjectTrust> {
  const { env, home } = options
  return await settleTrust({
    root,
    home,
    sources: read.sources.filter(({ scope }) => needsTrust(scope)),
    hooks: hooks.filter(({ scope }) => needsTrust(scope)),
    code: read.code.map(({ file }) => file),
    state: options.state ?? stateFolderFor(env, home),
    data: options.data ?? dataFolderFor(env, home),
    forStart: options.trust ?? false,
  })
}

/** Loads the project's code where somebody trusted it; what counts in the end, strongest first. */
async function settleSources(
  { load }: LoadSettingsOptions,
  read: ReadFiles,
  { isTrusted, copyOf }: ProjectTrust,
): Promise<{ sources: SettingsSource[]; code: SettingsSource[] }> {
  const files = isTrusted ? read.code : []
  const code = await Promise.all(files.map((file) => sourceOfCode(file, { load, copy: copyOf(file.file) })))
  const own = [...read.own, ...code]
  return { sources: rankSources([...own, ...read.claude.settle(own, { isTrusted })]), code }
}

function filesOf(sources: readonly { scope: SettingsScope; file?: string }[]): LoadedSettings["files"] {
  return sources.flatMap(({ scope, file }) => (file === undefined ? [] : [{ scope, file }]))
}
