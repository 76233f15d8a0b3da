/**
 * The commands about packs. A part of the table of commands.
 *
 * Invariant: data only; the order is that of the help.
 */
import type { Flag } from "../settings/flag.ts"
import { type CommandRow, json } from "./command-row.ts"

const user: Flag = {
  group: "Packs",
  notation: "--user",
  sentence: "the packs of this person, not those of the project",
}
const yes: Flag = { group: "Packs", notation: "-y, --yes", sentence: "agree to what is shown without being asked" }
const frozen: readonly Flag[] = [
  { group: "Packs", notation: "--frozen", sentence: "resolve nothing; what is so in CI" },
  { group: "Packs", notation: "--no-frozen", sentence: "resolve in CI too" },
]
const inProcess: Flag = {
  group: "Packs",
  notation: "--in-process",
  sentence: "its plugins run in this process, with all your rights",
}

export const PACK_COMMANDS = {
  add: {
    args: "[source...]",
    usage: "SOURCE [flags]",
    sentence: "Adds a pack: shows what it may do, asks, and locks its content.",
    examples: [
      "sous add npm:@team/guards@^2",
      "sous add github:owner/repo#v1.2.0",
      "sous add ./packs/review --yes",
      "sous add https://example.com/pack-1.0.0.tgz --user",
    ],
    flags: [user, yes, inProcess, ...frozen],
    takes: { what: "source", least: 1, most: 1, example: "sous add ./my-pack" },
  },
  remove: {
    args: "[name...]",
    usage: "NAME [flags]",
    sentence: "Removes a pack from the settings and the lock.",
    examples: ["sous remove @team/guards"],
    flags: [user],
    takes: { what: "name", least: 1, most: 1, example: "sous remove @team/guards" },
  },
  update: {
    args: "[name...]",
    usage: "[NAME] [flags]",
    sentence: "Updates packs: shows what each may do more or less than before, and asks.",
    examples: ["sous update", "sous update @team/guards"],
    flags: [user, yes, ...frozen],
    takes: { what: "name", least: 0, most: 1, example: "sous update @team/guards" },
  },
  outdated: {
    args: "[name...]",
    usage: "[NAME] [flags]",
    sentence: "Lists the packs whose sources have something newer.",
    examples: ["sous outdated", "sous outdated --json"],
    flags: [...json, user],
    takes: { what: "name", least: 0, most: 1, example: "sous outdated" },
  },
  packs: {
    args: "[words...]",
    usage: "[list|install] [flags]",
    sentence: "Lists the packs here and what they may do; installs what the lock says.",
    examples: ["sous packs", "sous packs install    (after a clone)", "sous packs --json"],
    flags: [...json, user],
    takes: { what: "word", least: 0, most: 1, example: "sous packs install" },
  },
} as const satisfies Record<string, CommandRow>
