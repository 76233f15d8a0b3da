/**
 * What a run is handed of its conversation, and where conversations lie in the state folder.
 *
 * Invariant: none lies inside of a project, so that a clone cannot bring one.
 */
import { join } from "node:path"
import type { Clock } from "../clock.ts"
import type { CheckpointStore } from "./checkpoint.ts"
import { projectFolder } from "./store.ts"
import type { TranscriptEntry } from "./transcript.ts"

/** Which conversation a run belongs to. Nothing set: a new one. */
export interface SessionRequest {
  /** An id, the start of one, or a file: the conversation to go on with. */
  resume?: string
  /** Go on with the newest one of this folder. */
  continue?: boolean
  /** Leave that one as it is, and go on with a copy. */
  fork?: boolean
}

/** A conversation that is open for a run. */
export interface RunSession {
  id: string
  /** Its transcript, absolute. */
  file: string
  /** What it holds, from its first entry to the last one that counts; empty for a new one. */
  entries: readonly TranscriptEntry[]
  /** Bytes of the file that are whole entries; what follows is cut off. */
  size: number
  /** Absolute: folders of its earlier runs. */
  readRoots: readonly string[]
  checkpoint: CheckpointStore | undefined
  /** It was begun elsewhere: what a conversation opens with stands not in it, or speaks of another place. */
  needsOpening: boolean
  /** What is odd about what was read, one sentence each. */
  warnings: readonly string[]
  /** Lets others write it. */
  close(): Promise<void>
}

/** Where it lies, and what it is called when it is new. */
export interface SessionPlace {
  state: string
  /** Absolute, real. */
  cwd: string
  home: string | undefined
  /** The id of a new one. */
  id: string
  clock: Clock
  /** Sessions of Claude Code are found by their ids, too. Default: true. */
  claude?: boolean
}

/** The folder of the conversations of a project, absolute. */
export function sessionsFolder(state: string, cwd: string): string {
  return join(projectFolder(state, cwd), "sessions")
}

/** The transcript of a conversation. */
export function sessionFile(folder: string, id: string): string {
  return join(folder, `${id}.jsonl`)
}
