/**
 * Where state lives on disk: from an environment and a working directory to a folder for each project and each run.
 *
 * Invariant: folders are 0700 and files 0600, never inside a project, and never in a folder that somebody else laid out
 * for us in a place where everybody may write.
 */
import { createHash, randomBytes } from "node:crypto"
import { lstat, mkdir, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, dirname, isAbsolute, join } from "node:path"
import { SousError } from "../error.ts"

/** Readable by their owner only. */
export const FOLDER_MODE = 0o700
/** Readable by their owner only. */
export const FILE_MODE = 0o600

/** Letters of a project's folder name that come from its own name. */
const NAME_LENGTH = 40

/**
 * The state folder, absolute: `$XDG_STATE_HOME/sous`, `~/.local/state/sous`, or, without a home, one for this user in
 * the system's temporary folder. Source: XDG Base Directory Specification 0.8 (a relative value is ignored).
 */
export function stateFolderFor(env: Readonly<Record<string, string | undefined>>, home: string | undefined): string {
  return ownFolder(env.XDG_STATE_HOME, home && join(home, ".local", "state"))
}

/**
 * The folder of packs and of copies of what was trusted, absolute: `$XDG_DATA_HOME/sous`, `~/.local/share/sous`, or as
 * the state folder. Source: the same.
 */
export function dataFolderFor(env: Readonly<Record<string, string | undefined>>, home: string | undefined): string {
  return ownFolder(env.XDG_DATA_HOME, home && join(home, ".local", "share"))
}

function ownFolder(configured: string | undefined, usual: string | undefined): string {
  if (configured !== undefined && isAbsolute(configured)) return join(configured, "sous")
  if (usual !== undefined && isAbsolute(usual)) return join(usual, "sous")
  return join(tmpdir(), `sous-${process.getuid?.() ?? "user"}`)
}

/** A project's folder in the state folder: its name for people, a hash of its path (absolute, real) to tell it apart. */
export function projectFolder(state: string, cwd: string): string {
  const name = basename(cwd)
    .replace(/[^\p{L}\p{N}._-]+/gu, "-")
    .slice(0, NAME_LENGTH)
  const hash = createHash("sha256").update(cwd).digest("hex").slice(0, 12)
  return join(state, "projects", `${name || "root"}-${hash}`)
}

/**
 * Makes a new folder for a run that starts at `now` (ms since the epoch). Ids sort by time and are unique. Throws
 * SESSION_FOLDER_UNWRITABLE or SESSION_FOLDER_UNSAFE.
 */
export async function createRunFolder(
  state: string,
  cwd: string,
  now: number,
): Promise<{ id: string; folder: string }> {
  const runs = join(projectFolder(state, cwd), "runs")
  await createOwnFolder(state)
  await createFolder(runs)
  for (;;) {
    const id = runId(now)
    const folder = join(runs, id)
    if (await isCreated(folder)) return { id, folder }
  }
}

/** Makes a folder and those above it, 0700 where they are new. Throws SESSION_FOLDER_UNWRITABLE. */
export async function createFolder(folder: string): Promise<void> {
  try {
    await makeFolders(folder)
  } catch (cause) {
    throw unwritable(folder, cause)
  }
}

/** The same for the state or data folder itself, which must be ours alone. Throws SESSION_FOLDER_UNSAFE as well. */
export async function createOwnFolder(folder: string): Promise<void> {
  await createFolder(folder)
  await checkOwner(folder)
}

/** The same look at a folder that need not be there. Throws SESSION_FOLDER_UNSAFE. */
export async function checkOwnFolder(folder: string): Promise<void> {
  if ((await lstat(folder).catch(() => undefined)) !== undefined) await checkOwner(folder)
}

/** One by one: below /proc and its like Node's own recursive way never ends. */
async function makeFolders(folder: string): Promise<void> {
  const make = () => mkdir(folder, { mode: FOLDER_MODE })
  try {
    await make()
  } catch (cause) {
    const isFirst = (cause as NodeJS.ErrnoException).code === "ENOENT" && dirname(folder) !== folder
    if (!isFirst) return await orThere(folder, cause)
    await makeFolders(dirname(folder))
    await make().catch((again: unknown) => orThere(folder, again))
  }
}

async function orThere(folder: string, cause: unknown): Promise<void> {
  const found = await stat(folder).catch(() => undefined)
  if (!found?.isDirectory()) throw cause
}

/** False when something of that name is there already. */
async function isCreated(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { mode: FOLDER_MODE })
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") return false
    throw unwritable(folder, cause)
  }
}

/** In a place where everybody may write, the folder must be ours alone and no link. Throws SESSION_FOLDER_UNSAFE. */
async function checkOwner(folder: string): Promise<void> {
  // Windows has neither the bits nor the ids.
  if (process.getuid === undefined) return
  const above = await stat(dirname(folder))
  if ((above.mode & 0o002) === 0) return
  const found = await lstat(folder)
  const refuse = (found: string) => new SousError("SESSION_FOLDER_UNSAFE", { folder, found })
  if (found.isSymbolicLink()) throw refuse("is a symbolic link")
  if (found.uid !== process.getuid()) throw refuse("belongs to another user")
  if ((found.mode & 0o077) !== 0) throw refuse("is open to other users")
}

/** UTC to the millisecond, then chance: `20260131-235959123-4f9a1c`. */
function runId(now: number): string {
  const digits = new Date(now).toISOString().replace(/\D/g, "")
  return `${digits.slice(0, 8)}-${digits.slice(8)}-${randomBytes(3).toString("hex")}`
}

function unwritable(folder: string, cause: unknown): SousError {
  const reason = (cause as NodeJS.ErrnoException).code ?? String(cause)
  return new SousError("SESSION_FOLDER_UNWRITABLE", { folder, reason }, { cause })
}
