/**
 * A plugin file that is to run in a process of its own → the plugin that speaks with that process, and how that fares.
 *
 * Invariant: what a pack's plugin may do is what the pack was locked with; without a pack, what the plugin itself declares.
 */
import { basename, dirname, join, relative, sep } from "node:path"
import { SousError } from "../error.ts"
import { loadIsolated } from "../pack/isolate.ts"
import type { Plugin, PluginEntry } from "../plugin.ts"
import { contentFolder, readContent } from "../session/content.ts"
import { dataFolderFor } from "../session/store.ts"
import { given } from "../settings/given.ts"
import type { PluginFile } from "../settings/plugin-file.ts"
import type { Session } from "./session.ts"

/** Starts the process and loads the file in it. Throws ISOLATION_…, PLUGIN_… and MODULE_… errors. */
export async function loadInProcess(
  { host, loaded, cwd, home }: Session,
  loadFrom: string,
  file: PluginFile,
): Promise<{ plugin: Plugin; health: NonNullable<PluginEntry["health"]> }> {
  const { env } = host
  const { pack, capabilities = pack === undefined ? undefined : {} } = file
  const folder = pack === undefined ? undefined : packFolder(loadFrom, dataFolderFor(env, home))
  const isolated = await loadIsolated(loadFrom, {
    parts: host.isolation(),
    folder: folder ?? dirname(loadFrom),
    cwd: loaded.folders.root ?? cwd,
    env: { ...env, ...loaded.settings.env },
    home,
    notice: host.tell,
    ...given({ capabilities, isHeld: pack === undefined ? undefined : (true as const) }),
    ...(pack === undefined || folder === undefined ? {} : { verify: () => verifyContent(pack, folder) }),
  })
  return { plugin: isolated.plugin, health: () => ({ restarts: isolated.restarts, fault: isolated.fault }) }
}

/** The start compared every byte of it, but that may be long ago. Throws PACK_CHANGED. */
async function verifyContent(pack: string, folder: string): Promise<void> {
  const tree = await readContent(basename(folder), join(folder, "..", ".."))
  if (tree === undefined) throw new SousError("PACK_CHANGED", { pack, files: [] })
}

/** Where the content of the pack lies that holds the file. */
function packFolder(file: string, data: string): string {
  const [content = ""] = relative(contentFolder("", data), file).split(sep)
  return contentFolder(content, data)
}
