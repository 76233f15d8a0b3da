/**
 * One key of one settings file → the file with that key written or removed, and nothing else touched.
 *
 * Invariant: a file is broken neither before nor after; several processes that write at once all keep what they wrote; a
 * reader finds the old text or the new one.
 */
import { constants, type Stats } from "node:fs"
import { access, mkdir, readdir, readFile, realpath, rm, stat } from "node:fs/promises"
import { basename, dirname, extname, isAbsolute, join, relative } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { isSousError, SousError } from "../error.ts"
import { replaceFile, withLock } from "../session/lock.ts"
import { createFolder, FILE_MODE } from "../session/store.ts"
import { afterEdit, editFor, type SettingsChange } from "./change.ts"
import { checkSettings } from "./check.ts"
import { parseDocument } from "./document.ts"
import { editJson } from "./edit-json.ts"
import { ENDINGS } from "./find.ts"
import { readHooks } from "./hook-entry.ts"
import type { Settings } from "./schema.ts"
import type { ScopeFolders } from "./scopes.ts"
import { isThere, readSettingsText } from "./text-file.ts"

/** Scopes whose files a person's commands write. */
export const WRITABLE_SCOPES = ["user", "project", "local"] as const
export type WritableScope = (typeof WRITABLE_SCOPES)[number]

/** A settings file to write, whether it is there or not. */
export interface WritePlace {
  scope: WritableScope
  /** Absolute. */
  file: string
  /** The folders in one of which the file must lie after all links, absolute. */
  reach: readonly string[]
}

/** What came of a change. */
export interface WrittenSettings {
  /** Where the text really lies: the file, or what it links to. */
  file: string
  /** False when the file said so already. */
  isChanged: boolean
  /** The values of the file as they are now. */
  values: Settings
}

export interface WriteOptions {
  /** Does the writing, and what belongs to it, while nobody else writes settings there. */
  around?(write: () => Promise<WrittenSettings>): Promise<WrittenSettings>
}

/** How often a file may have been changed by others before it could be replaced. */
const MOST_TRIES = 5

/** The settings file of a scope: the one that is read, or the one to make. Undefined where the scope has no folder. */
export function writePlace(
  scope: WritableScope,
  { user, project, root }: Pick<ScopeFolders, "user" | "project" | "root">,
  options: { home?: string | undefined } = {},
): WritePlace | undefined {
  const folder = scope === "user" ? user : project
  if (folder === undefined) return undefined
  const reach = scope === "user" ? [folder, options.home] : [root]
  const name = scope === "local" ? "settings.local" : "settings"
  const files = ENDINGS.map((ending) => join(folder, name + ending))
  return { scope, file: files.find(isThere) ?? files[0]!, reach: reach.filter((one) => one !== undefined) }
}

/**
 * Changes one key of a file. Throws SETTINGS_FILE_…, SETTINGS_KEY_UNKNOWN and SETTINGS_VALUE_INVALID for a file that is
 * broken or would be, SETTINGS_WRITE_CODE, SETTINGS_WRITE_OUTSIDE, SETTINGS_WRITE_UNSAFE and SETTINGS_WRITE_FAILED.
 */
export async function writeSetting(
  place: WritePlace,
  change: SettingsChange,
  { around = (write) => write() }: WriteOptions = {},
): Promise<WrittenSettings> {
  if (extname(place.file) === ".ts") throw new SousError("SETTINGS_WRITE_CODE", { file: place.file })
  try {
    await makeFolder(place)
    const file = await realFile(place)
    return await withLock(join(dirname(file), LOCK), () => around(() => changeLocked(place, file, change)))
  } catch (error) {
    if (isSousError(error)) throw error
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message
    throw new SousError("SETTINGS_WRITE_FAILED", { file: place.file, reason }, { cause: error })
  }
}

/** One lock for all settings of a folder: what a person trusts of a project are all of its files together. */
const LOCK = "settings.json"

async function changeLocked(place: WritePlace, file: string, change: SettingsChange): Promise<WrittenSettings> {
  await removeLeftovers(file)
  for (let tries = 1; ; tries++) {
    const written = await changeFile(place, file, change)
    if (written !== undefined) return written
    if (tries === MOST_TRIES) throw new Error("somebody else changes it all the time")
  }
}

async function makeFolder({ scope, file }: WritePlace): Promise<void> {
  if (scope === "user") await createFolder(dirname(file))
  else await mkdir(dirname(file), { recursive: true })
}

/** Follows links of the file and of its folder. Throws SETTINGS_WRITE_OUTSIDE. */
async function realFile({ file, reach }: WritePlace): Promise<string> {
  const real = isThere(file) ? await realpath(file) : join(await realpath(dirname(file)), basename(file))
  const folders = await Promise.all(reach.map((folder) => realpath(folder)))
  if (!folders.some((folder) => isBelow(real, folder))) {
    throw new SousError("SETTINGS_WRITE_OUTSIDE", { file, real, reach: reach.at(-1)! })
  }
  return real
}

function isBelow(file: string, folder: string): boolean {
  const way = relative(folder, file)
  return !way.startsWith("..") && !isAbsolute(way)
}

/** What a process that was killed while it wrote has left. Nobody else writes: the lock is ours. */
async function removeLeftovers(file: string): Promise<void> {
  const [folder, name] = [dirname(file), basename(file)]
  const left = (await readdir(folder)).filter((one) => one.startsWith(`${name}.`))
  const ours = left.filter((one) => /^\.[0-9a-f]{12}$/.test(one.slice(name.length)))
  for (const one of ours) await rm(join(folder, one), { force: true })
}

/** Undefined: an editor, which knows nothing of locks, wrote the file in between. */
async function changeFile(
  place: WritePlace,
  file: string,
  change: SettingsChange,
): Promise<WrittenSettings | undefined> {
  const found = await stat(file).catch(ifMissing)
  const isYaml = /\.ya?ml$/.test(place.file)
  const text = found === undefined ? (isYaml ? "" : "{}\n") : await readWhole(file)
  const before = await readValues(place, text)
  const edit = editFor(change, before)
  if (edit === undefined) return { file, isChanged: false, values: before }
  if (found !== undefined) await access(file, constants.W_OK)
  const wanted = afterEdit(before, edit)
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : ""
  const edited = isYaml
    ? await (await import("./edit-yaml.ts")).editYaml(text.slice(mark.length), edit)
    : await editJson(text.slice(mark.length), edit)
  const after = edited === undefined ? undefined : await readValues(place, edited)
  if (edited === undefined || !isDeepStrictEqual(after, wanted)) {
    throw new SousError("SETTINGS_WRITE_UNSAFE", { file, key: change.path.join(".") })
  }
  const options = { mode: place.scope === "user" ? FILE_MODE : 0o666, like: found }
  const isPut = await replaceFile(file, mark + edited, { ...options, isWanted: () => isUntouched(file, found) })
  return isPut ? { file, isChanged: true, values: after as Settings } : undefined
}

/** Every value of it, hooks included. */
async function readValues({ scope, file }: WritePlace, text: string): Promise<Settings> {
  const document = await parseDocument(file, text)
  const values = checkSettings(file, document)
  if (values.hooks) readHooks({ scope, file, hooks: values.hooks, at: document.at })
  return values
}

async function isUntouched(file: string, before: Stats | undefined): Promise<boolean> {
  const now = await stat(file).catch(ifMissing)
  return now?.ino === before?.ino && now?.size === before?.size && now?.mtimeMs === before?.mtimeMs
}

/** Bytes that are no text would not come back as they were. */
async function readWhole(file: string): Promise<string> {
  const text = readSettingsText(file)
  if (text.includes("\uFFFD") && !(await readFile(file)).equals(Buffer.from(text))) throw new Error("it is not UTF-8")
  return text
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT") return undefined
  throw error
}
