/**
 * The record of a run: one line of JSON for each thing that happened to a step, appended and never changed.
 *
 * Invariant: a step counts as finished when its end entry is on the disk, and not before; what is cut off at the end of
 * the file is dropped when it is read. Outputs above 64 KB lie beside it in files named by their content.
 *
 * Seam: `lookup` answers with what an earlier run left under a path and key. It knows nothing yet and always misses.
 */
import { createHash } from "node:crypto"
import { constants } from "node:fs"
import { type FileHandle, mkdir, open, readFile, rename } from "node:fs/promises"
import { join } from "node:path"
import { SousError } from "../error.ts"
import type { Usage } from "../message.ts"
import type { RunStatus, StepKind, StepResult } from "../step.ts"

/** Version of the file format, in the first entry; grows when an older reader would misread a file. */
export const JOURNAL_VERSION = 1

/** Bytes of JSON above which a result gets a file of its own. */
const INLINE_BYTES = 65_536

/** One line, without its time. */
export type JournalEntry =
  | { type: "run_start"; version: number; run: string; recipe: string; file?: string; params: unknown }
  | { type: "step_start"; path: string; key: string; kind: StepKind }
  | ({ type: "step_end"; path: string; key: string; usage: Usage; usd?: number; durationMs: number } & Recorded)
  | { type: "run_end"; status: RunStatus; exit: number }

/** A result in the line, in a file beside it, or only whether it was ok: for steps that are made of other steps. */
export type Recorded = { result: StepResult } | { output: { sha256: string; bytes: number } } | { ok: boolean }

/** A line as it is read. `ts`: ISO 8601, UTC. */
export type JournalLine = { ts: string } & JournalEntry

/** A journal being written. */
export interface Journal {
  /** Absolute. */
  readonly file: string
  /** Adds an entry; it is written with the next one that is synced. */
  add(entry: JournalEntry): void
  /** Adds an entry, and returns when the disk has it and all before it. Throws JOURNAL_UNWRITABLE. */
  sync(entry: JournalEntry): Promise<void>
  /** Makes a result fit to be recorded: a large one goes into a file, which the disk has before this returns. */
  record(result: StepResult): Promise<Recorded>
  /** A finished step's result from an earlier run, if path and key are the same. */
  lookup(path: string, key: string): StepResult | undefined
  close(): Promise<void>
}

/** Starts `journal.jsonl` in the folder of a run (absolute, exists). Throws JOURNAL_UNWRITABLE. */
export async function createJournal(folder: string, options: { clock: { now(): number } }): Promise<Journal> {
  const file = join(folder, "journal.jsonl")
  const handle = await open(file, "ax", 0o600).catch((cause) => unwritable(file, cause))
  const out = createWriter(file, handle)
  const line = (entry: JournalEntry) =>
    `${JSON.stringify({ ts: new Date(options.clock.now()).toISOString(), ...entry }, bigintAsText)}\n`
  return {
    file,
    add: (entry) => out.add(line(entry)),
    async sync(entry) {
      out.add(line(entry))
      await out.sync()
    },
    record: (result) => record(folder, result),
    lookup: () => undefined,
    async close() {
      await out.sync().finally(() => handle.close())
    },
  }
}

/** The lines of a run's journal, oldest first. Throws JOURNAL_UNREADABLE or JOURNAL_CORRUPT. */
export async function readJournal(folder: string): Promise<JournalLine[]> {
  const file = join(folder, "journal.jsonl")
  const text = await readFile(file, "utf8").catch((cause) => unreadable(file, cause))
  const lines = text.split("\n")
  // What follows the last line break was cut off in the middle: it is empty, or torn.
  const entries = lines.slice(0, -1).map((line, index) => parseLine(line, { file, line: index + 1 }))
  const first = entries[0]
  if (first && !(first.type === "run_start" && first.version === JOURNAL_VERSION)) {
    throw new SousError("JOURNAL_CORRUPT", {
      file,
      line: 1,
      reason: `does not start a run of version ${JOURNAL_VERSION}`,
    })
  }
  return entries
}

/** The result that a step_end entry tells of; undefined for a step that is made of others. Throws JOURNAL_UNREADABLE. */
export async function readRecorded(folder: string, recorded: Recorded): Promise<StepResult | undefined> {
  if ("result" in recorded) return recorded.result
  if (!("output" in recorded)) return undefined
  const file = outputFile(folder, recorded.output.sha256)
  return JSON.parse(await readFile(file, "utf8").catch((cause) => unreadable(file, cause)))
}

function parseLine(text: string, at: { file: string; line: number }): JournalLine {
  try {
    const value = JSON.parse(text)
    if (typeof value?.type === "string" && typeof value.ts === "string") return value
  } catch {}
  throw new SousError("JOURNAL_CORRUPT", { ...at, reason: "is no entry" })
}

/**
 * Lines to the end of a file. Whoever waits for the disk shares one write and one sync with all who wait then. Lines
 * that could not be written stay for the next attempt, and half a line does not stay in front of it.
 */
function createWriter(file: string, handle: FileHandle) {
  let pending: string[] = []
  let size = 0
  let last: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  const write = async () => {
    next = undefined
    if (pending.length === 0) return
    const lines = pending
    pending = []
    const bytes = Buffer.from(lines.join(""))
    try {
      await handle.appendFile(bytes)
      await handle.datasync()
      size += bytes.length
    } catch (cause) {
      pending = [...lines, ...pending]
      await handle.truncate(size).catch(() => {})
      unwritable(file, cause)
    }
  }
  return {
    add: (line: string) => void pending.push(line),
    async sync(): Promise<void> {
      if (next === undefined) {
        next = last.then(write)
        last = next.catch(() => {})
      }
      await next
    },
  }
}

async function record(folder: string, result: StepResult): Promise<Recorded> {
  const text = JSON.stringify(result, bigintAsText)
  if (text.length < INLINE_BYTES && Buffer.byteLength(text) <= INLINE_BYTES) return { result }
  const bytes = Buffer.from(text)
  const sha256 = createHash("sha256").update(bytes).digest("hex")
  const file = outputFile(folder, sha256)
  await writeOnce(file, bytes).catch((cause) => unwritable(file, cause))
  return { output: { sha256, bytes: bytes.length } }
}

function outputFile(folder: string, sha256: string): string {
  return join(folder, "outputs", `${sha256}.json`)
}

let writes = 0

/** Whole or not at all, and on the disk. */
async function writeOnce(file: string, bytes: Buffer): Promise<void> {
  await mkdir(join(file, ".."), { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}-${++writes}`
  const handle = await open(draft, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600)
  try {
    await handle.writeFile(bytes)
    await handle.datasync()
  } finally {
    await handle.close()
  }
  await rename(draft, file)
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value
}

function unwritable(file: string, cause: unknown): never {
  throw new SousError("JOURNAL_UNWRITABLE", { file, reason: reasonOf(cause) }, { cause })
}

function unreadable(file: string, cause: unknown): never {
  throw new SousError("JOURNAL_UNREADABLE", { file, reason: reasonOf(cause) }, { cause })
}

function reasonOf(cause: unknown): string {
  return (cause as NodeJS.ErrnoException).code ?? String(cause)
}
