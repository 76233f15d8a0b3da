/**
 * The row of the command that lists sessions and deletes them.
 *
 * Invariant: data only.
 */
import { SousError } from "../error.ts"
import { type CommandRow, json } from "./command-row.ts"

/** By name. */
export const SESSION_COMMANDS = {
  sessions: {
    args: "[words...]",
    usage: "[--all] [--json]\n       sous sessions rm SESSION…\n       sous sessions clean [--days N] [--yes]",
    sentence: "Lists the sessions of this folder, or of all; deletes some, or all that are old.",
    examples: [
      "sous sessions",
      "sous sessions --all --json",
      "sous sessions rm 4f9a1c    (an id, the start or the end of one)",
      "sous sessions clean --days 90    (of all folders)",
    ],
    flags: [
      ...json,
      { group: "Sessions", notation: "--all", sentence: "those of all folders" },
      {
        group: "Cleaning",
        notation: "--days <n>",
        sentence: "the age; default: cleanup.days in settings, 30",
        parse: parseDays,
      },
      { group: "Cleaning", notation: "--yes", sentence: "delete what is listed, this once, without a question" },
    ],
    takes: { what: "word", least: 0, most: Infinity, example: "sous sessions" },
  },
} as const satisfies Record<string, CommandRow>

function parseDays(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text)
  throw new SousError("CLI_VALUE_INVALID", { flag: "--days", value: text, wanted: "a whole number above 0" })
}
