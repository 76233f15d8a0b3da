/**
 * The command of a hook → the files of the project that it starts, as far as that can be seen.
 *
 * Invariant: loaded only where hooks of a project name commands; what only a shell can work out is taken for every file
 * that it may mean.
 */
import { join } from "node:path"
import { filesOf } from "../hook-launch.ts"
import type { HookForm } from "../hook-source.ts"
import { analyseCommand, prepareCommands } from "../permission/command.ts"
import type { Segment } from "../permission/segment.ts"
import { inTree } from "./trust-path.ts"
import { filesInWords, pythonFiles, startsByWords } from "./trust-word.ts"

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
  for (const file of wordFiles(form, root)) seen.add(file)
  return [...seen].filter((file) => inTree(file, root) !== undefined)
}

/** What options, a pipe, or a redirection hand to something that reads code, and what package runners start. */
function wordFiles({ command, args = [] }: CommandForm, root: string): string[] {
  const text = [command, ...args].join(" ")
  const named = startsByWords(text) ? [...filesInWords(text, { root }), ...pythonFiles(text, { root })] : []
  return [...named, ...runFiles(text).map((file) => join(root, file))]
}

/** Package runners and `make`, each with the files of a project that say what it starts. */
function runFiles(text: string): string[] {
  const packaged = [...text.matchAll(PACKAGE_RUN)].map(([, name]) => `node_modules/.bin/${name}`)
  return [...packaged, ...RECIPES.flatMap(([program, files]) => (program.test(text) ? files : []))]
}

const PACKAGE_RUN =
  /(?:^|[\s;|&("'])(?:npx|bunx|pnpx|pnpm exec|pnpm dlx|yarn exec|npm exec)\s+(?:-\S+\s+)*(?:--\s+)?([\w.@/-]+)/g
const RECIPES: readonly (readonly [RegExp, readonly string[]])[] = [
  [/(?:^|[\s;|&("'])g?make\b/, ["GNUmakefile", "makefile", "Makefile"]],
  [/(?:^|[\s;|&("'])just\b/, ["justfile", "Justfile", ".justfile"]],
  [/(?:^|[\s;|&("'])task\b/, ["Taskfile.yml", "Taskfile.yaml"]],
  [/(?:^|[\s;|&("'])rake\b/, ["Rakefile"]],
]

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
