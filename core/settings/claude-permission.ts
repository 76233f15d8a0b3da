/**
 * `permissions` of a settings file of Claude Code → ours.
 *
 * Invariant: no entry of deny or ask is dropped; a mode that does not exist is the mode default, and never what a weaker
 * scope says; no file of a project or of this person in it chooses a mode that asks nobody.
 */
import { nearestName, suggest } from "../error.ts"
import { parseRule } from "../permission/rule.ts"
import { FOREIGN_PERMISSIONS } from "./claude-keys.ts"
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
import { MODE_NAMES, type Settings } from "./schema.ts"
import { needsTrust } from "./trust.ts"

type Permissions = NonNullable<Settings["permissions"]>

/** Keys of `permissions` that both know. */
export const PERMISSION_KEYS = [
  "allow",
  "ask",
  "deny",
  "additionalDirectories",
  "defaultMode",
  "disableBypassPermissionsMode",
  "disableAutoMode",
] as const

const LOCKS = ["disableBypassPermissionsMode", "disableAutoMode"] as const
/** A key that is nearly one of these, or holds rules, may be a guard that was misspelt. */
const GUARDS = ["ask", "deny", ...LOCKS]

/** Reads it. Throws SETTINGS_VALUE_INVALID or SETTINGS_KEY_UNKNOWN where a guard may be lost. */
export function readPermissions(value: unknown, reading: ClaudeReading): Permissions {
  if (!isFields(value)) throw wrongGuard(reading, ["permissions"], "expected an object")
  const permissions: Permissions = {}
  for (const [key, field] of Object.entries(value)) {
    const path = ["permissions", key]
    if (key === "deny" || key === "ask") permissions[key] = guardList(reading, path, field)
    else if (key === "allow" || key === "additionalDirectories") {
      const list = textList(reading, path, field)
      if (list !== undefined)
        permissions[key] =
          key === "allow" ? list.map((rule) => (typeof rule === "string" ? plainRule(rule) : rule)) : list
    } else if (key === "defaultMode") Object.assign(permissions, readMode(reading, field))
    else if (isLock(key)) Object.assign(permissions, readLock(reading, key, field))
    else readUnknown(reading, key, field)
  }
  return permissions
}

/** A rule that is no text is refused too: somebody meant to keep something from happening. */
function guardList(reading: ClaudeReading, path: Path, value: unknown): string[] {
  if (!Array.isArray(value)) throw wrongGuard(reading, path, "expected a list of permission rules")
  return value.map((entry: unknown, index) => {
    if (typeof entry === "string" && entry.trim() !== "") return plainRule(entry)
    throw wrongGuard(reading, [...path, index], "expected a permission rule")
  })
}

/**
 * A rule as it is written here: Claude Code puts a backslash before each parenthesis of a specifier, and takes it away when
 * it reads. Two backslashes stand for one in both.
 */
export function plainRule(rule: string): string {
  return rule.replace(/\\([\\()])/g, (pair, char: string) => (char === "\\" ? pair : char))
}

function readMode(reading: ClaudeReading, value: unknown): Pick<Permissions, "defaultMode"> {
  const path = ["permissions", "defaultMode"]
  const mode = MODE_NAMES.find((name) => name === value)
  if (mode === undefined) {
    const near = typeof value === "string" ? nearestName(value, MODE_NAMES) : undefined
    if (typeof value !== "string" || isStrict(near))
      throw wrongGuard(reading, path, `expected one of ${MODE_NAMES.join(", ")}`)
    const mend = suggest(value, MODE_NAMES)
    leaveOut(reading, path, value, `there is no such mode, so this is the mode default; ${mend}`)
    return { defaultMode: "default" }
  }
  const ownOnly = mode === "auto" && needsTrust(reading.scope)
  if (mode !== "bypassPermissions" && !ownOnly) return { defaultMode: mode }
  const who = ownOnly ? "a flag or your own settings can choose it, a project cannot" : "only a flag can choose it"
  leaveOut(reading, path, value, who)
  return {}
}

/** True for a mode that allows no more than the mode default does: to lose it could widen. */
export function isStrict(mode: unknown): boolean {
  return MODE_NAMES.some((name) => name === mode && !["acceptEdits", "auto", "bypassPermissions"].includes(name))
}

function isLock(key: string): key is (typeof LOCKS)[number] {
  return LOCKS.some((lock) => lock === key)
}

function readLock(reading: ClaudeReading, lock: (typeof LOCKS)[number], value: unknown): Partial<Permissions> {
  if (value !== "disable") say(reading, ["permissions", lock], 'is taken as "disable", the only value that it has')
  return { [lock]: "disable" }
}

function readUnknown(reading: ClaudeReading, key: string, value: unknown): void {
  const path = ["permissions", key]
  const known = FOREIGN_PERMISSIONS[key]
  if (known !== undefined) {
    ignore(reading, path, value, `it means nothing here: ${known}`)
    return
  }
  const near = nearestName(key, PERMISSION_KEYS)
  const isMode = near === "defaultMode" && isStrict(value)
  if (isMode || (near !== undefined && GUARDS.includes(near)) || hasRules(value)) {
    throw misplacedGuard(reading, path, suggest(key, PERMISSION_KEYS))
  }
  leaveOut(reading, path, value, `no key has that name; ${suggest(key, PERMISSION_KEYS)}`)
}

/** True for a list in which a text is a rule with a specifier. */
function hasRules(value: unknown): boolean {
  return Array.isArray(value) && value.some((entry) => typeof entry === "string" && isRule(entry))
}

function isRule(text: string): boolean {
  try {
    return parseRule(text).specifier !== undefined
  } catch {
    return false
  }
}
