/**
 * The parameters of a recipe: from `--param k=v` and a JSON or YAML file to values that its schema took, and to help.
 *
 * Invariant: what the schema does not name is refused with the nearest name; nothing runs before all of them fit.
 */
import { readFile } from "node:fs/promises"
import { z } from "zod"
import { isSousError, SousError, suggest } from "../error.ts"
import type { Recipe } from "../step.ts"

/** What a recipe says about one of its parameters. */
export interface ParamInfo {
  name: string
  /** `string`, `integer`, `a | b | c` for a choice … */
  type: string
  description?: string
  default?: unknown
  required: boolean
}

type AnyRecipe = Pick<Recipe<any, any, any>, "name" | "params">

/** The values as the schema makes them, defaults filled in. Throws PARAM_UNKNOWN, PARAM_MISSING or PARAM_INVALID. */
export async function checkParams(
  recipe: AnyRecipe,
  given: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const known = Object.keys(recipe.params?.shape ?? {})
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue
    throw new SousError("PARAM_UNKNOWN", { recipe: recipe.name, name, mend: suggest(name, known) })
  }
  if (recipe.params === undefined) return {}
  const parsed = await recipe.params.safeParseAsync(given)
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  const name = String(path[0] ?? "")
  if (path.length === 1 && given[name] === undefined && known.includes(name)) {
    const description = listParams(recipe).find((info) => info.name === name)?.description
    throw new SousError("PARAM_MISSING", { recipe: recipe.name, name, description })
  }
  const where = path.length > 1 ? `at ${path.slice(1).join(".")}: ` : ""
  throw new SousError("PARAM_INVALID", { recipe: recipe.name, name, problem: `${where}${message}` })
}

/**
 * The values that were given on the command line (`k=v` pairs, which win) and in a file, not yet checked as a whole.
 * Texts become what the schema asks for; a list takes JSON, or one pair for each item. Throws PARAM_PAIR_INVALID,
 * PARAM_UNKNOWN, PARAM_INVALID or PARAM_FILE_INVALID.
 */
export async function readParams(
  recipe: AnyRecipe,
  given: { pairs?: readonly string[]; file?: string },
): Promise<Record<string, unknown>> {
  const values = given.file === undefined ? {} : await readParamFile(given.file)
  return { ...values, ...readPairs(recipe, given.pairs ?? []) }
}

/** The parameters in the order of the schema. */
export function listParams(recipe: AnyRecipe): ParamInfo[] {
  const { properties, required } = schemaOf(recipe)
  return Object.entries(properties).map(([name, field]) => ({
    name,
    type: typeOf(field),
    ...(field.description === undefined ? {} : { description: field.description }),
    ...("default" in field ? { default: field.default } : {}),
    required: required.includes(name),
  }))
}

/** The help of a recipe's parameters, one line for each, ended by a line break; empty when it has none. */
export function describeParams(recipe: AnyRecipe): string {
  const rows = listParams(recipe).map((info) => ({ left: `  --param ${info.name}=${hintOf(info)}`, info }))
  if (rows.length === 0) return ""
  const width = Math.max(...rows.map(({ left }) => left.length))
  const lines = rows.map(({ left, info }) => `${left.padEnd(width)}  ${describe(info)}`.trimEnd())
  return `Parameters of ${recipe.name}:\n${lines.join("\n")}\n`
}

interface Field {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Field[]
  items?: Field
  description?: string
  default?: unknown
}

function schemaOf({ params }: AnyRecipe): { properties: Record<string, Field>; required: readonly string[] } {
  if (params === undefined) return { properties: {}, required: [] }
  const schema = z.toJSONSchema(params, { io: "input", unrepresentable: "any" })
  const { properties = {}, required = [] } = schema as { properties?: Record<string, Field>; required?: string[] }
  return { properties, required }
}

function typeOf(field: Field): string {
  if (field.enum) return field.enum.join(" | ")
  if (field.const !== undefined) return String(field.const)
  if (field.anyOf) return field.anyOf.map(typeOf).join(" | ")
  if (field.type === "array") return field.items ? `${typeOf(field.items)}[]` : "list"
  return [field.type ?? "any"].flat().join(" | ")
}

function hintOf({ type }: ParamInfo): string {
  return type.length <= 40 ? type.replaceAll(" | ", "|") : "…"
}

function describe(info: ParamInfo): string {
  const note = info.required ? "(required)" : "default" in info ? `(default ${JSON.stringify(info.default)})` : ""
  return [info.description, note].filter((part) => part !== undefined && part !== "").join(" ")
}

async function readParamFile(file: string): Promise<Record<string, unknown>> {
  try {
    const text = await readFile(file, "utf8")
    const value: unknown = /\.ya?ml$/.test(file) ? (await import("yaml")).parse(text) : JSON.parse(text)
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
    throw new SousError("PARAM_FILE_INVALID", { file, problem: "it holds no object" })
  } catch (cause) {
    if (isSousError(cause)) throw cause
    const { code, message } = cause as NodeJS.ErrnoException
    throw new SousError("PARAM_FILE_INVALID", { file, problem: code ?? message }, { cause })
  }
}

function readPairs(recipe: AnyRecipe, pairs: readonly string[]): Record<string, unknown> {
  const { properties } = schemaOf(recipe)
  const texts = new Map<string, string[]>()
  for (const text of pairs) {
    const [name, value] = splitPair(text)
    if (!Object.hasOwn(properties, name)) {
      throw new SousError("PARAM_UNKNOWN", { recipe: recipe.name, name, mend: suggest(name, Object.keys(properties)) })
    }
    texts.set(name, [...(texts.get(name) ?? []), value])
  }
  const entries = [...texts].map(([name, given]) => [
    name,
    readTexts(recipe, name, { given, field: properties[name]! }),
  ])
  return Object.fromEntries(entries)
}

function splitPair(text: string): [string, string] {
  const at = text.indexOf("=")
  if (at < 1) throw new SousError("PARAM_PAIR_INVALID", { text: at === 0 ? "" : text })
  return [text.slice(0, at), text.slice(at + 1)]
}

function readTexts(recipe: AnyRecipe, name: string, { given, field }: { given: string[]; field: Field }): unknown {
  const fail = (problem: string) => new SousError("PARAM_INVALID", { recipe: recipe.name, name, problem })
  const [first = "", ...more] = given
  if (field.type === "array") {
    if (more.length === 0 && first.trimStart().startsWith("[")) return readText(first, field, fail)
    return given.map((text) => readText(text, field.items ?? {}, fail))
  }
  if (more.length > 0) throw fail(`it is given ${given.length} times, and takes one value`)
  return readText(first, field, fail)
}

/** A text as the type that the schema names. What fits no type stays a text: the schema says what is wrong with it. */
function readText(text: string, field: Field, fail: (problem: string) => SousError): unknown {
  const types = typesOf(field)
  if (types.has("boolean") && (text === "true" || text === "false")) return text === "true"
  if ((types.has("number") || types.has("integer")) && /^\s*[-+]?(\d|\.\d)/.test(text) && !Number.isNaN(Number(text))) {
    return Number(text)
  }
  if (types.has("null") && text === "null") return null
  if (types.has("string") && !types.has("any")) return text
  if (!types.has("object") && !types.has("array") && !types.has("any")) return text
  try {
    return JSON.parse(text)
  } catch (cause) {
    if (types.has("any")) return text
    throw fail(`"${text}" is not valid JSON: ${(cause as Error).message}`)
  }
}

function typesOf(field: Field): Set<string> {
  if (field.anyOf) return new Set(field.anyOf.flatMap((one) => [...typesOf(one)]))
  const values = field.enum ?? (field.const === undefined ? undefined : [field.const])
  if (values) return new Set(values.map((value) => (value === null ? "null" : typeof value)))
  return new Set([field.type ?? "any"].flat())
}
