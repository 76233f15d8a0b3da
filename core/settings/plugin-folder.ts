/**
 * The folder of a scope → what in its `plugins/` is a plugin: files, and folders that are one plugin each.
 *
 * Invariant: names are looked at and nothing is read.
 */
import { existsSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"

/** Plugin files end like this. */
export const PLUGIN_ENDING = /(?<!\.d|\.test)\.[mc]?[jt]s$/

/** What the entry of a folder is called when nothing names it. */
export const INDEX = ["index.ts", "index.mts", "index.js", "index.mjs", "index.cjs", "index.cts"]

/** The plugins in `plugins/` of the folder of a scope, absolute, by name. */
export function pluginPathsIn(folder: string | undefined): string[] {
  if (folder === undefined) return []
  const plugins = join(folder, "plugins")
  return namesIn(plugins).flatMap((name) => {
    const path = join(plugins, name)
    if (isFolder(path)) return name !== "node_modules" && isPluginFolder(path) ? [path] : []
    return PLUGIN_ENDING.test(name) ? [path] : []
  })
}

/** True for a folder that is one plugin. */
export function isPluginFolder(folder: string): boolean {
  return isFolder(folder) && ["package.json", ...INDEX].some((file) => existsSync(join(folder, file)))
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => !name.startsWith("."))
      .sort()
  } catch {
    return []
  }
}
