/**
 * The commands of `sous`, as a table: what each takes, and what its help says.
 *
 * Invariant: data only; a flag that stands in no row of a command is refused there.
 */
import { FLAGS, type FlagValues } from "../settings/flag.ts"
import { CONTEXT_COMMANDS } from "./command-context.ts"
import { REWIND_COMMANDS } from "./command-rewind.ts"
import { type CommandRow, json, settings } from "./command-row.ts"
import { SESSION_COMMANDS } from "./command-session.ts"
import { SETUP_COMMANDS } from "./command-setup.ts"

/** What was given on a command line: flags of whatever runs an agent, and those of one command only. */
export interface CommandValues extends FlagValues {
  all?: boolean
  batch?: boolean
  cwd?: string
  headless?: boolean
  tool?: string
  input?: string
  try?: string
  focus?: string
  payload?: string
  scope?: string
  yaml?: boolean
  user?: boolean
  yes?: boolean
  days?: number
  code?: boolean
  conversation?: boolean
  undo?: boolean
  force?: boolean
  follow?: boolean
  inProcess?: boolean
  frozen?: boolean
  help?: boolean
  version?: boolean
}

/** What a run would be allowed: flags of everything that starts an agent. */
const permissions = FLAGS.filter(
  ({ group, for: only }) => only === undefined && /^(?:Permissions|Settings)$/.test(group),
)

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
      'sous "now the same for the tests" --continue',
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
    usage: "[FILE…]",
    sentence:
      "Says what is wrong with files, or with all that counts here: settings, rules, hooks, plugins, packs, recipes.",
    examples: ["sous check", "sous check ./green.ts .claude/settings.json", "sous check --json"],
    flags: [...json, ...settings],
    takes: { what: "file", least: 0, most: Infinity, example: "sous check ./green.ts" },
  },
  test: {
    args: "[file...]",
    usage: "[FILE…]",
    sentence: "Runs offline tests: permission tables, and test files of recipes.",
    examples: ["sous test", "sous test policy.permissions.yaml recipes/ --json"],
    flags: json,
    takes: { what: "file", least: 0, most: Infinity, example: "sous test policy.permissions.yaml" },
  },
  explain: {
    args: "[call...]",
    usage: "TOOL INPUT [flags]\n       sous explain --batch < CALLS",
    sentence: "Says whether a call would be allowed, and why; runs nothing.",
    examples: [
      "sous explain Bash 'git push'",
      `sous explain Edit '{"file_path":"src/a.ts"}' --mode acceptEdits --json`,
      `echo '{"id":1,"tool":"Bash","input":{"command":"ls"}}' | sous explain --batch`,
    ],
    flags: [
      ...json,
      {
        group: "Explanation",
        notation: "--batch",
        sentence:
          "JSON lines on stdin, an answer for each on stdout; reads no settings; exit code 1 after a wrong line",
      },
      { group: "Explanation", notation: "--cwd <folder>", sentence: "where the call would be made" },
      { group: "Explanation", notation: "--headless", sentence: "as if nobody could answer a question" },
      ...permissions,
    ],
    takes: { what: "call", least: 0, most: 2, example: "sous explain Bash 'git push'" },
  },
  permissions: {
    args: "[words...]",
    usage: "[list] [flags]\n       sous permissions revoke RULE|NUMBER|--all",
    sentence: "Lists the rules in effect and what this project was granted; revokes grants.",
    examples: [
      "sous permissions",
      "sous permissions revoke 2",
      "sous permissions revoke 'Bash(npm test)'",
      "sous permissions --json",
    ],
    flags: [
      ...json,
      { group: "Grants", notation: "--all", sentence: "revoke all grants of this project" },
      ...permissions,
    ],
    takes: { what: "word", least: 0, most: 2, example: "sous permissions revoke 2" },
  },
  hooks: {
    args: "[words...]",
    usage: "list [flags]\n       sous hooks test EVENT [flags]",
    sentence: "Lists the hooks and what keeps them from running; fires a sample event at them.",
    examples: [
      "sous hooks list",
      "sous hooks test PreToolUse --tool Bash --input 'rm -rf build'",
      `sous hooks test Stop --payload '{"last_message":"done"}' --json`,
    ],
    flags: [
      ...json,
      { group: "Sample event", notation: "--tool <name>", sentence: "the tool of a sample call" },
      { group: "Sample event", notation: "--input <input>", sentence: "its input: JSON, or a text" },
      { group: "Sample event", notation: "--payload <file|json>", sentence: "fields of the event" },
      ...settings,
    ],
    takes: { what: "word", least: 0, most: 2, example: "sous hooks list" },
  },
  ...SESSION_COMMANDS,
  ...CONTEXT_COMMANDS,
  ...REWIND_COMMANDS,
  ...SETUP_COMMANDS,
  help: {
    args: "[command...]",
    usage: "[COMMAND]",
    sentence: "Shows the help of a command.",
    examples: ["sous help run"],
    flags: [],
    // Of `sous help sessions rm` the first word is the command.
    takes: { what: "command", least: 0, most: Infinity, example: "sous help run" },
  },
} as const satisfies Record<string, CommandRow>

/** The name of a command. */
export type CommandName = keyof typeof COMMANDS
