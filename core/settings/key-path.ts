/**
 * The name of a key and a value as a person types them → where the value goes in a file, and what it is.
 *
 * Invariant: a name that the schema does not have is refused with the nearest one; a value that does not fit is refused
 * with what would.
 */
import { z } from "zod"
import { nearestName, SousError } from "../error.ts"
import { type SettingsKey, settingsKeys } from "./schema.ts"

/** A place within the settings. */
export interface KeyPath {
  /** As a person writes it: `permissions.allow`, `env.CI`. */
  name: string
  /** Name by name. */
  path: readonly string[]
  /** The key of the schema that it is, or belongs to. */
  key: SettingsKey
  /** Of the value at this very place. */
  schema: z.ZodType
}

/** Finds a key, or an entry of one that holds entries by name: `env.CI`. Throws SETTINGS_NAME_UNKNOWN. */
export function findKeyPath(name: string): KeyPath {
  const keys = settingsKeys()
  const key = keys.find(({ path }) => name === path || name.startsWith(`${path}.`))
  if (key === undefined) throw unknownName(name, keys)
  const head = key.path.split(".")
  if (name === key.path) return { name, path: head, key, schema: key.schema }
  const inner = pathWithin(key.schema, name.slice(key.path.length + 1))
  if (inner === undefined) throw new SousError("SETTINGS_NAME_UNKNOWN", { name, mend: `write "${key.path}"` })
  return { name, path: [...head, ...inner.path], key, schema: inner.schema }
}

/** The value that a text means at this place. Throws CLI_VALUE_INVALID. */
export function parseValue(text: string, { name, schema }: Pick<KeyPath, "name" | "schema">): unknown {
  const value = readValue(text, schema)
  const checked = value === undefined ? undefined : schema.safeParse(value)
  if (checked?.success) return value
  const wanted = describeSchema(schema)
  const issue = checked?.error.issues[0]
  const custom =
    issue?.code === "invalid_format" && /^expected /.test(issue.message) ? issue.message.slice(9) : undefined
  const isEntry = entrySchema(schema)?.safeParse(text).success === true
  const mend = isEntry ? { mend: `write "sous config add ${name} …" for one entry more` } : {}
  throw new SousError("CLI_VALUE_INVALID", { flag: name, value: text, wanted: custom ?? wanted, ...mend })
}

/** The schema of one entry of a list. Undefined for what is no list. */
export function entrySchema(schema: z.ZodType): z.ZodType | undefined {
  return schema instanceof z.ZodArray ? (schema.element as z.ZodType) : undefined
}

/** The fault of a name that no key has. */
export function unknownName(name: string, keys: readonly SettingsKey[] = settingsKeys()): SousError {
  const below = keys.filter(({ path }) => path.startsWith(`${name}.`)).map(({ path }) => path)
  if (below.length > 0) {
    return new SousError("SETTINGS_NAME_UNKNOWN", { name, mend: `name one of its keys: ${below.join(", ")}` })
  }
  const known = keys.map(({ path }) => path)
  const near = known.find((path) => path.endsWith(`.${name}`)) ?? nearestName(name, known)
  const mend = near === undefined ? 'run "sous config" for all keys' : `write "${near}"`
  return new SousError("SETTINGS_NAME_UNKNOWN", { name, mend })
}

interface Inner {
  path: string[]
  schema: z.ZodType
}

/** Names of entries may have dots, as those of models and packs do: what is left of the name is all theirs. */
function pathWithin(schema: z.ZodType, rest: string): Inner | undefined {
  if (rest === "") return undefined
  if (schema instanceof z.ZodUnknown) return { path: rest.split("."), schema }
  if (schema instanceof z.ZodObject) {
    const field = schema.shape[rest] as z.ZodType | undefined
    return field && { path: [rest], schema: unwrap(field) }
  }
  if (!(schema instanceof z.ZodRecord)) return undefined
  const value = schema.valueType as z.ZodType
  if (value instanceof z.ZodRecord) return pathInRecord(rest, value)
  if (value instanceof z.ZodObject) {
    const field = Object.keys(value.shape).find((name) => rest.endsWith(`.${name}`))
    const name = field === undefined ? rest : rest.slice(0, -field.length - 1)
    const inner = field === undefined ? undefined : pathWithin(value, field)
    return { path: [name, ...(inner?.path ?? [])], schema: inner?.schema ?? value }
  }
  return { path: [rest], schema: value }
}

function pathInRecord(rest: string, value: z.ZodType): Inner | undefined {
  const dot = rest.indexOf(".")
  if (dot === -1) return { path: [rest], schema: value }
  const inner = pathWithin(value, rest.slice(dot + 1))
  return inner && { path: [rest.slice(0, dot), ...inner.path], schema: inner.schema }
}

function unwrap(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema
}

/** A text where a text may stand; JSON otherwise. Undefined: it is no JSON. */
function readValue(text: string, schema: z.ZodType): unknown {
  if (isText(schema)) return text
  if (schema instanceof z.ZodUnion && !/^\s*[[{]/.test(text) && schema.options.some((one) => isText(one as z.ZodType)))
    return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return schema instanceof z.ZodUnknown ? text : undefined
  }
}

function isText(schema: z.ZodType): boolean {
  return (
    schema instanceof z.ZodString ||
    schema instanceof z.ZodEnum ||
    (schema instanceof z.ZodLiteral && schema.values.values().next().value?.constructor === String)
  )
}

function describeSchema(schema: z.ZodType): string {
  if (schema instanceof z.ZodEnum) return `one of ${schema.options.join(", ")}`
  if (schema instanceof z.ZodLiteral) return `the word "${[...schema.values].join('" or "')}"`
  if (schema instanceof z.ZodBoolean) return "true or false"
  if (schema instanceof z.ZodNumber) {
    return `a ${schema instanceof z.ZodNumberFormat ? "whole " : ""}number${boundOf(schema)}`
  }
  if (schema instanceof z.ZodString) return "a text that is not empty"
  if (schema instanceof z.ZodArray) return `a list as JSON, each entry ${describeSchema(schema.element as z.ZodType)}`
  if (schema instanceof z.ZodUnion) return schema.options.map((one) => describeSchema(one as z.ZodType)).join(", or ")
  if (schema instanceof z.ZodObject) return `an object as JSON, with ${Object.keys(schema.shape).join(", ")}`
  if (schema instanceof z.ZodRecord)
    return `an object as JSON, each value ${describeSchema(schema.valueType as z.ZodType)}`
  return "a value as JSON"
}

function boundOf(schema: z.ZodNumber): string {
  const { minValue, maxValue } = schema
  if (Math.abs(maxValue ?? Infinity) < Number.MAX_SAFE_INTEGER) return ` from ${minValue} to ${maxValue}`
  if (schema.safeParse(-1).success) return ""
  return schema.safeParse(0).success ? " of 0 or more" : " above 0"
}
