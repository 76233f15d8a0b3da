/**
 * Conversations in a list → lines for people.
 *
 * Invariant: one conversation is one line, whatever was said in it.
 */
import type { SessionSummary } from "../session/session-list.ts"
import type { ConfirmQuestion } from "./host.ts"

/** Characters of a conversation's first words. */
const WORDS = 60

/** A table: id, when, turns, size, first words; with the folder when there are several. */
export function sessionLines(sessions: readonly SessionSummary[], { withFolder }: { withFolder: boolean }): string {
  const rows = sessions.map((one) => [
    one.id,
    dateOf(one.changedAt),
    `${one.turns ?? "?"} ${one.turns === 1 ? "turn" : "turns"}`,
    sizeOf([one]),
    ...(withFolder ? [one.folder] : []),
    shortWords(one),
  ])
  const widths = rows.reduce<number[]>((most, row) => row.map((cell, at) => Math.max(cell.length, most[at] ?? 0)), [])
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, at) => cell.padEnd(widths[at] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("")
}

/** The first words of one, on one line. */
export function shortWords({ words }: SessionSummary): string {
  const line = words.replace(/\s+/g, " ").trim()
  return line.length > WORDS ? `${line.slice(0, WORDS - 1)}…` : line
}

/** Local time, to the minute. `at`: ms since the epoch. */
export function dateOf(at: number): string {
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16).replace("T", " ")
}

/** Of their transcripts together. */
export function sizeOf(sessions: readonly SessionSummary[]): string {
  const kib = sessions.reduce((sum, { bytes }) => sum + bytes, 0) / 1024
  return kib < 1024 ? `${Math.ceil(kib)} KiB` : `${(kib / 1024).toFixed(1)} MiB`
}

/** What a person is asked before old ones are deleted. `forGood`: a yes holds for later ones, too. */
export function cleaningQuestion(
  old: readonly SessionSummary[],
  { days, forGood }: { days: number; forGood: boolean },
): ConfirmQuestion {
  const [those, them] = old.length === 1 ? ["1 session is", "it"] : [`${old.length} sessions are`, "them"]
  return {
    text: `${those} older than ${days} days (${sizeOf(old)}). Delete ${them}?`,
    ...(forGood
      ? { hint: "a yes holds for those that get as old later, too; cleanup.days in settings is the age" }
      : {}),
    yes: "deleted",
    no: "kept",
  }
}
