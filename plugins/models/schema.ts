/**
 * Turns an output schema into the part of JSON Schema that the API's structured output takes.
 *
 * Invariant: what the API cannot enforce stands in the description, for the model to read; a schema whose answers it would
 * cut short (open maps, tuples, anything-goes, recursion) is not translated at all, so that a submit tool takes its place.
 *
 * Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
 */
import type { JsonSchema } from "sous"

/** The schema as the API takes it, or undefined when it could not hold every valid answer. Made once per schema. */
export function apiSchema(schema: JsonSchema): JsonSchema | undefined {
  if (!made.has(schema)) made.set(schema, translate(schema))
  return made.get(schema)
}

const made = new WeakMap<JsonSchema, JsonSchema | undefined>()

function translate(schema: JsonSchema): JsonSchema | undefined {
  if (schema["type"] !== "object" || isRecursive(schema)) return undefined
  try {
    return convert(schema)
  } catch (error) {
    if (error === NOT_TAKEN) return undefined
    throw error
  }
}

const NOT_TAKEN = new Error("The API's structured output cannot hold this schema")
const FORMATS = ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"]
/** Words about a schema, not about its values. */
const SILENT = ["$schema", "$id", "$comment", "title"]

function convert(schema: unknown): JsonSchema {
  if (!isObject(schema)) throw NOT_TAKEN
  const rest = { ...schema }
  const take = (key: string): unknown => {
    const value = rest[key]
    delete rest[key]
    return value
  }
  const result: JsonSchema = {}
  for (const key of ["$defs", "definitions"]) {
    const group = take(key)
    if (isObject(group)) result[key] = mapValues(group, convert)
  }
  if (rest["$ref"] !== undefined) return { ...result, $ref: rest["$ref"] }
  for (const key of SILENT) take(key)
  const description = take("description")
  Object.assign(result, convertKind(take, rest))
  const noted = [description, notes(rest)].filter(Boolean).join(" ")
  if (noted !== "") result["description"] = noted
  return result
}

type Take = (key: string) => unknown

function convertKind(take: Take, rest: JsonSchema): JsonSchema {
  const type = take("type")
  const literals = take("enum")
  if (Array.isArray(literals) && literals.every(isPrimitive)) return { enum: literals }
  const literal = take("const")
  if (literal !== undefined && isPrimitive(literal)) return { const: literal }
  const choices = take("anyOf") ?? take("oneOf")
  if (Array.isArray(choices)) return { anyOf: choices.map(convert) }
  const all = take("allOf")
  if (Array.isArray(all)) return { allOf: all.map(convert) }
  if (Array.isArray(type)) return splitTypes(type, rest)
  if (type === "object") return convertObject(take)
  if (type === "array") return convertArray(take, rest)
  if (type === "string") return convertString(take, rest)
  if (typeof type !== "string") throw NOT_TAKEN
  return { type }
}

/** `type: ["string", "null"]` becomes a choice; each member keeps what else was said. */
function splitTypes(types: readonly unknown[], rest: JsonSchema): JsonSchema {
  const members = types.map((type) => convert(type === "null" ? { type } : { ...rest, type }))
  for (const key of Object.keys(rest)) delete rest[key]
  return { anyOf: members }
}

function convertObject(take: Take): JsonSchema {
  const properties = take("properties")
  const more = take("additionalProperties")
  const map = take("patternProperties") !== undefined || take("propertyNames") !== undefined || hasKeys(more)
  // Without properties of its own, an object that is not closed holds whatever it likes.
  if (map || (!hasKeys(properties) && more !== false)) throw NOT_TAKEN
  const required = take("required")
  return {
    type: "object",
    properties: isObject(properties) ? mapValues(properties, convert) : {},
    additionalProperties: false,
    ...(required === undefined ? {} : { required }),
  }
}

function convertArray(take: Take, rest: JsonSchema): JsonSchema {
  if (rest["prefixItems"] !== undefined) throw NOT_TAKEN
  const result: JsonSchema = { type: "array", items: convert(take("items")) }
  if (rest["minItems"] === 0 || rest["minItems"] === 1) result["minItems"] = take("minItems")
  return result
}

function convertString(take: Take, rest: JsonSchema): JsonSchema {
  return FORMATS.includes(String(rest["format"])) ? { type: "string", format: take("format") } : { type: "string" }
}

/** `(minimum: 1, maximum: 5)`, or nothing. */
function notes(rest: JsonSchema): string {
  const parts = Object.entries(rest).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  return parts.length === 0 ? "" : `(${parts.join(", ")})`
}

/** True when a definition leads back to itself. */
function isRecursive(schema: JsonSchema): boolean {
  const visit = (node: unknown, open: readonly string[]): boolean => {
    if (Array.isArray(node)) return node.some((one) => visit(one, open))
    if (!isObject(node)) return false
    const ref = node["$ref"]
    if (typeof ref === "string") return open.includes(ref) || visit(resolve(schema, ref), [...open, ref])
    return Object.entries(node).some(([key, value]) => key !== "$defs" && key !== "definitions" && visit(value, open))
  }
  return visit(schema, ["#"])
}

function resolve(schema: JsonSchema, ref: string): unknown {
  return ref
    .split("/")
    .slice(1)
    .reduce<unknown>(
      (node, part) => (isObject(node) ? node[part.replace(/~1/g, "/").replace(/~0/g, "~")] : undefined),
      schema,
    )
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function hasKeys(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length > 0
}

function isPrimitive(value: unknown): boolean {
  return value === null || typeof value !== "object"
}

function mapValues(group: JsonSchema, change: (value: unknown) => unknown): JsonSchema {
  return Object.fromEntries(Object.entries(group).map(([key, value]) => [key, change(value)]))
}
