/**
 * States of paths → the same states on the disk.
 *
 * Invariant: a file is exchanged in one move; nothing is written through a link; where it stops, doing it again goes on.
 */
import { constants } from "node:fs"
import { lstat, mkdir, open, rename, rm, rmdir, symlink, unlink } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { isSousError, SousError } from "../error.ts"
import type { RewoundFile } from "./checkpoint-log.ts"
import { type FileState, hashOf, isSameState, lookAt } from "./checkpoint-state.ts"
import { reasonOf } from "./own-file.ts"
import { checkWay, inFolderOf } from "./rewind-way.ts"

/** How files are put back. */
export interface RestoreOptions {
  /** Unique for one rewind: the names of its temporary files are made of it. */
  id: string
  /** The bytes of a content by its hash. */
  read(hash: string): Promise<Buffer>
}

/**
 * Puts files back: what is to go first, the deepest before those above, then folders, then files and links. A folder in
 * which something else lies stays. Throws REWIND_PATH_ELSEWHERE or REWIND_FAILED.
 */
export async function restoreFiles(files: readonly RewoundFile[], options: RestoreOptions): Promise<void> {
  const deepFirst = [...files].sort((a, b) => b.path.length - a.path.length)
  for (const { path, before, after } of deepFirst)
    if (before.kind !== "none" && (after.kind === "none" || isFolder(before) !== isFolder(after)))
      await named(path, (place) => remove(place, before))
  for (const { path, after } of [...deepFirst].reverse()) {
    if (after.kind === "folder") await named(path, makeFolder)
    if (after.kind === "file" || after.kind === "link") await named(path, (place) => make(place, after, options))
  }
  // Last: a folder may be meant to take nothing more.
  for (const { path, after } of deepFirst) {
    if (after.kind === "folder") await named(path, (place) => setMode(place, after.mode))
  }
}

/** Takes away what a rewind that was cut off had begun to write. */
export async function removeLeftovers(files: readonly RewoundFile[], id: string): Promise<void> {
  for (const { path } of files) {
    // Where there is no such folder any more, or not there, nothing of it is left that could be reached.
    await named(path, (place) => rm(temporaryOf(place, id), { force: true })).catch(() => {})
  }
}

async function named(path: string, work: (place: string) => Promise<void>): Promise<void> {
  try {
    await checkWay(path)
    await inFolderOf(path, work)
  } catch (cause) {
    if (isSousError(cause)) throw cause
    throw new SousError("REWIND_FAILED", { path, reason: reasonOf(cause) }, { cause })
  }
}

function isFolder({ kind }: FileState): boolean {
  return kind === "folder"
}

async function remove(place: string, before: FileState): Promise<void> {
  const ignore = (...codes: string[]) => {
    return (error: NodeJS.ErrnoException) => {
      if (!codes.includes(error.code ?? "")) throw error
    }
  }
  if (isFolder(before)) await rmdir(place).catch(ignore("ENOENT", "ENOTEMPTY", "EEXIST"))
  else await unlink(place).catch(ignore("ENOENT"))
}

async function makeFolder(place: string): Promise<void> {
  if ((await lookAt(place)).kind !== "folder") await mkdir(place, { mode: 0o700 })
}

async function setMode(place: string, mode: number): Promise<void> {
  const found = await lstat(place)
  if ((found.mode & 0o7777) === mode) return
  const handle = await open(place, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0))
  await handle.chmod(mode).finally(() => handle.close())
}

async function make(
  place: string,
  state: FileState & { kind: "file" | "link" },
  { id, read }: RestoreOptions,
): Promise<void> {
  if (isSameState(await lookAt(place), state)) return
  const temporary = temporaryOf(place, id)
  await rm(temporary, { force: true })
  if (state.kind === "link") await symlink(state.target, temporary)
  else await writeFile(temporary, { bytes: await read(state.hash!), mode: state.mode, like: place })
  await rename(temporary, place).catch(async (error) => {
    await rm(temporary, { force: true })
    throw error
  })
}

interface Written {
  bytes: Buffer
  mode: number
  /** The file that it takes the place of: its owner stays. */
  like: string
}

async function writeFile(file: string, { bytes, mode, like }: Written): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)
  const handle = await open(file, flags, 0o600)
  try {
    await handle.writeFile(bytes)
    const [own, old] = [await handle.stat(), await lstat(like).catch(() => undefined)]
    if (old?.isFile() && (old.uid !== own.uid || old.gid !== own.gid))
      await handle.chown(old.uid, old.gid).catch(() => {})
    await handle.chmod(mode)
    await handle.datasync()
  } catch (error) {
    await rm(file, { force: true })
    throw error
  } finally {
    await handle.close()
  }
}

function temporaryOf(place: string, id: string): string {
  const name = hashOf(Buffer.from(basename(place))).slice(0, 8)
  return join(dirname(place), `.sous-${name}-${id.slice(0, 8)}.tmp`)
}
