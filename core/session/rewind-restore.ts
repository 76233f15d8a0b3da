/**
 * States of paths → the same states on the disk.
 *
 * Invariant: a file is exchanged in one move; nothing is written through a link; where it stops, doing it again goes on.
 */
import { constants } from "node:fs"
import { chmod, lstat, mkdir, open, realpath, rename, rm, rmdir, symlink, unlink } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { isSousError, SousError } from "../error.ts"
import type { RewoundFile } from "./checkpoint-log.ts"
import { type FileState, hashOf, isSameState, lookAt } from "./checkpoint-state.ts"
import { reasonOf } from "./own-file.ts"

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
      await named(path, () => remove(path, before))
  for (const { path, after } of [...deepFirst].reverse()) {
    if (after.kind === "folder") await named(path, () => makeFolder(path))
    if (after.kind === "file" || after.kind === "link") await named(path, () => make(path, after, options))
  }
  // Last: a folder may be meant to take nothing more.
  for (const { path, after } of deepFirst) if (after.kind === "folder") await named(path, () => chmod(path, after.mode))
}

/** Takes away what a rewind that was cut off had begun to write. */
export async function removeLeftovers(files: readonly RewoundFile[], id: string): Promise<void> {
  for (const { path } of files)
    if (await isAtHome(path)) await rm(temporaryOf(path, id), { force: true }).catch(() => {})
}

/** Throws REWIND_PATH_ELSEWHERE when a link stands in the way to a path (absolute, real as it was kept). */
export async function checkWay(path: string): Promise<void> {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    const real = await realpath(folder).catch((error) => missingOr(error))
    if (real === undefined && folder !== dirname(folder) && !(await isLink(folder))) continue
    if (real !== folder) throw new SousError("REWIND_PATH_ELSEWHERE", { path, real: real ?? folder })
    return
  }
}

function missingOr(error: unknown): undefined {
  if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined
  throw error
}

async function isLink(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true
}

async function isAtHome(path: string): Promise<boolean> {
  return await checkWay(path).then(
    () => true,
    () => false,
  )
}

async function named(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await checkWay(path)
    await work()
  } catch (cause) {
    if (isSousError(cause)) throw cause
    throw new SousError("REWIND_FAILED", { path, reason: reasonOf(cause) }, { cause })
  }
}

function isFolder({ kind }: FileState): boolean {
  return kind === "folder"
}

async function remove(path: string, before: FileState): Promise<void> {
  const ignore = (...codes: string[]) => {
    return (error: NodeJS.ErrnoException) => {
      if (!codes.includes(error.code ?? "")) throw error
    }
  }
  if (isFolder(before)) await rmdir(path).catch(ignore("ENOENT", "ENOTEMPTY", "EEXIST"))
  else await unlink(path).catch(ignore("ENOENT"))
}

async function makeFolder(path: string): Promise<void> {
  if ((await lookAt(path)).kind !== "folder") await mkdir(path, { mode: 0o700 })
}

async function make(
  path: string,
  state: FileState & { kind: "file" | "link" },
  { id, read }: RestoreOptions,
): Promise<void> {
  if (isSameState(await lookAt(path), state)) return
  const temporary = temporaryOf(path, id)
  await rm(temporary, { force: true })
  if (state.kind === "link") await symlink(state.target, temporary)
  else await writeFile(temporary, { bytes: await read(state.hash!), mode: state.mode, like: path })
  await rename(temporary, path).catch(async (error) => {
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

function temporaryOf(path: string, id: string): string {
  const name = hashOf(Buffer.from(basename(path))).slice(0, 8)
  return join(dirname(path), `.sous-${name}-${id.slice(0, 8)}.tmp`)
}
