/**
 * The settings of all scopes and the folders of the project and the person → the hooks as they stand, each file read once.
 *
 * Invariant: where nobody speaks of hooks, nothing that reads hooks is loaded.
 */
import { realpathSync } from "node:fs"
import { join } from "node:path"
import type { HookFile } from "./hook-entry.ts"
import type { ConfiguredHooks, HookFilePlace } from "./hook-load.ts"
import type { SettingsSource } from "./merge.ts"
import type { ScopeFolders } from "./scopes.ts"
import { isThere } from "./text-file.ts"

/** Hooks that were read, before anything is said about whether they may run. */
export interface HooksFound {
  files: readonly HookFile[]
  /** Says of each whether it may run, once trust has been settled; `more`: those of settings that were read since. */
  settle(
    settings: readonly SettingsSource[],
    options: { trust: boolean; more: readonly SettingsSource[] },
  ): Promise<ConfiguredHooks>
}

/** The `.hooks.json` files that are there, strongest scope first. */
export function hookFilesOf({ root, user }: ScopeFolders): HookFilePlace[] {
  const places = [
    ...(root === undefined ? [] : [{ scope: "project", file: join(root, ".hooks.json") } as const]),
    ...(user === undefined ? [] : [{ scope: "user", file: join(user, ".hooks.json") } as const]),
  ]
  return places.filter(({ file }) => isThere(file))
}

/** A `.hooks.json` where somebody works and which nothing reads would be a guard that is not there. */
export function hookFilesElsewhere(cwd: string, known: readonly string[]): string[] {
  const file = join(realpathSync(cwd), ".hooks.json")
  if (known.includes(file) || !isThere(file)) return []
  return [`"${file}" is not read: it lies beside no .git, .sous or .claude, so its folder is no project's root`]
}

/** Reads the hooks as they stand. Throws SETTINGS_… errors. */
export async function readHooks(
  sources: readonly SettingsSource[],
  places: readonly HookFilePlace[],
): Promise<HooksFound> {
  const speaks = (settings: readonly SettingsSource[]) => settings.some(({ values }) => values.hooks !== undefined)
  const isSilent = places.length === 0 && !speaks(sources)
  const files = isSilent ? [] : await (await import("./hook-load.ts")).findHooks(sources, places)
  return {
    files,
    async settle(settings, { trust, more }) {
      if (isSilent && !speaks(more)) return { sources: [], notRaised: [] }
      const { findHooks, settleHooks, sortHooks } = await import("./hook-load.ts")
      // Settings that were read and do not count bring no hooks either.
      const count = new Set([...places, ...settings].map(({ file }) => file))
      const left = files.filter(({ file }) => count.has(file))
      return settleHooks(sortHooks([...left, ...(await findHooks(more, []))]), settings, { trust })
    },
  }
}
