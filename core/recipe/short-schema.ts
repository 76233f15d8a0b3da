/**
 * The short way to write a schema in YAML → zod: `{ file: string, line: integer, note?: string, tags: [string] }`.
 *
 * Invariant: JSON Schema is told from it by its keywords, and is passed on as it is; a word that is no type is refused.
 */
import { z } from "zod"
import { suggest } from "../error.ts"
import type { JsonSchema } from "../message.ts"

/** What is wrong, and where below the schema's own place. */
export class SchemaProblem extends Error {
  readonly path: readonly (string | number)[]
  constructor(problem: string, path: readonly (string | number)[]) {
    super(problem)
    this.path = path
  }
}

type Path = readonly (string | number)[]

const TYPES: Readonly<Record<string, () => z.ZodType>> = {
  string: () => z.string(),
  number: () => z.number(),
  integer: () => z.int(),
  boolean: () => z.boolean(),
  object: () => z.record(z.string(), z.unknown()),
  array: () => z.array(z.unknown()),
  any: () => z.unknown(),
}

/** The zod schema, or JSON Schema as it was written. Throws a SchemaProblem. */
export function parseSchema(written: unknown): z.ZodType | JsonSchema {
  if (!isJsonSchema(written)) return shortSchema(written, [])
  try {
    z.fromJSONSchema(written)
    return written
  } catch (error) {
    throw new SchemaProblem(`it is no JSON Schema that can be checked: ${(error as Error).message}`, [])
  }
}

/** The schema of one parameter: a type's name, or `{ type, default, description, enum, required, items }`. */
export function paramSchema(written: unknown): z.ZodType {
  const isDescribed = isObject(written) && ["type", "enum", "default"].some((key) => key in written)
  return isDescribed ? fieldSchema(written, []) : shortSchema(written, [])
}

const FIELD_KEYS = ["type", "default", "description", "enum", "required", "items"]

function fieldSchema(written: Record<string, unknown>, path: Path): z.ZodType {
  for (const key of Object.keys(written)) {
    if (!FIELD_KEYS.includes(key))
      throw new SchemaProblem(`the key "${key}" is unknown: ${suggest(key, FIELD_KEYS)}`, [...path, key])
  }
  const { description, required, items } = written
  let schema =
    written.enum === undefined ? shortSchema(written.type ?? "string", [...path, "type"]) : choiceOf(written, path)
  if (items !== undefined) schema = z.array(shortSchema(items, [...path, "items"]))
  if (required === false && !("default" in written)) schema = schema.optional()
  if (typeof description === "string") schema = schema.describe(description)
  return "default" in written ? withDefault(schema, written.default, path) : schema
}

function choiceOf(written: Record<string, unknown>, path: Path): z.ZodType {
  const choices = written.enum
  const isList = Array.isArray(choices) && choices.length > 0
  if (!isList || !choices.every((one) => ["string", "number", "boolean"].includes(typeof one))) {
    throw new SchemaProblem("its enum is not a list of texts, numbers or booleans", [...path, "enum"])
  }
  return choices.every((one) => typeof one === "string") ? z.enum(choices) : z.literal(choices)
}

function withDefault(schema: z.ZodType, value: unknown, path: Path): z.ZodType {
  const parsed = schema.safeParse(value)
  if (parsed.success) return schema.default(value as never)
  throw new SchemaProblem(`its default does not fit its type: ${parsed.error.issues[0]!.message}`, [...path, "default"])
}

function shortSchema(written: unknown, path: Path): z.ZodType {
  if (typeof written === "string") return namedType(written, path)
  if (Array.isArray(written)) {
    if (written.length !== 1) throw new SchemaProblem("a list holds the one type of its items", path)
    return z.array(shortSchema(written[0], [...path, 0]))
  }
  if (!isObject(written)) throw new SchemaProblem("it is not a type", path)
  if (isField(written)) return fieldSchema(written, path)
  const fields = Object.entries(written).map(([key, field]) => {
    const schema = shortSchema(field, [...path, key])
    return key.endsWith("?") ? [key.slice(0, -1), schema.optional()] : [key, schema]
  })
  return z.strictObject(Object.fromEntries(fields))
}

function namedType(name: string, path: Path): z.ZodType {
  if (name.endsWith("[]")) return z.array(namedType(name.slice(0, -2), path))
  const make = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined
  if (make) return make()
  throw new SchemaProblem(`"${name}" is not a type: ${suggest(name, Object.keys(TYPES))}`, path)
}

/** `{ type: string, description: … }` describes one value; `{ type: string, name: string }` an object with a field "type". */
function isField(written: Record<string, unknown>): boolean {
  const { type } = written
  const named = typeof type === "string" && Object.hasOwn(TYPES, type.replace(/(\[\])+$/, ""))
  return (named || "enum" in written) && Object.keys(written).every((key) => FIELD_KEYS.includes(key))
}

const COMBINERS = ["$schema", "$ref", "anyOf", "oneOf", "allOf"]
const JSON_TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"]
const KEYWORDS = new Set(
  (
    "type properties items enum const description title default examples format pattern additionalProperties required " +
    "minimum maximum minLength maxLength minItems maxItems uniqueItems prefixItems"
  ).split(" "),
)

function isJsonSchema(written: unknown): written is JsonSchema {
  if (!isObject(written)) return false
  if (COMBINERS.some((key) => key in written)) return true
  return JSON_TYPES.includes(String(written.type)) && Object.keys(written).every((key) => KEYWORDS.has(key))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
