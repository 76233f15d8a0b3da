/**
 * The folders and settings of the scopes → the plugin files to load, and what became of each.
 *
 * Invariant: a plugin that cannot be loaded is reported and the others load; a file reached by two paths is one plugin;
 * nothing of a project loads unless the person trusts it.
 */
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { isSousError, nearestName, SousError } from "../error.ts"
import type { PluginReport } from "../event.ts"
import type { Origin } from "../permission/decision.ts"
import type { Plugin } from "../plugin.ts"
import { checkPlugin } from "../registry.ts"
import type { EffectiveSettings } from "./merge.ts"
import type { ProjectTrust } from "./project-trust.ts"
import { resolveWritten, type ScopeFolders } from "./scopes.ts"

/** A plugin to load. */
export interface PluginFile {
  /** Absolute, real; or as it was written, when it was not found or lies in no file. */
  file: string
  origin: Origin
  /** Why it cannot be loaded, when that is known before trying. */
  fault?: SousError
}

interface FindOptions {
  home?: string | undefined
  /** Whether plugins of the project count, and where they are loaded from. Left out: they do not. */
  trust?: Pick<ProjectTrust, "isTrusted" | "copyOf"> | undefined
  /** Names of plugins that lie in no file: they are asked for by these. */
  shipped?: readonly string[] | undefined
}

export interface LoadedPlugin {
  plugin: Plugin
  from: string
  durationMs: number
}

/** What became of a plugin that does not load; `isNamed`: the command line asks for it. */
export interface FailedPlugin extends PluginReport {
  fault: SousError
  isNamed: boolean
}

/** Plugin files of a folder end like this. */
const PLUGIN_ENDING = /(?<!\.d|\.test)\.[mc]?[jt]s$/

/**
 * Finds and loads the plugins of all scopes. What does not load is in `reports`; with `strict`, and for a plugin that the
 * command line names, its SousError is thrown.
 */
export async function loadScopePlugins(
  { settings, folders, trust }: { settings: EffectiveSettings; folders: ScopeFolders; trust: ProjectTrust },
  load: (file: string) => Promise<unknown>,
  options: Omit<FindOptions, "trust"> & { strict?: boolean | undefined } = {},
): Promise<{ plugins: Plugin[]; reports: PluginReport[] }> {
  const { loaded, failed } = await loadPlugins(findPlugins(settings, folders, { ...options, trust }), load)
  // Who names a plugin for this very start counts on it: a misspelt guard must not be a smaller guard.
  const fatal = failed.find(({ isNamed }) => options.strict || isNamed)
  if (fatal) throw fatal.fault
  return {
    plugins: loaded.map(({ plugin }) => plugin),
    reports: failed.map(({ fault: _, isNamed: __, ...report }) => report),
  }
}

/** Finds the plugins of all scopes: `plugins` of the settings, then the `plugins/` folders, weakest scope last. */
export function findPlugins(
  settings: EffectiveSettings,
  folders: ScopeFolders,
  options: FindOptions = {},
): PluginFile[] {
  const named = settings.plugins.map(({ value, origin, base }) => locate(value, { origin, base, ...options }))
  const lying = [
    ...pluginsIn(folders.managed, { scope: "managed" }),
    ...(options.trust?.isTrusted ? pluginsIn(folders.project, { scope: "project" }) : []),
    ...pluginsIn(folders.user, { scope: "user" }),
  ]
  const seen = new Set<string>()
  return [...named, ...lying].filter(({ file }) => !seen.has(file) && seen.add(file))
}

/** The plugin files that lie in the `plugins/` folder of a scope, by name. */
export function pluginsIn(folder: string | undefined, origin: Origin): PluginFile[] {
  if (folder === undefined) return []
  const plugins = join(folder, "plugins")
  const names = namesIn(plugins).filter((name) => PLUGIN_ENDING.test(name))
  return names.sort().map((name) => locate(join(plugins, name), { origin, base: plugins }))
}

/**
 * Loads plugin files one after another, in order. `load` brings a file's module; it gets `budgetMs` (default 10 s). What
 * does not load is in `failed`.
 */
export async function loadPlugins(
  files: readonly PluginFile[],
  load: (file: string) => Promise<unknown>,
  options: { budgetMs?: number } = {},
): Promise<{ loaded: LoadedPlugin[]; failed: FailedPlugin[] }> {
  const loaded: LoadedPlugin[] = []
  const failed: FailedPlugin[] = []
  for (const { file, fault, origin } of files) {
    const started = performance.now()
    try {
      if (fault) throw fault
      const plugin = checkPlugin(pluginOf(await withinBudget(load(file), file, options.budgetMs ?? 10_000)), file)
      loaded.push({ plugin, from: file, durationMs: performance.now() - started })
    } catch (error) {
      const cause = isSousError(error)
        ? error
        : new SousError("PLUGIN_LOAD_FAILED", reasonOf(file, error), { cause: error })
      const report = { name: nameOf(file), from: file, ok: false, adds: [], durationMs: performance.now() - started }
      failed.push({ ...report, error: cause.message, fault: cause, isNamed: origin.scope === "cli" })
    }
  }
  return { loaded, failed }
}

type Written = { origin: Origin; base: string } & Pick<FindOptions, "home" | "shipped">

function locate(written: string, from: Written): PluginFile {
  const { origin, base, home, shipped = [] } = from
  if (shipped.includes(written)) return { file: written, origin }
  try {
    const isPath = /^(\.{0,2}|~)\/|^[A-Za-z]:[\\/]/.test(written) || PLUGIN_ENDING.test(written)
    const file = isPath ? resolveWritten(written, base, home) : resolvePackage(written, base)
    return { file: realpathSync(file), origin }
  } catch (error) {
    return {
      file: written,
      origin,
      fault: new SousError(
        "PLUGIN_NOT_FOUND",
        { plugin: written, base, near: nearOf(written, shipped) },
        { cause: error },
      ),
    }
  }
}

function nearOf(written: string, shipped: readonly string[]): string | undefined {
  return shipped.find((name) => name.endsWith(`/${written}`)) ?? nearestName(written, shipped)
}

/** The file that a package gives to `import`; packages that only `require` could load are found too. */
function resolvePackage(name: string, base: string): string {
  const require = createRequire(join(base, "_"))
  const folder = require.resolve
    .paths(name)
    ?.map((modules) => join(modules, name))
    .find((found) => existsSync(join(found, "package.json")))
  const manifest = folder && (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { exports?: unknown })
  const entry = manifest ? entryOf(manifest.exports) : undefined
  return folder && entry ? join(folder, entry) : require.resolve(name)
}

/** Reads the field `exports` for the package itself. Source: https://nodejs.org/api/packages.html#conditional-exports */
function entryOf(exports: unknown): string | undefined {
  if (typeof exports === "string") return exports
  if (typeof exports !== "object" || exports === null) return undefined
  const [, chosen] = Object.entries(exports).find(([key]) => [".", "import", "node", "default"].includes(key)) ?? []
  return entryOf(chosen)
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function pluginOf(module: unknown): Plugin {
  return (module as { default?: unknown } | undefined)?.default as Plugin
}

async function withinBudget<T>(work: Promise<T>, file: string, budgetMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SousError("PLUGIN_LOAD_TIMEOUT", { file, seconds: budgetMs / 1000 })), budgetMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function reasonOf(file: string, error: unknown): { file: string; reason: string } {
  return { file, reason: error instanceof Error ? error.message : String(error) }
}

function nameOf(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1).replace(PLUGIN_ENDING, "")
}
