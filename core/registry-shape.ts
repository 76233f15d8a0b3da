/**
 * What a plugin hands in → the same, once its form is right: keys, kinds of values, names that a model can call.
 *
 * Invariant: what is wrong is refused with the plugin, its file and the key, before anything of it counts.
 */
import { SousError, suggest } from "./error.ts"
import { API_VERSION, type Contribution, type Plugin } from "./plugin.ts"
import type { Tool } from "./tool.ts"

const LISTS = [
  "tools",
  "compaction",
  "models",
  "context",
  "recipes",
  "agents",
] as const satisfies (keyof Contribution)[]
const CONTRIBUTION_KEYS = [...LISTS, "hooks", "permissions", "dispose"] as const satisfies (keyof Contribution)[]
const PLUGIN_KEYS = [
  ...CONTRIBUTION_KEYS,
  "name",
  "apiVersion",
  "requires",
  "required",
  "settings",
  "capabilities",
  "setup",
] as const satisfies (keyof Plugin)[]
const RULE_LISTS = ["allow", "ask", "deny"]
const PERMISSION_KEYS = [...RULE_LISTS, "classify", "safety"]

/** What the Messages API takes as the name of a tool. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/

/** A plugin in a message: its name and, where it is known, its file. */
export function quotePlugin(plugin: string, from: string | undefined): string {
  return from === undefined || from === plugin ? `"${plugin}"` : `"${plugin}" (${from})`
}

/**
 * Throws PLUGIN_EXPORT_INVALID, PLUGIN_NAME_INVALID, PLUGIN_API_VERSION, PLUGIN_KEY_UNKNOWN or PLUGIN_VALUE_INVALID when a
 * value is no plugin.
 */
export function checkPlugin(plugin: Plugin, from: string): Plugin {
  if (typeof plugin !== "object" || plugin === null) {
    throw new SousError("PLUGIN_EXPORT_INVALID", { from, found: plugin === null ? "null" : `a ${typeof plugin}` })
  }
  const { name, apiVersion } = plugin
  if (typeof name !== "string" || !/^[a-z0-9][a-z0-9-]*$/.test(name)) {
    throw new SousError("PLUGIN_NAME_INVALID", { from, name: String(name) })
  }
  // First of all: what is newer may have keys of its own.
  if (apiVersion !== undefined && apiVersion !== API_VERSION) {
    throw new SousError("PLUGIN_API_VERSION", {
      plugin: quotePlugin(name, from),
      found: apiVersion,
      known: API_VERSION,
    })
  }
  checkKeys(plugin, PLUGIN_KEYS, { plugin: name, from })
  const wrong = (key: string, problem: string) => refuse({ plugin: name, from }, key, problem)
  if (plugin.setup !== undefined && typeof plugin.setup !== "function") throw wrong("setup", "is not a function")
  if (plugin.requires !== undefined && !isTexts(plugin.requires)) throw wrong("requires", "is not a list of names")
  if (plugin.settings !== undefined && typeof plugin.settings?.safeParse !== "function")
    throw wrong("settings", "is not a zod schema")
  return plugin
}

/** The contribution that a plugin object carries itself, without what its `setup` returns. */
export function contributionOf(plugin: Plugin): Contribution {
  return Object.fromEntries(CONTRIBUTION_KEYS.flatMap((key) => (plugin[key] === undefined ? [] : [[key, plugin[key]]])))
}

interface Owner {
  plugin: string
  from?: string | undefined
}

/** Throws PLUGIN_KEY_UNKNOWN or PLUGIN_VALUE_INVALID when a contribution is none. */
export function checkContribution(contribution: Contribution, owner: Owner): void {
  if (typeof contribution !== "object" || contribution === null)
    throw refuse(
      owner,
      "setup",
      `returned ${contribution === null ? "null" : `a ${typeof contribution}`}, not an object`,
    )
  checkKeys(contribution, CONTRIBUTION_KEYS, owner)
  for (const key of LISTS) {
    const list: unknown = contribution[key]
    if (list === undefined) continue
    if (!Array.isArray(list)) throw refuse(owner, key, "is not a list")
    const isNamed = (one: unknown) => typeof (one as { name?: unknown } | null | undefined)?.name === "string"
    if (!list.every(isNamed)) throw refuse(owner, key, "has an entry without a name")
  }
  for (const tool of contribution.tools ?? []) checkTool(tool, owner)
  if (contribution.hooks !== undefined && !isFields(contribution.hooks))
    throw refuse(owner, "hooks", "is not an object")
  if (contribution.dispose !== undefined && typeof contribution.dispose !== "function")
    throw refuse(owner, "dispose", "is not a function")
  checkPermissions(contribution.permissions, owner)
}

function checkTool({ name, description, input, execute }: Tool, owner: Owner): void {
  const wrong = (problem: string) => refuse(owner, "tools", problem)
  if (!TOOL_NAME.test(name)) {
    throw wrong(`has the tool "${name}": a model can call letters, digits, "_" and "-", 128 at most`)
  }
  if (typeof description !== "string") throw wrong(`has the tool "${name}" without a description`)
  if (typeof input !== "object" || input === null) throw wrong(`has the tool "${name}" without a schema for its input`)
  if (typeof execute !== "function") throw wrong(`has the tool "${name}" without a function "execute"`)
}

function checkPermissions(permissions: Contribution["permissions"], owner: Owner): void {
  if (permissions === undefined) return
  if (!isFields(permissions)) throw refuse(owner, "permissions", "is not an object")
  checkKeys(permissions, PERMISSION_KEYS, owner)
  for (const [key, value] of Object.entries(permissions)) {
    if (value === undefined) continue
    const isList = RULE_LISTS.includes(key)
    if (isList && !isTexts(value)) throw refuse(owner, `permissions.${key}`, "is not a list of rules")
    if (!isList && typeof value !== "function") throw refuse(owner, `permissions.${key}`, "is not a function")
  }
}

function checkKeys(value: object, known: readonly string[], { plugin, from }: Owner): void {
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    throw new SousError("PLUGIN_KEY_UNKNOWN", { plugin: quotePlugin(plugin, from), key, mend: suggest(key, known) })
  }
}

function refuse({ plugin, from }: Owner, key: string, problem: string): SousError {
  return new SousError("PLUGIN_VALUE_INVALID", { plugin: quotePlugin(plugin, from), key, problem })
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string")
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
