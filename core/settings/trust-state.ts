/**
 * What is asked about a project, and what holds for it: the words of trust.
 *
 * Invariant: data, and the answer that takes nothing to find.
 */
import type { SousError } from "../error.ts"
import type { HookSource } from "../hook-source.ts"
import type { HookFile } from "./hook-entry.ts"
import type { SettingsSource } from "./merge.ts"

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
