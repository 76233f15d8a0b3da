/**
 * A folder and a name without ending → the settings file of that name in it, and its text.
 *
 * Invariant: a file that cannot be read is an error and never skipped; what is no regular file is never waited for; where
 * there is no such file, nothing but the folder's list is read, and no library loaded.
 */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { SousError } from "../error.ts"
import { readSettingsText } from "./text-file.ts"

/** Endings of settings files, in the order in which they are looked for. */
export const ENDINGS = [".json", ".yaml", ".yml", ".ts"] as const

/** Endings by which somebody may have thought that a file is read. */
const OTHER_ENDINGS = [...ENDINGS, ".jsonc", ".json5", ".toml", ".js", ".mjs", ".cjs", ".mts", ".cts"]

/** A settings file that is there. */
export interface FoundFile {
  /** Absolute. */
  file: string
  text: string
}

/** What the folders of one start hold, each of them read once. */
export type FolderLists = Map<string, readonly string[]>

export interface FindOptions {
  endings?: readonly string[]
  lists?: FolderLists
  /** True for a file (absolute) that is not to be read; its text is empty. */
  isKept?: (file: string) => boolean
}

/** Finds and reads it. Undefined: there is none. Throws SETTINGS_FILE_UNREADABLE. */
export async function findSettingsFile(
  folder: string,
  name: string,
  { endings = ENDINGS, lists = new Map(), isKept }: FindOptions = {},
): Promise<{ found?: FoundFile; warnings: string[] }> {
  const present = listFolder(folder, lists)
  const names = endings.map((ending) => name + ending)
  const [first, ...others] = names.filter((file) => present.includes(file))
  const wrong = OTHER_ENDINGS.filter((ending) => !endings.includes(ending) && present.includes(name + ending))
  const warnings = [
    ...others.map((file) => `"${join(folder, file)}" is not read: "${first}" beside it is`),
    ...wrong.map((ending) => `"${join(folder, name + ending)}" is not read: ${wanted(name, endings)}`),
  ]
  if (first === undefined) return { warnings }
  // Before the search: the library passes over what it may not read, and would wait for a pipe.
  const file = join(folder, first)
  if (isKept?.(file)) return { found: { file, text: "" }, warnings }
  const text = readSettingsText(file)
  // What reads it comes at the same time.
  const [{ firstFile }] = await Promise.all([import("./explorer.ts"), file.endsWith(".json") && import("./jsonc.ts")])
  if ((await firstFile(folder, names)) !== file)
    throw new SousError("SETTINGS_FILE_UNREADABLE", { file, reason: "it changed while it was read" })
  return { found: { file, text }, warnings }
}

/** The names in a folder; none where there is no folder. Throws SETTINGS_FILE_UNREADABLE. */
export function listFolder(folder: string, lists: FolderLists): readonly string[] {
  const known = lists.get(folder)
  if (known !== undefined) return known
  const names = readNames(folder)
  lists.set(folder, names)
  return names
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ENOTDIR") return []
    throw new SousError("SETTINGS_FILE_UNREADABLE", { file: folder, reason: code ?? String(error) }, { cause: error })
  }
}

function wanted(name: string, endings: readonly string[]): string {
  return endings.length === 1 ? `write "${name}${endings[0]}"` : `only ${endings.join(", ")} are`
}
