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
  const checked = settingsSchema.safeParse(document.value)
  if (checked.success) return checked.data
  const issue = checked.error.issues.find(({ code }) => code === "unrecognized_keys") ?? checked.error.issues[0]!
  const path = issue.path as (string | number)[]
  if (issue.code !== "unrecognized_keys") {
    const place = document.at(path)
    throw new SousError("SETTINGS_VALUE_INVALID", { file, key: path.join("."), problem: problemOf(issue), ...place })
  }
  const key = issue.keys[0]!
  const place = document.at([...path, key])
  throw new SousError("SETTINGS_KEY_UNKNOWN", {
    file,
    key: [...path, key].join("."),
    mend: suggestKey(path.join("."), key),
    ...place,
  })
}

function problemOf(issue: z.core.$ZodIssue): string {
  return issue.message
    .replace(/^Invalid (input|option|string): /, "")
    .replace(/^(Too|Unrec)/, (word) => word.toLowerCase())
}

/** Names the key that was meant: among its neighbours, or a key of that very name at another place. */
function suggestKey(parent: string, key: string): string {
  const known = settingsKeys().map(({ path }) => path)
  const elsewhere = known.find((path) => path.endsWith(`.${key}`))
  if (elsewhere !== undefined) return `write "${elsewhere}"`
  const prefix = parent === "" ? "" : `${parent}.`
  const neighbours = known
    .filter((path) => path.startsWith(prefix))
    .map((path) => path.slice(prefix.length).split(".")[0]!)
  return suggest(key, new Set(neighbours))
}
