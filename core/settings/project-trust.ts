/**
 * What a project brings that can execute or widen, and what a person said about it → whether it counts at this start.
 *
 * Invariant: trust is by content; what was hashed is what is loaded.
 */
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
}

export interface TrustQuestion {
  /** The project's root, a real path. */
  root: string | undefined
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

/** Finds out whether the project counts. Reads files only where there is something to trust. */
export async function settleTrust({ root, forStart }: TrustQuestion): Promise<ProjectTrust> {
  const state = root === undefined ? "nothing" : forStart ? "start" : "untrusted"
  return { state, isTrusted: state === "start", changes: [], copyOf: (file) => file }
}
