/**
 * A settings file of a scope → its text, or why it cannot be one.
 *
 * Invariant: reading always ends: what is no regular file is never waited for, and what is too large is never read.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, type Stats } from "node:fs"
import { SousError } from "../error.ts"

/** No settings that a person wrote are larger. In bytes. */
const MOST_BYTES = 4 * 2 ** 20

/** Reads it; links are followed. Throws SETTINGS_FILE_UNREADABLE. */
export function readSettingsText(file: string): string {
  let descriptor: number | undefined
  try {
    // Without it, opening a pipe waits for somebody to write into it.
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const reason = refusalOf(fstatSync(descriptor))
    if (reason !== undefined) throw new SousError("SETTINGS_FILE_UNREADABLE", { file, reason })
    return readFileSync(descriptor, "utf8")
  } catch (error) {
    if (error instanceof SousError) throw error
    throw new SousError("SETTINGS_FILE_UNREADABLE", { file, reason: codeOf(error) }, { cause: error })
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** True when something lies there, be it a link that leads nowhere. Throws SETTINGS_FILE_UNREADABLE. */
export function isThere(file: string): boolean {
  try {
    lstatSync(file)
    return true
  } catch (error) {
    const reason = codeOf(error)
    if (reason === "ENOENT" || reason === "ENOTDIR") return false
    throw new SousError("SETTINGS_FILE_UNREADABLE", { file, reason }, { cause: error })
  }
}

function refusalOf(stats: Stats): string | undefined {
  if (stats.isDirectory()) return "it is a folder"
  if (stats.isFIFO()) return "it is a pipe, not a file"
  if (!stats.isFile()) return "it is a device, not a file"
  if (stats.size > MOST_BYTES) return `it has ${stats.size.toLocaleString("en-US")} bytes, more than settings may have`
  return undefined
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
