/**
 * What guarded when it was loaded last → an entry with a fault for each whose file is gone from the `plugins/` folder of a
 * scope.
 *
 * Invariant: a file that nothing names leaves no hole: taking a guard away is told like breaking it. What a project that
 * does not count has is not looked for, since that it does not count is told.
 */
import { existsSync, realpathSync } from "node:fs"
import { basename, dirname, join, sep } from "node:path"
import { SousError } from "../error.ts"
import { loadGuards } from "../guard-memory.ts"
import type { PluginEntry } from "../plugin.ts"
import type { RememberedGuard } from "../session/guard-memory.ts"
import type { LoadedSettings } from "../settings/load.ts"

/** Those that are neither among what was found, nor loaded from another file under the same name. */
export async function goneGuards(
  state: string,
  { folders, trust }: Pick<LoadedSettings, "folders" | "trust">,
  found: readonly PluginEntry[],
): Promise<PluginEntry[]> {
  const isProjectIn = trust.isTrusted || trust.state === "nothing"
  const scopes = [
    { scope: "managed" as const, folder: folders.managed },
    ...(isProjectIn ? [{ scope: "project" as const, folder: folders.project }] : []),
    { scope: "user" as const, folder: folders.user },
  ]
  const isFound = ({ file, name, identity }: RememberedGuard) =>
    found.some(
      (one) =>
        one.from === file ||
        (identity !== undefined && one.identity === identity) ||
        (one.name === name && one.fault === undefined),
    )
  // A memory that cannot be read is told of where it is compared with what was loaded.
  const known = await loadGuards(state).catch(() => [])
  return known.flatMap((guard) => {
    const { file, name } = guard
    const home = scopes.find(({ folder }) => folder !== undefined && file.startsWith(pluginsIn(folder)))
    if (home === undefined || isFound(guard)) return []
    const fault = new SousError("PLUGIN_FILE_GONE", { file, isThere: existsSync(file) })
    return [{ name, from: file, scope: home.scope, tier: "in-process", fault }]
  })
}

/** The real path of the folder of plugins, which may be gone, too. */
function pluginsIn(folder: string): string {
  const plugins = join(folder, "plugins")
  const there = [plugins, folder, dirname(folder)].find((path) => existsSync(path))
  if (there === undefined) return plugins + sep
  const rest = there === plugins ? [] : there === folder ? ["plugins"] : [basename(folder), "plugins"]
  return join(realpathSync(there), ...rest) + sep
}
