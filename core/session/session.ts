/**
 * One conversation on the disk, open for one run: a new one, one that goes on, or a copy of one.
 *
 * Invariant: nobody else writes it while it is open; what it held is never changed, only added to.
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
}

/** The folder of the conversations of a project, absolute. */
export function sessionsFolder(state: string, cwd: string): string {
  return join(projectFolder(state, cwd), "sessions")
}

/** Opens a conversation. */
export async function openRunSession({ state, cwd, id }: SessionPlace, request: SessionRequest): Promise<RunSession> {
  if (request.resume !== undefined || request.continue) throw new Error("Not yet")
  const file = join(sessionsFolder(state, cwd), `${id}.jsonl`)
  return { id, file, entries: [], size: 0, readRoots: [], checkpoint: undefined, close: async () => {} }
}
