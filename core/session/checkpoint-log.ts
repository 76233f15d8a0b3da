/**
 * What calls and rewinds did to files → lines of JSON, in order; and back, wherever a kill cut them off.
 *
 * Invariant: lines are only added, each whole; what a call is about to do stands on the disk before it does it.
 */
import { open, readFile, truncate } from "node:fs/promises"
import { dirname } from "node:path"
import { isSousError, SousError } from "../error.ts"
import { isRecord } from "./checkpoint-record.ts"
import type { FileState } from "./checkpoint-state.ts"
import { parseJson, readOwnFile, reasonOf } from "./own-file.ts"
import { createFolder, FILE_MODE } from "./store.ts"

/** One line. The place of a record in its log is its number, from 0. */
export type LogRecord = { type: "log"; version: number } | CallBefore | CallAfter | RewindBegun | RewindDone

/** A call is about to start. */
export interface CallBefore {
  type: "before"
  /** Unique in the log. */
  id: string
  /** ISO 8601, UTC. */
  at: string
  /** Its tool_use id, and the name of its tool. */
  call: string
  tool: string
  /** The turn that it belongs to, from 1. */
  turn: number
  command?: true
  /** `may`: hashes of contents that the call's own words would make of it. */
  files: readonly { path: string; before: FileState; may?: readonly string[] }[]
}

/** It is done. */
export interface CallAfter {
  type: "after"
  id: string
  /** `before`: for what it made below a folder. */
  files: readonly { path: string; after: FileState; before?: FileState }[]
}

/** Files are about to be put back, and perhaps the conversation. */
export interface RewindBegun {
  type: "rewind"
  id: string
  at: string
  /** Turns of the conversation once it is done. */
  turns: number
  /** The rewind that it takes back. */
  undoes?: string
  /** One that was cut off right before, and that it finishes. */
  finishes?: string
  /** How many records had been written when the files stood as taking it back makes them again. */
  from: number
  files: readonly RewoundFile[]
  /** The entry that the conversation goes back to, and the one that it was at. */
  conversation?: { to: string; undone: string }
}
export interface RewoundFile {
  path: string
  before: FileState
  after: FileState
}

/** All of it is done. */
export interface RewindDone {
  type: "rewound"
  id: string
}

const VERSION = 1
/** A log that is longer was not written by us, bytes. */
const MAX_BYTES = 2 ** 29

/** Adds a record to the log (absolute), which is made when it is missing. `sync`: it is on the disk when this returns. */
export async function appendRecord(log: string, record: LogRecord, { sync = false } = {}): Promise<void> {
  try {
    await createFolder(dirname(log))
    const handle = await open(log, "a", FILE_MODE)
    try {
      const isNew = (await handle.stat()).size === 0
      const head: LogRecord = { type: "log", version: VERSION }
      const lines = isNew ? [head, record] : [record]
      await handle.appendFile(lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
      if (sync) await handle.datasync()
    } finally {
      await handle.close()
    }
  } catch (cause) {
    if (isSousError(cause)) throw cause
    throw new SousError("CHECKPOINT_UNWRITABLE", { file: log, reason: reasonOf(cause) }, { cause })
  }
}

/** Cuts off the line that a kill left half written. For whoever is about to add to a log. */
export async function mendLog(log: string): Promise<void> {
  const bytes = await readFile(log).catch(() => undefined)
  if (bytes === undefined || bytes.length === 0 || bytes.at(-1) === 0x0a) return
  await truncate(log, bytes.lastIndexOf(0x0a) + 1)
}

/** All records, but one that was cut off at the end; none where there is no log. Throws CHECKPOINT_LOG_BROKEN. */
export async function readLog(log: string): Promise<LogRecord[]> {
  const text = await readOwnFile(log, { mostBytes: MAX_BYTES }).catch((cause) => {
    throw broken(log, reasonOf(cause))
  })
  if (text === undefined) return []
  const lines = text.split("\n")
  // What stands behind the last line break is nothing, or cut off.
  lines.pop()
  const records = lines.map((line, index) => {
    const record = parseJson(line)
    if (!isRecord(record)) throw broken(log, `line ${index + 1} is no record`)
    return record
  })
  const [head] = records
  if (head === undefined) return []
  if (head.type !== "log") throw broken(log, "it does not begin as one")
  if (head.version !== VERSION) throw broken(log, `its version is ${head.version}, this program reads ${VERSION}`)
  return records
}

function broken(file: string, reason: string): SousError {
  return new SousError("CHECKPOINT_LOG_BROKEN", { file, reason })
}
