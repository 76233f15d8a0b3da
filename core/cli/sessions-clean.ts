/**
 * Once a day, behind a prompt's answer: old conversations are deleted where a person agreed to that; else they are asked,
 * once, or told how to agree.
 *
 * Invariant: nothing is deleted unasked, and nothing that goes wrong here is a fault of the run.
 */
import { realpath } from "node:fs/promises"
import { loadConsent, oldSessions, removeSession, saveConsent } from "../session/session-clean.ts"
import { allSessionsFolders } from "../session/session-find.ts"
import { listSessions, type SessionSummary } from "../session/session-list.ts"
import { sessionsFolder } from "../session/session-place.ts"
import { stateFolderFor } from "../session/store.ts"
import type { Session } from "./session.ts"
import { cleaningQuestion } from "./sessions-text.ts"

/** Takes the look of this day. Never rejects. */
export async function cleanSessions(session: Session): Promise<void> {
  const { host, home } = session
  try {
    const state = stateFolderFor(host.env, home)
    const consent = await loadConsent(state)
    const old = consent === "no" ? [] : await findOld(session, state)
    // Whatever comes of it, the next look is tomorrow's.
    await saveConsent(state, consent)
    if (old.length > 0) await settle(session, { state, isAgreed: consent === "yes", old })
  } catch (error) {
    host.tell(`! Old sessions cannot be cleaned: ${error instanceof Error ? error.message : String(error)}`)
  }
}

async function findOld({ loaded, cwd }: Session, state: string): Promise<SessionSummary[]> {
  const { settings } = loaded
  const scope = settings.origins.get("cleanup.days")?.scope
  // What a project says about age holds for its own.
  const isOwn = scope === "project" || scope === "local"
  const folders = isOwn ? [sessionsFolder(state, await realpath(cwd))] : await allSessionsFolders(state)
  return await oldSessions(await listSessions(folders), { days: settings.cleanup.days, now: Date.now() })
}

async function settle(
  { host, asker, loaded }: Session,
  { state, isAgreed, old }: { state: string; isAgreed: boolean; old: readonly SessionSummary[] },
): Promise<void> {
  const { days } = loaded.settings.cleanup
  const count = old.length === 1 ? "1 session" : `${old.length} sessions`
  if (!isAgreed) {
    if (asker === undefined) {
      host.tell(`! ${count} older than ${days} days: "sous sessions clean" lists and deletes them`)
      return
    }
    const agrees = await asker.confirm(cleaningQuestion(old, { days, forGood: true }), host.signal)
    if (host.signal.aborted) return
    await saveConsent(state, agrees ? "yes" : "no")
    if (!agrees) return
  }
  for (const one of old) await removeSession(one)
  host.tell(`Deleted ${count} older than ${days} days`)
}
