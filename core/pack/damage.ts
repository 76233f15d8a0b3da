/**
 * What each file of a pack was → which of them are not, in a copy that somebody changed or in another version.
 *
 * Invariant: it says what differs as far as anybody can know, and loads nothing.
 */
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { contentFolder } from "../session/content.ts"
import { replaceFile } from "../session/lock.ts"
import { createFolder } from "../session/store.ts"
import { readTree, type Tree } from "../session/tree.ts"
import { printsOf } from "../session/trust.ts"

/** Keeps what each file of a tree is, for the day on which one of them is not. `data` is the data folder, absolute. */
export async function keepPrints(tree: Tree, data: string): Promise<void> {
  const file = printsFile(tree.hash, data)
  if (existsSync(file)) return
  await createFolder(join(file, ".."))
  await replaceFile(file, `${JSON.stringify(printsOf(tree))}\n`)
}

/** The files (relative) in which a tree differs from one that was kept before; undefined: nobody knows what that was. */
export async function differingFiles(hash: string, tree: Tree, data: string): Promise<string[] | undefined> {
  const before = await readPrints(hash, data)
  return before === undefined ? undefined : differing(before, printsOf(tree))
}

/** What became of a copy: whether there is one, and its files (relative) that are changed, new or gone. */
export async function lookAtContent(hash: string, data: string): Promise<{ isThere: boolean; changed: string[] }> {
  const folder = contentFolder(hash, data)
  if (!existsSync(folder)) return { isThere: false, changed: [] }
  const before = await readPrints(hash, data)
  const now = await readTree(folder).catch(() => undefined)
  return { isThere: true, changed: before && now ? differing(before, printsOf(now)) : [] }
}

type Prints = Readonly<Record<string, string>>

function differing(before: Prints, now: Prints): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])]
  return names.filter((name) => before[name] !== now[name]).sort()
}

async function readPrints(hash: string, data: string): Promise<Prints | undefined> {
  try {
    return JSON.parse(await readFile(printsFile(hash, data), "utf8")) as Prints
  } catch {
    return undefined
  }
}

function printsFile(hash: string, data: string): string {
  return join(data, "packs", `${hash}.files.json`)
}
