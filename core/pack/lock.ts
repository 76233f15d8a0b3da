/**
 * `sous.lock` beside the settings that name the packs → its entries, and back as a text that is the same for the same packs.
 *
 * Invariant: a change reads, changes and replaces the file while nobody else does; what is not understood is refused whole.
 */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { isSousError, SousError, suggest } from "../error.ts"
import { replaceFile, withLock } from "../session/lock.ts"
import { createFolder } from "../session/store.ts"
import { parseDocument } from "../settings/document.ts"
import type { SettingsScope } from "../settings/merge.ts"
import type { ScopeFolders } from "../settings/scopes.ts"
import { isThere, readSettingsText } from "../settings/text-file.ts"
import { LOCK_VERSION, type LockEntry, lockSchema } from "./lock-shape.ts"

/** The name of the file. */
export const LOCK_FILE = "sous.lock"

/** The entries of a lock, by the pack's name. */
export type PackLock = ReadonlyMap<string, LockEntry>

/** Where the lock of a scope's packs lies; undefined: such a scope has none here. */
export function lockFileOf(scope: SettingsScope, { root, user, managed }: ScopeFolders): string | undefined {
  if (scope === "managed") return join(managed, LOCK_FILE)
  const folder = scope === "project" || scope === "local" ? root : user
  return folder === undefined ? undefined : join(folder, LOCK_FILE)
}

/** Reads a lock; empty when there is none. Throws PACK_LOCK_INVALID. */
export async function readLock(file: string): Promise<PackLock> {
  let text = ""
  try {
    if (!isThere(file)) return new Map()
    text = readSettingsText(file)
    const { value } = await parseDocument(file, text)
    return new Map(Object.entries(checkLock(file, value).packs))
  } catch (error) {
    if (isSousError(error) && error.code === "PACK_LOCK_INVALID") throw error
    const problem = (error as Error).message.replace(/^Cannot read settings "[^"]*" at /, "at ")
    const mend = /^<{7} /m.test(text) ? MEND_MERGE : MEND_TEXT
    throw new SousError("PACK_LOCK_INVALID", { file, problem, mend }, { cause: error })
  }
}

/** Nothing is added to a lock that cannot be read: it may hold packs that guard something. */
const MEND_TEXT = "restore it from version control"
const MEND_MERGE = "take the lines of the merge out of it, so that each pack stands there once"

/** What else is done while a lock is held. */
export interface LockWork {
  /** Gets the whole change to do. */
  around?(change: () => Promise<void>): Promise<void>
  /** Is done once the lock is written. */
  after?(): Promise<void>
}

/** Changes a lock while no other process does: `change` gets its entries and alters them. Throws PACK_LOCK_INVALID. */
export async function changeLock(
  file: string,
  change: (packs: Map<string, LockEntry>) => void | Promise<void>,
  { around = (work) => work(), after }: LockWork = {},
): Promise<void> {
  await createFolder(join(file, ".."))
  const work = async () => {
    const packs = new Map(await readLock(file))
    await change(packs)
    const like = await stat(file).catch(() => undefined)
    await replaceFile(file, printLock(packs), like === undefined ? { mode: 0o666 } : { like })
    await after?.()
  }
  try {
    await withLock(file, () => around(work))
  } catch (error) {
    if (isSousError(error)) throw error
    const problem = `it cannot be written: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`
    throw new SousError(
      "PACK_LOCK_INVALID",
      { file, problem, mend: "make it and its folder writable" },
      { cause: error },
    )
  }
}

/** The text of a lock: packs and keys in order. */
export function printLock(packs: PackLock): string {
  const entries = Object.fromEntries([...packs].map(([name, entry]) => [name, entry]))
  return `${JSON.stringify(inOrder({ lockVersion: LOCK_VERSION, packs: entries }), null, 2)}\n`
}

/** One value, its keys in order at every level. */
export function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return Object.fromEntries(entries.map(([key, inner]) => [key, inOrder(inner)]))
}

const MEND = 'restore it from version control, or add the pack again with "sous add"'

/** Throws PACK_LOCK_INVALID for what may not stand in a lock; `file` names it in the error. */
export function checkLock(file: string, value: unknown) {
  const checked = lockSchema.safeParse(value)
  if (checked.success) return checked.data
  const issue = checked.error.issues.find(({ code }) => code === "unrecognized_keys") ?? checked.error.issues[0]!
  const at = issue.path.join(".")
  if (issue.code === "unrecognized_keys") {
    const key = [at, issue.keys[0]].filter(Boolean).join(".")
    const mend = suggest(issue.keys[0]!, ["version", "source", "resolved", "integrity", "tree", "capabilities"])
    throw new SousError("PACK_LOCK_INVALID", { file, problem: `unknown key "${key}"`, mend })
  }
  const problem = `"${at}": ${issue.message.replace(/^Invalid (input|option|string): /, "")}`
  throw new SousError("PACK_LOCK_INVALID", { file, problem, mend: MEND })
}
