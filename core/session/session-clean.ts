/**
 * Conversations that nobody needs any more → gone, with what was kept for them; and what a person said about that.
 *
 * Invariant: nothing is deleted that is being written, or that another conversation still reads.
 */
import { readFile, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { SousError } from "../error.ts"
import { cleaningFile } from "./cleaning-file.ts"
import { replaceFile } from "./lock.ts"
import { parseJson, readOwnFile, reasonOf } from "./own-file.ts"
import { idsIn } from "./session-find.ts"
import { holderOf, holdSession } from "./session-lock.ts"
import { sessionFile } from "./session-place.ts"
import { createOwnFolder } from "./store.ts"

/** What a person said when asked whether old conversations may be deleted. */
export type CleaningConsent = "yes" | "no" | "unasked"

const MOST_BYTES = 4096

/** What was said. A file that cannot be used says nothing. */
export async function loadConsent(state: string): Promise<CleaningConsent> {
  const text = await readOwnFile(cleaningFile(state), { mostBytes: MOST_BYTES }).catch(() => undefined)
  const { consent } = (parseJson(text ?? "") ?? {}) as { consent?: unknown }
  return consent === "yes" || consent === "no" ? consent : "unasked"
}

/** Remembers it, and that a look was taken now. Throws SESSION_FOLDER_… or SESSION_FILE_UNWRITABLE. */
export async function saveConsent(state: string, consent: CleaningConsent): Promise<void> {
  const file = cleaningFile(state)
  await createOwnFolder(state)
  await replaceFile(file, `${JSON.stringify({ version: 1, consent })}\n`).catch((cause) => {
    throw new SousError("SESSION_FILE_UNWRITABLE", { file, reason: reasonOf(cause) }, { cause })
  })
}

/** Conversations (`file`, `changedAt`) that nobody has written to for so many days, and that nobody writes. */
export async function oldSessions<T extends { id: string; file: string; changedAt: number }>(
  sessions: readonly T[],
  { days, now }: { days: number /** ms since the epoch. */; now: number },
): Promise<T[]> {
  const old = sessions.filter(({ changedAt }) => changedAt < now - days * 86_400_000)
  const held = await Promise.all(old.map(({ id, file }) => holderOf(dirname(file), id)))
  return old.filter((_, index) => held[index] === undefined)
}

/**
 * Deletes a conversation: its transcript, the files that were kept for it, and the folders of its runs that no other
 * conversation of its project names. Throws SESSION_LOCKED or SESSION_UNDELETABLE.
 */
export async function removeSession({ id, file }: { id: string; file: string }): Promise<void> {
  const folder = dirname(file)
  const release = await holdSession(folder, id)
  try {
    const runs = await runsOnlyOf(folder, id)
    // The transcript last: what is left after a fault can still be deleted.
    for (const run of runs) await remove(join(dirname(folder), "runs", run))
    await remove(join(folder, id))
    await remove(file)
  } finally {
    await release()
  }
}

async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch((cause) => {
    throw new SousError("SESSION_UNDELETABLE", { file: path, reason: reasonOf(cause) }, { cause })
  })
}

const RUN = /"type":"run","run":"([\w-]+)"/g

async function runsOnlyOf(folder: string, id: string): Promise<Set<string>> {
  const own = await runsIn(sessionFile(folder, id))
  for (const other of await idsIn(folder)) {
    if (own.size === 0) break
    if (other !== id) for (const run of await runsIn(sessionFile(folder, other))) own.delete(run)
  }
  return own
}

async function runsIn(file: string): Promise<Set<string>> {
  const text = await readFile(file, "latin1").catch(() => "")
  return new Set([...text.matchAll(RUN)].map(([, run]) => run!))
}
