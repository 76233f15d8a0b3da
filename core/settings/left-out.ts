/**
 * The sources of one start → the same without what may not count in their scope, each value with the reason.
 *
 * Invariant: nothing is left out without a trace: it stays in its source as an ignored value, and a warning names it.
 */
import { basename, join } from "node:path"
import { placeOf } from "../hook-source.ts"
import { isManagedRulesOnly, type SettingsScope, type SettingsSource } from "./merge.ts"
import { pluginPathsIn } from "./plugin-folder.ts"
import type { ProjectTrust } from "./project-trust.ts"
import { type Settings, settingsKeys } from "./schema.ts"
import type { CodeFile } from "./scope-file.ts"
import type { ScopeFolders } from "./scopes.ts"
import { needsTrust, withoutTrust } from "./trust.ts"
import { type LeftOut, trustWarning } from "./trust-warning.ts"

/** What else lies in a project. */
export interface ProjectFiles {
  folders: ScopeFolders
  hooks: readonly { scope: SettingsScope; file: string }[]
  code: readonly CodeFile[]
}

/** Takes what widens out of the sources that need trust and have none. Returns the sentence that names it, if any. */
export function leaveOutUntrusted(
  sources: readonly SettingsSource[],
  { folders, hooks, code }: ProjectFiles,
  trust: ProjectTrust,
): string | undefined {
  if (trust.isTrusted) return undefined
  const reason = trust.state === "changed" ? "the project is not as it was trusted" : "nobody has trusted this project"
  const leftOut = [
    ...sources.flatMap((source) => (needsTrust(source.scope) ? leaveOutOf(source, reason) : [])),
    ...hooks.flatMap(({ scope, file }) => (needsTrust(scope) ? [{ file, keys: ["hooks"] }] : [])),
    ...code.flatMap(({ scope, file }) => (needsTrust(scope) ? [{ file, keys: ["all"] }] : [])),
    ...pluginsLeftOut(folders),
  ]
  return trustWarning(leftOut, trust)
}

function leaveOutOf(source: SettingsSource, reason: string): LeftOut[] {
  const { values, leftOut } = withoutTrust(source.values)
  if (leftOut.length === 0) return []
  const ignored = leftOut.flatMap((path) => lostAt(path, source.values, values).map((lost) => ({ ...lost, reason })))
  source.values = values
  source.ignored = [...(source.ignored ?? []), ...ignored]
  return [{ file: source.file ?? "", keys: leftOut }]
}

/** The value of a key that is no longer there; of a list, the entries. */
function lostAt(path: string, before: Settings, after: Settings): { path: string; value: unknown }[] {
  const [had, has] = [valueAt(path, before), valueAt(path, after)]
  if (!Array.isArray(had) || !Array.isArray(has)) return [{ path, value: had }]
  return had.flatMap((value, index) => (has[index] === undefined ? [{ path: `${path}.${index}`, value }] : []))
}

function valueAt(path: string, values: Settings): unknown {
  return path.split(".").reduce((fields: any, name) => fields?.[name], values)
}

function pluginsLeftOut({ project }: ScopeFolders): LeftOut[] {
  const files = pluginPathsIn(project).map((file) => basename(file))
  return project === undefined || files.length === 0 ? [] : [{ file: join(project, "plugins"), keys: files }]
}

/** Takes out what only the organisation can set, and what its settings forbid the others; a sentence for each key. */
export function leaveOutForeign(sources: readonly SettingsSource[]): string[] {
  const managedOnly = settingsKeys().filter(({ mark }) => mark?.managedOnly)
  const keys = managedOnly.map(({ path }) => path as keyof Settings)
  return [...sources.flatMap((source) => withoutManagedOnly(source, keys)), ...withoutAllowRules(sources)]
}

function withoutManagedOnly(source: SettingsSource, keys: readonly (keyof Settings)[]): string[] {
  if (source.scope === "managed") return []
  return keys.flatMap((key) => {
    if (source.values[key] === undefined) return []
    const { [key]: value, ...values } = source.values
    const reason = "only managed settings can set it"
    source.values = values
    source.ignored = [...(source.ignored ?? []), { path: key, value, reason }]
    return [`${key} of ${whereIs(key, source)} is ignored: ${reason}`]
  })
}

/** Ordered entries that allow go as well; deny and ask stay, whoever set them. */
function withoutAllowRules(sources: readonly SettingsSource[]): string[] {
  if (!isManagedRulesOnly(sources)) return []
  const by = sources.find(({ values }) => values.allowManagedPermissionRulesOnly)!
  const reason = `allowManagedPermissionRulesOnly of ${whereIs("allowManagedPermissionRulesOnly", by)}`
  return sources.flatMap((source) => {
    const { permissions } = source.values
    if (source.scope === "managed" || !(permissions?.allow || permissions?.rules)) return []
    const ignored = [...allowed(permissions.allow, "allow"), ...allowed(permissions.rules, "rules")]
    if (ignored.length === 0) return []
    const { allow: _, ...rest } = permissions
    const rules = permissions.rules?.map((rule) => (isAllow(rule) ? (undefined as unknown as string) : rule))
    source.values = { ...source.values, permissions: { ...rest, ...(rules ? { rules } : {}) } }
    source.ignored = [...(source.ignored ?? []), ...ignored.map((one) => ({ ...one, reason }))]
    return [`The allow rules of ${whereIs("permissions", source)} are ignored: only managed rules count (${reason})`]
  })
}

function allowed(rules: readonly (string | undefined)[] = [], list: "allow" | "rules") {
  return rules.flatMap((value, index) =>
    value === undefined || (list === "rules" && !isAllow(value))
      ? []
      : [{ path: `permissions.${list}.${index}`, value }],
  )
}

function isAllow(rule: string | undefined): boolean {
  return rule !== undefined && /^allow\s/.test(rule)
}

function whereIs(key: string, { scope, file, at }: SettingsSource): string {
  return placeOf({ scope, ...(file === undefined ? {} : { file }), ...at?.(key.split(".")) })
}
