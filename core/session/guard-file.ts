/**
 * The state folder → the file in it that remembers which plugins guard.
 *
 * Invariant: a start that needs to know nothing of it but whether it is there loads nothing else for it.
 */
import { join } from "node:path"

/** The file, absolute as the folder is; it need not exist. */
export function guardsFile(state: string): string {
  return join(state, "plugins.json")
}
