/**
 * The transcripts in some folders → what a person knows each conversation by.
 *
 * Invariant: of a conversation that ended as it should only the beginning and the end of its file are read.
 */
import { type FileHandle, open } from "node:fs/promises"
import { parseJson } from "./own-file.ts"
import { idsIn } from "./session-find.ts"
import { readSession } from "./session-open.ts"
import { sessionFile } from "./session-place.ts"
import type { TranscriptEntry } from "./transcript.ts"

/** A conversation in a list. */
export interface SessionSummary {
  id: string
  /** Its transcript, absolute. */
  file: string
  /** Where it was held, absolute; empty when its file does not say. */
  folder: string
  /** What it began with; at most 200 characters. */
  words: string
  /** Answers; undefined when they would have to be counted in a file that is too long. */
  turns: number | undefined
  /** When it was last written to, ms since the epoch. */
  changedAt: number
  /** Of its transcript. */
  bytes: number
}

/** What is read at either end of a file, bytes. */
const END_BYTES = 8192
/** Answers are counted in files up to this length, bytes. */
const MOST_COUNTED = 32 * 2 ** 20
/** Files that are read at the same time. */
const WIDTH = 32
const FIRST_WORDS = 200

/** The conversations in folders (absolute), newest first. What cannot be read is listed with what is known of it. */
export async function listSessions(folders: readonly string[]): Promise<SessionSummary[]> {
  const places = (await Promise.all(folders.map(async (folder) => (await idsIn(folder)).map((id) => ({ folder, id })))))
    .flat()
    .values()
  const found: SessionSummary[] = []
  const work = async () => {
    for (const { folder, id } of places) {
      const summary = await summarise(sessionFile(folder, id), id)
      if (summary !== undefined) found.push(summary)
    }
  }
  await Promise.all(Array.from({ length: WIDTH }, work))
  return found.sort((a, b) => b.changedAt - a.changedAt || (a.id < b.id ? 1 : -1))
}

/** Undefined: it is gone. */
async function summarise(file: string, id: string): Promise<SessionSummary | undefined> {
  const ends = await readEnds(file).catch(() => undefined)
  if (ends === undefined) return undefined
  const { head, tail, bytes, changedAt } = ends
  const [first] = head
  const last = tail.at(-1)
  const turns = last?.type === "ended" && typeof last.turns === "number" ? last.turns : await countTurns(file, bytes)
  const folder = typeof first?.cwd === "string" ? first.cwd : ""
  return { id, file, folder, words: wordsOf(head), turns, changedAt, bytes }
}

async function readEnds(file: string) {
  const handle = await open(file, "r")
  try {
    const { size, mtimeMs } = await handle.stat()
    const head = await readAt(handle, 0, Math.min(size, END_BYTES))
    const tail = size <= END_BYTES ? head : await readAt(handle, size - END_BYTES, END_BYTES)
    return { head: entriesOf(head), tail: entriesOf(tail), bytes: size, changedAt: mtimeMs }
  } finally {
    await handle.close()
  }
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position)
  return buffer.toString("utf8", 0, bytesRead)
}

/** Halves of entries at either end are none. */
function entriesOf(text: string): Partial<TranscriptEntry>[] {
  return text.split("\n").flatMap((line) => {
    const value = parseJson(line)
    return typeof value === "object" && value !== null ? [value as Partial<TranscriptEntry>] : []
  })
}

/** Those of the first run; of a copy from elsewhere, those of its first message. */
function wordsOf(head: readonly Partial<TranscriptEntry>[]): string {
  const run = head.find(({ words }) => typeof words === "string" && words !== "")
  if (run !== undefined) return run.words as string
  const said = head.find(({ type }) => type === "user") as { message?: { content?: unknown } } | undefined
  const content = said?.message?.content
  const text = Array.isArray(content) ? content.find((block) => typeof block?.text === "string")?.text : undefined
  return (text ?? "").slice(0, FIRST_WORDS)
}

/** Of one that was cut off, goes on at this moment, or was rewound. */
async function countTurns(file: string, bytes: number): Promise<number | undefined> {
  if (bytes > MOST_COUNTED) return undefined
  const stored = await readSession(file).catch(() => undefined)
  return stored?.entries.filter(({ type }) => type === "assistant").length
}
