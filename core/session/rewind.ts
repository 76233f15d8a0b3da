/**
 * A plan to go back → files as they were, and the conversation back at its entry.
 *
 * Invariant: nothing is changed before what stands there is kept and what will be done is on the disk; what somebody else
 * changed is put over only where that was said; what was cut off is finished by doing it again.
 */
import { randomUUID } from "node:crypto"
import { appendFile, lstat } from "node:fs/promises"
import type { Clock } from "../clock.ts"
import { SousError } from "../error.ts"
import { keepBytes, readBytes } from "./checkpoint-content.ts"
import { appendRecord, mendLog, type RewindBegun, type RewoundFile } from "./checkpoint-log.ts"
import { isSameState } from "./checkpoint-state.ts"
import { type PlannedFile, type RewindPlan, type RewindSubject, readSubject } from "./rewind-plan.ts"
import { removeLeftovers, restoreFiles } from "./rewind-restore.ts"
import { type SessionTurn, turnsOf } from "./rewind-turn.ts"
import { lookHere } from "./rewind-way.ts"
import { followChain } from "./session-chain.ts"
import { createTranscript, readTranscript } from "./transcript.ts"

/** A turn with the files that it changed, and how many commands it ran. */
export interface ListedTurn extends SessionTurn {
  files: readonly string[]
  commands: number
}

/** The turns of a session, turn 0 first. Throws CHECKPOINT_LOG_BROKEN and what `readTranscript` does. */
export async function listTurns(subject: RewindSubject): Promise<ListedTurn[]> {
  const { entries, history } = await readSubject(subject)
  return turnsOf(followChain(entries).entries).map((turn) => {
    const calls = history.callsOf(turn.turn)
    const files = [...new Set(calls.flatMap(({ changed }) => changed))]
    return { ...turn, files, commands: calls.filter(({ call }) => call.command).length }
  })
}

/** How a plan is carried out. */
export interface RewindOptions {
  /** Put over what somebody else changed. It is kept, and comes back when this is undone. */
  force?: boolean
  clock?: Pick<Clock, "now">
}

/** What became of it. */
export interface Rewound {
  id: string
  /** Folders that were to go and stay: something else lies in them. */
  kept: readonly string[]
}

/**
 * Does what was planned. Throws REWIND_CHANGED_SINCE (also for what changed since the plan), CHECKPOINT_CONTENT_BROKEN and
 * REWIND_PATH_ELSEWHERE before anything changes, then REWIND_FAILED, CHECKPOINT_UNWRITABLE or SESSION_FILE_UNWRITABLE.
 */
export async function rewind(plan: RewindPlan, { force = false, clock = Date }: RewindOptions = {}): Promise<Rewound> {
  const { subject, files, cutOff, conversation } = plan
  const { log, content } = subject.checkpoints
  if (!force && plan.conflicts.length > 0) throw new SousError("REWIND_CHANGED_SINCE", { files: plan.conflicts })
  const read = async (hash: string) => await readKept(plan, hash)
  for (const { after } of files) if (after.kind === "file") await read(after.hash!)
  await keepCurrent(files, content)
  const id = randomUUID()
  const record = recordOf(plan, { id, at: new Date(clock.now()).toISOString() })
  await mendLog(log)
  await appendRecord(log, record, { sync: true })
  if (cutOff) await removeLeftovers(cutOff.files, cutOff.id)
  await restoreFiles(files, { id, read })
  if (conversation) await turnBack(subject, conversation, clock)
  await appendRecord(log, { type: "rewound", id }, { sync: true })
  return { id, kept: await keptFolders(files) }
}

function recordOf(plan: RewindPlan, { id, at }: { id: string; at: string }): RewindBegun {
  const { turns, from, undoes, finishes, conversation } = plan
  return {
    type: "rewind",
    id,
    at,
    turns,
    from,
    ...(undoes === undefined ? {} : { undoes }),
    ...(finishes === undefined ? {} : { finishes }),
    ...(conversation === undefined ? {} : { conversation }),
    files: plan.files.map(({ path, before, after }) => ({ path, before, after })),
  }
}

async function readKept({ subject, files }: RewindPlan, hash: string): Promise<Buffer> {
  const folder = subject.checkpoints.content
  const bytes = await readBytes(folder, hash)
  if (bytes !== undefined) return bytes
  const path = files.find(({ after }) => after.kind === "file" && after.hash === hash)?.path ?? ""
  throw new SousError("CHECKPOINT_CONTENT_BROKEN", { path, hash, folder })
}

/** Keeps what stands there now, so that this can be undone; it has to be what the person was shown. */
async function keepCurrent(files: readonly PlannedFile[], content: string): Promise<void> {
  const changed: string[] = []
  const links = new Set(files.flatMap(({ path, before }) => (before.kind === "link" ? [path] : [])))
  const options = {
    goes: (link: string) => links.has(link),
    keep: (hash: string, bytes: Buffer) => keepBytes(content, hash, bytes),
  }
  for (const { path, before } of files) {
    const now = await lookHere(path, options)
    if (!isSameState(now, before)) changed.push(path)
  }
  if (changed.length > 0) throw new SousError("REWIND_CHANGED_SINCE", { files: changed })
}

async function keptFolders(files: readonly RewoundFile[]): Promise<string[]> {
  const folders = files.filter(({ before, after }) => before.kind === "folder" && after.kind === "none")
  const found = await Promise.all(folders.map(({ path }) => lstat(path).catch(() => undefined)))
  return folders.flatMap(({ path }, index) => (found[index]?.isDirectory() ? [path] : []))
}

/** Adds the entry from which the conversation goes on: its parent is the one gone back to. */
async function turnBack(
  { file }: RewindSubject,
  { to, undone }: NonNullable<RewindPlan["conversation"]>,
  clock: Pick<Clock, "now">,
): Promise<void> {
  const { entries, size, isEnded } = await readTranscript(file)
  const head = entries.at(-1)
  if (head?.type === "rewind" && head.parentUuid === to) return
  // A last entry may lack nothing but the end of its line.
  if (!isEnded) await appendFile(file, "\n")
  const transcript = createTranscript(file, {}, { clock, after: { uuid: to, size: isEnded ? size : size + 1 } })
  transcript.append("rewind", { undone })
  await transcript.sync()
  await transcript.close()
}
