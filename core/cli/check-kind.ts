/**
 * A file's name and content → what it is, ours or another program's.
 *
 * Invariant: the name counts where only one kind of file has it; else what stands in it; YAML of which
 * nothing tells is a recipe, and so is a file without an ending.
 */
import { basename } from "node:path"
import { nearestName } from "../name.ts"
import { CLAUDE_NAMES, FOREIGN_GUARDS, FOREIGN_KEYS } from "../settings/claude-keys.ts"
import type { SettingsScope } from "../settings/merge.ts"
import { settingsSchema } from "../settings/schema.ts"

/** What a file can be taken for. */
export type FileKind =
  | { kind: "settings"; form: "own" | "claude"; scope: SettingsScope }
  | { kind: "hooks"; ofPlugin: boolean }
  | { kind: "pack" | "table" | "recipe" | "code" | "mcp" | "opencode" | "goose" | "lock" | "unknown" }

/** What is said of each. */
export const KIND_WORDS: Readonly<Record<Exclude<FileKind["kind"], "settings" | "hooks">, string>> = {
  pack: "the manifest of a pack",
  table: "a permission table",
  recipe: "a recipe",
  code: "code",
  mcp: "an MCP configuration",
  opencode: "settings of opencode",
  goose: "a recipe of goose",
  lock: "a lock file of packs",
  unknown: "nothing that is read here",
}

/** In words. */
export function describeKind(found: FileKind): string {
  if (found.kind === "hooks") return found.ofPlugin ? "hooks of a Claude Code plugin" : "hooks (.hooks.json)"
  if (found.kind !== "settings") return KIND_WORDS[found.kind]
  return found.form === "claude" ? `settings of Claude Code (${found.scope})` : `settings (${found.scope})`
}

type Fields = Readonly<Record<string, unknown>>

/** `value`: what the file holds, where it is JSON or YAML that can be read. `folders`: those of the user, absolute. */
export function kindOf(file: string, value: unknown, folders: { user?: string | undefined } = {}): FileKind {
  const path = file.replaceAll("\\", "/")
  return kindByName(path, value, folders.user) ?? kindByContent(path, value) ?? { kind: "recipe" }
}

function kindByName(path: string, value: unknown, user: string | undefined): FileKind | undefined {
  const name = basename(path)
  if (/\.permissions\.ya?ml$/.test(name)) return { kind: "table" }
  if (/\.[mc]?[jt]s$/.test(name)) return { kind: "code" }
  if (name === "sous.pack.yaml" || /\/\.claude-plugin\/plugin\.json$/.test(path)) return { kind: "pack" }
  if (name === "package.json") return { kind: "pack" }
  if (name === "sous.lock") return { kind: "lock" }
  if (/^\.?mcp\.json$/.test(name)) return { kind: "mcp" }
  if (/^opencode\.jsonc?$/.test(name)) return { kind: "opencode" }
  if (/(?:^|\.)hooks\.json$/.test(name)) return { kind: "hooks", ofPlugin: usesPluginRoot(value) }
  if (/^managed-settings/.test(name)) return { kind: "settings", form: "claude", scope: "managed" }
  const [, folder] = /(?:^|\/)(\.claude|\.sous)\/settings[^/]*$/.exec(path) ?? []
  if (folder !== undefined) return settings(folder === ".claude" ? "claude" : "own", path, user)
  if (/^settings\.(?:local\.)?(?:json|ya?ml)$/.test(name) && user !== undefined && path.startsWith(`${user}/`))
    return settings("own", path, user)
  return undefined
}

function settings(form: "own" | "claude", path: string, user: string | undefined): FileKind {
  const isUser = user !== undefined && path.startsWith(`${user}/`)
  const scope = isUser ? "user" : /\.local\.|\/local[-.]|^local[-.]/.test(path) ? "local" : "project"
  return { kind: "settings", form, scope }
}

function usesPluginRoot(value: unknown): boolean {
  return JSON.stringify(value ?? null).includes("CLAUDE_PLUGIN_ROOT")
}

function kindByContent(path: string, value: unknown): FileKind | undefined {
  if (Array.isArray(value))
    return value.some((one) => isFields(one) && ("expect" in one || "cases" in one)) ? { kind: "table" } : undefined
  if (!isFields(value)) return undefined
  const keys = Object.keys(value)
  const schema = String(value.$schema ?? "")
  const has = (...names: string[]) => names.some((name) => keys.includes(name))
  if (/opencode\.ai/.test(schema)) return { kind: "opencode" }
  if (/claude-code-settings/.test(schema)) return settings("claude", path, undefined)
  const isServers = has("mcpServers") || (isFields(value.servers) && !has("steps"))
  if (isServers && !has("permissions", "hooks", "env", "model")) return { kind: "mcp" }
  if (isFields(value.mcp) && !has("hooks", "permissions")) return { kind: "opencode" }
  if (has("steps")) return { kind: "recipe" }
  if (/\.ya?ml$/.test(path) && has("title") && has("instructions", "prompt")) return { kind: "goose" }
  if (has("apiVersion") && has("plugins", "recipes", "capabilities", "skills", "agents")) return { kind: "pack" }
  if (isHooksOnly(keys) && !/settings/.test(basename(path))) return { kind: "hooks", ofPlugin: usesPluginRoot(value) }
  if (isSettings(keys)) return settings(formOf(value), path, undefined)
  if (!/\.jsonc?$|\.example$/.test(path)) return undefined
  return /settings/.test(basename(path)) ? settings("claude", path, undefined) : { kind: "unknown" }
}

function isHooksOnly(keys: readonly string[]): boolean {
  return keys.includes("hooks") && keys.every((key) => /^(?:hooks|description|version|\$schema)$/.test(key))
}

const OWN = new Set(Object.keys(settingsSchema.shape))
const BOTH = new Set(`$schema permissions hooks env model fallbackModel disableAllHooks`.split(" "))

const OWN_ONLY = [...OWN].filter((key) => !BOTH.has(key))

function isForeign(key: string): boolean {
  return (
    Object.values(CLAUDE_NAMES).includes(key) || FOREIGN_KEYS[key] !== undefined || FOREIGN_GUARDS[key] !== undefined
  )
}

function isSettings(keys: readonly string[]): boolean {
  return keys.some((key) => OWN.has(key) || isForeign(key))
}

/** Keys tell; where all of them are in both, nested hooks do; else it is read as ours. */
function formOf(value: Fields): "own" | "claude" {
  const keys = Object.keys(value)
  if (keys.some((key) => OWN.has(key) && !BOTH.has(key))) return "own"
  if (keys.some(isForeign)) return "claude"
  // A key that nobody knows is a misspelt one of ours, or a newer one of the others.
  const unknown = keys.filter((key) => !OWN.has(key))
  if (unknown.some((key) => nearestName(key, OWN_ONLY) !== undefined)) return "own"
  if (unknown.length > 0) return "claude"
  const entries = isFields(value.hooks) ? Object.values(value.hooks).flat() : []
  return entries.some((entry) => isFields(entry) && "hooks" in entry) ? "claude" : "own"
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
