/**
 * The folders of the scopes, the flags and `--settings` → the settings in force, each value with its origin.
 *
 * Invariant: nothing of a project that nobody trusted widens what may run; a file that is broken stops the start. No
 * configuration library searches here: one that was tried runs code that it finds in the current directory.
 */
import { readdirSync, realpathSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { SousError } from "../error.ts"
import { dataFolderFor, stateFolderFor } from "../session/store.ts"
import { checkSettings } from "./check.ts"
import { parseDocument } from "./document.ts"
import type { HookFile } from "./hook-entry.ts"
import type { ConfiguredHooks, HookFilePlace } from "./hook-load.ts"
import { type EffectiveSettings, mergeSettings, rankSources, type SettingsScope, type SettingsSource } from "./merge.ts"
import { pluginsIn } from "./plugin-file.ts"
import { type ProjectTrust, settleTrust } from "./project-trust.ts"
import type { Settings } from "./schema.ts"
import { homeFolder, resolveWritten, type ScopeFolders, type ScopeOptions, scopeFolders } from "./scopes.ts"
import { isThere, readNamedText, readSettingsText } from "./text-file.ts"
import { needsTrust, withoutTrust } from "./trust.ts"

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
  /** Loads settings that are code, by their file (absolute): what the module exports. Left out: there can be none. */
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
  /** When the reading began, ms since the epoch. */
  at: number
}

const ENDINGS = [".json", ".yaml", ".yml"]

/** Reads and merges the settings of all scopes. Throws SETTINGS_… errors. */
export async function loadSettings(given: LoadSettingsOptions): Promise<LoadedSettings> {
  const at = Date.now()
  const options = { home: homeFolder(given.env), ...given }
  const folders = scopeFolders(options)
  const warnings: string[] = []
  const sources = [...(options.flags ? [flagSource(options.flags, options.cwd)] : [])]
  for (const one of [options.settings ?? []].flat().reverse()) sources.push(await commandLineSource(one, options))
  for (const { scope, folder, name, base } of placesOf(folders)) {
    const file = findFile(folder, name, warnings)
    if (file !== undefined) sources.push(await loadFile(file, scope, base, options))
  }
  const hookFiles = hookFilesOf(folders).filter(({ file }) => !options.instead?.has(file))
  warnings.push(...hookFilesElsewhere(options.cwd, hookFiles))
  const hooksFound = await readHooks(sources, hookFiles)
  const trust = await settleTrust({
    root: folders.root,
    sources: sources.filter(({ scope }) => needsTrust(scope)),
    hooks: hooksFound.files.filter(({ scope }) => needsTrust(scope)),
    code: [],
    state: options.state ?? stateFolderFor(options.env, options.home),
    data: options.data ?? dataFolderFor(options.env, options.home),
    forStart: options.trust ?? false,
  })
  const untrusted = () => [...leaveOutUntrusted(sources), ...hooksLeftOut(hookFiles), ...pluginsLeftOut(folders)]
  const leftOut = trust.isTrusted ? [] : untrusted()
  if (leftOut.length > 0) warnings.push(trustWarning(leftOut))
  const hooks = hooksFound.settle(sources, { trust: trust.isTrusted })
  const files = [...sources, ...hookFiles]
  return {
    settings: mergeSettings(sources),
    folders,
    files: files.flatMap(({ scope, file }) => (file === undefined ? [] : [{ scope, file }])),
    hooks,
    trust,
    sources: rankSources(sources),
    warnings: [...warnings, ...hooks.warnings],
    at,
  }
}

/** What the files of a project itself set, without its local ones; undefined where there are none. */
export async function loadProjectSettings(root: string): Promise<SettingsSource | undefined> {
  const folder = join(root, ".sous")
  const file = findFile(folder, "settings", [])
  return file === undefined ? undefined : await loadFile(file, "project", root, {})
}

interface Place {
  scope: SettingsScope
  folder: string
  /** File name without its ending. */
  name: string
  /** What relative paths in it are relative to. */
  base: string
}

function placesOf({ managed, user, project, root }: ScopeFolders): Place[] {
  return [
    { scope: "managed", folder: managed, name: "settings", base: managed },
    ...(project && root
      ? ([
          { scope: "local", folder: project, name: "settings.local", base: root },
          { scope: "project", folder: project, name: "settings", base: root },
        ] as const)
      : []),
    ...(user ? [{ scope: "user", folder: user, name: "settings", base: user } as const] : []),
  ]
}

function findFile(folder: string, name: string, warnings: string[]): string | undefined {
  const present = listFolder(folder)
  const [first, ...others] = ENDINGS.map((ending) => name + ending).filter((file) => present.includes(file))
  for (const file of others) warnings.push(`"${join(folder, file)}" is not read: "${first}" beside it is`)
  if (present.includes(`${name}.ts`))
    warnings.push(`"${join(folder, `${name}.ts`)}" is not read: only .json and .yaml are`)
  return first === undefined ? undefined : join(folder, first)
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ENOTDIR") return []
    throw new SousError("SETTINGS_FILE_UNREADABLE", { file: folder, reason: code ?? String(error) }, { cause: error })
  }
}

/** The `.hooks.json` files that are there, strongest scope first. */
function hookFilesOf({ root, user }: ScopeFolders): HookFilePlace[] {
  const places = [
    ...(root === undefined ? [] : [{ scope: "project", file: join(root, ".hooks.json") } as const]),
    ...(user === undefined ? [] : [{ scope: "user", file: join(user, ".hooks.json") } as const]),
  ]
  return places.filter(({ file }) => isThere(file))
}

/** A `.hooks.json` where somebody works and which nothing reads would be a guard that is not there. */
function hookFilesElsewhere(cwd: string, known: readonly HookFilePlace[]): string[] {
  const file = join(realpathSync(cwd), ".hooks.json")
  if (known.some((one) => one.file === file) || !isThere(file)) return []
  return [`"${file}" is not read: it lies beside no .git, .sous or .claude, so its folder is no project's root`]
}

interface HooksFound {
  files: readonly HookFile[]
  /** Says of each whether it may run, once trust has been settled. */
  settle(settings: readonly SettingsSource[], options: { trust: boolean }): ConfiguredHooks
}

/** Reads the hooks as they stand. */
async function readHooks(sources: readonly SettingsSource[], places: readonly HookFilePlace[]): Promise<HooksFound> {
  if (places.length === 0 && sources.every(({ values }) => !HOOK_KEYS.some((key) => values[key] !== undefined)))
    return { files: [], settle: () => ({ sources: [], notRaised: [], warnings: [] }) }
  const { findHooks, settleHooks } = await import("./hook-load.ts")
  const files = await findHooks(sources, places)
  return { files, settle: (settings, options) => settleHooks(files, settings, options) }
}

/** Keys by which settings speak of hooks. */
const HOOK_KEYS = ["hooks", "allowManagedHooksOnly"] as const

async function loadFile(
  file: string,
  scope: SettingsScope,
  base: string,
  { instead }: Pick<LoadSettingsOptions, "instead">,
): Promise<SettingsSource> {
  if (instead?.has(file)) return instead.get(file) ?? { scope, file, base, values: {} }
  const text = scope === "cli" ? await readText(file) : readSettingsText(file)
  return { scope, file, base, ...(await readSettings(file, text)) }
}

async function readText(file: string): Promise<string> {
  try {
    return await readNamedText(file)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message
    throw new SousError("SETTINGS_FILE_UNREADABLE", { file, reason }, { cause: error })
  }
}

async function readSettings(file: string, text: string): Promise<Pick<SettingsSource, "values" | "at">> {
  const document = await parseDocument(file, text)
  return { values: checkSettings(file, document), at: document.at }
}

async function commandLineSource(given: string, options: LoadSettingsOptions): Promise<SettingsSource> {
  const { cwd, home } = options
  if (given.trimStart().startsWith("{")) {
    return { scope: "cli", base: cwd, ...(await readSettings("--settings", given)) }
  }
  const file = resolveWritten(given, cwd, home)
  return loadFile(file, "cli", dirname(file), options)
}

function flagSource(values: Settings, cwd: string): SettingsSource {
  return { scope: "cli", base: resolve(cwd), values }
}

interface LeftOut {
  file: string
  keys: string[]
}

/** Takes what widens out of the sources that need trust. */
function leaveOutUntrusted(sources: SettingsSource[]): LeftOut[] {
  return sources.flatMap((source) => {
    if (!needsTrust(source.scope)) return []
    const { values, leftOut } = withoutTrust(source.values)
    source.values = values
    return leftOut.length === 0 ? [] : [{ file: source.file ?? "", keys: leftOut }]
  })
}

function hooksLeftOut(files: readonly HookFilePlace[]): LeftOut[] {
  return files.flatMap(({ scope, file }) => (needsTrust(scope) ? [{ file, keys: ["hooks"] }] : []))
}

function pluginsLeftOut({ project }: ScopeFolders): LeftOut[] {
  const files = pluginsIn(project, { scope: "project" }).map(({ file }) => basename(file))
  return project === undefined || files.length === 0 ? [] : [{ file: join(project, "plugins"), keys: files }]
}

function trustWarning(leftOut: readonly LeftOut[]): string {
  const parts = leftOut.map(({ file, keys }) => `${keys.join(", ")} of "${file}"`)
  return `Left out, since nobody has trusted this project: ${parts.join("; ")}. --trust applies them for this start`
}
