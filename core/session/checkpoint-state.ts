/**
 * A path → what stands there, told so that it can be compared and made again.
 *
 * Invariant: links are looked at, never followed; pipes and devices are never opened; looking always ends.
 */
import { createHash } from "node:crypto"
import { constants, type Stats } from "node:fs"
import { type FileHandle, lstat, open, readlink } from "node:fs/promises"

/** What stands at a path. `mode`: permission bits with those above them (07777). */
export type FileState =
  | { kind: "none" }
  | FileFacts
  | { kind: "link"; target: string }
  | { kind: "folder"; mode: number /** Why not all that was in it is known. */; missed?: string }
  /** A device, a pipe, a socket, or what nobody lets us look at. */
  | { kind: "other" }

/** A file. */
export interface FileFacts {
  kind: "file"
  mode: number
  /** Bytes. */
  size: number
  /** sha256 of its bytes, hex; left out where they were not read. */
  hash?: string
  /** ms since the epoch; where there is no hash. */
  mtimeMs?: number
  /** Why its bytes were not read. */
  missed?: string
}

/** A larger file is not kept, bytes. */
export const MOST_KEPT = 64 * 2 ** 20

/** Looks at a path (absolute). `keep` is handed the bytes of a file. */
export async function lookAt(
  path: string,
  keep: (hash: string, bytes: Buffer) => Promise<void> = async () => {},
): Promise<FileState> {
  const found = await statOf(path)
  if (found === "none" || found === "other") return { kind: found }
  if (found.isSymbolicLink()) return { kind: "link", target: await readlink(path) }
  if (found.isDirectory()) return { kind: "folder", mode: found.mode & 0o7777 }
  if (!found.isFile()) return { kind: "other" }
  const { facts, bytes } = await readFacts(path, found)
  if (bytes !== undefined) await keep(facts.hash!, bytes)
  return facts
}

/** True when the same stands there, its mode left aside. */
export function isSameContent(a: FileState, b: FileState): boolean {
  if (a.kind === "link" && b.kind === "link") return a.target === b.target
  if (a.kind !== "file" || b.kind !== "file") return a.kind === b.kind
  if (a.hash !== undefined && b.hash !== undefined) return a.hash === b.hash
  return a.size === b.size && a.mtimeMs !== undefined && a.mtimeMs === b.mtimeMs
}

/** The same, mode and all. */
export function isSameState(a: FileState, b: FileState): boolean {
  const hasMode = (a.kind === "file" && b.kind === "file") || (a.kind === "folder" && b.kind === "folder")
  return isSameContent(a, b) && (!hasMode || a.mode === b.mode)
}

/** The hash by which a content is kept. */
export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex")
}

async function statOf(path: string): Promise<Stats | "none" | "other"> {
  try {
    return await lstat(path)
  } catch (error) {
    return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "") ? "none" : "other"
  }
}

async function readFacts(path: string, found: Stats): Promise<{ facts: FileFacts; bytes?: Buffer }> {
  const without = ({ mode, size, mtimeMs }: Stats, missed: string): { facts: FileFacts } => ({
    facts: { kind: "file", mode: mode & 0o7777, size, mtimeMs, missed },
  })
  let handle: FileHandle | undefined
  try {
    // Something else may have come into its place: a pipe must hold up nobody.
    handle = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    const stats = await handle.stat()
    if (!stats.isFile()) return without(stats, "it was exchanged while it was read")
    if (stats.size > MOST_KEPT) return without(stats, `it has more than ${MOST_KEPT / 2 ** 20} MiB`)
    const bytes = await handle.readFile()
    const facts: FileFacts = { kind: "file", mode: stats.mode & 0o7777, size: bytes.length, hash: hashOf(bytes) }
    return { facts, bytes }
  } catch (error) {
    return without(found, `it cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`)
  } finally {
    await handle?.close()
  }
}
