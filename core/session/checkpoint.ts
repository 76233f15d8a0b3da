/**
 * Files as they were before a call changed them, kept so that they can be put back.
 *
 * Invariant: what is kept is on the disk before the call starts; a content is kept once, whoever had it.
 */

/** Keeps files for one session. */
export interface CheckpointStore {
  /** Keeps files (real paths) that a call is about to change, or notes that they do not exist. Returns what to call once it is done. */
  before(call: CheckpointCall, paths: readonly string[]): Promise<() => Promise<void>>
}

/** Who changes them. */
export interface CheckpointCall {
  toolUseId: string
  tool: string
  /** Turns taken before, over all runs of the session. */
  turn: number
}
