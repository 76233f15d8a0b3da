/**
 * What a project brings that can execute or widen, and what a person said about it → whether it counts at this start.
 *
 * Invariant: trust is by content and by the project's real path; what was hashed is what is loaded. Where there is nothing
 * to trust, nothing is read and nothing more of this is loaded.
 */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import type { SousError } from "../error.ts"
import type { HookSource } from "../hook-source.ts"
import type { HookFile } from "./hook-entry.ts"
import type { SettingsSource } from "./merge.ts"
import { withoutTrust } from "./trust.ts"

/**
 * trusted: as a person saw it; follows: whatever it is; start: for this start only (`--trust`); changed: something is not
 * as a person saw it; untrusted: nobody has said yes; nothing: there is no project, or nothing in it that needs trust.
 */
export type TrustState = "trusted" | "follows" | "start" | "changed" | "untrusted" | "nothing"

/** A file that is not as it was trusted. */
export interface TrustChange {
  /** Relative to the project's root. */
  file: string
  how: "changed" | "added" | "removed"
}

/** What holds for the project of this start. */
export interface ProjectTrust {
  state: TrustState
  /** What executes or widens counts. */
  isTrusted: boolean
  /** In the state `changed`. */
  changes: readonly TrustChange[]
  /** Where a file (absolute, of the project) is loaded from: a copy that has the bytes which were hashed, or itself. */
  copyOf(file: string): string
  /** Says of hooks which files they may start, and what these were when they were hashed; changes nothing else. */
  bindHooks(sources: readonly HookSource[]): Promise<HookSource[]>
  /** ISO 8601, UTC: when a person said yes. Left out: nobody has. */
  since?: string
  /** Why what a person said cannot be used: TRUST_STORE_UNREADABLE, or a TREE_… error of a file that counts. */
  fault?: SousError
  /** What it was about; the sources with all that they set. */
  question: TrustQuestion
}

export interface TrustQuestion {
  /** The project's root, a real path. */
  root: string | undefined
  /** Absolute; left out: there is none. */
  home?: string | undefined
  /** Sources of the scopes project and local, as they were read. */
  sources: readonly SettingsSource[]
  /** The hooks of these and of `.hooks.json`. */
  hooks: readonly HookFile[]
  /** Files of code that settings lie in (`settings.ts`), absolute. */
  code: readonly string[]
  /** The state folder, absolute. */
  state: string
  /** Where copies are kept, absolute. */
  data: string
  /** `--trust`. */
  forStart: boolean
}

/** Finds out whether the project counts. Throws TREE_… errors with `forStart`, and SESSION_FOLDER_… errors. */
export async function settleTrust(given: TrustQuestion): Promise<ProjectTrust> {
  // What is left out later is taken out of the sources themselves.
  const question = { ...given, sources: given.sources.map((source) => ({ ...source })) }
  const { root } = question
  if (root === undefined || !needsSomebody(question, root)) return plainTrust("nothing", question)
  const { comparePrints } = await import("./trust-settle.ts")
  return await comparePrints(question, root)
}

/** Trust that has no copies: what is loaded is what lies there. */
export function plainTrust(state: TrustState, question: TrustQuestion): ProjectTrust {
  return {
    state,
    isTrusted: state === "follows",
    changes: [],
    copyOf: (file) => file,
    bindHooks: async (sources) => [...sources],
    question,
  }
}

/** True when anything of the project needs a yes. */
function needsSomebody({ sources, hooks, code }: TrustQuestion, root: string): boolean {
  if (hooks.length > 0 || code.length > 0 || CODE_FOLDERS.some((folder) => !isEmpty(join(root, folder)))) return true
  return sources.some(({ values }) => withoutTrust(values).leftOut.length > 0)
}

/** Folders of a project whose files are loaded for lying there. */
export const CODE_FOLDERS = [".sous/plugins", ".sous/recipes"]

function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0
  } catch (error) {
    // What may not be looked at is something.
    return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")
  }
}
