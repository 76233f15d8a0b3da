/**
 * The rows of the commands that look at a conversation's window and make room in it.
 *
 * Invariant: data only.
 */
import { FLAGS } from "../settings/flag.ts"
import { type CommandRow, json, settings } from "./command-row.ts"

/** Flags of what runs an agent, by name. */
const named = (names: RegExp) => FLAGS.filter(({ notation }) => names.test(notation))
/** What a first request holds depends on these. */
const framing = named(/^--(?:model|system|append-system-prompt|tools|mode|verbose)\b/)

/** By name, in the order of the help. */
export const CONTEXT_COMMANDS = {
  context: {
    args: "[session...]",
    usage: "[SESSION] [flags]",
    sentence: "Shows what occupies the model's window: of a session, or of a new conversation here.",
    examples: ["sous context", "sous context 20260131-235959123-4f9a1c", "sous context --json --tools Read,Grep"],
    flags: [...json, ...framing, ...settings],
    takes: { what: "session", least: 0, most: 1, example: "sous context 20260131-235959123-4f9a1c" },
  },
  compact: {
    args: "[session...]",
    usage: "[SESSION] [flags]",
    sentence: "Compacts a session, by default the newest one here; or tries how it would be, and changes nothing.",
    examples: [
      "sous compact --focus 'the failing test'",
      "sous compact 20260131-235959123-4f9a1c --try cut",
      "sous compact --try summary --json",
    ],
    flags: [
      ...json,
      { group: "Compaction", notation: "--focus <text>", sentence: "what matters most of what was said" },
      { group: "Compaction", notation: "--try <strategy>", sentence: "only show what a strategy would make of it" },
      ...named(/^(?:--(?:model|budget|record|replay|verbose)|-q, --quiet)\b/),
      ...settings,
    ],
    takes: { what: "session", least: 0, most: 1, example: "sous compact 20260131-235959123-4f9a1c" },
  },
} as const satisfies Record<string, CommandRow>
