/**
 * `sous sessions`: the conversations of a folder, or of all; `rm` and `clean` delete what nobody needs any more.
 *
 * Invariant: nothing is deleted that was not named or agreed to, and nothing from inside of a run.
 */
import { realpath } from "node:fs/promises"
import { createClock } from "../clock.ts"
import { SousError, suggest } from "../error.ts"
import { oldSessions, removeSession, saveConsent } from "../session/session-clean.ts"
import { allSessionsFolders, findSession, newestSessions } from "../session/session-find.ts"
import { listSessions, type SessionSummary } from "../session/session-list.ts"
import { sessionsFolder } from "../session/session-place.ts"
import { checkOwnFolder, stateFolderFor } from "../session/store.ts"
import { loadSettings } from "../settings/load.ts"
import { homeFolder } from "../settings/scopes.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import { cleaningQuestion, sessionLines, sizeOf } from "./sessions-text.ts"

const WORDS = ["list", "rm", "clean"]

/** Returns 0, or 1 when nobody agreed to what was to be deleted. Throws CLI_… and SESSION_… errors. */
export async function sessions(line: CommandLine, host: Host): Promise<number> {
  const [word = "list"] = line.args
  checkWords(line)
  const home = homeFolder(host.env)
  const place: Place = { state: stateFolderFor(host.env, home), cwd: await realpath(await host.cwd()), home }
  await checkOwnFolder(place.state)
  if (word === "list") return await list(line, host, place)
  refuseInside(host, `sessions ${word}`)
  return word === "rm" ? await removeNamed(line, host, place) : await clean(line, host, place)
}

interface Place {
  state: string
  /** Absolute, real. */
  cwd: string
  home: string | undefined
}

function checkWords({ args, values }: CommandLine): void {
  const [word = "list", first] = args
  if (!WORDS.includes(word))
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: word, mend: suggest(word, WORDS) })
  if (word === "rm" && first === undefined)
    throw new SousError("CLI_ARGUMENT_MISSING", { what: "session", example: "sous sessions rm 4f9a1c" })
  if (word !== "rm" && first !== undefined)
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: first, mend: `write "sous sessions ${word}" alone` })
  const foreign = (["days", "yes"] as const).find((flag) => word !== "clean" && values[flag] !== undefined)
  if (foreign) {
    const mend = `write "sous sessions clean --${foreign}${foreign === "days" ? " N" : ""}", or leave it out`
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: `--${foreign}`, mend })
  }
}

async function list({ values }: CommandLine, host: Host, { state, cwd }: Place): Promise<number> {
  const found = await listSessions(values.all ? await allSessionsFolders(state) : [sessionsFolder(state, cwd)])
  if (values.json) await host.pour(`${JSON.stringify({ sessions: found.map(forMachines) })}\n`)
  else if (found.length > 0) await host.pour(host.escape(sessionLines(found, { withFolder: values.all ?? false })))
  else host.tell(values.all ? "There are no sessions" : "There are no sessions in this folder (--all: in any)")
  return 0
}

function forMachines({ turns, changedAt, ...rest }: SessionSummary) {
  return { ...rest, turns: turns ?? null, changedAt: new Date(changedAt).toISOString() }
}

async function removeNamed({ args, values }: CommandLine, host: Host, place: Place): Promise<number> {
  const [, ...names] = args
  const found = await Promise.all(
    names.map(async (resume) => {
      const one = await findSession({ ...place, id: "", clock: createClock(), claude: false }, { resume })
      if (one.from !== "foreign") return one
      const newest = await newestSessions(sessionsFolder(place.state, place.cwd))
      throw new SousError("SESSION_UNKNOWN", { id: resume, newest })
    }),
  )
  const deleted: string[] = []
  try {
    for (const one of new Map(found.map((one) => [one.file, one])).values()) {
      await removeSession(one)
      deleted.push(one.id)
      if (!values.json) host.print(host.escape(`deleted  ${one.id}\n`))
    }
  } finally {
    if (values.json) host.print(`${JSON.stringify({ deleted })}\n`)
  }
  return 0
}

async function clean({ values }: CommandLine, host: Host, { state, cwd, home }: Place): Promise<number> {
  const { json, yes } = values
  const days = values.days ?? (await loadSettings({ cwd, env: host.env, home })).settings.cleanup.days
  const all = await listSessions(await allSessionsFolders(state))
  const old = await oldSessions(all, { days, now: Date.now() })
  const deleted: string[] = []
  const tell = (text: string) => (json ? undefined : host.tell(text))
  try {
    if (old.length === 0) {
      tell(`There are no sessions older than ${days} days`)
      return 0
    }
    tell(sessionLines(old, { withFolder: true }).trimEnd())
    // An age that was given this once, or a yes that nobody was asked for, says nothing about the next time.
    const forGood = values.days === undefined && !yes
    if (!(yes || (await agrees(old, host, { days, forGood })))) return 1
    if (forGood) await saveConsent(state, "yes")
    for (const one of old) {
      await removeSession(one)
      deleted.push(one.id)
    }
    if (!json) host.print(`deleted  ${many(old.length)}, ${sizeOf(old)}\n`)
    return 0
  } finally {
    if (json) host.print(`${JSON.stringify({ days, old: old.map(forMachines), deleted })}\n`)
  }
}

async function agrees(
  old: readonly SessionSummary[],
  host: Host,
  { days, forGood }: { days: number; forGood: boolean },
): Promise<boolean> {
  const asker = await host.openAsker()
  if (asker) return await asker.confirm(cleaningQuestion(old, { days, forGood }), host.signal)
  const age = forGood ? "" : ` --days ${days}`
  host.tell(`Nothing is deleted: "sous sessions clean${age} --yes" deletes ${old.length === 1 ? "it" : "these"}`)
  return false
}

function many(count: number): string {
  return count === 1 ? "1 session" : `${count} sessions`
}
