/**
 * The settings of a session → the plugins that its kit is opened with: shipped ones first, then those of scopes and packs.
 *
 * Invariant: code of a plugin runs here or in a process of its own, as its settings say, and nowhere else.
 */
import { existsSync } from "node:fs"
import type { Plugin, PluginEntry } from "../plugin.ts"
import { loadModule } from "../recipe/load.ts"
import { guardsFile } from "../session/guard-file.ts"
import { stateFolderFor } from "../session/store.ts"
import type { LoadPluginFile } from "../settings/plugin-file.ts"
import { pluginPathsIn } from "../settings/plugin-folder.ts"
import type { Session } from "./session.ts"

/** Finds and loads them. What does not load is an entry with its fault. */
export async function openEntries(session: Session): Promise<PluginEntry[]> {
  const { host } = session
  const [shipped, own] = await Promise.all([host.shippedPlugins(), hasOwn(session) ? openOwn(session) : []])
  return [...shipped.map(shippedEntry), ...own, ...(await goneFrom(session, own))]
}

/** Guards that lay in a folder of plugins. */
async function goneFrom({ host, home, loaded }: Session, own: readonly PluginEntry[]): Promise<PluginEntry[]> {
  const state = stateFolderFor(host.env, home)
  if (!existsSync(guardsFile(state))) return []
  return await (await import("./plugin-gone.ts")).goneGuards(state, loaded, own)
}

/** False for a start that has none but the shipped ones: it loads no code for others. */
function hasOwn({ loaded: { settings, folders }, packs }: Session): boolean {
  const lying = [folders.managed, folders.project, folders.user].flatMap(pluginPathsIn)
  return settings.plugins.length + lying.length + (packs?.plugins.length ?? 0) > 0
}

async function openOwn(session: Session): Promise<PluginEntry[]> {
  const { host, loaded, home, packs } = session
  const { settings, folders, trust } = loaded
  const { findPlugins, loadPlugins } = await import("../settings/plugin-file.ts")
  const optional = await host.optionalPlugins()
  const files = findPlugins(settings, folders, { home, trust, packed: packs?.plugins, shipped: Object.keys(optional) })
  const healths = new Map<string, PluginEntry["health"]>()
  const load: LoadPluginFile = async (loadFrom, file) => {
    if (file.isShipped) return await optional[file.file]!()
    if (file.isolation !== "process") return await loadModule(loadFrom, host.loadOptions())
    const { loadInProcess } = await import("./plugin-process.ts")
    const { plugin, health } = await loadInProcess(session, loadFrom, file)
    healths.set(file.file, health)
    return { default: plugin }
  }
  const own = await loadPlugins(files, load)
  const bound = packs === undefined ? own : (await import("./pack-start.ts")).boundEntries(own, packs)
  const isRefused = ({ from }: PluginEntry) => bound.some((entry) => entry.from === from && entry.fault !== undefined)
  // Nobody would end the process of one that will not be registered.
  await Promise.all(own.filter(isRefused).map(({ plugin, from }) => healths.has(from) && plugin?.dispose?.()))
  return bound.map((entry) => withHealth(entry, healths.get(entry.from)))
}

function shippedEntry(plugin: Plugin): PluginEntry {
  return { plugin, name: plugin.name, from: plugin.name, tier: "shipped" }
}

function withHealth(entry: PluginEntry, health: PluginEntry["health"]): PluginEntry {
  return health === undefined ? entry : { ...entry, health }
}
