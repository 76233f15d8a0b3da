/**
 * A file → what was made of its bytes, read anew only when the file is another one than before.
 *
 * Invariant: a file that did not change costs one look at its entry; pipes, devices and what is too large are not opened.
 */
import { readFileSync, type Stats, statSync } from "node:fs"

/** Stands for a file that is there and cannot be read. */
export const UNREADABLE = Symbol("unreadable")

/** Undefined: there is no such file. */
export type Remembered<T> = T | undefined | typeof UNREADABLE

/** Remembers what `read` makes of each file; `most`: bytes beyond which a file counts as unreadable. */
export function createFileMemory<T>(read: (bytes: Buffer) => T, most: number): (path: string) => Remembered<T> {
  const known = new Map<string, { stamp: string; value: T | typeof UNREADABLE }>()
  return (path) => {
    const entry = statOf(path)
    if (entry === undefined || entry === UNREADABLE) return entry
    if (!entry.isFile() || entry.size > most) return UNREADABLE
    const stamp = `${entry.dev} ${entry.ino} ${entry.size} ${entry.mtimeMs} ${entry.ctimeMs}`
    const before = known.get(path)
    if (before?.stamp === stamp) return before.value
    const value = readWith(path, read)
    known.set(path, { stamp, value })
    return value
  }
}

function readWith<T>(path: string, read: (bytes: Buffer) => T): T | typeof UNREADABLE {
  try {
    return read(readFileSync(path))
  } catch {
    return UNREADABLE
  }
}

/** The entry behind all links; undefined: there is nothing. */
export function statOf(path: string): Stats | undefined | typeof UNREADABLE {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === "ENOTDIR" || code === "ENOENT" ? undefined : UNREADABLE
  }
}
