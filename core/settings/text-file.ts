/**
 * A settings file of a scope → its text, or why it cannot be one.
 *
 * Invariant: reading always ends: what is no regular file is never waited for, and what is too large is never read.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, type Stats } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { setTimeout as delay } from "node:timers/promises"
import { SousError } from "../error.ts"

/** No settings that a person wrote are larger. In bytes. */
const MOST_BYTES = 4 * 2 ** 20

/** Reads it; links are followed. Throws SETTINGS_FILE_UNREADABLE. */
export function readSettingsText(file: string): string {
  let descriptor: number | undefined
  try {
    // Without it, opening a pipe waits for somebody to write into it.
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const reason = refusalOf(fstatSync(descriptor))
    if (reason !== undefined) throw new SousError("SETTINGS_FILE_UNREADABLE", { file, reason })
    return readFileSync(descriptor, "utf8")
  } catch (error) {
    if (error instanceof SousError) throw error
    throw new SousError("SETTINGS_FILE_UNREADABLE", { file, reason: codeOf(error) }, { cause: error })
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** How long a pipe may take to say all that it has to say, ms. */
const PIPE_MS = 30_000
/** Between two looks whether a pipe has more, ms. */
const PIPE_PAUSE_MS = 5

/**
 * Reads a file that a person named at this start: it may be a pipe too, as in `--settings <(…)`. A pipe that nobody has
 * opened for writing is empty. Throws an Error that says why it cannot be read.
 */
export async function readNamedText(file: string): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = await handle.stat()
    if (stats.isFile()) return await handle.readFile("utf8")
    if (!stats.isFIFO()) throw new Error(refusalOf(stats))
    return await readPipe(handle)
  } finally {
    await handle.close()
  }
}

/** Asks a pipe again and again: a read that waits for its writer could not be called off. */
async function readPipe(handle: FileHandle): Promise<string> {
  const chunks: Buffer[] = []
  const until = performance.now() + PIPE_MS
  for (let size = 0; size <= MOST_BYTES; ) {
    const buffer = Buffer.alloc(64 * 1024)
    const found = await handle.read(buffer).catch((error) => {
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined
      throw error
    })
    if (found?.bytesRead === 0) return Buffer.concat(chunks).toString("utf8")
    if (performance.now() > until) throw new Error(`the pipe did not end within ${PIPE_MS / 1000} s`)
    if (found === undefined) await delay(PIPE_PAUSE_MS)
    else chunks.push(buffer.subarray(0, found.bytesRead))
    size += found?.bytesRead ?? 0
  }
  throw new Error("the pipe brings more than settings may have")
}

/** True when something lies there, be it a link that leads nowhere. Throws SETTINGS_FILE_UNREADABLE. */
export function isThere(file: string): boolean {
  try {
    lstatSync(file)
    return true
  } catch (error) {
    const reason = codeOf(error)
    if (reason === "ENOENT" || reason === "ENOTDIR") return false
    throw new SousError("SETTINGS_FILE_UNREADABLE", { file, reason }, { cause: error })
  }
}

function refusalOf(stats: Stats): string | undefined {
  if (stats.isDirectory()) return "it is a folder"
  if (stats.isFIFO()) return "it is a pipe, not a file"
  if (!stats.isFile()) return "it is a device, not a file"
  if (stats.size > MOST_BYTES) return `it has ${stats.size.toLocaleString("en-US")} bytes, more than settings may have`
  return undefined
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
