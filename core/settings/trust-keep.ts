/**
 * A person changes files of the project through a command → a project that was trusted before is trusted after it.
 *
 * Invariant: only the files that the command may change get new hashes; whatever else is not as it was stays untrusted. A
 * project that brought something nobody trusted before the change is not trusted after it.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { isSousError } from "../error.ts"
import { hashOfPrints, loadTrust, printsOf, saveTrust } from "../session/trust.ts"
import { type LoadSettingsOptions, loadSettings } from "./load.ts"
import type { ProjectTrust } from "./project-trust.ts"
import { inTree, realInTree } from "./trust-path.ts"
import { readSubject } from "./trust-settle.ts"

export interface KeepTrustOptions<T = unknown> extends LoadSettingsOptions {
  /** Files that the work may change, and folders that a person said yes to, absolute; or what says them once it is done. */
  files: readonly string[] | ((result: T) => readonly string[])
}

/** Does the work; what it throws is thrown on. Throws TRUST_STORE_UNWRITABLE. */
export async function keepTrust<T>(options: KeepTrustOptions<T>, work: () => Promise<T>): Promise<T> {
  const { files, ...start } = options
  const known = await whileStill(async () => {
    const before = await look(start)
    return before && (await trustedFiles(before))
  })
  const result = await work()
  if (known === undefined) return result
  await whileStill(() => renew(known, start, typeof files === "function" ? files(result) : files))
  return result
}

/** How often somebody else may change a file while it is looked at. */
const MOST_TRIES = 5

/** Undefined when files change all the time: what nobody could look at is not trusted, and the work is done all the same. */
async function whileStill<T>(read: () => Promise<T>): Promise<T | undefined> {
  for (let tries = 1; tries <= MOST_TRIES; tries++) {
    try {
      return await read()
    } catch (error) {
      if (!isSousError(error) || error.code !== "TRUST_CHANGED") throw error
    }
  }
  return undefined
}

/** Nothing of the project runs for this. Undefined: the settings cannot be read. */
async function look(options: LoadSettingsOptions): Promise<ProjectTrust | undefined> {
  try {
    return (await loadSettings({ ...options, trust: false, load: async () => ({ default: {} }) })).trust
  } catch (error) {
    if (isSousError(error)) return undefined
    throw error
  }
}

type Prints = Readonly<Record<string, string>>

/** What each file is that counts, where that is trusted, or brings nothing that needs it; undefined elsewhere. */
async function trustedFiles({ state, question }: ProjectTrust): Promise<Prints | undefined> {
  const { root } = question
  if (state === "nothing") return root === undefined ? {} : printsOf((await readSubject(question, root)).tree)
  return state === "trusted" ? (await loadTrust(question.state, root!)).record?.files : undefined
}

async function renew(known: Prints, options: LoadSettingsOptions, changed: readonly string[]): Promise<void> {
  const after = await look(options)
  const { root, state } = after?.question ?? {}
  if (after === undefined || root === undefined || !["changed", "untrusted"].includes(after.state)) return
  const now = printsOf((await readSubject(after.question, root)).tree)
  const paths = changed.flatMap((file) => inTree(file, root) ?? [])
  const meant = paths.flatMap((path) => [path, realInTree(path, root) ?? path])
  const isMeant = (path: string) => meant.some((one) => path === one || path.startsWith(`${one}/`))
  // What nothing names any more does not count; what somebody took away has to be looked at.
  const isLeft = (path: string) => Object.hasOwn(now, path) || !existsSync(join(root, path))
  const kept = Object.entries(known).filter(([path]) => !isMeant(path) && isLeft(path))
  const renewed = Object.entries(now).filter(([path]) => isMeant(path))
  const files = Object.fromEntries([...kept, ...renewed])
  await saveTrust(state!, root, { at: new Date().toISOString(), hash: hashOfPrints(files), files })
}
