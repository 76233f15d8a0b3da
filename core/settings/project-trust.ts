/**
 * What a project brings that can execute or widen, and what a person said about it → whether it counts at this start.
 *
 * Invariant: trust is by content and by the project's real path; what was hashed is what is loaded. Where there is nothing
 * to trust, nothing is read and nothing more of this is loaded.
 */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { withoutTrust } from "./trust.ts"
import { type ProjectTrust, plainTrust, type TrustQuestion } from "./trust-state.ts"

export type { ProjectTrust, TrustChange, TrustQuestion, TrustState } from "./trust-state.ts"

/** Finds out whether the project counts. Throws TREE_… errors with `forStart`, and SESSION_FOLDER_… errors. */
export async function settleTrust(given: TrustQuestion): Promise<ProjectTrust> {
  // What is left out later is taken out of the sources themselves.
  const question = { ...given, sources: given.sources.map((source) => ({ ...source })) }
  const { root } = question
  if (root === undefined || !needsSomebody(question, root)) return plainTrust("nothing", question)
  const { comparePrints } = await import("./trust-settle.ts")
  return await comparePrints(question, root)
}

/** True when anything of the project needs a yes. */
function needsSomebody({ sources, hooks, code }: TrustQuestion, root: string): boolean {
  if (hooks.length > 0 || code.length > 0 || CODE_FOLDERS.some((folder) => !isEmpty(join(root, folder)))) return true
  return sources.some(({ values }) => withoutTrust(values).leftOut.length > 0)
}

/** Folders of a project whose files are loaded for lying there. */
const CODE_FOLDERS = [".sous/plugins", ".sous/recipes"]

function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0
  } catch (error) {
    // What may not be looked at is something.
    return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")
  }
}
