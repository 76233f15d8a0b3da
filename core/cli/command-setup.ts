/**
 * The commands that set a place up: settings, trust, plugins, packs. A part of the table of commands.
 *
 * Invariant: data only; the order is that of the help.
 */
import { PACK_COMMANDS } from "./command-pack.ts"
import { type CommandRow, json } from "./command-row.ts"

export const SETUP_COMMANDS = {
  trust: {
    args: "[word]",
    usage: "[--yes] [--follow]\n       sous trust status|revoke [--json]",
    sentence: "Lists what this project would add, and asks whether you trust it as it is.",
    examples: ["sous trust", "sous trust status", "sous trust revoke", "sous trust --follow    (a folder of your own)"],
    flags: [
      ...json,
      { group: "Trust", notation: "--yes", sentence: "trust what is listed, without a question" },
      { group: "Trust", notation: "--follow", sentence: "trust this path whatever will lie there" },
    ],
    takes: { what: "word", least: 0, most: 1, example: "sous trust status" },
  },
  init: {
    args: "[word...]",
    usage: "[flags]",
    sentence: "Sets this project up: settings that editors understand, and a recipe with its test.",
    examples: ["sous init", "sous init --yaml"],
    flags: [...json, { group: "Files", notation: "--yaml", sentence: "settings in YAML, with room for comments" }],
    takes: { what: "word", least: 0, most: 0, example: "sous init" },
  },
  ...PACK_COMMANDS,
} as const satisfies Record<string, CommandRow>
