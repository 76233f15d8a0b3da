/**
 * A plugin file that is to run in a process of its own → the plugin that speaks with that process, and how that fares.
 *
 * Invariant: what cannot be isolated does not load.
 */
import type { Plugin, PluginEntry } from "../plugin.ts"
import type { PluginFile } from "../settings/plugin-file.ts"
import type { Session } from "./session.ts"

/** Starts the process and loads the file in it. */
export async function loadInProcess(
  _session: Session,
  _loadFrom: string,
  file: PluginFile,
): Promise<{ plugin: Plugin; health: NonNullable<PluginEntry["health"]> }> {
  throw new Error(`"${file.file}" cannot be isolated`)
}
