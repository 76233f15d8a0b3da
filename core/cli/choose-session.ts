/**
 * `--resume` without an id → the id of the session that the person at the terminal chooses.
 *
 * Invariant: nothing is taken for a choice where nobody can make one.
 */
import { realpath } from "node:fs/promises"
import { SousError } from "../error.ts"
import { newestSessions } from "../session/session-find.ts"
import { listSessions } from "../session/session-list.ts"
import { sessionsFolder } from "../session/session-place.ts"
import { stateFolderFor } from "../session/store.ts"
import type { Session } from "./session.ts"
import { dateOf, shortWords } from "./sessions-text.ts"

/** How many can be chosen from: one key each. */
const MOST = 9

/** Asks for one of the newest. Throws SESSION_NOT_NAMED without a terminal or a choice, SESSION_NONE. */
export async function chooseSession({ host, home, cwd, asker }: Session): Promise<string> {
  const folder = sessionsFolder(stateFolderFor(host.env, home), await realpath(cwd))
  const refuse = async () => new SousError("SESSION_NOT_NAMED", { newest: await newestSessions(folder) })
  if (asker === undefined) throw await refuse()
  const found = (await listSessions([folder])).slice(0, MOST)
  if (found.length === 0) throw new SousError("SESSION_NONE", { folder: cwd })
  // The end of the id tells a copy from its original, and is what --resume takes.
  const choices = found.map((one) => `${dateOf(one.changedAt)}  ${one.id.slice(-6)}  ${shortWords(one)}`)
  const chosen = await asker.choose({ text: "Which session?", choices }, host.signal)
  if (chosen === undefined) throw await refuse()
  return found[chosen]!.id
}
