/**
 * A session and where it is to go back to → what that would change, and what stands in its way. Changes nothing.
 *
 * Invariant: a path is put back only as it was when the session first changed it behind that place; what was not kept, or
 * could not be kept now, stays as it is and is named.
 */
import { readdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import { SousError } from "../error.ts"
import type { CheckpointPlace } from "./checkpoint.ts"
import { type RewindBegun, type RewoundFile, readLog } from "./checkpoint-log.ts"
import { type FileState, isSameContent, isSameState, lookAt } from "./checkpoint-state.ts"
import { createRewindHistory, type PathState, type RewindHistory } from "./rewind-history.ts"
import { leftoversOf } from "./rewind-leftover.ts"
import { turnsOf } from "./rewind-turn.ts"
import { lookHere } from "./rewind-way.ts"
import { followChain } from "./session-chain.ts"
import { readTranscript, type TranscriptEntry } from "./transcript.ts"

/** A session whose files or conversation are to go back. Nobody else may write it meanwhile. */
export interface RewindSubject {
  id: string
  /** Its transcript, absolute. */
  file: string
  checkpoints: CheckpointPlace
}

/** Where to go back to: the end of a turn (0: before the first), or where it was before the last rewind. */
export type RewindTarget = { turn: number } | "undo"

/** What of it goes back. Both by default. */
export interface RewindParts {
  code?: boolean
  conversation?: boolean
}

/** What a rewind would do. */
export interface RewindPlan extends Pick<RewindBegun, "turns" | "undoes" | "from" | "finishes" | "conversation"> {
  subject: RewindSubject
  files: readonly PlannedFile[]
  /** Files that stay as they are, and why. */
  left: readonly { path: string; reason: string }[]
  /** Paths that somebody else changed after this session had. */
  conflicts: readonly string[]
  /** Shell commands that ran since, by the name of their tool; what they changed stays. */
  commands: Readonly<Record<string, number>>
  /** Files that a rewind which was cut off had begun with. */
  cutOff: RewindBegun | undefined
}

/** `before`: as it stands there now. */
export interface PlannedFile extends RewoundFile {
  /** Somebody else changed it between two calls; that goes away as well. */
  others: boolean
}

/**
 * Finds out what a rewind would do. Throws REWIND_TURN_UNKNOWN, REWIND_NOTHING_TO_UNDO, REWIND_PATH_ELSEWHERE,
 * CHECKPOINT_LOG_BROKEN and what `readTranscript` does.
 */
export async function planRewind(
  subject: RewindSubject,
  target: RewindTarget,
  { code = true, conversation = true }: RewindParts = {},
): Promise<RewindPlan> {
  const read = await readSubject(subject)
  const goal = target === "undo" ? undoGoal(subject, read) : turnGoal(subject, read, target.turn)
  const { history, entries } = read
  const { cutOff } = history
  const back = conversation ? goal.conversation : takenBack(cutOff, entries)
  return {
    subject,
    turns: turnsAt(entries, back?.to ?? entries.at(-1)?.uuid),
    from: cutOff?.from ?? history.end,
    cutOff,
    ...(code ? await planFiles(history, goal.place) : { files: [], left: [], conflicts: [] }),
    commands: code ? countCommands(history, goal.place) : {},
    ...(back ? { conversation: back } : {}),
    ...(goal.undoes === undefined ? {} : { undoes: goal.undoes }),
    ...(cutOff === undefined || goal.undoes !== undefined ? {} : { finishes: cutOff.id }),
  }
}

interface Read {
  entries: readonly TranscriptEntry[]
  history: RewindHistory
}

/** Reads what a session holds. Throws CHECKPOINT_LOG_BROKEN and what `readTranscript` does. */
export async function readSubject({ file, checkpoints }: RewindSubject): Promise<Read> {
  const { entries } = await readTranscript(file)
  return { entries, history: createRewindHistory(await readLog(checkpoints.log)) }
}

interface Goal extends Pick<RewindBegun, "undoes" | "conversation"> {
  /** In the log. */
  place: number
}

function turnGoal({ id }: RewindSubject, { entries, history }: Read, turn: number): Goal {
  const chain = followChain(entries).entries
  const turns = turnsOf(chain)
  const wanted = turns[turn]
  // Killed before its first line was whole: there is nothing but its beginning.
  if (chain.length === 0 && turn === 0) return { place: 0 }
  if (wanted === undefined)
    throw new SousError("REWIND_TURN_UNKNOWN", { turn: String(turn), last: Math.max(0, turns.length - 1), session: id })
  const head = chain.at(-1)!
  const isThere = head.uuid === wanted.end || (head.type === "rewind" && head.parentUuid === wanted.end)
  // One that was cut off may have taken the conversation back, and not said so.
  const undone = history.cutOff?.conversation?.undone ?? (isThere ? undefined : head.uuid)
  const conversation = undone === undefined ? {} : { conversation: { to: wanted.end, undone } }
  return { place: history.endOf(turn), ...conversation }
}

function undoGoal({ id }: RewindSubject, { entries, history }: Read): Goal {
  const rewind = history.undoable
  if (rewind === undefined) throw new SousError("REWIND_NOTHING_TO_UNDO", { session: id })
  const { conversation: gone, from } = rewind
  const head = entries.at(-1)?.uuid ?? ""
  const conversation = gone === undefined ? {} : { conversation: { to: gone.undone, undone: head } }
  return { place: from, undoes: rewind.id, ...conversation }
}

/** What a rewind that was cut off did to the conversation: it is undone with the one that finishes it. */
function takenBack(cutOff: RewindBegun | undefined, entries: readonly TranscriptEntry[]): RewindBegun["conversation"] {
  const head = entries.at(-1)
  return head?.type === "rewind" && head.parentUuid === cutOff?.conversation?.to ? cutOff?.conversation : undefined
}

/** Turns of the conversation when this entry is its last. */
function turnsAt(entries: readonly TranscriptEntry[], uuid: string | undefined): number {
  const end = entries.findIndex((entry) => entry.uuid === uuid)
  return Math.max(0, turnsOf(followChain(entries.slice(0, end + 1)).entries).length - 1)
}

async function planFiles(
  history: RewindHistory,
  place: number,
): Promise<Pick<RewindPlan, "files" | "left" | "conflicts">> {
  const files = new Map<string, PlannedFile>()
  const left: { path: string; reason: string }[] = []
  const conflicts: string[] = []
  // What stands above comes first: where a link gives way to a folder, nothing stands below it yet.
  const goes = (link: string) => files.get(link)?.before.kind === "link"
  for (const [path, then] of [...history.statesAt(place)].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const before = await lookHere(path, { goes: (link) => goes(link) || then.state.kind === "none" })
    if (isSameState(before, then.state)) continue
    const reason = reasonToLeave(before, then)
    if (reason === undefined) files.set(path, { path, before, after: then.state, others: then.others })
    else left.push({ path, reason })
    if (reason === undefined && !history.known(path).some((state) => isSameContent(state, before))) conflicts.push(path)
  }
  for (const { path, after } of [...files.values()]) if (after.kind !== "none") await addFolders(path, files)
  for (const path of await leftoversOf(history.unendedAfter(place))) {
    const before = await lookAt(path)
    const isKept = before.kind === "file" && before.hash !== undefined
    if (isKept && !files.has(path)) files.set(path, { path, before, after: { kind: "none" }, others: false })
  }
  for (const path of await filledFolders(files)) {
    files.delete(path)
    left.push({ path, reason: "a folder stands there now, and something else lies in it" })
  }
  const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1)
  return { files: [...files.values()].sort(byPath), left, conflicts: conflicts.filter((path) => files.has(path)) }
}

/** Folders that are to give way to a file or a link, and cannot: what lies in them stays. */
async function filledFolders(files: ReadonlyMap<string, PlannedFile>): Promise<string[]> {
  const filled: string[] = []
  for (const { path, before, after } of files.values()) {
    if (before.kind !== "folder" || (after.kind !== "file" && after.kind !== "link")) continue
    if (await holdsMore(path, files)) filled.push(path)
  }
  return filled
}

async function holdsMore(folder: string, files: ReadonlyMap<string, PlannedFile>): Promise<boolean> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const planned = files.get(path)
    if (planned?.after.kind !== "none") return true
    if (planned.before.kind === "folder" && (await holdsMore(path, files))) return true
  }
  return false
}

/** Folders above a path that somebody took away: they are made as any folder is. */
async function addFolders(path: string, files: Map<string, PlannedFile>): Promise<void> {
  for (let above = dirname(path); !files.has(above); above = dirname(above)) {
    if ((await lookAt(above)).kind !== "none") return
    const after: FileState = { kind: "folder", mode: 0o755 }
    files.set(above, { path: above, before: { kind: "none" }, after, others: false })
  }
}

/** Undefined: it can be put back, and what stands there now can be kept. */
function reasonToLeave(now: FileState, { state }: PathState): string | undefined {
  if (now.kind === "other") return "what stands there now is neither file, folder nor link"
  if (state.kind === "other") return "what stood there was neither file, folder nor link"
  if (state.kind === "file" && state.hash === undefined) return `it was not kept: ${state.missed}`
  if (now.kind === "file" && now.hash === undefined) return `it cannot be kept as it is now: ${now.missed}`
  if (state.kind === "folder" && state.missed !== undefined && now.kind === "none")
    return `it was not kept: ${state.missed}`
  return undefined
}

function countCommands(history: RewindHistory, place: number): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { tool, command } of history.callsAfter(place)) if (command) counts[tool] = (counts[tool] ?? 0) + 1
  return counts
}
