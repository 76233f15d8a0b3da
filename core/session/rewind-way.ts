/**
 * A path as it was kept → whether it still leads to the same place, and a way to it that a swapped link does not lead
 * astray.
 *
 * Invariant: what lies behind a link is neither looked at nor written. On Linux the kernel says where a folder lies that is
 * open (proc_pid_fd(5)); elsewhere the way is looked at a moment before it is gone.
 */
import { constants } from "node:fs"
import { lstat, open, readlink, realpath } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { SousError } from "../error.ts"
import { type FileState, lookAt } from "./checkpoint-state.ts"

/**
 * Looks at a path. Behind a link that `goes` knows nothing stands yet. Throws REWIND_PATH_ELSEWHERE for any other link on
 * the way.
 */
export async function lookHere(
  path: string,
  { goes, keep }: { goes(link: string): boolean; keep?: Parameters<typeof lookAt>[1] },
): Promise<FileState> {
  const link = await linkOnWay(path)
  if (link === undefined) return await lookAt(path, keep)
  if (goes(link)) return { kind: "none" }
  throw await elsewhere(path, link)
}

/** Throws REWIND_PATH_ELSEWHERE when a link stands on the way to a path (absolute, real as it was kept). */
export async function checkWay(path: string): Promise<void> {
  const link = await linkOnWay(path)
  if (link !== undefined) throw await elsewhere(path, link)
}

/** The first link above a path. */
export async function linkOnWay(path: string): Promise<string | undefined> {
  const above: string[] = []
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) above.unshift(folder)
  for (const folder of above) {
    const found = await lstat(folder).catch(() => undefined)
    if (found?.isSymbolicLink()) return folder
    if (!found?.isDirectory()) return undefined
  }
  return undefined
}

/**
 * Holds the folder of a path open, and hands on a way to the path through it. Throws REWIND_PATH_ELSEWHERE when it is
 * another folder by now.
 */
export async function inFolderOf(path: string, use: (place: string) => Promise<void>): Promise<void> {
  const folder = dirname(path)
  if (process.platform !== "linux") return await use(path)
  const handle = await open(folder, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    const held = `/proc/self/fd/${handle.fd}`
    const real = await readlink(held).catch(() => undefined)
    // Without /proc there is only the path.
    if (real === undefined) return await use(path)
    if (real !== folder) throw new SousError("REWIND_PATH_ELSEWHERE", { path, real })
    await use(join(held, basename(path)))
  } finally {
    await handle.close()
  }
}

/** Of open(2), which Node does not name: holds a folder that may be entered and not be listed. */
const O_PATH = 0o10000000

async function elsewhere(path: string, link: string): Promise<SousError> {
  const real = await realpath(link).catch(() => link)
  return new SousError("REWIND_PATH_ELSEWHERE", { path, real })
}
