/**
 * One conversation on the disk, open for one run: a new one, one that goes on, or a copy of one.
 *
 * Invariant: nobody else writes it while it is open; what it held is never changed, only added to.
 */
import { join } from "node:path"
import type { Clock } from "../clock.ts"
import { SousError } from "../error.ts"
import { type CheckpointStore, createCheckpointStore } from "./checkpoint.ts"
import { holdSession } from "./session-lock.ts"
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

/** Opens a conversation. Throws SESSION_… errors. */
export async function openRunSession(place: SessionPlace, request: SessionRequest): Promise<RunSession> {
  checkRequest(request)
  if (request.resume !== undefined || request.continue)
    return await (await import("./session-open.ts")).openStored(place, request)
  const { state, cwd, id, clock } = place
  const folder = sessionsFolder(state, cwd)
  const close = await holdSession(folder, id)
  return {
    ...{
      id,
      file: sessionFile(folder, id),
      entries: [],
      size: 0,
      readRoots: [],
      needsOpening: false,
      warnings: [],
      close,
    },
    checkpoint: createCheckpointStore(join(folder, id), clock),
  }
}

function checkRequest({ resume, continue: newest, fork }: SessionRequest): void {
  const refuse = (problem: string, mend: string) => new SousError("SESSION_REQUEST_INVALID", { problem, mend })
  if (resume !== undefined && newest)
    throw refuse("both the newest one and a certain one are asked for", "give --continue or --resume, not both")
  if (resume === "") throw refuse("its id is empty", "give --resume the id of a session")
  if (fork && resume === undefined && !newest)
    throw refuse("a copy is asked for, and nothing says of which", "give --continue or --resume as well")
}
