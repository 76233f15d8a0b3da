/**
 * A JSON Schema and a value → what an editor would underline: just the part of draft 2020-12 that our schema uses.
 *
 * Invariant: a keyword that is not known here is an error, so that the schema cannot grow past this check.
 */
import { isDeepStrictEqual } from "node:util"

type Schema = Record<string, any>

/** Words for people, and the bounds that no example goes near. */
const SILENT = ["$schema", "title", "description", "default"]

/** One line for each problem. */
export function schemaProblems(schema: Schema, value: unknown, at = "$"): string[] {
  const known = Object.keys(CHECKS)
  for (const word of Object.keys(schema)) if (!SILENT.includes(word) && !known.includes(word)) throw new Error(word)
  return Object.entries(CHECKS).flatMap(([word, check]) =>
    word in schema ? check(schema[word], value, at, schema) : [],
  )
}

type Check = (wanted: any, value: unknown, at: string, schema: Schema) => string[]

const CHECKS: Record<string, Check> = {
  type: (wanted, value, at) =>
    [wanted].flat().includes(typeOf(value)) || (wanted === "number" && typeOf(value) === "integer")
      ? []
      : [`${at}: no ${wanted}`],
  enum: (wanted, value, at) => (wanted.includes(value) ? [] : [`${at}: none of ${wanted}`]),
  const: (wanted, value, at) => (isDeepStrictEqual(value, wanted) ? [] : [`${at}: not ${wanted}`]),
  minLength: (wanted, value, at) => (typeof value === "string" && value.length < wanted ? [`${at}: too short`] : []),
  pattern: (wanted, value, at) =>
    typeof value === "string" && !new RegExp(wanted).test(value) ? [`${at}: not ${wanted}`] : [],
  minimum: (wanted, value, at) => (typeof value === "number" && value < wanted ? [`${at}: below ${wanted}`] : []),
  maximum: (wanted, value, at) => (typeof value === "number" && value > wanted ? [`${at}: above ${wanted}`] : []),
  exclusiveMinimum: (wanted, value, at) =>
    typeof value === "number" && value <= wanted ? [`${at}: not above ${wanted}`] : [],
  items: (wanted, value, at) =>
    Array.isArray(value) ? value.flatMap((one, index) => schemaProblems(wanted, one, `${at}.${index}`)) : [],
  anyOf: (wanted, value, at) => {
    const found = wanted.map((one: Schema) => schemaProblems(one, value, at)) as string[][]
    return found.some((problems) => problems.length === 0) ? [] : [`${at}: fits nothing of ${found.flat().join(" | ")}`]
  },
  required: (wanted, value, at) =>
    isObject(value) ? wanted.flatMap((name: string) => (name in value ? [] : [`${at}: no ${name}`])) : [],
  properties: (wanted, value, at) =>
    isObject(value)
      ? Object.entries(value).flatMap(([name, one]) =>
          Object.hasOwn(wanted, name) ? schemaProblems(wanted[name], one, `${at}.${name}`) : [],
        )
      : [],
  propertyNames: (wanted, value, at) =>
    isObject(value) ? Object.keys(value).flatMap((name) => schemaProblems(wanted, name, `${at}.${name}`)) : [],
  additionalProperties: (wanted, value, at, { properties = {} }) => {
    if (!isObject(value)) return []
    const more = Object.entries(value).filter(([name]) => !Object.hasOwn(properties, name))
    if (wanted === false) return more.map(([name]) => `${at}.${name}: unknown`)
    return more.flatMap(([name, one]) => schemaProblems(wanted, one, `${at}.${name}`))
  },
}

function typeOf(value: unknown): string {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  return Number.isInteger(value) ? "integer" : typeof value
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
