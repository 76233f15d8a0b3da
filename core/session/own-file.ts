/**
 * A file of the state folder → its text, when it is ours alone.
 *
 * Invariant: what somebody else can have written is never read: no link, no pipe, nothing of another user, nothing that
 * others may write. Reading always ends.
 */
import { constants, type Stats } from "node:fs"
import { lstat, open } from "node:fs/promises"

/**
 * The text of the file (absolute); undefined when there is none. What is longer than `mostBytes` was not written by us.
 * Throws an Error that says in one clause why it cannot be used.
 */
export async function readOwnFile(file: string, { mostBytes }: { mostBytes: number }): Promise<string | undefined> {
  // A pipe in its place must not hold up the start.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  const handle = await open(file, flags).catch((error) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw (error as NodeJS.ErrnoException).code === "ELOOP" ? new Error("it is a symbolic link") : error
  })
  if (handle === undefined) return undefined
  try {
    const found = await handle.stat()
    if (found.size > mostBytes) throw new Error("it is too long")
    checkStats(found)
    return await handle.readFile("utf8")
  } finally {
    await handle.close()
  }
}

/** The same look at a file (absolute) that is read elsewhere. Throws an Error that says in one clause why it cannot be used. */
export async function checkOwnFile(file: string): Promise<void> {
  const found = await lstat(file)
  if (found.isSymbolicLink()) throw new Error("it is a symbolic link")
  checkStats(found)
}

function checkStats(found: Stats): void {
  if (!found.isFile()) throw new Error("it is no file")
  // Windows has neither the bits nor the ids.
  const uid = process.getuid?.()
  if (uid !== undefined && found.uid !== uid) throw new Error("it belongs to another user")
  if (uid !== undefined && (found.mode & 0o022) !== 0) throw new Error("others may write it")
}

/** Why a file cannot be used, in a word or a clause. */
export function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error instanceof Error ? error.message : String(error))
}

/** What a text is as JSON; undefined for one that is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
