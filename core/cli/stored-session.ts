/**
 * The word that a person calls a session by → its entries, to be looked at.
 *
 * Invariant: nothing is written, mended or locked.
 */
import { realpath } from "node:fs/promises"
import { createClock } from "../clock.ts"
import { stateFolderFor } from "../session/store.ts"
import type { TranscriptEntry } from "../session/transcript.ts"
import type { Session } from "./session.ts"

/** A session that was read. */
export interface StoredSession {
  id: string
  /** Absolute. */
  file: string
  /** Those that count, oldest first. */
  entries: readonly TranscriptEntry[]
  warnings: readonly string[]
}

/** Reads it; without a word, the newest one of this folder. Throws SESSION_… errors. */
export async function readStored(word: string | undefined, session: Session): Promise<StoredSession> {
  const { cwd, home, host, loaded } = session
  const place = {
    ...{ state: stateFolderFor(host.env, home), cwd: await realpath(cwd), home, id: "" },
    ...{ clock: createClock(), claude: loaded.settings.compat.claude },
  }
  const [{ findSession }, { readFound }] = await Promise.all([
    import("../session/session-find.ts"),
    import("../session/session-open.ts"),
  ])
  const found = await findSession(place, word === undefined ? {} : { resume: word })
  return { id: found.id, file: found.file, ...(await readFound(found)) }
}
