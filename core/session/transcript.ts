/**
 * The append-only record of one conversation: entries in, one line of JSON each, and back from whatever a kill left.
 *
 * Invariant: a line is written whole or, when the write fails, taken back; nothing that was appended is lost while the
 * process lives; an append costs what the new entry costs.
 *
 * Trail: 6 of 6, from plugins/tools/read.ts.
 */
import { randomUUID } from "node:crypto"
import { type FileHandle, open, readFile } from "node:fs/promises"
import { dirname } from "node:path"
import type { Clock } from "../clock.ts"
import { SousError } from "../error.ts"
import { createFolder, FILE_MODE } from "./store.ts"

/** Version of the file format, in the first entry; grows when an older reader would misread a file. */
export const TRANSCRIPT_VERSION = 1

/** A record being written. */
export interface Transcript {
  /** Absolute. It exists from the first flush on. */
  readonly file: string
  /** Adds an entry in memory and returns its uuid; its parent is the entry before it. */
  append(type: string, fields: object): string
  /** Writes what was appended since, in one write. Throws SESSION_FILE_UNWRITABLE; the entries are kept for the next one. */
  flush(): Promise<void>
  /** Flushes, and returns when the disk has it (fdatasync). */
  sync(): Promise<void>
  /** Flushes and gives the file back. */
  close(): Promise<void>
}

/** One line of a transcript. */
export interface TranscriptEntry {
  uuid: string
  /** The entry before it; null for the first. */
  parentUuid: string | null
  /** ISO 8601, UTC. */
  ts: string
  type: string
  [field: string]: unknown
}

/** What `readTranscript` found. */
export interface TranscriptContent {
  /** The first one, of type `session`, holds `version` and what the writer was told about the conversation. */
  entries: TranscriptEntry[]
  /** Bytes at the end that are no whole entry: a write was cut off. */
  tornBytes: number
  /** Lines before the last one that are no entry; they count from 1. */
  lost: number[]
  /** Bytes up to the end of the last whole entry. */
  size: number
  /** False: the newline behind the last whole entry is missing. */
  isEnded: boolean
}

/** How a transcript is written. */
export interface TranscriptOptions {
  clock?: Pick<Clock, "now">
  /** Goes on behind this entry, in a file that is there; what lies behind `size` bytes of it is cut off. */
  after?: { uuid: string; size: number }
}

/**
 * Starts a transcript in a file that does not exist yet; `meta` goes into its first entry. With `after` it goes on with
 * one that is there. Touches no disk.
 */
export function createTranscript(file: string, meta: object, options: TranscriptOptions = {}): Transcript {
  const { clock = Date, after } = options
  const out = createAppender(file, after?.size)
  let parentUuid: string | null = after?.uuid ?? null
  function append(type: string, fields: object): string {
    const head = { uuid: randomUUID(), parentUuid, ts: new Date(clock.now()).toISOString(), type }
    out.add(`${JSON.stringify({ ...head, ...fields, ...head })}\n`)
    parentUuid = head.uuid
    return head.uuid
  }
  if (after === undefined) append("session", { version: TRANSCRIPT_VERSION, ...meta })
  return { file, append, flush: out.flush, sync: out.sync, close: out.close }
}

/**
 * Reads a transcript, wherever it was cut off; what follows a broken line is read all the same. Throws
 * SESSION_FILE_UNREADABLE, SESSION_CORRUPT (the first line is broken) or SESSION_VERSION_UNKNOWN.
 */
export async function readTranscript(file: string): Promise<TranscriptContent> {
  const bytes = await readFile(file).catch((cause) => {
    throw new SousError("SESSION_FILE_UNREADABLE", { file, reason: reasonOf(cause) }, { cause })
  })
  // Loaded late: who only writes needs none of it.
  const { isEntry } = await import("./transcript-entry.ts")
  const content: TranscriptContent = { entries: [], tornBytes: 0, lost: [], size: 0, isEnded: true }
  for (let start = 0, line = 1; start < bytes.length; line++) {
    const newline = bytes.indexOf(0x0a, start)
    const end = newline === -1 ? bytes.length : newline
    const value = parseJson(bytes.toString("utf8", start, end))
    const entry = isEntry(value) ? value : undefined
    const isLast = end >= bytes.length - 1
    if (entry !== undefined) content.entries.push(entry)
    else if (isLast) content.tornBytes = bytes.length - start
    else if (line === 1) throw new SousError("SESSION_CORRUPT", { file, line })
    else content.lost.push(line)
    start = end + 1
    if (entry !== undefined || !isLast) content.size = Math.min(start, bytes.length)
    content.isEnded = newline !== -1 || entry === undefined
  }
  checkVersion(file, content.entries[0])
  return content
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function checkVersion(file: string, first: TranscriptEntry | undefined): void {
  if (first === undefined || (first.type === "session" && first.version === TRANSCRIPT_VERSION)) return
  throw new SousError("SESSION_VERSION_UNKNOWN", { file, found: first.version, known: TRANSCRIPT_VERSION })
}

/** Text that goes to the end of a file, in order, one write for each flush. Without `sizeBefore` the file is new. */
function createAppender(file: string, sizeBefore?: number) {
  let pending: string[] = []
  let handle: FileHandle | undefined
  let size = sizeBefore ?? 0
  let last: Promise<void> = Promise.resolve()
  let closed = false

  async function write(): Promise<void> {
    if (pending.length === 0) return
    const chunk = Buffer.from(pending.join(""))
    const taken = pending.length
    handle ??= sizeBefore === undefined ? await openNew(file) : await openAt(file, sizeBefore)
    try {
      await handle.appendFile(chunk)
    } catch (cause) {
      // Half a line must not stay in front of the next attempt.
      await handle.truncate(size).catch(() => {})
      throw unwritable(file, cause)
    }
    size += chunk.length
    pending = pending.slice(taken)
  }
  /** One after the other; a failed one does not stop the next. */
  function queue(work: () => Promise<void>): Promise<void> {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
  return {
    add(line: string) {
      if (closed) throw new Error(`The transcript "${file}" is closed`)
      pending.push(line)
    },
    flush: () => queue(write),
    sync: () =>
      queue(async () => {
        await write()
        await handle?.datasync().catch((cause) => {
          throw unwritable(file, cause)
        })
      }),
    close: () =>
      queue(async () => {
        closed = true
        try {
          await write()
        } finally {
          await handle?.close()
          handle = undefined
        }
      }),
  }
}

async function openNew(file: string): Promise<FileHandle> {
  await createFolder(dirname(file))
  return open(file, "ax", FILE_MODE).catch((cause) => {
    throw unwritable(file, cause)
  })
}

async function openAt(file: string, size: number): Promise<FileHandle> {
  try {
    const handle = await open(file, "a", FILE_MODE)
    await handle.truncate(size)
    return handle
  } catch (cause) {
    throw unwritable(file, cause)
  }
}

function unwritable(file: string, cause: unknown): SousError {
  return new SousError("SESSION_FILE_UNWRITABLE", { file, reason: reasonOf(cause) }, { cause })
}

function reasonOf(cause: unknown): string {
  return (cause as NodeJS.ErrnoException).code ?? String(cause)
}
