/**
 * A source → a pack in the store of contents with the entry that a lock keeps of it; and a locked entry → the same pack.
 *
 * Invariant: nothing of it runs; until all of it is there and checked, nothing but a folder of its own was written.
 */

import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { SousError } from "../error.ts"
import { keepContent, readContent } from "../session/content.ts"
import { readTree, type Tree } from "../session/tree.ts"
import { contentOf, type PackContent, readPack } from "./content.ts"
import { keepPrints } from "./damage.ts"
import { fetchDependencies, installDependencies, needsOf } from "./dependency.ts"
import { fetchLocked, fetchSource } from "./fetch.ts"
import { type Fetching, withStaging } from "./fetching.ts"
import { checkLock, inOrder, LOCK_FILE } from "./lock.ts"
import { LOCK_VERSION, type LockEntry } from "./lock-shape.ts"
import { hasReceipt, keepReceipt } from "./receipt.ts"
import type { PackSource } from "./source.ts"

/** Who installs, and where to. */
export interface Installing extends Omit<Fetching, "staging"> {
  /** The data folder, absolute. */
  data: string
}

/** A pack that was fetched and is not in the store yet. */
export interface FetchedPack {
  name: string
  content: PackContent
  entry: LockEntry
  tree: Tree
}

/** Fetches what a source comes to at the moment, with what it needs. Throws PACK_… and TREE_… errors. */
export async function fetchPack(source: PackSource, installing: Installing): Promise<FetchedPack> {
  const { data } = installing
  return await withStaging(data, async (staging) => {
    const fetching = { ...installing, staging }
    const folder = join(staging, "pack")
    installing.tell(`Fetching ${source.written}`)
    const fetched = await fetchSource(source, folder, fetching)
    const alone = await readTree(folder)
    const { name: pack } = (await readPack(alone, source.written)).manifest
    const dependencies = await installDependencies(folder, { pack, needs: await needsOf(alone), fetching })
    installing.signal.throwIfAborted()
    const tree = await readTree(folder)
    const content = await readPack(tree, source.written)
    const more = Object.keys(dependencies).length === 0 ? {} : { dependencies }
    const entry = { ...content.locked, source: savedSource(source, content), ...fetched, tree: tree.hash, ...more }
    const { name } = content.manifest
    checkLock(LOCK_FILE, { lockVersion: LOCK_VERSION, packs: { [name]: entry } })
    return { name, content, entry, tree }
  })
}

/** Puts a fetched pack into the store; `entry` is what its lock will say. Returns the folder of its copy. */
export async function keepPack({ name, tree }: FetchedPack, entry: LockEntry, data: string): Promise<string> {
  const folder = await keepContent(tree, data)
  await keepPrints(tree, data)
  await keepReceipt(name, entry, data)
  return folder
}

/**
 * Brings exactly what an entry names into the store. False: it was there. Throws PACK_FETCH_FAILED, PACK_CONTENT_DIFFERS or
 * PACK_LOCK_DISAGREES.
 */
export async function installLocked(name: string, entry: LockEntry, installing: Installing): Promise<boolean> {
  const { data } = installing
  const there = await readContent(entry.tree, data)
  if (there && hasReceipt(name, entry, data)) {
    await checkEntry(name, entry, there)
    return false
  }
  await withStaging(data, async (staging) => {
    const fetching = { ...installing, staging }
    const folder = join(staging, "pack")
    installing.tell(`Fetching ${name} ${entry.version}`)
    await fetchLocked(entry, folder, fetching)
    await fetchDependencies(folder, entry.dependencies ?? {}, fetching)
    installing.signal.throwIfAborted()
    const tree = await readTree(folder)
    if (tree.hash !== entry.tree)
      throw new SousError("PACK_CONTENT_DIFFERS", {
        pack: name,
        resolved: entry.resolved,
        tree: entry.tree,
        found: tree.hash,
      })
    await checkEntry(name, entry, tree)
    await keepContent(tree, data)
    await keepPrints(tree, data)
  })
  await keepReceipt(name, entry, data)
  return true
}

/** Reads a pack and compares it with what its lock says. Throws PACK_LOCK_DISAGREES. */
export async function checkEntry(name: string, entry: LockEntry, tree: Tree): Promise<PackContent> {
  const content = await readPack(tree, name)
  const differs = (key: string) => new SousError("PACK_LOCK_DISAGREES", { pack: name, key })
  if (content.manifest.name !== name) throw differs("name")
  const said = inOrder(contentOf(entry)) as Record<string, unknown>
  const found = inOrder(content.locked) as Record<string, unknown>
  for (const key of new Set([...Object.keys(said), ...Object.keys(found)]))
    if (!isDeepStrictEqual(said[key], found[key])) throw differs(key)
  for (const [at, { version }] of Object.entries(entry.dependencies ?? {}))
    if (!content.locked.modules?.[at]?.endsWith(`@${version}`)) throw differs("dependencies")
  return content
}

/** A package without a range is kept in the range of its version, as npm does it. */
function savedSource(source: PackSource, { manifest }: PackContent): string {
  const isBare = source.kind === "npm" && source.range === undefined
  return isBare ? `npm:${source.name}@^${manifest.version}` : source.written
}
