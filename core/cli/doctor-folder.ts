/**
 * The folders of state, cache, data and settings of this person → whether they can be used, and what was left in them.
 *
 * Invariant: nothing is made or removed; what is not there yet counts by the folder that would hold it.
 */
import { accessSync, constants, lstatSync, readdirSync, type Stats, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { dataFolderFor, stateFolderFor } from "../session/store.ts"
import { findProjectRoot, fixedFolders, homeFolder } from "../settings/scopes.ts"
import type { DoctorPlace, DoctorRow } from "./doctor-row.ts"

interface Folder {
  what: string
  path: string | undefined
  /** Nobody else may look into it. */
  isPrivate: boolean
  /** A run writes into it. */
  isWritten: boolean
}

/** One row for each. */
export async function findFolders({ host }: DoctorPlace): Promise<DoctorRow[]> {
  const { env } = host
  const home = homeFolder(env)
  const { user } = fixedFolders({ env, home })
  const state = stateFolderFor(env, home)
  const folders: Folder[] = [
    { what: "state folder", path: state, isPrivate: true, isWritten: true },
    { what: "cache folder", path: join(state, "cache"), isPrivate: true, isWritten: true },
    { what: "data folder", path: dataFolderFor(env, home), isPrivate: false, isWritten: true },
    { what: "settings folder", path: user, isPrivate: false, isWritten: false },
  ]
  const rows = folders.map(folderRow)
  if (home !== undefined) return rows
  return [{ level: "warning", what: "home folder", state: "there is none", mend: "set HOME to a folder" }, ...rows]
}

function folderRow({ what, path, isPrivate, isWritten }: Folder): DoctorRow {
  if (path === undefined)
    return { level: "warning", what, state: "there is none without a home folder", mend: "set HOME" }
  const found = look(path)
  if (typeof found === "string") return { level: "fault", what, state: `"${path}": ${found}`, mend: "make it readable" }
  if (found === undefined) {
    const above = nearestAbove(path)
    const ok: DoctorRow = { level: "ok", what, state: `${path}, made when it is needed`, mend: "" }
    return !isWritten || isWritable(above)
      ? ok
      : { level: "fault", what, state: `"${path}" cannot be made in "${above}"`, mend: `make "${above}" writable` }
  }
  if (!found.isDirectory()) return { level: "fault", what, state: `"${path}" is no folder`, mend: "move it away" }
  if (isWritten && !isWritable(path))
    return { level: "fault", what, state: `"${path}" cannot be written to`, mend: `chmod u+rwx ${path}` }
  if (isPrivate && process.getuid !== undefined && (found.mode & 0o077) !== 0) {
    const mode = (found.mode & 0o777).toString(8)
    return { level: "warning", what, state: `"${path}" is open to others (mode ${mode})`, mend: `chmod 700 ${path}` }
  }
  return { level: "ok", what, state: path, mend: "" }
}

/** Undefined: nothing is there. A text: why nobody can say. */
function look(path: string): Stats | string | undefined {
  try {
    return statSync(path)
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException
    return code === "ENOENT" ? undefined : code
  }
}

function nearestAbove(path: string): string {
  const above = dirname(path)
  return above === path || look(above) !== undefined ? above : nearestAbove(above)
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A lock is held for milliseconds; one that is older was left by a process that died. In ms. */
const STALE_MS = 10_000
/** No more names are looked at. */
const MOST_NAMES = 5_000

/** Locks that nobody holds any more. */
export async function findLocks({ host, cwd }: DoctorPlace): Promise<DoctorRow[]> {
  const { env } = host
  const home = homeFolder(env)
  const root = cwd === undefined ? undefined : findProjectRoot(cwd, home === undefined ? {} : { home })
  const { user } = fixedFolders({ env, home })
  const left = { names: MOST_NAMES }
  const stale = [
    ...staleIn(stateFolderFor(env, home), 3, left),
    ...staleIn(dataFolderFor(env, home), 1, left),
    ...[user, root, root && join(root, ".sous"), root && join(root, ".claude")].flatMap((folder) =>
      folder === undefined || folder === "" ? [] : staleIn(folder, 0, left),
    ),
  ]
  if (stale.length === 0) return [{ level: "ok", state: "none was left behind", mend: "" }]
  return stale.map((file) => ({
    level: "warning",
    state: `"${file}" was left by a process that died`,
    mend: `rm ${file}, or leave it: it is broken when it is in the way`,
  }))
}

/** Below a folder as deep as that; folders of runs are passed over. */
function staleIn(folder: string, depth: number, left: { names: number }): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      if (left.names-- <= 0) return []
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return depth > 0 && entry.name !== "runs" ? staleIn(path, depth - 1, left) : []
      return /\.\w+\.lock$/.test(entry.name) && isStale(path) ? [path] : []
    })
  } catch {
    // A folder that cannot be read has a row of its own.
    return []
  }
}

function isStale(file: string): boolean {
  try {
    return Date.now() - lstatSync(file).mtimeMs > STALE_MS
  } catch {
    return false
  }
}
