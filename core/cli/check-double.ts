/**
 * The keys of all settings files → those that a file of ours and one of Claude Code set in the same scope.
 *
 * Invariant: only keys of which one value is lost; what both bring to one list or record is no clash.
 */
import { CLAUDE_NAMES } from "../settings/claude-keys.ts"
import { SETTINGS_SCOPES, type SettingsScope } from "../settings/merge.ts"
import { settingsKeys } from "../settings/schema.ts"
import type { Finding, FindingPlace } from "./check-finding.ts"

/** A settings file, with the places of its keys. */
export interface KeyedFile {
  file: string
  scope: SettingsScope
  form: "own" | "claude" | "hooks"
  /** Dotted. */
  keys: ReadonlyMap<string, FindingPlace>
}

/** One finding for each, at the value that does not count. */
export function doubleKeys(files: readonly KeyedFile[]): Finding[] {
  const united = new Set(settingsKeys().flatMap(({ path, mark }) => (mark?.merge === "union" ? [path] : [])))
  return SETTINGS_SCOPES.flatMap((scope) => {
    const own = files.find((one) => one.scope === scope && one.form === "own")
    const others = files.filter((one) => one.scope === scope && one.form === "claude")
    return own === undefined ? [] : others.flatMap((other) => clashes(own, other, united))
  })
}

function clashes(own: KeyedFile, other: KeyedFile, united: ReadonlySet<string>): Finding[] {
  const ours = [...own.keys.keys()].filter((key) => key !== "$schema" && !united.has(key))
  return ours.flatMap((key) => {
    const place = other.keys.get(CLAUDE_NAMES[key] ?? key)
    if (place === undefined) return []
    const problem = `it does not count: "${own.file}" sets it too`
    return [{ level: "warning", ...place, what: `"${key}"`, problem, mend: "remove one of the two" }]
  })
}
