/**
 * What a person calls a conversation → the file that holds it, and whose it is.
 *
 * Invariant: what could mean two conversations means none; one that another folder has is never written from here.
 */
import type { Dirent } from "node:fs"
import { readdir, realpath, stat } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import { SousError } from "../error.ts"
import { checkOwnFile, reasonOf } from "./own-file.ts"
import { type SessionPlace, type SessionRequest, sessionFile, sessionsFolder } from "./session-place.ts"
import { checkOwnFolder } from "./store.ts"

/** A conversation that was found. */
export interface FoundSession {
  /** Absolute. */
  file: string
  id: string
  /** `own`: of this folder; `elsewhere`: of another folder; `foreign`: a file that is not in the state folder. */
  from: "own" | "elsewhere" | "foreign"
}

/** How many are named when none is meant. */
const NAMED = 5
const ENDING = ".jsonl"

/**
 * Finds the conversation that a request means. Throws SESSION_NONE, SESSION_UNKNOWN, SESSION_AMBIGUOUS,
 * SESSION_FILE_UNREADABLE (others may have written it) or SESSION_FOLDER_UNSAFE.
 */
export async function findSession(place: SessionPlace, request: SessionRequest): Promise<FoundSession> {
  await checkOwnFolder(place.state)
  const found = await findAny(place, request)
  // What somebody names by its path need not be ours: it is copied.
  if (found.from !== "foreign") await checkFound(found)
  return found
}

async function checkFound({ file }: FoundSession): Promise<void> {
  await checkOwnFile(file).catch((cause) => {
    throw new SousError("SESSION_FILE_UNREADABLE", { file, reason: reasonOf(cause) }, { cause })
  })
}

async function findAny(place: SessionPlace, { resume }: SessionRequest): Promise<FoundSession> {
  const folder = sessionsFolder(place.state, place.cwd)
  if (resume === undefined) {
    const [id] = await newestSessions(folder, 1)
    if (id === undefined) throw new SousError("SESSION_NONE", { folder: place.cwd })
    return { id, file: sessionFile(folder, id), from: "own" }
  }
  if (/[/\\]/.test(resume) || resume.endsWith(ENDING)) return await findFile(place, resume)
  const own = (await matching(folder, resume)).map((one) => ({ ...one, from: "own" as const }))
  const found: FoundSession[] = own.length > 0 ? own : await matchingElsewhere(place, resume)
  if (found.length > 1)
    throw new SousError("SESSION_AMBIGUOUS", { id: resume, matches: found.map(({ id }) => id).slice(-NAMED) })
  const [one] = found
  if (one === undefined) throw new SousError("SESSION_UNKNOWN", { id: resume, newest: await newestSessions(folder) })
  return one
}

/** The ids of the conversations in a folder that were written to last, newest first. */
export async function newestSessions(folder: string, most = NAMED): Promise<string[]> {
  const ids = await idsIn(folder)
  const dated = await Promise.all(
    ids.map(async (id) => ({ id, at: (await stat(sessionFile(folder, id)).catch(() => undefined))?.mtimeMs ?? 0 })),
  )
  dated.sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
  return dated.slice(0, most).map(({ id }) => id)
}

/** The ids of the conversations in a folder. */
export async function idsIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => [])
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(ENDING))
    .map(({ name }) => name.slice(0, -ENDING.length))
    .sort()
}

/** The sessions folders of all projects, absolute. */
export async function allSessionsFolders(state: string): Promise<string[]> {
  const projects = join(state, "projects")
  return (await foldersIn(projects)).map((name) => join(projects, name, "sessions"))
}

async function findFile(place: SessionPlace, written: string): Promise<FoundSession> {
  const path = written.startsWith("~/") && place.home !== undefined ? join(place.home, written.slice(2)) : written
  const file = await realpath(resolve(place.cwd, path)).catch((cause: NodeJS.ErrnoException) => {
    throw new SousError("SESSION_FILE_UNREADABLE", { file: path, reason: cause.code ?? String(cause) }, { cause })
  })
  // A pipe would be waited for, and a device has no end.
  if (!(await stat(file)).isFile())
    throw new SousError("SESSION_FILE_UNREADABLE", { file: path, reason: "it is no file" })
  const folder = await realpath(sessionsFolder(place.state, place.cwd)).catch(() => undefined)
  const id = basename(file, ENDING)
  if (dirname(file) === folder && file.endsWith(ENDING)) return { file, id, from: "own" }
  const state = await realpath(place.state).catch(() => undefined)
  const isKept = state !== undefined && dirname(dirname(dirname(dirname(file)))) === state
  return { file, id, from: isKept ? "elsewhere" : "foreign" }
}

/** An id, its start, or the part of it behind the time. */
async function matching(folder: string, word: string): Promise<Omit<FoundSession, "from">[]> {
  const ids = await idsIn(folder)
  const found = ids.includes(word) ? [word] : ids.filter((id) => id.startsWith(word) || id.endsWith(`-${word}`))
  return found.map((id) => ({ id, file: sessionFile(folder, id) }))
}

async function matchingElsewhere(place: SessionPlace, word: string): Promise<FoundSession[]> {
  const found: FoundSession[] = []
  for (const folder of await allSessionsFolders(place.state)) {
    for (const one of await matching(folder, word)) found.push({ ...one, from: "elsewhere" })
  }
  if (found.length > 0 || place.home === undefined || place.claude === false) return found
  const claude = join(place.home, ".claude", "projects")
  const own = join(claude, place.cwd.replace(/[^A-Za-z0-9]/g, "-"))
  for (const one of await matching(own, word)) found.push({ ...one, from: "foreign" })
  if (found.length > 0) return found
  for (const name of await foldersIn(claude)) {
    const folder = join(claude, name)
    if ((await idsIn(folder)).includes(word)) found.push({ id: word, file: sessionFile(folder, word), from: "foreign" })
  }
  return found
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => [])
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}
