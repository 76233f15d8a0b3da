/**
 * What a settings file says → settings that fit the schema, or the first thing that does not, with its place.
 *
 * Invariant: an unknown key is an error, never ignored: a misspelt guard must not be a missing guard.
 */
import type { z } from "zod"
import { SousError, suggest } from "../error.ts"
import type { SettingsDocument } from "./document.ts"
import { type Settings, settingsKeys, settingsSchema } from "./schema.ts"

/** Checks a document; `file` is for the error. Throws SETTINGS_KEY_UNKNOWN or SETTINGS_VALUE_INVALID. */
export function checkSettings(file: string, document: SettingsDocument): Settings {
  return checkPart(settingsSchema, document.value, {
    file,
    at: document.at,
    path: [],
    meant: (path, key) => suggestKey(path.join("."), key),
  })
}

/** Where a value stands, and what is said about a key that it should not have. */
export interface Part {
  file: string
  at: SettingsDocument["at"]
  /** Of the value in its file. */
  path: readonly (string | number)[]
  /** The mend for an unknown key; `path` is that of the object which has it. */
  meant(path: readonly (string | number)[], key: string): string
}

/** Checks one value of a file. Throws SETTINGS_KEY_UNKNOWN or SETTINGS_VALUE_INVALID. */
export function checkPart<S extends z.ZodType>(schema: S, value: unknown, part: Part): z.output<S> {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  const { issues } = checked.error
  throw faultsOf(issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0]!, value, part)[0]!
}

/** All that is wrong with a document, each with its place; `checkSettings` throws the first of them. */
export function findFaults(file: string, document: SettingsDocument): SousError[] {
  const checked = settingsSchema.safeParse(document.value)
  const meant: Part["meant"] = (path, key) => suggestKey(path.join("."), key)
  const part = { file, at: document.at, path: [], meant }
  return checked.success ? [] : checked.error.issues.flatMap((issue) => faultsOf(issue, document.value, part))
}

function faultsOf(issue: z.core.$ZodIssue, value: unknown, part: Part): SousError[] {
  const path = [...part.path, ...(issue.path as (string | number)[])]
  if (issue.code !== "unrecognized_keys") {
    const mend = mendOf(issue, valueAt(value, issue.path))
    return [invalidValue(problemOf(issue), { ...part, path, ...(mend === undefined ? {} : { mend }) })]
  }
  return issue.keys.map((key) => {
    const details = { file: part.file, key: [...path, key].join("."), mend: part.meant(path, key) }
    return new SousError("SETTINGS_KEY_UNKNOWN", { ...details, ...part.at([...path, key]) })
  })
}

/** What to write instead, where that is plain: the nearest of the values there are, or a list around the one that is there. */
function mendOf(issue: z.core.$ZodIssue, found: unknown): string | undefined {
  if (typeof found !== "string") return undefined
  if (issue.code === "invalid_value") return suggest(found, issue.values.map(String))
  return issue.code === "invalid_type" && issue.expected === "array" ? `write ${JSON.stringify([found])}` : undefined
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | undefined)?.[key], value)
}

/** The fault of a value that is not what it should be. */
export function invalidValue(
  problem: string,
  { file, at, path, mend }: Omit<Part, "meant"> & { mend?: string },
): SousError {
  const key = path.join(".")
  return new SousError("SETTINGS_VALUE_INVALID", {
    file,
    key,
    problem,
    ...(mend === undefined ? {} : { mend }),
    ...at(path),
  })
}

function problemOf(issue: z.core.$ZodIssue): string {
  if (/, received undefined$/.test(issue.message)) return "it is missing"
  return issue.message
    .replace(/^Invalid (input|option|string): /, "")
    .replace(/"\|"/g, '", "')
    .replace(/^(Too|Unrec)/, (word) => word.toLowerCase())
}

/** Names the key that was meant: among its neighbours, or a key of that very name at another place. */
export function suggestKey(parent: string, key: string): string {
  const known = settingsKeys().map(({ path }) => path)
  const elsewhere = known.find((path) => path.endsWith(`.${key}`))
  if (elsewhere !== undefined) return `write "${elsewhere}"`
  const prefix = parent === "" ? "" : `${parent}.`
  const neighbours = known
    .filter((path) => path.startsWith(prefix))
    .map((path) => path.slice(prefix.length).split(".")[0]!)
  return suggest(key, new Set(neighbours))
}
