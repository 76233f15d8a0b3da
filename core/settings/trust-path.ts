/**
 * Paths of the machine ↔ paths in a tree: relative to a root, with `/`.
 *
 * Invariant: a path that does not lie below the root has none in the tree.
 */
import { realpathSync } from "node:fs"
import { isAbsolute, join, relative, resolve, sep } from "node:path"

/** The path in the tree of a root (absolute); undefined for the root itself and what lies elsewhere. */
export function inTree(path: string, root: string): string | undefined {
  const way = relative(root, resolve(path))
  if (way === "" || way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way)) return undefined
  return sep === "/" ? way : way.split(sep).join("/")
}

/** Where something in the tree really lies, links followed, in the tree; undefined: elsewhere, or nowhere. */
export function realInTree(path: string, root: string): string | undefined {
  try {
    return inTree(realpathSync(join(root, path)), root)
  } catch {
    return undefined
  }
}
