/**
 * What an isolated plugin says of itself → the same, once nothing in it goes beyond what its manifest lists.
 *
 * Invariant: what cannot be called from another process is refused, never dropped; no pattern of the plugin's is tried in
 * this process that could take without end.
 */
import { SousError } from "../error.ts"
import type { JsonSchema } from "../message.ts"
import type { Capabilities } from "../plugin.ts"
import type { Parts } from "./isolate-message.ts"

/** What the manifest of a pack lists beside its tools; what a plugin adds beyond it is refused. */
export interface DeclaredParts {
  /** Names of events. */
  hooks: readonly string[]
  rules: Readonly<Partial<Record<"allow" | "ask" | "deny", readonly string[]>>>
  /** Names of agents. */
  agents: readonly string[]
}

/** Throws ISOLATION_PART_UNSUPPORTED and ISOLATION_UNDERSTATED. `declares` left out: any hook and agent, and rules that ask or deny. */
export function checkParts(
  plugin: string,
  parts: Parts,
  { capabilities, declares }: { capabilities: Capabilities; declares?: DeclaredParts | undefined },
): void {
  if (parts.foreign.length > 0) throw new SousError("ISOLATION_PART_UNSUPPORTED", { plugin, parts: parts.foreign })
  const { tools = [] } = capabilities
  const { allow = [], ask = [], deny = [] } = parts.permissions
  const adds = [
    ...beyond("tool", parts.tools, tools),
    ...(declares === undefined ? [] : beyond("hook", parts.hooks, declares.hooks)),
    ...(declares === undefined ? [] : beyond("agent", parts.agents, declares.agents)),
    ...beyond("rule allow", allow, declares?.rules.allow ?? []),
    ...(declares === undefined ? [] : beyond("rule ask", ask, declares.rules.ask ?? [])),
    ...(declares === undefined ? [] : beyond("rule deny", deny, declares.rules.deny ?? [])),
  ]
  if (adds.length > 0) throw new SousError("ISOLATION_UNDERSTATED", { plugin, adds })
  const odd = parts.hooks.find(({ matcher }) => matcher !== undefined && isCostly(matcher))
  if (odd !== undefined) {
    const unsupported = `the ${odd.event} matcher "${odd.matcher}" (a repeated group)`
    throw new SousError("ISOLATION_PART_UNSUPPORTED", { plugin, parts: [unsupported] })
  }
}

type Added = string | { name: string } | { event: string }

function beyond(kind: string, added: readonly Added[], listed: readonly string[]): string[] {
  const names = added.map((one) => (typeof one === "string" ? one : "name" in one ? one.name : one.event))
  return [...new Set(names)].filter((name) => !listed.includes(name)).map((name) => `${kind} ${name}`)
}

/** Repeated groups and many stars can take a regular expression longer than anybody waits. */
function isCostly(matcher: string): boolean {
  return /\)[*+?{]/.test(matcher) || (matcher.match(/[*+{]/g)?.length ?? 0) > 3
}

/**
 * The schema without patterns: the plugin holds them against the input itself, in its own process. The model still
 * reads them, in the description of the field.
 */
export function withoutPatterns(schema: JsonSchema): JsonSchema {
  return strip(schema) as JsonSchema
}

function strip(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strip)
  if (typeof schema !== "object" || schema === null) return schema
  const { pattern, patternProperties, ...rest } = schema as Record<string, unknown>
  const kept = Object.entries(rest).flatMap(([key, value]) => {
    // Fields that only a pattern names must not be too many.
    if (key === "additionalProperties" && patternProperties !== undefined) return []
    if (AS_THEY_ARE.includes(key)) return [[key, value]]
    return [[key, BY_NAME.includes(key) ? stripEach(value) : strip(value)]]
  })
  if (typeof pattern !== "string") return Object.fromEntries(kept)
  const described = typeof rest["description"] === "string" ? `${rest["description"]} ` : ""
  return { ...Object.fromEntries(kept), description: `${described}(matches /${pattern}/)` }
}

/** Keywords whose value is data. */
const AS_THEY_ARE = ["const", "enum", "default", "examples"]

/** Keywords with schemas by names that may be called like keywords. */
const BY_NAME = ["properties", "$defs", "definitions"]

function stripEach(schemas: unknown): unknown {
  if (typeof schemas !== "object" || schemas === null) return schemas
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, strip(schema)]))
}
