/**
 * A tree in memory → files in a folder that can be changed, as they were.
 *
 * Invariant: nothing is written outside of the folder: the paths are those of a tree that was read.
 */
import { mkdir, symlink, writeFile } from "node:fs/promises"
import { dirname, join, relative } from "node:path"
import type { Tree } from "../session/tree.ts"

/** Writes the files and links into `folder` (absolute), which is made. */
export async function writeTree({ files, links }: Tree, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const [path, { bytes, executable }] of files) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(file, bytes, { flag: "wx", mode: executable ? 0o700 : 0o600 })
  }
  for (const [path, target] of links) {
    const link = join(folder, path)
    await mkdir(dirname(link), { recursive: true, mode: 0o700 })
    if (!files.has(target)) await mkdir(join(folder, target), { recursive: true, mode: 0o700 })
    await symlink(relative(dirname(link), join(folder, target)) || ".", link)
  }
}
