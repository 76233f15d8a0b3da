/**
 * A path → the text of the plain file that it leads to, and where that really lies.
 *
 * Invariant: nothing is opened that could block, no text is larger than a bound, and what is read is the very file
 * whose place was judged; whatever is wrong with it becomes one clause.
 */
import { constants, lstatSync, type Stats } from "node:fs"
import { type FileHandle, lstat, open, realpath } from "node:fs/promises"
import { isAbsolute, relative } from "node:path"

/** Bytes of the largest file that is read. */
export const MOST_BYTES = 4 * 2 ** 20

/** What stands at a path itself; undefined: nothing, or nothing that can be looked at. */
export function statOf(path: string): Stats | undefined {
  try {
    // Most of the places that are asked about are empty, and that takes microseconds this way.
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Where a path leads when all links are followed; undefined: nowhere. */
export async function realOf(path: string): Promise<string | undefined> {
  return await realpath(path).catch(() => undefined)
}

/** True for a folder and what lies below it. Both absolute. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === "" || !(way === ".." || /^\.\.[\\/]/.test(way) || isAbsolute(way))
}

/** The text of a file and the user whom it belongs to, or what is wrong with it. */
export type Read = { text: string; owner: number } | { problem: string }

/** Reads it by its real path. `problem` continues a sentence whose subject is the file. */
export async function readText(real: string): Promise<Read> {
  let handle: FileHandle | undefined
  try {
    const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants
    handle = await open(real, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
    const stats = await handle.stat()
    if (!stats.isFile()) return { problem: "is no file" }
    if (stats.size > MOST_BYTES) return { problem: "is larger than 4 MiB" }
    if (!(await liesAt(real, stats))) return { problem: "was moved while it was read" }
    return decode(await readAll(handle, stats.size), stats.uid)
  } catch (error) {
    return { problem: problemOf(error) }
  } finally {
    await handle?.close()
  }
}

/** Somebody may have put a link on the way since the place was judged. */
async function liesAt(real: string, { dev, ino }: Stats): Promise<boolean> {
  const [now, stats] = await Promise.all([realpath(real), lstat(real)])
  return now === real && stats.dev === dev && stats.ino === ino
}

/** As much as it held when it was opened: it may grow without end. */
async function readAll(handle: FileHandle, size: number): Promise<Buffer> {
  const bytes = Buffer.alloc(size)
  let filled = 0
  while (filled < size) {
    const { bytesRead } = await handle.read(bytes, filled, size - filled, filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

function decode(bytes: Buffer, owner: number): Read {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    return text.includes("\0") ? { problem: "is no text" } : { text, owner }
  } catch {
    return { problem: "is not written in UTF-8" }
  }
}

function problemOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === "EACCES" || code === "EPERM") return "may not be read by this user"
  return `cannot be read: ${code ?? (error as Error).message}`
}
