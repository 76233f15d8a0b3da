/**
 * The files that an agent knows, as a source of context: what became of them, and how those at work are now.
 *
 * Invariant: an agent that has read nothing costs nothing; what does the work is loaded then.
 */
import type { ContextMoment, ContextSource } from "sous"
import { ledgerOf } from "./ledger.ts"

/** Tells of the files that the agent knows. */
export const filesSource: ContextSource = {
  name: "files",
  async remind(moment) {
    return knowsNone(moment) ? undefined : await (await import("./known-file.ts")).findChanges(moment)
  },
  async scene(moment) {
    return knowsNone(moment) ? undefined : await (await import("./known-file.ts")).showFiles(moment)
  },
}

function knowsNone(moment: ContextMoment): boolean {
  return ledgerOf(moment).entries().length === 0
}
