/**
 * The row of the command that takes a session back to one of its turns.
 *
 * Invariant: data only.
 */
import { type CommandRow, json } from "./command-row.ts"

/** By name. */
export const REWIND_COMMANDS = {
  rewind: {
    args: "[words...]",
    usage: "[SESSION]\n       sous rewind [SESSION] TURN|--undo [flags]",
    sentence: "Puts files and conversation back to the end of a turn; without one, lists the turns of a session.",
    examples: [
      "sous rewind",
      "sous rewind 3",
      "sous rewind 20260131-235959123-4f9a1c 0 --code --yes",
      "sous rewind --undo",
    ],
    flags: [
      ...json,
      { group: "What goes back", notation: "--code", sentence: "files only" },
      { group: "What goes back", notation: "--conversation", sentence: "the conversation only" },
      { group: "What goes back", notation: "--undo", sentence: "take the last rewind back" },
      { group: "Consent", notation: "--yes", sentence: "do what is shown, without a question" },
      { group: "Consent", notation: "--force", sentence: "put over what somebody else changed since; it is kept" },
    ],
    takes: { what: "session or turn", least: 0, most: 2, example: "sous rewind 3" },
  },
} as const satisfies Record<string, CommandRow>
