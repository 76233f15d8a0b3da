/**
 * One settings file of Claude Code while it is read: where things stand in it, and what of it does not count.
 *
 * Invariant: whatever is left out is listed with its reason; what may be a guard is refused instead.
 */
import { SousError } from "../error.ts"
import { invalidValue } from "./check.ts"
import type { SettingsDocument } from "./document.ts"
import type { IgnoredValue, SettingsScope } from "./merge.ts"

/** Names and indexes, from the top of the file. */
export type Path = readonly (string | number)[]

export interface ClaudeReading {
  file: string
  scope: SettingsScope
  at: SettingsDocument["at"]
  ignored: IgnoredValue[]
  /** One sentence each. */
  warnings: string[]
}

/** Lists a value that does not count; nobody is told before they ask. */
export function ignore(reading: ClaudeReading, path: Path, value: unknown, reason: string): void {
  reading.ignored.push({ path: path.join("."), value, reason })
}

/** Lists a value that does not count, and tells so at the start. `problem`: one clause. */
export function leaveOut(reading: ClaudeReading, path: Path, value: unknown, problem: string): void {
  ignore(reading, path, value, problem)
  say(reading, path, `is left out: ${problem}`)
}

/** Tells something about a value that counts. */
export function say(reading: ClaudeReading, path: Path, what: string): void {
  reading.warnings.push(`"${path.join(".")}" at ${placeIn(reading, path)} ${what}`)
}

/** The fault of a value that may be a guard and is not understood. */
export function wrongGuard(reading: ClaudeReading, path: Path, problem: string): SousError {
  return invalidValue(problem, { file: reading.file, at: reading.at, path })
}

/** The fault of a key that may be a guard, at a place where it guards nothing. */
export function misplacedGuard({ file, at }: ClaudeReading, path: Path, mend: string): SousError {
  return new SousError("SETTINGS_KEY_UNKNOWN", { file, key: path.join("."), mend, ...at(path) })
}

/** The texts of a list that guards nothing; what is none leaves a hole, so that the others keep their index. */
export function textList(reading: ClaudeReading, path: Path, value: unknown): string[] | undefined {
  if (Array.isArray(value)) {
    return value.map((entry: unknown, index) => {
      if (typeof entry === "string" && entry !== "") return entry
      leaveOut(reading, [...path, index], entry, "expected a text")
      return undefined as unknown as string
    })
  }
  leaveOut(reading, path, value, "expected a list of texts")
  return undefined
}

/** True for an object that is no list. */
export function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function placeIn({ file, at }: ClaudeReading, path: Path): string {
  const place = at(path)
  return place === undefined ? file : `${file}:${place.line}:${place.column}`
}
