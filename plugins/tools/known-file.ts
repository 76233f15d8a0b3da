/**
 * The ledger of an agent → what it is told of its files: those that somebody else changed, and, after a compaction, those
 * at work as they are now.
 *
 * Invariant: a rule that keeps a file from being read keeps it out of both; a turn looks at a bounded number of files; a
 * file that was only touched has not changed; one that changes again and again is told of a few times.
 */
import { lstat } from "node:fs/promises"
import { sep } from "node:path"
import type { ContextMoment, Reminder } from "sous"
import { readWhole, stampOf, withFile } from "./file.ts"
import { frame, holdsMarks } from "./frame.ts"
import { KEPT_BYTES, keptContent } from "./known-content.ts"
import { isSame, ledgerOf, noteShown, type Seen, type Stamp } from "./ledger.ts"
import { readPage } from "./page.ts"
import { Refused } from "./refusal.ts"

/** Files that are looked at after each turn: those read or changed last. */
const WATCHED_FILES = 20
/** A file beyond this, bytes, is not read again to see whether it was only touched. */
const COMPARED_BYTES = 4_000_000
/** Characters of changes that are shown after one turn. */
const CHANGE_CHARS = 12_000
/** How often an agent is told of a file before it looks at it. */
const MOST_TELLINGS = 5
/** The kernel waits for ten seconds. */
const PATIENCE_MS = 9000
const SCENE_FILES = 5
/** Characters of the whole scene: 50,000 tokens. */
const SCENE_CHARS = 200_000

/** Reminders of the files that were changed or removed by somebody else. */
export async function findChanges(moment: ContextMoment): Promise<Reminder[]> {
  const begin = performance.now()
  const told: Reminder[] = []
  const turn: Turn = { chars: CHANGE_CHARS, notes: [] }
  const files = newest(moment, WATCHED_FILES).reverse()
  const found = await Promise.all(files.map(({ real }) => lstat(real).catch(() => undefined)))
  for (const [index, file] of files.entries()) {
    moment.signal.throwIfAborted()
    const reminder = await changeOf({ ...file, stats: found[index] }, moment, turn)
    if (reminder !== undefined) told.push(reminder)
  }
  // Nobody waits any longer: what is not told is not known either.
  if (performance.now() - begin > PATIENCE_MS) return []
  for (const note of turn.notes) note()
  return told
}

interface Turn {
  /** Characters of changes for which there is room. */
  chars: number
  /** What is to be noted once all is told. */
  notes: (() => void)[]
}

/** The files at work, a text for each, the one worked on last first. */
export async function showFiles(moment: ContextMoment): Promise<string[]> {
  const shown: string[] = []
  let left = SCENE_CHARS
  for (const file of newest(moment, SCENE_FILES)) {
    moment.signal.throwIfAborted()
    const text = left > 0 ? await showFile(file, moment, left) : undefined
    if (text === undefined || text.length > left) continue
    shown.push(text)
    left -= text.length
  }
  return shown
}

interface KnownFile {
  real: string
  seen: Seen
}

/** The newest first. */
function newest({ notes, mayRead }: ContextMoment, most: number): KnownFile[] {
  const known = ledgerOf({ notes })
    .entries()
    .slice(-most)
    .map(([real, seen]) => ({ real, seen }))
  return known.filter(({ real }) => mayRead(real)).reverse()
}

async function changeOf(
  file: KnownFile & { stats: Stamp | undefined },
  moment: ContextMoment,
  turn: Turn,
): Promise<Reminder | undefined> {
  const { real, seen, stats } = file
  if (stats === undefined) {
    return remindOf(`gone ${real} ${seen.mtimeMs}`, `${JSON.stringify(real)}, which you know, is no longer there.`)
  }
  if (stats.size === seen.size && stats.mtimeMs === seen.mtimeMs) return undefined
  const key = `changed ${real} ${stats.size} ${stats.mtimeMs}`
  const times = tellingsOf(file, moment)
  if (times >= MOST_TELLINGS || moment.told(key) || untouched.has(idOf(file, stats))) return undefined
  const now = stats.size > COMPARED_BYTES ? undefined : await contentOf(real)
  if (now !== undefined && isSame(seen, now.stamp)) return noteUntouched(file, stats)
  const change = now && (await smallChange(file, now.bytes, moment))
  const sentence = `${JSON.stringify(real)} has changed on disk since you last saw it.`
  const last = times + 1 < MOST_TELLINGS ? "" : "\nIt changes often: you are not told of it again before you read it."
  const isShown = change !== undefined && change.text.length <= turn.chars
  if (isShown) turn.chars -= change.text.length
  turn.notes.push(() => {
    if (isShown) noteShown(moment, real, { stamp: now!.stamp, after: change.after })
    noteTold(file, moment, times + 1)
  })
  const next = isShown ? `This is all that changed:\n${change.text}` : "Read it again before you rely on it."
  return remindOf(key, `${sentence} ${next}${last}`)
}

interface Telling {
  /** The content that the agent is known to have seen when it was told last. */
  of: string
  times: number
}

function tellings({ notes }: Pick<ContextMoment, "notes">) {
  return notes<Telling>("files told")
}

/** How often it was told of a file since it last read or changed it. */
function tellingsOf({ real, seen }: KnownFile, moment: ContextMoment): number {
  const told = tellings(moment).get(real)
  return told?.of === contentIdOf(seen) ? told.times : 0
}

function noteTold({ real, seen }: KnownFile, moment: ContextMoment, times: number): void {
  tellings(moment).set(real, { of: contentIdOf(ledgerOf(moment).get(real) ?? seen), times })
}

function contentIdOf({ size, mtimeMs, hash }: Stamp): string {
  return `${size} ${mtimeMs} ${hash}`
}

function remindOf(key: string, words: string): Reminder {
  return { key, text: frame("system-reminder", words) }
}

/** Only in the folders of the work: elsewhere somebody was asked about what was there then. */
async function smallChange({ real, seen }: KnownFile, now: Buffer, { roots }: ContextMoment) {
  const before = isBelow(real, roots) ? keptContent(seen.hash) : undefined
  if (before === undefined || now.length > KEPT_BYTES) return undefined
  const change = (await import("./known-change.ts")).findChange(before, now)
  return change === undefined || holdsMarks(change.text) ? undefined : change
}

function isBelow(real: string, folders: readonly string[]): boolean {
  return folders.some((folder) => real.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`))
}

async function contentOf(real: string): Promise<{ bytes: Buffer; stamp: Stamp } | undefined> {
  return await opened(real, async (file) => {
    const bytes = await readWhole(file, COMPARED_BYTES)
    return { bytes, stamp: stampOf(file.stats, bytes) }
  })
}

/** Files that were only touched, by path, size, time and content; so none is read twice for one touch. */
const untouched = new Set<string>()
const MOST_UNTOUCHED = 1000

function noteUntouched(file: KnownFile, stats: Stamp): undefined {
  if (untouched.size >= MOST_UNTOUCHED) untouched.clear()
  untouched.add(idOf(file, stats))
}

function idOf({ real, seen }: KnownFile, { size, mtimeMs }: Stamp): string {
  return `${size} ${mtimeMs} ${seen.hash} ${real}`
}

/** The part of a file that was looked at last, from its disk. Undefined for what is no text, or no longer there. */
async function showFile({ real, seen }: KnownFile, { signal, roots }: ContextMoment, chars: number) {
  if (real.endsWith(".ipynb") || !isBelow(real, roots)) return undefined
  return await opened(real, async (file) => {
    const request = { offset: seen.from, chars, signal }
    const page = await readPage(file, request)
    const start = page.last < page.first ? await readPage(file, { ...request, offset: 1 }) : page
    const attributes = ` path=${JSON.stringify(real)}`
    if (holdsMarks(start.text))
      return frame("file", "A file that you worked on last: read it again where you need it.", { attributes })
    return frame("file", `A file that you worked on last, as it is now:\n${start.text.trimEnd()}`, { attributes })
  })
}

/** Undefined where a tool would be refused: the path is no plain file now, or leads elsewhere. */
async function opened<T>(real: string, use: Parameters<typeof withFile<T>>[2]): Promise<T | undefined> {
  try {
    // As if judged: nothing on the way is followed.
    return await withFile(real, { cwd: "/", judged: new Map([[real, { lexical: real, real }]]) }, use)
  } catch (error) {
    if (error instanceof Refused || (error as NodeJS.ErrnoException).code !== undefined) return undefined
    throw error
  }
}
