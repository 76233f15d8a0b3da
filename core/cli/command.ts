/**
 * The commands of `sous`, as a table: what each takes, and what its help says.
 *
 * Invariant: data only; a flag that stands in no row of a command is refused there.
 */
import { FLAGS, type Flag } from "../settings/flag.ts"

/** One command. */
export interface CommandRow {
  /** Its arguments, in the notation of the command-line library. */
  args: string
  usage: string
  sentence: string
  examples: readonly string[]
  /** The flags that it takes, in the order of the help. */
  flags: readonly Flag[]
  /** For an example of what is missing: what its first argument is, and how many it takes at least and at most. */
  takes: { what: string; least: number; most: number; example: string }
}

const json = FLAGS.filter(({ notation }) => notation === "--json")

/** By name, in the order of the help; `prompt` is what has no name. */
export const COMMANDS = {
  prompt: {
    args: "[prompt...]",
    usage: '"PROMPT" [flags]\n       sous COMMAND [flags]',
    sentence: "Scripts LLM agent loops: runs a prompt, or a recipe.",
    examples: [
      'sous "explain what this project does"',
      'git diff | sous -p "write a commit message"',
      'sous -p "fix the typo in README.md" --allow-write=README.md --budget 0.50',
      "sous run review --param base=main",
    ],
    flags: FLAGS.filter((flag) => flag.for !== "run"),
    takes: { what: "prompt", least: 0, most: Infinity, example: 'sous "explain what this project does"' },
  },
  run: {
    args: "[recipe...]",
    usage: "RECIPE [flags]",
    sentence: "Runs a recipe: a file, or the name of an installed one.",
    examples: [
      "sous run ./green.ts --param cmd='npm test' --allow-run=npm",
      "sous run review --grant --json > events.jsonl",
      "sous run ./green.ts --help    (also shows its parameters)",
    ],
    flags: FLAGS.filter((flag) => flag.for !== "prompt"),
    takes: { what: "recipe", least: 1, most: 1, example: "sous run ./green.ts" },
  },
  check: {
    args: "[file...]",
    usage: "FILE…",
    sentence: "Loads recipes without running them, and says what is wrong.",
    examples: ["sous check ./green.ts recipes/*.yaml"],
    flags: json,
    takes: { what: "file", least: 1, most: Infinity, example: "sous check ./green.ts" },
  },
  help: {
    args: "[command]",
    usage: "[COMMAND]",
    sentence: "Shows the help of a command.",
    examples: ["sous help run"],
    flags: [],
    takes: { what: "command", least: 0, most: 1, example: "sous help run" },
  },
} as const satisfies Record<string, CommandRow>

/** The name of a command. */
export type CommandName = keyof typeof COMMANDS
