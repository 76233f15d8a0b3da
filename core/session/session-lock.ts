/**
 * A conversation → the one process that may write it.
 *
 * Invariant: a lock whose holder is dead keeps nobody out; a holder on another machine counts as dead once it has not
 * been heard of for a minute.
 */
import { readFileSync } from "node:fs"
import { rm, stat, utimes, writeFile } from "node:fs/promises"
import { hostname } from "node:os"
import { join } from "node:path"
import { SousError } from "../error.ts"
import { replaceFile, withLock } from "./lock.ts"
import { parseJson, readOwnFile, reasonOf } from "./own-file.ts"
import { createFolder, FILE_MODE } from "./store.ts"

/** Who holds a lock. */
interface Holder {
  pid: number
  /** When that process started, as the system counts it; empty where it does not tell. */
  started: string
  host: string
}

/** How often a holder shows that it lives, and how long nothing may be heard of it, ms. */
const BEAT_MS = 15_000
const SILENCE_MS = 60_000
/** A longer one was not written by us. */
const MAX_BYTES = 4096

/**
 * Takes the lock of a conversation in a folder; returns how to give it back. Throws SESSION_LOCKED,
 * SESSION_FOLDER_UNWRITABLE or SESSION_FILE_UNWRITABLE.
 */
export async function holdSession(folder: string, id: string): Promise<() => Promise<void>> {
  const file = lockOf(folder, id)
  const text = `${JSON.stringify(thisProcess())}\n`
  await createFolder(folder)
  try {
    const isNew = await writeFile(file, text, { flag: "wx", mode: FILE_MODE }).then(
      () => true,
      (error: NodeJS.ErrnoException) => orThrow(error.code === "EEXIST", error),
    )
    if (!isNew) await takeOver(file, { id, text })
  } catch (cause) {
    if (cause instanceof SousError) throw cause
    throw new SousError("SESSION_FILE_UNWRITABLE", { file, reason: reasonOf(cause) }, { cause })
  }
  const beat = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => {}), BEAT_MS).unref()
  return async () => {
    clearInterval(beat)
    await rm(file, { force: true })
  }
}

/** Who writes a conversation now, in a few words; undefined: nobody. */
export async function holderOf(folder: string, id: string): Promise<string | undefined> {
  return await livingHolder(lockOf(folder, id))
}

function lockOf(folder: string, id: string): string {
  return join(folder, `${id}.holder`)
}

function orThrow(isExpected: boolean, error: unknown): false {
  if (!isExpected) throw error
  return false
}

/** Several may find the same dead holder: one of them takes its place, and the others find that one. */
async function takeOver(file: string, { id, text }: { id: string; text: string }): Promise<void> {
  await withLock(file, async () => {
    const holder = await livingHolder(file)
    if (holder !== undefined) throw new SousError("SESSION_LOCKED", { id, holder, lock: file })
    await replaceFile(file, text)
  })
}

async function livingHolder(file: string): Promise<string | undefined> {
  const found = await stat(file).catch(() => undefined)
  if (found === undefined) return undefined
  const text = await readOwnFile(file, { mostBytes: MAX_BYTES }).catch(() => undefined)
  const { pid, started, host } = (parseJson(text ?? "") ?? {}) as Partial<Holder>
  const isSilent = Date.now() - found.mtimeMs > SILENCE_MS
  // Half a line: whoever writes it is at work this very moment, or was killed there.
  if (typeof pid !== "number") return isSilent ? undefined : "another process"
  if (host !== hostname()) return isSilent ? undefined : `process ${pid} on "${host}"`
  return isAlive(pid) && startOf(pid) === started ? `process ${pid}` : undefined
}

function thisProcess(): Holder {
  return { pid: process.pid, started: startOf(process.pid), host: hostname() }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** Ids are given out again: what started at another time is another process. Source: proc_pid_stat(5), field 22. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1")
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
  } catch {
    return ""
  }
}
