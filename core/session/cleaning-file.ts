/**
 * The state folder → the file in it that remembers what a person said about old conversations.
 *
 * Invariant: a start that needs to know nothing of it but its date loads nothing else for it.
 */
import { join } from "node:path"

/** The file, absolute as the folder is; it need not exist. Its date is that of the last look. */
export function cleaningFile(state: string): string {
  return join(state, "cleaning.json")
}
