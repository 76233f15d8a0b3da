/**
 * The words of a command → the row about its program, down to the sub-command that they name.
 *
 * Invariant: a name that has no row is not known, and nothing about it is guessed.
 */
import { basename } from "node:path"
import type { ShellWord } from "../shell-word.ts"
import { files } from "./file-table.ts"
import { findRow } from "./find.ts"
import { git, gitCommands } from "./git-table.ts"
import { type Match, matchOptions, textOf } from "./match.ts"
import { readers } from "./reader-table.ts"
import type { Row } from "./row.ts"
import { runners } from "./runner-table.ts"
import { scripts } from "./script-table.ts"

const ALIASES: Readonly<Record<string, string>> = {
  dir: "ls",
  vdir: "ls",
  gls: "ls",
  fdfind: "fd",
  batcat: "bat",
  gsed: "sed",
  gcp: "cp",
  gmv: "mv",
  grm: "rm",
  gtar: "tar",
  gsort: "sort",
  gfind: "find",
  ripgrep: "rg",
  hub: "git",
  pip3: "pip",
  "py.test": "pytest",
}

/** The program that loads programs. */
const LOADER = /^ld(?:-linux|-musl)?[\w-]*\.so(?:\.\d+)*$/

const rows = new Map<string, Row>([
  ...Object.entries(runners),
  ...Object.entries(scripts),
  ...Object.entries(files),
  ...Object.entries(readers),
  ["find", findRow],
  ["git", git],
  ...Object.entries(gitCommands).map(([name, one]): [string, Row] => [`git ${name}`, one]),
])

/** A program, and its words by the row that fits them best. */
export interface Program {
  /** `git stash show`; without a row just the program's name. */
  name: string
  row: Row
  match: Match
  /** The index of the last word of its name. */
  at: number
  /** The options in front of its sub-commands. */
  before: readonly Match[]
}

const cache = new WeakMap<readonly ShellWord[], { program: Program | undefined }>()

/** What is known about the program that the words call; undefined when nothing is. */
export function programOf(words: readonly ShellWord[]): Program | undefined {
  let known = cache.get(words)
  if (known === undefined) {
    known = { program: findProgram(words) }
    cache.set(words, known)
  }
  return known.program
}

/** The name of the program without its folder, as it is written. */
export function writtenName(words: readonly ShellWord[]): string {
  const text = textOf(words[0])
  return text.includes("/") ? basename(text) : text
}

/** The same for refusing: some disks take `RM` for `rm`, some systems `rm.exe`. */
export function programName(words: readonly ShellWord[]): string {
  const name = writtenName(words)
  return /[A-Z.]/.test(name) ? name.replace(/\.(?:exe|com|cmd|bat)$/i, "").toLowerCase() : name
}

/** The name under which the tables know the program: `git` for `hub`. */
export function plainName(name: string): string {
  return Object.hasOwn(ALIASES, name) ? ALIASES[name]! : name
}

/** True for git and all of its sub-commands. */
export function isGit(program: Program | undefined): program is Program {
  return program?.name === "git" || program?.name.startsWith("git ") === true
}

/** The index of its first sub-command among the words of git; without one, the number of words. */
export function gitCommandAt(words: readonly ShellWord[]): number {
  return matchOptions(words, git.options, { stops: true }).places[0] ?? words.length
}

/** True for a program that runs the command behind its own words. */
export function isRunner(name: string): boolean {
  return rows.get(name)?.runs !== undefined
}

function findProgram(words: readonly ShellWord[]): Program | undefined {
  const written = programName(words)
  let name = LOADER.test(written) ? "ld.so" : plainName(written)
  let row = rows.get(name)
  const before: Match[] = []
  let at = 0
  while (row?.subs) {
    const match = matchOptions(words, row.options, { from: at + 1, stops: true })
    const sub = match.operands[0]
    const next = sub && rows.get(`${name} ${textOf(sub)}`)
    if (next === undefined) break
    before.push(match)
    name = `${name} ${textOf(sub)}`
    row = next
    at = match.places[0]!
  }
  if (row === undefined) return undefined
  const match = matchOptions(words, row.options, {
    from: at + 1,
    stops: row.runs !== undefined,
    ...(row.bundles && { bundles: true }),
    ...(row.single && { single: true }),
  })
  return { name, row, match, at, before }
}
