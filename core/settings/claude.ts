/**
 * A settings file of Claude Code → settings of ours, with the places and the leftovers of the original.
 *
 * Invariant: the same key means the same; what means nothing here is listed, what nobody knows is told with its place,
 * and what may be a guard that was misspelt or misplaced stops the start.
 */
import { nearestName } from "../error.ts"
import { HOOKS } from "../hook.ts"
import { EFFORTS } from "../tool.ts"
import { checkSettings } from "./check.ts"
import { CLAUDE_NAMES, FOREIGN_GUARDS, FOREIGN_KEYS } from "./claude-keys.ts"
import { isStrict, PERMISSION_KEYS, readPermissions } from "./claude-permission.ts"
import {
  type ClaudeReading,
  ignore,
  isFields,
  leaveOut,
  misplacedGuard,
  type Path,
  say,
  textList,
  wrongGuard,
} from "./claude-reading.ts"
import type { SettingsDocument } from "./document.ts"
import type { IgnoredValue, SettingsScope, SettingsSource } from "./merge.ts"
import { type Settings, settingsKeys, settingsSchema } from "./schema.ts"

/** What such a file says. */
export interface ClaudeSettings {
  values: Settings
  /** Takes a path of ours. */
  at: NonNullable<SettingsSource["at"]>
  ignored: readonly IgnoredValue[]
  /** One sentence each. */
  warnings: readonly string[]
}

/** Reads it. Throws SETTINGS_VALUE_INVALID or SETTINGS_KEY_UNKNOWN where a guard may be lost. */
export async function readClaude(
  file: string,
  document: SettingsDocument,
  scope: SettingsScope,
): Promise<ClaudeSettings> {
  const at: ClaudeSettings["at"] = (path) => document.at(pathThere(path))
  const reading: ClaudeReading = { file, scope, at: document.at, ignored: [], warnings: [] }
  if (!isFields(document.value)) throw wrongGuard(reading, [], "expected an object")
  const values: Settings = {}
  for (const [key, value] of Object.entries(document.value)) {
    const read = Object.hasOwn(READERS, key) ? READERS[key] : undefined
    if (read) putTogether(values, await read(value, reading))
    else readUnknown(key, value, reading)
  }
  checkSettings(file, { value: withoutHoles(values), at })
  return { values, at, ignored: reading.ignored, warnings: reading.warnings }
}

/** Several keys there may be one object here. */
function putTogether(values: Settings, more: Settings): void {
  const all = values as Record<string, unknown>
  for (const [key, value] of Object.entries(more)) {
    const before = all[key]
    all[key] = isFields(value) && isFields(before) ? { ...before, ...value } : value
  }
}

/** A path of ours as it is there. */
function pathThere([name = "", ...rest]: Path): Path {
  const nested = CLAUDE_NAMES[`${name}.${rest[0]}`]
  if (nested !== undefined) return [nested, ...rest.slice(1)]
  return [CLAUDE_NAMES[name] ?? name, ...rest]
}

type Reader = (value: unknown, reading: ClaudeReading) => Settings | Promise<Settings>

const READERS: Readonly<Record<string, Reader>> = {
  $schema: () => ({}),
  model: (value, reading) => readModel(["model"], value, reading),
  fallbackModel: readFallback,
  effortLevel: readEffort,
  permissions: (value, reading) => ({ permissions: readPermissions(value, reading) }),
  env: (value, reading) => ({ env: readEnv(value, reading) }),
  claudeMdExcludes: (value, reading) => ({ memory: readExcludes(value, reading) }),
  autoMemoryEnabled: readSwitch("autoMemoryEnabled", (auto) => ({ memory: { auto } })),
  autoCompactEnabled: readSwitch("autoCompactEnabled", (auto) => ({ compact: { auto } })),
  cleanupPeriodDays: readDays,
  hooks: async (value, reading) => ({ hooks: (await import("./claude-hook.ts")).readHookEntries(value, reading) }),
  disableAllHooks: readSwitch("disableAllHooks", (disableAllHooks) => ({ disableAllHooks })),
  allowManagedHooksOnly: readManagedSwitch("allowManagedHooksOnly"),
  allowManagedPermissionRulesOnly: readManagedSwitch("allowManagedPermissionRulesOnly"),
  allowedHttpHookUrls: readBound("allowedHttpHookUrls"),
  httpHookAllowedEnvVars: readBound("httpHookAllowedEnvVars"),
}

function readModel(path: [string], value: unknown, reading: ClaudeReading): Settings {
  if (value === "default") ignore(reading, path, value, "it stands for the usual model")
  else if (typeof value === "string" && value !== "") return { [path[0]]: value }
  else leaveOut(reading, path, value, "expected the name of a model")
  return {}
}

function readFallback(value: unknown, reading: ClaudeReading): Settings {
  if (!Array.isArray(value)) return readModel(["fallbackModel"], value, reading)
  const [first, ...others] = textList(reading, ["fallbackModel"], value) ?? []
  for (const other of others) ignore(reading, ["fallbackModel"], other, "only the first model of the list takes over")
  return first === undefined ? {} : readModel(["fallbackModel"], first, reading)
}

function readEffort(value: unknown, reading: ClaudeReading): Settings {
  const effort = EFFORTS.find((name) => name === value)
  if (effort !== undefined) return { effort }
  leaveOut(reading, ["effortLevel"], value, `expected one of ${EFFORTS.join(", ")}`)
  return {}
}

function readEnv(value: unknown, reading: ClaudeReading): Record<string, string> {
  const env: Record<string, string> = {}
  if (!isFields(value)) {
    leaveOut(reading, ["env"], value, "expected an object")
    return env
  }
  for (const [name, text] of Object.entries(value)) {
    const isName = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
    if (isName && typeof text === "string") env[name] = text
    else leaveOut(reading, ["env", name], text, isName ? "expected a text" : "expected the name of a variable")
  }
  return env
}

function readExcludes(value: unknown, reading: ClaudeReading): NonNullable<Settings["memory"]> {
  const exclude = textList(reading, ["claudeMdExcludes"], value)
  return exclude === undefined ? {} : { exclude }
}

function readDays(value: unknown, reading: ClaudeReading): Settings {
  if (Number.isInteger(value) && (value as number) >= 1) return { cleanup: { days: value as number } }
  leaveOut(reading, ["cleanupPeriodDays"], value, "expected a whole number above 0")
  return {}
}

/** A switch whose wrong value leaves things as they are. */
function readSwitch(key: string, make: (isOn: boolean) => Settings): Reader {
  return (value, reading) => {
    if (typeof value === "boolean") return make(value)
    leaveOut(reading, [key], value, "expected true or false")
    return {}
  }
}

/** A switch that only the organisation has: where it cannot be read, it is on. */
function readManagedSwitch(key: "allowManagedHooksOnly" | "allowManagedPermissionRulesOnly"): Reader {
  return (value, reading) => {
    if (typeof value === "boolean") return { [key]: value }
    if (reading.scope === "managed") {
      say(reading, [key], "is taken as true: expected true or false")
      return { [key]: true }
    }
    leaveOut(reading, [key], value, "expected true or false")
    return {}
  }
}

/** A list of what is allowed: where it cannot be read, nothing is. */
function readBound(key: "allowedHttpHookUrls" | "httpHookAllowedEnvVars"): Reader {
  return (value, reading) => ({ [key]: textList(reading, [key], value)?.filter((entry) => entry !== undefined) ?? [] })
}

function readUnknown(key: string, value: unknown, reading: ClaudeReading): void {
  const guards = FOREIGN_GUARDS[key]
  const said = FOREIGN_KEYS[key]
  if (guards !== undefined && says(key, value))
    leaveOut(reading, [key], value, `nothing here does what it does in Claude Code: it ${guards}`)
  else if (said ?? guards) ignore(reading, [key], value, `it means nothing here: ${said ?? guards}`)
  else readMisplaced(key, value, reading)
}

/** False for values by which a guard of the other tool keeps nothing from happening. */
function says(key: string, value: unknown): boolean {
  if (key === "sandbox") return isFields(value) && value.enabled === true
  if (key === "autoMode") return isFields(value) && (says("", value.soft_deny) || says("", value.hard_deny))
  if (Array.isArray(value)) return value.length > 0 || /^(?:allowed|available)/.test(key)
  return value !== undefined && value !== false && value !== null
}

/** Keys that would guard something at the top of the file, were they spelt so. */
const TOP_GUARDS = [
  "permissions",
  "hooks",
  "allowManagedHooksOnly",
  "allowManagedPermissionRulesOnly",
  "allowedHttpHookUrls",
  "httpHookAllowedEnvVars",
]

function readMisplaced(key: string, value: unknown, reading: ClaudeReading): void {
  if (Object.hasOwn(HOOKS, key)) throw misplacedGuard(reading, [key], `write "hooks.${key}"`)
  const isExact = PERMISSION_KEYS.some((name) => name === key)
  const below = nearestName(key, PERMISSION_KEYS)
  if (below !== undefined && isGuard(below, value, { isExact }))
    throw misplacedGuard(reading, [key], `write "permissions.${below}"`)
  const near = nearestName(key, TOP_GUARDS)
  if (near !== undefined) throw misplacedGuard(reading, [key], `write "${near}"`)
  if (looksLikeGuards(value)) throw misplacedGuard(reading, [key], 'write "permissions" or "hooks"')
  if (Array.isArray(value) && /den[iy]|disallow|block|forbid/i.test(key)) {
    throw misplacedGuard(reading, [key], 'write "permissions.deny"')
  }
  leaveOut(reading, [key], value, mendFor(key, isExact))
}

/** True for a key of `permissions` that stands at the top of the file, exactly or nearly, and may keep something from happening. */
function isGuard(key: string, value: unknown, { isExact }: { isExact: boolean }): boolean {
  if (key === "deny" || key === "ask") return isExact || Array.isArray(value)
  return key === "defaultMode" ? isStrict(value) : key.startsWith("disable")
}

/** True for what can only be `permissions` or `hooks` under another name. */
function looksLikeGuards(value: unknown): boolean {
  if (!isFields(value)) return false
  if (Array.isArray(value.deny) || Array.isArray(value.ask)) return true
  return Object.entries(value).some(([name, list]) => Object.hasOwn(HOOKS, name) && Array.isArray(list))
}

function mendFor(key: string, isPermission: boolean): string {
  if (isPermission) return `it belongs in "permissions": write "permissions.${key}"`
  if (Object.hasOwn(settingsSchema.shape, key)) return "it is a key of sous: write it into .sous/settings.json"
  const elsewhere = settingsKeys().find(({ path }) => path.endsWith(`.${key}`))
  if (elsewhere) return `it is a key of sous: write "${elsewhere.path}" into .sous/settings.json`
  const near = nearestName(key, [...Object.keys(READERS), ...Object.keys(FOREIGN_KEYS), ...Object.keys(FOREIGN_GUARDS)])
  return near === undefined ? "no key has that name" : `no key has that name; write "${near}"`
}

/** The same without the holes that entries left. */
function withoutHoles<T>(value: T): T {
  if (Array.isArray(value)) return value.filter((entry) => entry !== undefined) as T
  if (!isFields(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withoutHoles(field)])) as T
}
