/**
 * What a step is, as a hash: its path, its declaration as plain data, and facts about the world that it depends on.
 *
 * Invariant: equal declarations have equal keys, whatever the order of their fields and wherever they stand in a recipe.
 * A function counts by its text alone, so the key of a step that holds other steps says nothing of what it closes over:
 * only steps that hold none may be taken from a journal by key.
 */
import { createHash } from "node:crypto"
import { z } from "zod"
import type { Step } from "../step.ts"

/** Grows when the same declaration would get another key. */
const KEY_VERSION = 1
const MAX_DEPTH = 500

/**
 * The key of a step, 64 hexadecimal digits. `facts`: what the declaration does not say and the result depends on, by
 * name (a resolved model id, the content of inputs).
 */
export function stepKey(path: string, declared: Step, facts: Readonly<Record<string, string>> = {}): string {
  return hash(canonical({ version: KEY_VERSION, path, declared, facts }))
}

/** An item's key by its content: a short text or a number is its own, of anything else the start of its hash. */
export function itemKey(item: unknown): string {
  if (typeof item === "number") return String(item)
  if (typeof item === "string" && /^[\x21-\x7e][\x20-\x7e]{0,119}$/.test(item)) return item
  return hash(canonical(item)).slice(0, 12)
}

/** JSON with sorted keys, in which schemas stand as JSON Schema, functions as their text, sets and maps as lists. */
export function canonical(value: unknown): string {
  return JSON.stringify(plain(value)) ?? "null"
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex")
}

/** What holds itself cannot be kept as a result either; here it only must not run for ever. */
function plain(value: unknown, above: readonly object[] = []): unknown {
  if (typeof value === "bigint") return `${value}n`
  if (typeof value === "function") return { function: String(value) }
  if (typeof value !== "object" || value === null) return value
  if (above.includes(value) || above.length > MAX_DEPTH) return "(itself)"
  const inside = (one: unknown) => plain(one, [...above, value])
  if (Array.isArray(value)) return value.map(inside)
  if (value instanceof Date) return value.toJSON()
  if (value instanceof Set || value instanceof Map) return [...value].map(inside)
  if ("_zod" in value) return schemaOf(value as z.ZodType)
  const entries = Object.entries(value).filter(([, field]) => field !== undefined)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, field]) => [key, inside(field)]))
}

const schemas = new WeakMap<z.ZodType, unknown>()

function schemaOf(schema: z.ZodType): unknown {
  const known = schemas.get(schema) ?? z.toJSONSchema(schema, { unrepresentable: "any" })
  schemas.set(schema, known)
  return known
}
