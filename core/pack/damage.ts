/**
 * A copy of a pack that is not what it was → which of its files are not.
 *
 * Invariant: loaded only where something is wrong; it says what differs as far as anybody can know, and loads nothing.
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

/** What became of a copy: whether there is one, and its files (relative) that are changed, new or gone. */
export async function lookAtContent(hash: string, data: string): Promise<{ isThere: boolean; changed: string[] }> {
  const folder = contentFolder(hash, data)
  if (!existsSync(folder)) return { isThere: false, changed: [] }
  try {
    const before = JSON.parse(await readFile(printsFile(hash, data), "utf8")) as Record<string, string>
    const now = printsOf(await readTree(folder))
    const names = [...new Set([...Object.keys(before), ...Object.keys(now)])]
    return { isThere: true, changed: names.filter((name) => before[name] !== now[name]).sort() }
  } catch {
    return { isThere: true, changed: [] }
  }
}

function printsFile(hash: string, data: string): string {
  return join(data, "packs", `${hash}.files.json`)
}
