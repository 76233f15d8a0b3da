/**
 * The folder that an isolated plugin may read → nothing, or why it may not be given.
 *
 * Invariant: Node follows links to wherever they lead, so none in the folder may lead out of it.
 */
import { type Dirent, readdirSync, realpathSync } from "node:fs"
import { join } from "node:path"
import { SousError } from "../error.ts"
import { bothEnds, isInside } from "./isolate-grant.ts"

/** Files and folders that are looked at, at most. */
const MOST_ENTRIES = 20_000

/** Throws ISOLATION_FOLDER_UNSAFE. `within`: folders (absolute) that it may not hold, such as the home folder. */
export function checkPluginFolder(folder: string, plugin: string, within: readonly string[]): void {
  const refuse = (problem: string, mend: string): never => {
    throw new SousError("ISOLATION_FOLDER_UNSAFE", { plugin, folder, problem, mend })
  }
  const ends = bothEnds(folder)
  const held = within.flatMap(bothEnds).find((one) => ends.some((end) => isInside(one, end)))
  if (held !== undefined) refuse(`it holds ${held}`, OWN_FOLDER)
  const root = ends.at(-1)!
  let left = MOST_ENTRIES
  const open = [root]
  for (let current = open.pop(); current !== undefined; current = open.pop()) {
    for (const entry of entriesOf(current, refuse)) {
      if (--left < 0) refuse(`it holds more than ${MOST_ENTRIES} files`, OWN_FOLDER)
      const path = join(current, entry.name)
      if (entry.isDirectory()) open.push(path)
      else if (entry.isSymbolicLink()) checkLink(path, root, refuse)
    }
  }
}

function entriesOf(folder: string, refuse: (problem: string, mend: string) => never): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    return refuse(`${folder} cannot be listed (${(error as NodeJS.ErrnoException).code})`, "make it readable")
  }
}

const OWN_FOLDER = "move the plugin into a folder of its own"

/** A link that leads nowhere may lead somewhere a moment later. */
function checkLink(path: string, root: string, refuse: (problem: string, mend: string) => never): void {
  const mend = `replace the link ${path} by what it leads to`
  const real = realOf(path)
  if (real === undefined) refuse(`its link ${path} leads nowhere`, mend)
  else if (!isInside(real, root)) refuse(`its link ${path} leads out of it, to ${real}`, mend)
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
