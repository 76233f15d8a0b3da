/**
 * The scopes → the settings of Claude Code in them, unless somebody who may has switched these off.
 *
 * Invariant: nobody but the organisation switches the organisation's file off; a project that nobody trusts switches
 * nothing off.
 */
import { rankSources, type SettingsSource } from "./merge.ts"
import { type Place, type Reading, readClaudeFile } from "./scope-file.ts"
import { needsTrust } from "./trust.ts"

/** What lies in the folders of Claude Code; whether it counts may depend on trust. */
export interface ClaudeColumn {
  sources: readonly SettingsSource[]
  /** Those that count, once it is settled whether the project does. Throws what was wrong with them. */
  settle(own: readonly SettingsSource[], options: { isTrusted: boolean }): SettingsSource[]
}

/** Reads what may count. `own`: our settings, of which those of a project may be trusted later. */
export async function readClaudeColumn(
  own: readonly SettingsSource[],
  places: readonly Place[],
  reading: Reading,
): Promise<ClaudeColumn> {
  const isWanted = ({ scope }: Pick<Place, "scope">) =>
    isOn(own, { scope, isTrusted: true }) || isOn(own, { scope, isTrusted: false })
  const sources: SettingsSource[] = []
  const faults: { place: Place; fault: unknown }[] = []
  for (const place of places.filter(isWanted)) {
    try {
      const source = await readClaudeFile(place, reading)
      if (source) sources.push(source)
    } catch (fault) {
      faults.push({ place, fault })
    }
  }
  return {
    sources,
    settle(own, { isTrusted }) {
      const first = faults.find(({ place }) => isOn(own, { scope: place.scope, isTrusted }))
      if (first) throw first.fault
      return sources.filter(({ scope }) => isOn(own, { scope, isTrusted }))
    },
  }
}

/** Whether Claude Code's file of a scope counts. */
function isOn(
  own: readonly SettingsSource[],
  { scope, isTrusted }: Pick<Place, "scope"> & { isTrusted: boolean },
): boolean {
  const said = rankSources(own).find(
    (source) =>
      source.values.compat?.claude !== undefined &&
      (isTrusted || !needsTrust(source.scope)) &&
      (scope !== "managed" || source.scope === "managed"),
  )
  return said?.values.compat?.claude ?? true
}
