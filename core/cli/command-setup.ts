/**
 * The commands that set a place up: settings, trust, plugins, packs. A part of the table of commands.
 *
 * Invariant: data only; the order is that of the help.
 */
import { FLAGS } from "../settings/flag.ts"
import { PACK_COMMANDS } from "./command-pack.ts"
import { type CommandRow, json, settings } from "./command-row.ts"

/** Flags that stand in for settings. */
const asSettings = FLAGS.filter(({ notation }) =>
  /^--(?:model|effort|max-turns|budget|replay|allowed-tools|disallowed-tools|mode|dangerously-\S+|add-dir|plugin|settings|trust)\b/.test(
    notation,
  ),
)

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
  config: {
    args: "[words...]",
    usage:
      "[explain KEY] [flags]\n       sous config set|add|remove KEY VALUE [--scope SCOPE]\n       sous config unset KEY [--scope SCOPE]",
    sentence: "Shows the settings in force and who set them; explains one of them; changes one.",
    examples: [
      "sous config",
      "sous config explain permissions.deny",
      "sous config explain model --json",
      "sous config set model sonnet --scope user",
      "sous config add permissions.deny 'Read(.env)'",
    ],
    flags: [
      ...json,
      { group: "Changes", notation: "--scope <scope>", sentence: "whose file is changed: local, project or user" },
      ...asSettings,
    ],
    takes: { what: "word", least: 0, most: 3, example: "sous config explain model" },
  },
  init: {
    args: "[word...]",
    usage: "[flags]",
    sentence: "Sets this project up: settings that editors understand, and a recipe with its test.",
    examples: ["sous init", "sous init --yaml"],
    flags: [...json, { group: "Files", notation: "--yaml", sentence: "settings in YAML, with room for comments" }],
    takes: { what: "word", least: 0, most: 0, example: "sous init" },
  },
  plugins: {
    args: "[words...]",
    usage: "[flags]\n       sous plugins forget NAME",
    sentence:
      "Lists the plugins: where from, what they add, how they fare; forgets one that is meant to guard no more.",
    examples: ["sous plugins", "sous plugins --json", "sous plugins forget guard"],
    flags: [...json, { group: "Output", notation: "--verbose", sentence: "the shipped ones one by one" }, ...settings],
    takes: { what: "word", least: 0, most: 2, example: "sous plugins" },
  },
  ...PACK_COMMANDS,
  doctor: {
    args: "[word...]",
    usage: "[flags]",
    sentence: "Says whether everything that a run needs is here and whole, and how to mend what is not.",
    examples: ["sous doctor", "sous doctor --json"],
    flags: [...json, ...asSettings.filter(({ notation }) => /^--(?:settings|trust|plugin)\b/.test(notation))],
    takes: { what: "word", least: 0, most: 0, example: "sous doctor" },
  },
} as const satisfies Record<string, CommandRow>
