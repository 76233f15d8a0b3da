/**
 * `sous rewind`: the turns of a session; or its files, its conversation or both, back at the end of one of them.
 *
 * Invariant: what changes is shown first and asked about; no agent does it, and nobody while the session is at work.
 */
import { realpath } from "node:fs/promises"
import { dirname, join } from "node:path"
import { createClock } from "../clock.ts"
import { SousError } from "../error.ts"
import { checkpointPlace } from "../session/checkpoint.ts"
import { rewind as carryOut, listTurns } from "../session/rewind.ts"
import { planRewind, type RewindSubject, type RewindTarget } from "../session/rewind-plan.ts"
import { findSession, newestSessions } from "../session/session-find.ts"
import { holdSession } from "../session/session-lock.ts"
import { readSession } from "../session/session-open.ts"
import { stateFolderFor } from "../session/store.ts"
import { homeFolder } from "../settings/scopes.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import { diffsOf } from "./rewind-diff.ts"
import { doneForPeople, nameOf, planForMachines, planForPeople, type ShownPlan, turnsForPeople } from "./rewind-text.ts"

/** Returns 0, or 1 after a no. Throws CLI_…, SESSION_…, CHECKPOINT_… and REWIND_… errors. */
export async function rewind(line: CommandLine, host: Host): Promise<number> {
  const { word, target } = readWords(line)
  if (target === undefined) return await list(line, host, word)
  refuseInside(host, "rewind")
  const subject = await findSubject(host, word)
  const release = await holdSession(dirname(subject.file), subject.id)
  try {
    return await goBack(line, host, { subject, target })
  } finally {
    await release()
  }
}

/** A word of few digits is a turn: ids of sessions are longer. */
const TURN = /^\d{1,6}$/
const FLAGS_OF_A_TURN = ["yes", "force", "code", "conversation"] as const

function readWords({ args, values }: CommandLine): { word?: string; target?: RewindTarget } {
  const [first, second] = args
  const turn = second ?? (first !== undefined && TURN.test(first) ? first : undefined)
  const word = second === undefined && turn !== undefined ? undefined : first
  const session = word === undefined ? {} : { word }
  if (values.undo) {
    if (turn !== undefined) throw new SousError("CLI_FLAGS_CONFLICT", { one: "--undo", other: `turn ${turn}` })
    return { ...session, target: "undo" }
  }
  if (turn === undefined) {
    const flag = FLAGS_OF_A_TURN.find((name) => values[name])
    if (flag) throw new SousError("CLI_ARGUMENT_MISSING", { what: "turn", example: `sous rewind 3 --${flag}` })
    return session
  }
  if (TURN.test(turn)) return { ...session, target: { turn: Number(turn) } }
  const wanted = "the number of a turn"
  const isTurned = first !== undefined && TURN.test(first)
  const mend = isTurned ? { mend: `put the session first: sous rewind ${turn} ${first}` } : {}
  throw new SousError("CLI_VALUE_INVALID", { flag: "TURN", value: turn, wanted, ...mend })
}

async function findSubject(host: Host, word: string | undefined): Promise<RewindSubject> {
  const home = homeFolder(host.env)
  const place = { state: stateFolderFor(host.env, home), cwd: await realpath(await host.cwd()), home, id: "" }
  const found = await findSession({ ...place, clock: createClock() }, word === undefined ? {} : { resume: word })
  const { id, file, from } = found
  const folder = dirname(file)
  if (from === "own") return { id, file, checkpoints: checkpointPlace(join(folder, id)) }
  // Of what somebody else wrote, no file was kept.
  if (from === "foreign") throw new SousError("SESSION_UNKNOWN", { id, newest: await newestSessions(folder) })
  const [head] = (await readSession(file)).entries
  throw new SousError("SESSION_ELSEWHERE", { id, folder: typeof head?.cwd === "string" ? head.cwd : "another folder" })
}

async function list({ values }: CommandLine, host: Host, word: string | undefined): Promise<number> {
  const subject = await findSubject(host, word)
  const turns = await listTurns(subject)
  const shown = turns.map(({ end: _, ...turn }) => turn)
  if (values.json) host.print(`${JSON.stringify({ session: subject.id, turns: shown })}\n`)
  else host.print(host.escape(turnsForPeople(subject.id, turns, await host.cwd())))
  return 0
}

async function goBack(
  { values }: CommandLine,
  host: Host,
  { subject, target }: { subject: RewindSubject; target: RewindTarget },
): Promise<number> {
  const { code, conversation, force = false, json } = values
  const isPart = code !== conversation && (code || conversation)
  const parts = isPart ? { code: code === true, conversation: conversation === true } : {}
  const shown = await show(subject, { target, parts, cwd: await host.cwd() })
  const { plan } = shown
  if (!json) host.print(host.escape(planForPeople(shown)))
  if (plan.files.length === 0 && plan.conversation === undefined) {
    if (json) host.print(`${JSON.stringify(planForMachines(shown))}\n`)
    host.tell("There is nothing to put back")
    return 0
  }
  const done = await decide(shown, host, { force, yes: values.yes === true }).catch((error) => {
    if (json) host.print(`${JSON.stringify(planForMachines(shown))}\n`)
    throw error
  })
  if (json) host.print(`${JSON.stringify(planForMachines(shown, done))}\n`)
  if (done === undefined) return 1
  for (const line of doneForPeople(shown, done)) host.tell(line)
  return 0
}

interface Wanted {
  target: RewindTarget
  parts: { code?: boolean; conversation?: boolean }
  cwd: string
}

async function show(subject: RewindSubject, { target, parts, cwd }: Wanted): Promise<ShownPlan> {
  const plan = await planRewind(subject, target, parts)
  return { plan, diffs: await diffsOf(plan, (path) => nameOf(path, cwd)), cwd }
}

/** Undefined after a no. */
async function decide({ plan }: ShownPlan, host: Host, { force, yes }: { force: boolean; yes: boolean }) {
  if (plan.conflicts.length > 0 && !force) throw new SousError("REWIND_CHANGED_SINCE", { files: plan.conflicts })
  if (!yes) {
    const asker = await host.openAsker()
    if (asker === undefined) throw new SousError("REWIND_NOT_ASKED", { session: plan.subject.id })
    const text = plan.undoes === undefined ? "Put it back as shown?" : "Take the rewind back as shown?"
    const hint = "what stands there now is kept; --undo brings it back"
    if (!(await asker.confirm({ text, hint, yes: "put back", no: "left as it is" }, host.signal))) return undefined
  }
  return await carryOut(plan, { force })
}
