/**
 * The settings of one scope, ours and those of Claude Code → a sentence for each key that both set.
 *
 * Invariant: only keys of which one value is lost; what both bring to one list is no clash.
 */
import { SETTINGS_SCOPES, type SettingsSource } from "./merge.ts"
import { settingsKeys } from "./schema.ts"

/** Says which values of Claude Code's files do not count, since ours of the same scope set them too. */
export function sameKeyNotes(sources: readonly SettingsSource[]): string[] {
  return SETTINGS_SCOPES.flatMap((scope) => {
    const here = sources.filter((source) => source.scope === scope && source.file !== undefined)
    const own = here.find(({ dialect }) => dialect === undefined)
    if (own === undefined) return []
    const said = new Set(singleKeys(own))
    return here.flatMap((other) =>
      other.dialect === undefined
        ? []
        : singleKeys(other)
            .filter((key) => said.has(key))
            .map((key) => `"${key}" of "${other.file}" does not count: "${own.file}" sets it too`),
    )
  })
}

/** Keys that have one value, and single names of records. */
function singleKeys({ values }: SettingsSource): string[] {
  return settingsKeys().flatMap(({ path, mark }) => {
    const value = path.split(".").reduce((fields: any, name) => fields?.[name], values) as unknown
    if (value === undefined || path === "$schema" || path === "hooks") return []
    if (mark?.merge !== "union") return [path]
    return Array.isArray(value) ? [] : Object.keys(value as object).map((name) => `${path}.${name}`)
  })
}
