/**
 * A path from a model → an open file, or a file replaced in one move.
 *
 * Invariant: only plain files are opened, and only where the permission layer has looked: the last part is never
 * followed as a link, and what is open is asked where it lies. A write is a rename, so no reader ever sees
 * half of it; links, file mode and owner stay.
 */
import { hash } from "node:crypto"
import { closeSync, constants, fstatSync, lstatSync, openSync, read, readSync, type Stats } from "node:fs"
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rm } from "node:fs/promises"
import { basename, dirname, join, resolve, sep } from "node:path"
import { promisify } from "node:util"
import { nearestName, type ToolContext } from "sous"
import { liesAt, withFolder } from "./held.ts"
import type { Stamp } from "./ledger.ts"
import { Refused } from "./refusal.ts"

/** A plain file, open for reading. `path` is as the model wrote it. */
export interface OpenFile {
  path: string
  real: string
  stats: Stats
  /** Fills the buffer from a position (bytes) on; less than its length only at the end. */
  read(buffer: Uint8Array, position: number): Promise<number>
}

/** Where a path is looked up. */
export type Where = Pick<ToolContext, "cwd" | "judged">

/**
 * Opens a file for reading and closes it when `use` has settled. Refuses folders, devices, pipes and what is missing.
 *
 * Once the path is resolved, which waits for a slow disk without blocking, the calls are synchronous: each takes a few
 * microseconds, and a trip through the thread pool ten times that.
 */
export async function withFile<T>(path: string, context: Where, use: (file: OpenFile) => Promise<T>): Promise<T> {
  const { real, stats: found } = await findExisting(path, context)
  if (found.isDirectory()) throw new Refused(`"${path}" is a folder: list it with Glob, pattern "*", path "${path}"`)
  // Without blocking, should it have become a pipe just now.
  const descriptor = openSync(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(descriptor)
    const same = stats.isFile() && stats.ino === found.ino && stats.dev === found.dev
    if (!same || !liesAt(descriptor, real)) throw swapped(path)
    return await use({ path, real, stats, read: createRead(descriptor, stats.size) })
  } finally {
    closeSync(descriptor)
  }
}

const readAsync = promisify(read)
/** Smaller files are read at once, bytes. */
const SMALL_BYTES = 2 ** 18

function createRead(descriptor: number, size: number): OpenFile["read"] {
  return async (buffer, position) => {
    let filled = 0
    while (filled < buffer.length) {
      const [length, from] = [buffer.length - filled, position + filled]
      const bytesRead =
        size <= SMALL_BYTES
          ? readSync(descriptor, buffer, filled, length, from)
          : (await readAsync(descriptor, buffer, filled, length, from)).bytesRead
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return filled
  }
}

/** The file or folder that a path leads to, links followed. Refuses everything else, and what is missing. */
export async function findExisting(path: string, context: Where): Promise<{ real: string; stats: Stats }> {
  const real = await realPathOf(path, context)
  refuseSystem(path, real)
  const stats = lstatOrNothing(real)
  if (stats === undefined) throw await missing(path, real)
  if (stats.isSymbolicLink()) throw swapped(path)
  if (stats.isFile() || stats.isDirectory()) return { real, stats }
  throw new Refused(`"${path}" is a device, pipe or socket: only files are read and written`)
}

/** The whole content. Refuses what is larger than `limit` bytes. */
export async function readWhole(file: OpenFile, limit: number): Promise<Buffer> {
  if (file.stats.size > limit) {
    const size = `${megabytes(file.stats.size)}, more than the ${megabytes(limit)} that this tool handles`
    throw new Refused(`"${file.path}" has ${size}: use a shell command on it instead`)
  }
  const bytes = Buffer.allocUnsafe(file.stats.size)
  return bytes.subarray(0, await file.read(bytes, 0))
}

/** What no system opens (PATH_MAX of Linux; of Windows the longest form). */
const MAX_PATH_CHARS = process.platform === "win32" ? 32_767 : 4096

/** Where a path that may not exist yet leads, links followed; the file's own facts when it exists. */
export async function findTarget(path: string, context: Where): Promise<{ real: string; stats?: Stats }> {
  const judged = context.judged?.get(path)?.real
  const lexical = resolve(context.cwd, path)
  if (lexical.length > MAX_PATH_CHARS) throw new Refused(`"${path}" is too long for any disk: take a shorter one`)
  const real = judged ?? (await realPathOfNew(lexical))
  refuseSystem(path, real)
  const stats = lstatOrNothing(real)
  if (stats?.isSymbolicLink()) {
    throw new Refused(`"${path}" is a link to a file that does not exist: write to the file that it should lead to`)
  }
  return stats === undefined ? { real } : { real, stats }
}

/** Makes the folders above a file that is to be written. */
export async function makeParents(path: string, real: string): Promise<void> {
  const folder = dirname(real)
  await mkdir(folder, { recursive: true })
  if ((await realpath(folder)) !== folder) throw swapped(path)
}

/**
 * Puts `content` in the place of a file in one move. `before`: the file as it was looked at; left out, there was none,
 * and the new one has `mode`. Returns the facts of the new file.
 */
export async function replaceFile(
  target: { path: string; real: string; before?: Stats; mode?: number },
  content: Uint8Array,
): Promise<Stats> {
  const { path, real, before, mode } = target
  if (before !== undefined && (before.mode & 0o222) === 0) {
    throw new Refused(`"${path}" is read-only: if it is meant to change, make it writable first (chmod u+w)`)
  }
  const written = await withFolder(dirname(real), async (at) => {
    const place = at(basename(real))
    const temporary = at(`.sous-${globalThis.crypto.randomUUID()}.tmp`)
    try {
      await writeNew(temporary, content, { before, mode })
      if (!isSameFile(lstatOrNothing(place), before)) throw swapped(path)
      await rename(temporary, place)
      return await lstat(place)
    } catch (error) {
      await rm(temporary, { force: true })
      throw namedFor(error, real)
    }
  })
  if (written === undefined) throw swapped(path)
  return written
}

async function writeNew(
  file: string,
  content: Uint8Array,
  { before, mode = 0o666 }: { before: Stats | undefined; mode: number | undefined },
): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const handle = await open(file, flags, before === undefined ? mode : 0o600)
  try {
    await handle.writeFile(content)
    if (before !== undefined) await keepOwnerAndMode(handle, before)
  } finally {
    await handle.close()
  }
}

/** The fault of a file that only this module knows, told of the file that it stands for. */
function namedFor(error: unknown, real: string): unknown {
  return (error as NodeJS.ErrnoException).path === undefined ? error : Object.assign(error as Error, { path: real })
}

/** The content of a file as the ledger keeps it. */
export function stampOf(stats: Stats, content: Uint8Array): Stamp {
  return { size: content.length, mtimeMs: stats.mtimeMs, hash: hash("sha256", content, "base64") }
}

/** `1.5 MB`. */
export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 10 ** 5) / 10} MB`
}

async function realPathOf(path: string, context: Where): Promise<string> {
  const judged = context.judged?.get(path)?.real
  if (judged !== undefined) return judged
  const lexical = resolve(context.cwd, path)
  refuseSystem(path, lexical)
  try {
    return await realpath(lexical)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw await missing(path, lexical)
    throw error
  }
}

/** The refusal of a path where nothing is, with the name that may have been meant. */
async function missing(path: string, lexical: string): Promise<Refused> {
  const names = await readdir(dirname(lexical)).catch(() => undefined)
  if (names === undefined) return new Refused(`"${path}" does not exist, nor does its folder "${dirname(lexical)}"`)
  const near = nearestName(basename(lexical), names)
  const next = near === undefined ? "look for it with Glob" : `did you mean "${join(dirname(lexical), near)}"?`
  return new Refused(`"${path}" does not exist (looked at "${lexical}"): ${next}`)
}

/** Resolves through the nearest folder that exists; a link that leads nowhere stays as it is. */
async function realPathOfNew(lexical: string): Promise<string> {
  try {
    return await realpath(lexical)
  } catch (error) {
    const parent = dirname(lexical)
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || parent === lexical) throw error
    return join(await realPathOfNew(parent), basename(lexical))
  }
}

/** Reading there may block, drain or trigger something; what stands there is no file on a disk. */
function refuseSystem(path: string, place: string): void {
  if (!/^\/(dev(?!\/shm\/)|proc|sys)\//.test(`${place}${sep}`)) return
  throw new Refused(`"${path}" belongs to the system, not to a disk: use a shell command if its content is needed`)
}

function lstatOrNothing(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}

function isSameFile(a: Stats | undefined, b: Stats | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.ino === b.ino && a.dev === b.dev && a.size === b.size && a.mtimeMs === b.mtimeMs
}

async function keepOwnerAndMode(handle: FileHandle, before: Stats): Promise<void> {
  const made = await handle.stat()
  if (made.uid !== before.uid || made.gid !== before.gid) {
    // Only root may give a file away; for anybody else it stays theirs, as with every editor.
    await handle.chown(before.uid, before.gid).catch(() => {})
  }
  await handle.chmod(before.mode & 0o7777)
}

/** The refusal of a path that leads elsewhere than a moment ago. */
export function swapped(path: string): Refused {
  return new Refused(
    `"${path}" was changed by somebody else at this very moment: nothing was done. Read it, then try again`,
  )
}
