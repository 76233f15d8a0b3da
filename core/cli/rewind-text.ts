/**
 * What a rewind would do, or the turns of a session → text for people, objects for machines.
 *
 * Invariant: what is not undone is said as plainly as what is.
 */
import { isAbsolute, relative } from "node:path"
import type { ListedTurn, Rewound } from "../session/rewind.ts"
import type { RewindPlan } from "../session/rewind-plan.ts"
import { given } from "../settings/given.ts"

/** Lines of a diff of one file that people are shown. */
const MOST_LINES = 400
/** Characters of one line of it. */
const MOST_CHARS = 2000
/** Characters of what a person said. */
const MOST_WORDS = 60

/** A plan as it is shown: the diff of each of its files, in order. */
export interface ShownPlan {
  plan: RewindPlan
  diffs: readonly string[]
  /** Absolute. */
  cwd: string
}

/** A path as people know it: from where they are, or whole. */
export function nameOf(path: string, cwd: string): string {
  const near = relative(cwd, path)
  return near.startsWith("..") || isAbsolute(near) || near === "" ? path : near
}

/** The turns, one or two lines each. */
export function turnsForPeople(id: string, turns: readonly ListedTurn[], cwd: string): string {
  const lines = turns.flatMap(({ turn, said, files, commands }) => {
    const words = said === undefined ? [] : [`     > ${clipped(said)}`]
    const changed = files.map((file) => nameOf(file, cwd)).join(", ")
    const what = [changed, commands === 0 ? "" : many(commands, "shell command")].filter((part) => part !== "")
    const text = turn === 0 ? "before the first" : what.join(" · ") || "no files"
    return [...words, `${String(turn).padStart(4)} ${text}`]
  })
  return [`Session ${id}, its turns and the files that each changed`, ...lines, ""].join("\n")
}

/** All that a rewind would do, and what it would not. */
export function planForPeople({ plan, diffs, cwd }: ShownPlan): string {
  const names = (paths: readonly string[]) => paths.map((path) => nameOf(path, cwd)).join(", ")
  const { files, left, conflicts, conversation } = plan
  const others = files.filter((file) => file.others).map(({ path }) => path)
  const notes = [
    ...(others.length === 0 ? [] : [`Goes away too, changed by somebody else in between: ${names(others)}`]),
    ...(conflicts.length === 0
      ? []
      : [`Changed since, by somebody else or by a call that was cut off: ${names(conflicts)}`]),
    ...left.map(({ path, reason }) => `Stays as it is: ${nameOf(path, cwd)}: ${reason}`),
    ...commandLines(plan),
    ...(conversation === undefined ? [] : [`The conversation goes back to ${turnWords(plan.turns)}`]),
  ]
  return [...diffs.map(cut), ...notes.map((note) => `${note}\n`)].join("")
}

function commandLines({ commands, undoes }: RewindPlan): string[] {
  const counts = Object.entries(commands)
  const total = counts.reduce((sum, [, count]) => sum + count, 0)
  if (total === 0) return []
  const which = counts.map(([tool, count]) => `${tool} ${count}`).join(", ")
  const since = undoes === undefined ? "since that turn" : "since then"
  return [`Not undone: what ${many(total, "shell command")} changed that ran ${since} (${which})`]
}

/** What was done, one line. */
export function doneForPeople({ plan, cwd }: Omit<ShownPlan, "diffs">, { kept }: Rewound): string[] {
  const { files, undoes, subject, turns, conversation } = plan
  const parts = [
    ...(files.length === 0 ? [] : [many(files.length, "path") + (files.length === 1 ? " is" : " are") + " as before"]),
    ...(conversation === undefined ? [] : [`the conversation is at ${turnWords(turns)}`]),
  ]
  const stay = kept.map((path) => `The folder ${nameOf(path, cwd)} stays: something else lies in it`)
  const back = undoes === undefined ? [`Take it back: sous rewind ${subject.id} --undo`] : []
  return [`${parts.join(", ").replace(/^./, (letter) => letter.toUpperCase())}`, ...stay, ...back]
}

/** The same for machines. `done`: what became of it, once it is done. */
export function planForMachines({ plan, diffs }: ShownPlan, done?: Rewound) {
  const { subject, turns, undoes, files, left, conflicts, commands, conversation } = plan
  return {
    session: subject.id,
    ...given({ undoes }),
    turns,
    files: files.map(({ path, before, after, others }, index) => {
      const facts = { path, from: before.kind, to: after.kind, diff: diffs[index] }
      return { ...facts, changedSince: conflicts.includes(path), changedBetween: others }
    }),
    left,
    commands,
    conversation: conversation ?? null,
    done: done !== undefined,
    ...given({ rewind: done?.id, folders: done?.kept }),
  }
}

function cut(diff: string): string {
  const lines = diff.split("\n").map(narrow)
  const rest = lines.length - 1 - MOST_LINES
  return rest <= 0 ? lines.join("\n") : [...lines.slice(0, MOST_LINES), `… ${many(rest, "line")} more`, ""].join("\n")
}

function narrow(line: string): string {
  const rest = line.length - MOST_CHARS
  return rest <= 0 ? line : `${line.slice(0, MOST_CHARS)}… ${many(rest, "character")} more`
}

function clipped(text: string): string {
  const line = text.replace(/\s+/g, " ").trim()
  return line.length > MOST_WORDS ? `${line.slice(0, MOST_WORDS - 1)}…` : line
}

function turnWords(turn: number): string {
  return turn === 0 ? "its beginning, before the first turn" : `the end of turn ${turn}`
}

function many(count: number, what: string): string {
  return count === 1 ? `1 ${what}` : `${count} ${what}s`
}
