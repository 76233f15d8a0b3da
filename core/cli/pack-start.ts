/**
 * The settings of a start that name packs → the same with the packs' hooks and rules in them, and what else the packs bring.
 *
 * Invariant: loaded only where settings name packs; a plugin of a pack is held to its manifest before it is registered.
 */

import { isSousError, SousError, suggest } from "../error.ts"
import { boundPlugin } from "../pack/bound.ts"
import { recipeName } from "../pack/content.ts"
import { faultFor, type OpenedPacks, openPacks } from "../pack/load.ts"
import { lockFileOf, type PackLock, readLock } from "../pack/lock.ts"
import type { PluginEntry } from "../plugin.ts"
import { dataFolderFor } from "../session/store.ts"
import type { LoadedSettings } from "../settings/load.ts"
import type { ScopeFolders } from "../settings/scopes.ts"

/** How packs are opened. */
export interface PackStart {
  env: Readonly<Record<string, string | undefined>>
  home: string | undefined
  /** Any pack that brings nothing stops the start. */
  strict: boolean
}

/** Opens the packs of settings. Throws the fault of one that guards something, or that a model is to come from. */
export async function addPacks(
  loaded: LoadedSettings,
  { env, home, strict }: PackStart,
): Promise<{ loaded: LoadedSettings; packs: OpenedPacks }> {
  const { settings, folders, sources, hooks } = loaded
  const data = dataFolderFor(env, home)
  const packs = await openPacks(settings.packs, { folders, data, sources, strict })
  const fault = faultFor(packs, { models: [settings.model, settings.fallbackModel] })
  if (fault) throw fault
  const permissions = { ...settings.permissions, rules: [...settings.permissions.rules, ...packs.rules] }
  const more = {
    settings: { ...settings, permissions },
    hooks: { ...hooks, sources: [...hooks.sources, ...packs.hooks] },
  }
  return { loaded: { ...loaded, ...more }, packs }
}

/** Holds the plugins of packs to what their manifests list: one that adds more is an entry with its fault. */
export function boundEntries(entries: readonly PluginEntry[], packs: OpenedPacks): PluginEntry[] {
  return entries.map((entry) => {
    const { plugin, pack } = entry
    const content = pack === undefined ? undefined : packs.contentOf(pack)
    if (plugin === undefined || pack === undefined || content === undefined) return entry
    try {
      return { ...entry, plugin: boundPlugin(plugin, pack, content) }
    } catch (error) {
      if (!isSousError(error)) throw error
      const { plugin: _, ...rest } = entry
      return { ...rest, fault: error }
    }
  })
}

/**
 * The file of a recipe `pack/name`; undefined: the word names none of a pack. Throws RECIPE_UNKNOWN, or the fault that kept
 * its pack from loading.
 */
export function packRecipe(packs: OpenedPacks, word: string): string | undefined {
  const fault = faultFor(packs, { recipe: word, models: [] })
  if (fault) throw fault
  const found = packs.recipes.find(({ name }) => name === word)
  if (found !== undefined) return found.file
  const of = packs.recipes.filter(({ pack }) => word.startsWith(`${pack}/`)).map(({ name }) => name)
  if (of.length === 0 || /\.\w+$/.test(word)) return undefined
  throw new SousError("RECIPE_UNKNOWN", { name: word, mend: suggest(word, of) })
}

/** The fault of a recipe `pack/name` that the lock of an untrusted project knows; undefined: the word means something else. */
export async function untrustedRecipe(word: string, folders: ScopeFolders): Promise<SousError | undefined> {
  const file = lockFileOf("project", folders)
  const lock: PackLock = file === undefined ? new Map() : await readLock(file).catch(() => new Map())
  const names = [...lock].flatMap(([pack, { recipes = [] }]) => recipes.map((one) => `${pack}/${recipeName(one)}`))
  if (!names.includes(word)) return undefined
  return new SousError("RECIPE_UNKNOWN", { name: word, mend: 'run "sous trust", or add --trust' })
}
