/**
 * The settings of a scope that nobody has trusted yet → the part of them that may apply all the same.
 *
 * Invariant: what the schema does not mark as restricting or harmless is left out, and named.
 */
import type { SettingsScope } from "./merge.ts"
import { type Settings, type SettingsKey, settingsKeys } from "./schema.ts"

/** True for the scopes that a cloned folder can bring. */
export function needsTrust(scope: SettingsScope): boolean {
  return scope === "project" || scope === "local"
}

/** Parts settings that nobody has trusted: what applies, and the dotted names of what does not. */
export function withoutTrust(values: Settings): { values: Settings; leftOut: string[] } {
  const kept: Record<string, any> = {}
  const leftOut: string[] = []
  for (const key of settingsKeys()) {
    const value = key.path.split(".").reduce((fields: any, name) => fields?.[name], values) as unknown
    if (value === undefined) continue
    const safe = safePart(key, value)
    if (safe !== value) leftOut.push(key.path)
    if (safe !== undefined) setAt(kept, key.path.split("."), safe)
  }
  return { values: kept, leftOut }
}

function safePart({ mark }: SettingsKey, value: unknown): unknown {
  const trust = mark?.trust ?? "widens"
  if (typeof trust === "string") return trust === "widens" ? undefined : value
  const entries = value as unknown[]
  if (entries.every((entry) => trust(entry) !== "widens")) return value
  // An entry left out leaves a hole, so that the others keep the index by which their place is known.
  return entries.map((entry) => (trust(entry) === "widens" ? undefined : entry))
}

function setAt(fields: Record<string, any>, path: readonly string[], value: unknown): void {
  const [name = "", ...rest] = path
  if (rest.length === 0) {
    fields[name] = value
    return
  }
  fields[name] ??= {}
  setAt(fields[name], rest, value)
}
