/**
 * Files as they were before a call changed them, kept so that they can be put back.
 *
 * Invariant: what is kept is on the disk before the call starts; a content is kept once, whoever had it.
 */
import { join } from "node:path"

/** Keeps files for one session. */
export interface CheckpointStore {
  /**
   * Keeps files (real paths) that a call is about to change, or notes that they do not exist. Returns what to call once it
   * is done. Throws CHECKPOINT_UNWRITABLE or SESSION_FOLDER_UNWRITABLE.
   */
  before(call: CheckpointCall, paths: readonly string[]): Promise<() => Promise<void>>
}

/** Who changes them. */
export interface CheckpointCall {
  toolUseId: string
  tool: string
  /** Turns taken before, over all runs of the session. */
  turn: number
  /** It runs a command: what that changes is not known before. */
  command?: true
  /** What it was handed: by its words, what it writes is known again when it is cut off. */
  input?: unknown
}

/** Where the files of a session are kept. */
export interface CheckpointPlace {
  /** JSON lines: who changed what, in order. Absolute. */
  log: string
  /** Contents by their hash, compressed. Absolute. */
  content: string
}

/** Those of a session, by its own folder (absolute), which need not exist. */
export function checkpointPlace(folder: string): CheckpointPlace {
  return { log: join(folder, "checkpoints.jsonl"), content: join(folder, "content") }
}

/** The store of a session in its own folder (absolute). Touches no disk, and loads next to nothing, before the first call. */
export function createCheckpointStore(folder: string, clock: { now(): number } = Date): CheckpointStore {
  let keeper: Promise<CheckpointStore> | undefined
  const load = async () => (await import("./checkpoint-keep.ts")).createKeeper(checkpointPlace(folder), clock)
  return {
    async before(call, paths) {
      keeper ??= load()
      return await (await keeper).before(call, paths)
    },
  }
}
