/**
 * A key that was just written, and where → whether it counts at a start from here, and if not, what keeps it from that.
 *
 * Invariant: what it says it has read: the settings are loaded as the next start will load them.
 */
import { isDeepStrictEqual } from "node:util"
import { isSousError } from "../error.ts"
import { loadModule } from "../recipe/load.ts"
import { type SettingsChange, valueAt } from "../settings/change.ts"
import type { KeyPath } from "../settings/key-path.ts"
import { type LoadedSettings, loadSettings } from "../settings/load.ts"
import type { SettingsSource } from "../settings/merge.ts"
import type { WritePlace } from "../settings/write.ts"
import type { Host } from "./host.ts"

/** A key with what was to become of it. */
export interface WantedChange extends KeyPath {
  change: SettingsChange
}

/** What became of a key. */
export interface Counting {
  /** The place (file, line and column) of a value that beats what was written, or that counts now in its place. */
  beatenBy?: { scope: string; file?: string; line?: number; column?: number }
  /** Why it does not count at all: one clause. */
  leftOut?: string
  /** One sentence each. */
  remarks: string[]
}

/** Loads the settings and looks the key up in them. Faults of other files become a remark. */
export async function whatCounts(key: WantedChange, place: WritePlace, host: Host): Promise<Counting> {
  try {
    const load = (file: string) => loadModule(file, host.loadOptions())
    const loaded = await loadSettings({ cwd: await host.cwd(), env: host.env, load })
    return findOut(key, place, loaded)
  } catch (error) {
    if (!isSousError(error)) throw error
    return { remarks: [`The settings cannot be loaded now: ${error.message}; ${error.mend}`] }
  }
}

function findOut(key: WantedChange, { file }: WritePlace, { sources }: LoadedSettings): Counting {
  const own = sources.find((source) => source.file === file)
  const ignored = own?.ignored?.find(({ path, value }) => {
    return path === key.key.path || (path.startsWith(`${key.key.path}.`) && isDeepStrictEqual(value, key.change.value))
  })
  if (ignored) return { leftOut: ignored.reason, remarks: [`It does not count: ${ignored.reason}`] }
  const isWhole = key.name === key.key.path
  // What all scopes set of it counts.
  if (key.key.mark?.merge === "union" && isWhole) return { remarks: [] }
  const winner = strongest(key, sources)
  if (winner === undefined || winner === own) return { remarks: [] }
  const at = winner.at?.([...key.path])
  const where = winner.file === undefined ? "" : `: ${[winner.file, at?.line, at?.column].join(":")}`
  const isSet = own !== undefined && valueAt(own.values, key.path) !== undefined
  const what = isSet ? `Written, but ${key.name} of` : `${key.name} is still set in`
  return {
    beatenBy: { scope: winner.scope, ...(winner.file === undefined ? {} : { file: winner.file }), ...at },
    remarks: [`${what} the ${winner.scope} settings${isSet ? " beats it" : ""}${where}`],
  }
}

/** The source whose value counts; `sources` are ranked. */
function strongest({ key, path }: KeyPath, sources: readonly SettingsSource[]): SettingsSource | undefined {
  const found = sources.filter(({ values }) => valueAt(values, path) !== undefined)
  if (key.mark?.merge !== "tighten") return found[0]
  const numberOf = ({ values }: SettingsSource) => Number(valueAt(values, path))
  return found.length === 0 ? undefined : found.reduce((a, b) => (numberOf(b) < numberOf(a) ? b : a))
}
