/**
 * A tree → a copy of it in the data folder, named by its hash; and back.
 *
 * Invariant: nothing is handed on that was not compared byte by byte with its hash: a copy that somebody changed is made
 * anew from the bytes in memory.
 */
import { randomBytes } from "node:crypto"
import { chmod, mkdir, rename, rm, symlink, writeFile } from "node:fs/promises"
import { basename, dirname, join, relative } from "node:path"
import { isSousError, SousError } from "../error.ts"
import { createOwnFolder, FOLDER_MODE } from "./store.ts"
import { readTree, type Tree } from "./tree.ts"

/** Files of a copy can be read, and those that could be executed still can. */
const MODES = { plain: 0o400, executable: 0o500 }

/** More than any tree that was read can hold. */
const NO_LIMIT = { files: Number.MAX_SAFE_INTEGER, bytes: Number.MAX_SAFE_INTEGER }

/**
 * Keeps the tree in `content/` of a data folder (absolute); returns the folder of its copy. Several processes may keep the
 * same one at once. Throws SESSION_FOLDER_UNWRITABLE or SESSION_FOLDER_UNSAFE.
 */
export async function keepContent(tree: Tree, folder: string): Promise<string> {
  const place = contentFolder(tree.hash, folder)
  if (await readContent(tree.hash, folder)) return place
  await createOwnFolder(folder)
  try {
    await mkdir(dirname(place), { recursive: true, mode: FOLDER_MODE })
    const isThere = async () => (await readContent(tree.hash, folder)) !== undefined
    await replaceFolder(place, await writeTree(tree, besides(place)), isThere)
  } catch (cause) {
    if (isSousError(cause)) throw cause
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause)
    throw new SousError("SESSION_FOLDER_UNWRITABLE", { folder: place, reason }, { cause })
  }
  return place
}

/** Others may put something into the place at the same time. */
const MOST_TRIES = 5

/** The copy that has this hash; undefined when there is none, or it is not what it was. */
export async function readContent(hash: string, folder: string): Promise<Tree | undefined> {
  try {
    const tree = await readTree(contentFolder(hash, folder), undefined, NO_LIMIT)
    return tree.hash === hash ? tree : undefined
  } catch {
    return undefined
  }
}

/** Where the copy of a tree lies. */
export function contentFolder(hash: string, folder: string): string {
  return join(folder, "content", hash)
}

async function writeTree({ files, links }: Tree, folder: string): Promise<string> {
  try {
    await mkdir(folder, { mode: FOLDER_MODE })
    for (const [path, { bytes, executable }] of files) {
      const file = join(folder, path)
      await mkdir(dirname(file), { recursive: true, mode: FOLDER_MODE })
      await writeFile(file, bytes, { flag: "wx", mode: FOLDER_MODE })
      await chmod(file, executable ? MODES.executable : MODES.plain)
    }
    for (const [path, target] of links) {
      const link = join(folder, path)
      await mkdir(dirname(link), { recursive: true, mode: FOLDER_MODE })
      // A folder in which there is nothing.
      if (!files.has(target)) await mkdir(join(folder, target), { recursive: true, mode: FOLDER_MODE })
      await symlink(relative(dirname(link), join(folder, target)) || ".", link)
    }
    return folder
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** Puts a fresh copy into its place. One that is there and good stays: somebody may be loading from it. */
async function replaceFolder(place: string, fresh: string, isThere: () => Promise<boolean>): Promise<void> {
  const old = besides(place)
  try {
    for (let tries = 1; ; tries++) {
      try {
        return await rename(fresh, place)
      } catch (error) {
        if (await isThere()) return
        if (tries === MOST_TRIES) throw error
      }
      await rename(place, `${old}${tries}`).catch(() => {})
      await rm(`${old}${tries}`, { recursive: true, force: true })
    }
  } finally {
    await rm(fresh, { recursive: true, force: true })
  }
}

function besides(place: string): string {
  return join(dirname(place), `.${basename(place)}.${randomBytes(6).toString("hex")}`)
}
