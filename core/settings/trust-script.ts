/**
 * The command of a hook → the files of the project that it starts, as far as that can be seen.
 *
 * Invariant: loaded only where hooks of a project name commands; what only a shell can work out is not guessed.
 */
import { filesOf } from "../hook-launch.ts"
import type { HookForm } from "../hook-source.ts"
import { analyseCommand, prepareCommands } from "../permission/command.ts"
import type { Segment } from "../permission/segment.ts"
import { inTree } from "./trust-path.ts"

/** Where a command is looked at from. */
export interface ScriptPlace {
  /** The project, absolute. */
  root: string
  home: string | undefined
}

type CommandForm = Extract<HookForm, { type: "command" }>

/** What a shell would work out, and what starts something else: both take more than a look at the first words. */
const NEEDS_ANALYSIS =
  /[;|&()<>`\n]|\$(?!\{?(?:CLAUDE|SOUS)_PROJECT_DIR\b|\{?HOME\b)|\s-\w*c\b|\b(?:env|exec|timeout|nice|sudo|xargs|cd|source)\s|^\.\s/

/** The files that the command names as a program or a script, absolute and in the project. They need not exist. */
export async function scriptsOf(form: CommandForm, { root, home = "" }: ScriptPlace): Promise<string[]> {
  const env = { CLAUDE_PROJECT_DIR: root, SOUS_PROJECT_DIR: root, HOME: home }
  const seen = new Set(filesOf(form, { cwd: root, env }))
  const text = shellTextOf(form)
  if (text !== undefined && NEEDS_ANALYSIS.test(text)) {
    await prepareCommands()
    const names = ["CLAUDE_PROJECT_DIR", "SOUS_PROJECT_DIR"].map((name) => `${name}=${quote(root)}; `).join("")
    for (const segment of analyseCommand(names + text, { cwd: root, home }).all) {
      for (const cwd of segment.bases ?? [root]) for (const file of started(segment, { cwd, env })) seen.add(file)
    }
  }
  return [...seen].filter((file) => inTree(file, root) !== undefined)
}

/** What a shell reads: the command, or what a program that is one is given with `-c`. */
function shellTextOf({ command, args }: CommandForm): string | undefined {
  if (args === undefined) return command
  const at = args.findIndex((arg) => /^-\w*c$/.test(arg))
  return at < 0 ? undefined : args[at + 1]
}

function started({ words }: Segment, place: Parameters<typeof filesOf>[1]): string[] {
  const [command = "", ...args] = words.map(({ guesses }) => guesses[0]!)
  if (command === "") return []
  const isSourced = command === "." || command === "source"
  return filesOf({ type: "command", command: isSourced ? "sh" : command, args }, place)
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
