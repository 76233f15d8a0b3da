/**
 * A simple command → which command of sous it runs that only a person may run.
 *
 * Invariant: by name, by package runner, by the file of its command line, or in the text that another program starts;
 * where the command is only known when it runs, it counts as one of these.
 */
import type { FloorCommand } from "./floor.ts"
import { absolutePaths } from "./operand.ts"
import { cutPath } from "./path-pattern.ts"
import { isBelow } from "./place.ts"
import { flatten } from "./segment.ts"
import { programName, SHELL_NAMES } from "./wrapper.ts"

const NAMES = "trust|answer|permissions|add|remove|update|config|packs|init|run|watch|resume"
const COMMANDS = new Set(NAMES.split("|"))
/** Of these, the names that few other command lines have. */
const TELLING = new Set(["trust", "answer", "permissions"])
const PACKAGE_RUNNERS = /^(?:npx|bunx|pnpx|npm|pnpm|yarn|bun|corepack|deno|volta|mise|proto)$/
const SCRIPT_RUNNERS = /^(?:node|nodejs|tsx|ts-node|jiti|deno|bun|npx|bunx|pnpx|pnpm|yarn|npm)$/
const PACKAGE = /^(?:npm:)?\/?sous(?:@.*)?$/i
const COMMAND_LINE = /^cli\.[cm]?[jt]s$/i
/** Programs that hand a text, or their last words, to a shell that is not below this run. */
const LAUNCHERS =
  /^(?:tmux|screen|zellij|script|expect|at|batch|crontab|systemd-run|launchctl|dtach|abduco|osascript|node|nodejs|deno|bun|python[\d.]*|perl|ruby|php|npx|npm|pnpm|yarn)$/
const IN_TEXT = new RegExp(`(?:^|[\\s;&|"'\`(=/])sous["'\`]?[\\s,[]+(?:--?[\\w-]+(?:=\\S*)?\\s+)*["'\`]?(${NAMES})\\b`)

/** The command's name; `…` when it is not known. */
export function ownCommandOf(command: FloorCommand): string | undefined {
  const { name, args, segment } = command
  if (isSous(name)) return firstCommand(command, 1, COMMANDS)
  if (name === "xargs" || name === "parallel") {
    const fed = flatten(segment.inner.flatMap(({ segments }) => segments)).find(({ words }) =>
      isSous(programName(words)),
    )
    return fed?.words.slice(1).every(({ raw }) => raw.startsWith("-")) ? "…" : undefined
  }
  const runs = PACKAGE_RUNNERS.test(name) ? args.findIndex((arg) => PACKAGE.test(arg)) : -1
  if (runs >= 0) return firstCommand(command, runs + 2, COMMANDS)
  return scriptCommand(command) ?? (LAUNCHERS.test(name) ? IN_TEXT.exec(args.join(" "))?.[1] : undefined)
}

function isSous(name: string): boolean {
  return /^sous(?:\.(?:exe|cmd|ps1))?$/i.test(name)
}

/** `node …/sous/dist/cli.js trust`, `tsx cli.ts trust`, `sh node_modules/.bin/sous trust`. */
function scriptCommand(command: FloorCommand): string | undefined {
  const { name, args } = command
  if (!SCRIPT_RUNNERS.test(name) && !SHELL_NAMES.has(name)) return undefined
  for (const [i, arg] of args.entries()) {
    if (arg.startsWith("-")) continue
    if (isOwnFile(arg, command)) return firstCommand(command, i + 2, COMMANDS)
    // Some other program's command line may be called the same.
    if (COMMAND_LINE.test(arg.slice(arg.lastIndexOf("/") + 1))) return firstCommand(command, i + 2, TELLING)
  }
  return undefined
}

function isOwnFile(arg: string, { segment, facts }: FloorCommand): boolean {
  const parts = arg.split(/[\\/]/)
  const file = parts.at(-1) ?? ""
  if (parts.length > 1 && isSous(file)) return true
  if (!COMMAND_LINE.test(file)) return false
  if (parts.some(isSous)) return true
  const { toolkit } = facts
  if (toolkit === undefined) return false
  return absolutePaths(segment.bases, [arg])
    .flatMap((path) => [path, facts.paths.get(path)?.real ?? path])
    .some((path) => isBelow(cutPath(path), cutPath(toolkit), "refuse"))
}

/** The first word from there on that is neither an option nor the value of one. */
function firstCommand({ words }: FloorCommand, from: number, known: ReadonlySet<string>): string | undefined {
  let value = false
  for (const word of words.slice(from)) {
    const text = word.guesses[0]!
    if (word.value === undefined && !word.guesses.some((guess) => known.has(guess)) && text === "") return "…"
    if (text.startsWith("-")) {
      value = text !== "--" && !text.includes("=")
      continue
    }
    const hit = word.guesses.find((guess) => known.has(guess))
    if (hit !== undefined) return hit
    // `npx -p sous sous trust` names it twice.
    if (isSous(text)) continue
    if (!value) return undefined
    value = false
  }
  return undefined
}
