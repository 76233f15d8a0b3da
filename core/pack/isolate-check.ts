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

/**
 * Throws ISOLATION_PART_UNSUPPORTED, and ISOLATION_UNDERSTATED for what a plugin that nobody else holds to a manifest adds
 * beyond its own capabilities: a tool that they do not list, a rule that allows.
 */
export function checkParts(
  plugin: string,
  parts: Parts,
  { capabilities, isHeld }: { capabilities: Capabilities; isHeld?: true | undefined },
): void {
  const costly = parts.hooks.flatMap(({ event, matcher }) =>
    matcher !== undefined && isCostly(matcher) ? [`the ${event} matcher "${matcher}" (repeated groups)`] : [],
  )
  const unsupported = [...parts.foreign, ...costly]
  if (unsupported.length > 0) throw new SousError("ISOLATION_PART_UNSUPPORTED", { plugin, parts: unsupported })
  if (isHeld) return
  const { tools = [] } = capabilities
  const adds = [
    ...parts.tools.filter(({ name }) => !tools.includes(name)).map(({ name }) => `the tool "${name}"`),
    ...(parts.permissions.allow ?? []).map((rule) => `the rule "allow ${rule}"`),
  ]
  if (adds.length > 0) throw new SousError("ISOLATION_UNDERSTATED", { plugin, adds })
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
