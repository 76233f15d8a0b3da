/**
 * Bytes → a compressed file named by their hash, once for each content; and back.
 *
 * Invariant: a content is whole or not there; what comes back has the hash that was asked for.
 */
import { randomBytes } from "node:crypto"
import { lstat, open, readFile, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { gunzip, gzip } from "node:zlib"
import { isSousError, SousError } from "../error.ts"
import { hashOf, MOST_KEPT } from "./checkpoint-state.ts"
import { reasonOf } from "./own-file.ts"
import { createFolder, FILE_MODE } from "./store.ts"

const compress = promisify(gzip)
const expand = promisify(gunzip)
/** Whoever edits waits for it: more would take four times as long and save a tenth. */
const FAST = { level: 1 }

/** Keeps a content in the folder (absolute), which is made when it is missing. Throws CHECKPOINT_UNWRITABLE. */
export async function keepBytes(folder: string, hash: string, bytes: Buffer): Promise<void> {
  const place = placeOf(folder, hash)
  try {
    if (await isThere(place)) return
    await createFolder(folder)
    const fresh = `${place}.${randomBytes(6).toString("hex")}`
    await writeSynced(fresh, await compress(bytes, FAST))
    await rename(fresh, place)
    await syncFolder(folder)
  } catch (cause) {
    if (isSousError(cause)) throw cause
    throw new SousError("CHECKPOINT_UNWRITABLE", { file: place, reason: reasonOf(cause) }, { cause })
  }
}

/** The bytes that were kept; undefined when they are not there, or are not what they were. */
export async function readBytes(folder: string, hash: string): Promise<Buffer | undefined> {
  try {
    const bytes = await expand(await readFile(placeOf(folder, hash)), { maxOutputLength: MOST_KEPT })
    return hashOf(bytes) === hash ? bytes : undefined
  } catch {
    return undefined
  }
}

function placeOf(folder: string, hash: string): string {
  return join(folder, `${hash}.gz`)
}

async function isThere(file: string): Promise<boolean> {
  const found = await lstat(file).catch(() => undefined)
  return found?.isFile() === true && found.size > 0
}

async function writeSynced(file: string, bytes: Buffer): Promise<void> {
  const handle = await open(file, "wx", FILE_MODE)
  try {
    await handle.writeFile(bytes)
    await handle.datasync()
  } catch (error) {
    await rm(file, { force: true })
    throw error
  } finally {
    await handle.close()
  }
}

/** The new name is on the disk too. Some systems open no folder. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close()
}
