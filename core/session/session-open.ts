/**
 * A conversation that is kept → one that goes on: the file mended where a kill cut it off, or a copy of it.
 *
 * Invariant: what goes on is valid, whatever was left; nothing but the end of the file is touched, and of a file that is
 * copied not even that.
 */
import { appendFile, cp, open, rm } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { SousError } from "../error.ts"
import type { ContentBlockParam } from "../message.ts"
import { createCheckpointStore } from "./checkpoint.ts"
import { replaceFile } from "./lock.ts"
import { reasonOf } from "./own-file.ts"
import { followChain, openCalls } from "./session-chain.ts"
import { type FoundSession, findSession } from "./session-find.ts"
import { holdSession } from "./session-lock.ts"
import {
  type RunSession,
  type SessionPlace,
  type SessionRequest,
  sessionFile,
  sessionsFolder,
} from "./session-place.ts"
import { createTranscript, readTranscript, type TranscriptEntry } from "./transcript.ts"

/** Opens a conversation that is kept, or a copy of one. Throws SESSION_… errors. */
export async function openStored(place: SessionPlace, request: SessionRequest): Promise<RunSession> {
  const found = await findSession(place, request)
  if (request.fork || found.from === "foreign") return await openCopy(place, found)
  if (found.from === "own") return await goOn(place, found)
  const folder = folderOf(await readSession(found.file))
  throw new SousError("SESSION_ELSEWHERE", { id: found.id, folder })
}

/** What is read of a conversation. */
export interface StoredSession {
  /** Those that count. */
  entries: TranscriptEntry[]
  /** Bytes of the file that are whole entries. */
  size: number
  /** False: the newline behind the last whole entry is missing. */
  isEnded: boolean
  warnings: string[]
}

/** Reads a conversation that is kept. Throws as `readTranscript` does. */
export async function readSession(file: string): Promise<StoredSession> {
  const { entries, size, isEnded, lost } = await readTranscript(file)
  const chain = followChain(entries)
  const lines = `${lost.length === 1 ? "Line" : "Lines"} ${lost.join(", ")} of "${file}" cannot be read`
  const warnings = chain.isCut
    ? [`${lines}; what stands behind does not fit what stands before, and is left out`]
    : chain.isBridged
      ? [`${lines}; the conversation goes on without what stood there`]
      : []
  return { entries: chain.entries, size, isEnded, warnings }
}

async function goOn(place: SessionPlace, { id, file }: FoundSession): Promise<RunSession> {
  const folder = sessionsFolder(place.state, place.cwd)
  const close = await holdSession(folder, id)
  try {
    const stored = await readSession(file)
    await mendEnd(file, stored)
    const mended = await answerCalls(place, file, stored)
    return {
      ...{ id, file, entries: mended.entries, size: mended.size, warnings: stored.warnings, close },
      needsOpening: false,
      readRoots: readRootsOf(mended.entries, place.state),
      checkpoint: createCheckpointStore(join(folder, id), place.clock),
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function openCopy(place: SessionPlace, found: FoundSession): Promise<RunSession> {
  const { id, state, clock } = place
  const stored = await readFound(found)
  const folder = sessionsFolder(state, place.cwd)
  const file = sessionFile(folder, id)
  const close = await holdSession(folder, id)
  try {
    const [first, ...more] = stored.entries
    const copied = first ? [{ ...first, cwd: place.cwd, forkedFrom: found.file }, ...more] : []
    const text = copied.map((entry) => `${JSON.stringify(entry)}\n`).join("")
    const isOurs = found.from !== "foreign"
    const kept = join(dirname(found.file), found.id)
    if (isOurs) await writing(join(folder, id), () => copyKept(kept, join(folder, id)))
    // Whole or not at all: half a copy would be the newest session of this folder.
    if (text !== "") await writing(file, () => replaceFile(file, text))
    const written = { entries: copied, size: Buffer.byteLength(text) }
    const { entries, size } = await answerCalls(place, file, written)
    return {
      ...{ id, file, entries, size, warnings: stored.warnings, close },
      needsOpening: found.from !== "own",
      readRoots: isOurs ? readRootsOf(entries, state) : [],
      checkpoint: createCheckpointStore(join(folder, id), clock),
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Reads one that was found, whoever wrote it. Throws as `readTranscript` does, and SESSION_FILE_FOREIGN. */
export async function readFound({ file, from }: FoundSession): Promise<Pick<StoredSession, "entries" | "warnings">> {
  if (from !== "foreign") return await readSession(file)
  const { isOwnFormat, readClaudeSession } = await import("./claude-session.ts")
  return (await isOwnFormat(file)) ? await readSession(file) : await readClaudeSession(file)
}

/** What is kept of files goes with the copy, so that it can be rewound as well. */
async function copyKept(from: string, to: string): Promise<void> {
  await cp(from, to, { recursive: true, errorOnExist: true, force: false }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error
  })
}

/** Cuts off half an entry, and ends the last line. A file without a whole entry holds nothing: it is begun anew. */
async function mendEnd(file: string, stored: StoredSession): Promise<void> {
  await writing(file, async () => {
    if (stored.entries.length === 0) return await rm(file)
    const handle = await open(file, "r+")
    try {
      await handle.truncate(stored.size)
    } finally {
      await handle.close()
    }
    if (stored.isEnded) return
    await appendFile(file, "\n")
    stored.size++
  })
}

/** What a call's result says whose end nobody saw. */
const INTERRUPTED =
  "Interrupted: the program ended while this call was due or running. Whether it did its work is not known: look before you call it again"

/** Gives calls that were left without a result one that says so, as an entry. */
async function answerCalls(
  { clock }: SessionPlace,
  file: string,
  { entries, size }: Pick<StoredSession, "entries" | "size">,
): Promise<Pick<StoredSession, "entries" | "size">> {
  const open = openCalls(entries)
  const last = entries.at(-1)
  if (last === undefined || open.length === 0) return { entries, size }
  const content = open.map((id): ContentBlockParam => {
    return { type: "tool_result", tool_use_id: id, content: INTERRUPTED, is_error: true }
  })
  const transcript = createTranscript(file, {}, { clock, after: { uuid: last.uuid, size } })
  transcript.append("user", { message: { role: "user", content } })
  await transcript.close()
  const mended = await readTranscript(file)
  return { entries: [...entries, mended.entries.at(-1)!], size: mended.size }
}

/** Folders of runs in the state folder: an entry that names another folder opens nothing. */
function readRootsOf(entries: readonly TranscriptEntry[], state: string): string[] {
  const named = entries.flatMap(({ type, folder }) => (type === "run" && typeof folder === "string" ? [folder] : []))
  const isRun = (folder: string) => {
    const runs = dirname(folder)
    return resolve(folder) === folder && runs.endsWith("/runs") && dirname(dirname(runs)) === join(state, "projects")
  }
  return [...new Set(named)].filter(isRun)
}

function folderOf({ entries }: StoredSession): string {
  const [first] = entries
  return typeof first?.cwd === "string" ? first.cwd : "another folder"
}

async function writing(file: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (cause) {
    throw new SousError("SESSION_FILE_UNWRITABLE", { file, reason: reasonOf(cause) }, { cause })
  }
}
