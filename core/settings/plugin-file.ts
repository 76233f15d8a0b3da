/**
 * Plugin files → entries for a kit: each with its plugin, or with the fault that kept it from loading.
 *
 * Invariant: one that does not load keeps no other from loading; they load together and are handed on in order; a fault
 * names the file that a person knows, wherever its code was read from.
 */
import { readFileSync } from "node:fs"
import { isSousError, SousError } from "../error.ts"
import type { Plugin, PluginEntry } from "../plugin.ts"
import { checkPlugin } from "../registry-shape.ts"
import { nameOriginal } from "./copy-name.ts"
import { given } from "./given.ts"
import { type PluginFile, plainName } from "./plugin-find.ts"

export { type FindOptions, findPlugins, type PluginFile } from "./plugin-find.ts"

/** Brings the module of a plugin file; `loadFrom`: where its code is read. */
export type LoadPluginFile = (loadFrom: string, file: PluginFile) => Promise<unknown>

/** How long a file may take to load when nothing else is said, ms. */
const LOAD_BUDGET_MS = 10_000
/** Files that load at once: what one of them computes, the others wait for within their time. */
const LANES = 6

/** Loads plugin files, several at once; what they are is in the order of the files. */
export async function loadPlugins(
  files: readonly PluginFile[],
  load: LoadPluginFile,
  options: { budgetMs?: number | undefined } = {},
): Promise<PluginEntry[]> {
  const budgetMs = options.budgetMs ?? LOAD_BUDGET_MS
  const entries: PluginEntry[] = []
  let next = 0
  const lane = async () => {
    for (let index = next++; index < files.length; index = next++)
      entries[index] = await loadOne(files[index]!, load, budgetMs)
  }
  await Promise.all(Array.from({ length: Math.min(LANES, files.length) }, lane))
  return entries.filter((entry, index) => !isCopyOfEarlier(entry, entries.slice(0, index)))
}

async function loadOne(file: PluginFile, load: LoadPluginFile, budgetMs: number): Promise<PluginEntry> {
  const started = performance.now()
  const entry = entryFor(file)
  try {
    if (file.fault) throw file.fault
    const module = await withinBudget(load(file.loadFrom ?? file.file, file), file.file, budgetMs)
    const plugin = checkPlugin(pluginOf(module, file.file), file.file)
    return { ...entry, plugin, name: plugin.name, loadMs: performance.now() - started }
  } catch (error) {
    return { ...entry, fault: faultOf(error, file), loadMs: performance.now() - started }
  }
}

function entryFor({ file, origin, pack, isolation, isShipped, ...file_ }: PluginFile): PluginEntry {
  const { loadFrom, identity, required, collision } = file_
  return {
    name: isShipped ? file : plainName(file),
    from: file,
    scope: origin.scope,
    tier: isShipped ? "shipped" : isolation === "process" ? "process" : "in-process",
    ...(origin.scope === "cli" ? { isNamed: true } : {}),
    ...given({ loadedFrom: loadFrom, identity, required, collision, pack }),
  }
}

/** The default export; one that a bundler or an interop of modules has wrapped is unwrapped. Throws PLUGIN_EXPORT_INVALID. */
function pluginOf(module: unknown, from: string): Plugin {
  let found = (module as { default?: unknown } | undefined)?.default
  for (let depth = 0; depth < 2 && isWrapped(found); depth++) found = found.default
  if (typeof found === "object" && found !== null && !Array.isArray(found)) return found as Plugin
  throw new SousError("PLUGIN_EXPORT_INVALID", { from, found: describe(found, module) })
}

function isWrapped(value: unknown): value is { default: unknown } {
  return typeof value === "object" && value !== null && !("name" in value) && "default" in value
}

function describe(found: unknown, module: unknown): string {
  const what =
    found === undefined ? "missing" : found === null ? "null" : Array.isArray(found) ? "a list" : `a ${typeof found}`
  const others = Object.keys((module as object | undefined) ?? {}).filter(
    (name) => name !== "default" && name !== "__esModule",
  )
  return others.length === 0
    ? what
    : `${what}; it exports ${others
        .slice(0, 5)
        .map((name) => `"${name}"`)
        .join(", ")}`
}

async function withinBudget<T>(work: Promise<T>, file: string, budgetMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  // What is no longer waited for may still fail.
  work.catch(() => {})
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SousError("PLUGIN_LOAD_TIMEOUT", { file, seconds: budgetMs / 1000 })), budgetMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function faultOf(error: unknown, { file, loadFrom }: PluginFile): SousError {
  const name = (text: string) => nameOriginal(text, file, loadFrom)
  if (!isSousError(error)) {
    const reason = name(error instanceof Error ? error.message : String(error))
    return new SousError("PLUGIN_LOAD_FAILED", { file, reason }, { cause: error })
  }
  if (loadFrom === undefined) return error
  const details = Object.entries(error.details as object).map(([key, value]) => [
    key,
    typeof value === "string" ? name(value) : (value as unknown),
  ])
  return new SousError(error.code, Object.fromEntries(details) as never, { cause: error })
}

/** Two files with the same bytes and the same plugin in them are one. */
function isCopyOfEarlier(entry: PluginEntry, earlier: readonly PluginEntry[]): boolean {
  const { plugin } = entry
  if (plugin === undefined || entry.tier === "shipped") return false
  const same = earlier.find((one) => one.plugin?.name === plugin.name && one.tier !== "shipped")
  if (same === undefined || !hasSameBytes(same, entry)) return false
  if (entry.required) same.required = true
  // The process of the other one does it all.
  if (entry.tier === "process") void (async () => await plugin.dispose?.())().catch(() => {})
  return true
}

function hasSameBytes(one: PluginEntry, other: PluginEntry): boolean {
  const bytes = ({ from, loadedFrom = from }: PluginEntry) => readFileSync(loadedFrom)
  try {
    return bytes(one).equals(bytes(other))
  } catch {
    return false
  }
}
