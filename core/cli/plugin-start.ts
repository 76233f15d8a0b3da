/**
 * The settings of a session → the plugins that its kit is opened with: shipped ones first, then those of scopes and packs.
 *
 * Invariant: code of a plugin runs here or in a process of its own, as its settings say, and nowhere else.
 */
import type { Plugin, PluginEntry } from "../plugin.ts"
import { loadModule } from "../recipe/load.ts"
import { findPlugins, type LoadPluginFile, loadPlugins } from "../settings/plugin-file.ts"
import type { Session } from "./session.ts"

/** Finds and loads them. What does not load is an entry with its fault. */
export async function openEntries(session: Session): Promise<PluginEntry[]> {
  const { host, loaded, home, packs } = session
  const { settings, folders, trust } = loaded
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
  const [shipped, own] = await Promise.all([host.shippedPlugins(), loadPlugins(files, load)])
  const bound = packs === undefined ? own : (await import("./pack-start.ts")).boundEntries(own, packs)
  return [...shipped.map(shippedEntry), ...bound.map((entry) => withHealth(entry, healths.get(entry.from)))]
}

function shippedEntry(plugin: Plugin): PluginEntry {
  return { plugin, name: plugin.name, from: plugin.name, tier: "shipped" }
}

function withHealth(entry: PluginEntry, health: PluginEntry["health"]): PluginEntry {
  return health === undefined ? entry : { ...entry, health }
}
