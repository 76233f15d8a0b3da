/**
 * One conversation on the disk, open for one run: a new one, one that goes on, or a copy of one.
 *
 * Invariant: nobody else writes it while it is open; what it held is never changed, only added to.
 */
import { join } from "node:path"
import { SousError, suggest } from "../error.ts"
import { createCheckpointStore } from "./checkpoint.ts"
import { holdSession } from "./session-lock.ts"
import {
  type RunSession,
  type SessionPlace,
  type SessionRequest,
  sessionFile,
  sessionsFolder,
} from "./session-place.ts"

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

const KEYS = ["resume", "continue", "fork"]

function checkRequest(request: SessionRequest): void {
  const refuse = (problem: string, mend: string) => new SousError("SESSION_REQUEST_INVALID", { problem, mend })
  if (typeof request !== "object" || request === null)
    throw refuse("it is no object", 'give an object such as { resume: "4f9a1c" }')
  const unknown = Object.keys(request).find((key) => !KEYS.includes(key))
  if (unknown !== undefined) throw refuse(`there is no "${unknown}"`, suggest(unknown, KEYS))
  const { resume, continue: newest, fork } = request
  if (resume !== undefined && newest)
    throw refuse("both the newest one and a certain one are asked for", "give --continue or --resume, not both")
  if (resume === "") throw refuse("its id is empty", "give --resume the id of a session")
  if (fork && resume === undefined && !newest)
    throw refuse("a copy is asked for, and nothing says of which", "give --continue or --resume as well")
}
