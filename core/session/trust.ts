/**
 * What a person trusted of one project: from a file in the state folder to the hashes that were seen, and back.
 *
 * Invariant: a file that is broken, foreign or open to others trusts nothing and says why; nothing is ever written into
 * the project, so that none can bring its own.
 */
import { rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { isSousError, SousError } from "../error.ts"
import { replaceFile, withLock } from "./lock.ts"
import { parseJson, readOwnFile, reasonOf } from "./own-file.ts"
import { createFolder, createOwnFolder, projectFolder } from "./store.ts"
import { type Tree, treeOf } from "./tree.ts"

/** What was trusted. */
export interface TrustRecord {
  /** ISO 8601, UTC: when. */
  at: string
  /** That of the tree. */
  hash: string
  /** What each file of the tree was, as `printsOf` gives it; none when the path is followed. */
  files: Readonly<Record<string, string>>
  /** The path is trusted, whatever lies there. */
  follow?: true
}

/** The trust in a project as a start finds it. */
export interface LoadedTrust {
  /** Absolute; it need not exist. */
  file: string
  record?: TrustRecord
  /** Why the file trusts nothing: TRUST_STORE_UNREADABLE. */
  fault?: SousError
}

const VERSION = 1
/** A file that is longer was not written by us. */
const MOST_BYTES = 16 * 2 ** 20
/** What one file of a tree was: hex, executable or not; or where a link led. */
const PRINT = /^(?:[0-9a-f]{64}(?:\+x)?|-> .*)$/s

/** The file of a project (absolute, real) in the state folder. */
export function trustFile(state: string, project: string): string {
  return join(projectFolder(state, project), "trust.json")
}

/** Reads what was trusted of a project. Never throws: a file that cannot be used trusts nothing and says why. */
export async function loadTrust(state: string, project: string): Promise<LoadedTrust> {
  const file = trustFile(state, project)
  try {
    const text = await readOwnFile(file, { mostBytes: MOST_BYTES })
    return text === undefined ? { file } : { file, record: parseTrust(text, project) }
  } catch (error) {
    return { file, fault: new SousError("TRUST_STORE_UNREADABLE", { file, reason: reasonOf(error) }, { cause: error }) }
  }
}

/** Puts a record in the place of the one before, a broken one too. Throws TRUST_STORE_UNWRITABLE. */
export async function saveTrust(state: string, project: string, record: TrustRecord): Promise<void> {
  await change(state, project, async (file) => {
    const { at, hash, files, follow } = record
    await replaceFile(file, `${JSON.stringify({ version: VERSION, project, at, hash, follow, files }, null, 2)}\n`)
  })
}

/** Takes the trust in a project back; true when there was one. Throws TRUST_STORE_UNWRITABLE. */
export async function removeTrust(state: string, project: string): Promise<boolean> {
  let found = false
  await change(state, project, async (file) => {
    const { record, fault } = await loadTrust(state, project)
    found = record !== undefined || fault !== undefined
    if (found) await rm(file, { recursive: true })
  })
  return found
}

/** What each file and link of a tree is, by path: text that is equal when they are. */
export function printsOf({ files, links }: Pick<Tree, "files" | "links">): Record<string, string> {
  const prints = [...files].map(([path, { sha256, executable }]) => [path, executable ? `${sha256}+x` : sha256])
  return Object.fromEntries([...prints, ...[...links].map(([path, target]) => [path, `-> ${target}`])])
}

/** The hash of the tree that has these files. */
export function hashOfPrints(prints: Readonly<Record<string, string>>): string {
  const [files, links] = [new Map(), new Map()]
  for (const [path, print] of Object.entries(prints)) {
    if (print.startsWith("-> ")) links.set(path, print.slice(3))
    else files.set(path, { sha256: print.slice(0, 64), executable: print.endsWith("+x"), bytes: NO_BYTES })
  }
  return treeOf(files, links).hash
}

const NO_BYTES = Buffer.alloc(0)

async function change(state: string, project: string, work: (file: string) => Promise<void>): Promise<void> {
  const file = trustFile(state, project)
  try {
    await createOwnFolder(state)
    await createFolder(dirname(file))
    await withLock(file, () => work(file))
  } catch (error) {
    if (isSousError(error)) throw error
    throw new SousError("TRUST_STORE_UNWRITABLE", { file, reason: reasonOf(error) }, { cause: error })
  }
}

/** Throws an Error that says why the text is no record of this project. */
function parseTrust(text: string, project: string): TrustRecord {
  const value = parseJson(text) as Partial<TrustRecord & { version: unknown; project: unknown }> | null | undefined
  if (typeof value !== "object" || value === null) throw new Error("it is no JSON object")
  if (value.version !== VERSION) {
    throw new Error(`its version is ${JSON.stringify(value.version)}, this program reads ${VERSION}`)
  }
  if (value.project !== project) throw new Error(`it belongs to ${JSON.stringify(value.project)}`)
  const { at, hash, files, follow } = value
  if (typeof at !== "string" || Number.isNaN(Date.parse(at))) throw new Error("it has no date")
  if (follow !== undefined && follow !== true) throw new Error(`its "follow" is ${JSON.stringify(follow)}`)
  if (!isPrints(files)) throw new Error("its list of files is none")
  if (hash !== hashOfPrints(files)) throw new Error("its hash is not that of its files")
  return { at, hash, files, ...(follow ? { follow } : {}) }
}

function isPrints(value: unknown): value is Record<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  return Object.values(value).every((print) => typeof print === "string" && PRINT.test(print))
}
