/**
 * A simple command → why what it deletes, or whose rights it changes, may not go.
 *
 * Invariant: only `/`, what stands in it, the home folder and the folders above the working directory are vital; a word
 * that may turn out empty as a whole is nothing, one in front of a slash may leave the root.
 */
import { dirname, resolve } from "node:path"
import { clip } from "./clip.ts"
import type { PermissionFacts } from "./decision.ts"
import type { FloorCommand } from "./floor.ts"
import { absolutePaths, withoutGlob } from "./operand.ts"
import { cutPath, matchesPath, parsePathPattern } from "./path-pattern.ts"
import { isBelow } from "./place.ts"
import { flatten, type Segment } from "./segment.ts"
import type { ShellWord } from "./shell-word.ts"
import { programName } from "./wrapper.ts"

/** Why the command deletes what may not go. */
export function floorOfDelete(command: FloorCommand): string | undefined {
  const { segment, facts } = command
  const targets = deletedBy(command)
  const hit = targets?.find((word) => isVital(word, command))
  if (hit) {
    const mend = hit.emptied ? `; should it be meant, write "\${NAME:?}" for the variable that may be empty` : ""
    return `it deletes "${clip(hit.raw)}", on which the machine, its user or this run stands${mend}`
  }
  const inPlace = targets?.length === 0 && isFinder(command) && segment.bases?.some((base) => isVitalPath(base, facts))
  return inPlace ? "it deletes what is below the current folder" : undefined
}

/** Why the command changes the rights of everything. */
export function floorOfRights({ name, words, args, segment, facts }: FloorCommand): string | undefined {
  if (!/^g?(?:chmod|chown|chgrp|chattr|setfacl)$/.test(name)) return undefined
  if (!args.some((arg) => /^-[A-Za-z]*R|^--recursive/.test(arg))) return undefined
  const hit = words.slice(1).find((word) => {
    return pathsOf(word, segment).some((path) => path === "/" || (facts.home !== "" && isAbove(path, facts.home)))
  })
  return hit ? `it changes the rights of everything below "${clip(hit.raw)}"` : undefined
}

/** The words that name what the command deletes, moves away or empties; undefined when it does none of that. */
function deletedBy(command: FloorCommand): ShellWord[] | undefined {
  const { name, args } = command
  const forced = args.some((arg) => /^-[A-Za-z]*[rRf]|^--(?:r|f)/.test(arg))
  if (/^g?(?:rm|srm)$/.test(name)) return forced ? operandsOf(command) : undefined
  if (name === "rmdir") return operandsOf(command)
  if (/^g?mv$/.test(name)) return movedBy(command)
  if (name === "rsync" && args.some((arg) => /^--del/.test(arg))) return operandsOf(command).slice(-1)
  if (isFinder(command)) return deletesFinds(command) || feedsDeletion(command) ? searchedBy(command) : undefined
  return name === "ls" && feedsDeletion(command) ? operandsOf(command) : undefined
}

/** `find / | xargs rm`: what it lists is handed to a program that deletes, in the same pipeline. */
function feedsDeletion({ segment, analysis }: FloorCommand): boolean {
  const [own = ""] = segment.tails
  const deleters = analysis.all.filter(
    ({ words, inner }) =>
      /^g?xargs$|^parallel$/.test(programName(words)) && flatten(inner.flatMap((one) => one.segments)).some(isDeleter),
  )
  return analysis.spans.some((span) => {
    return !/[;&\n]/.test(span) && span.includes(own) && deleters.some(({ tails: [text = ""] }) => span.includes(text))
  })
}

function movedBy(command: FloorCommand): ShellWord[] {
  const operands = operandsOf(command)
  return command.args.some((arg) => /^-[A-Za-z]*t|^--t/.test(arg)) ? operands : operands.slice(0, -1)
}

function operandsOf({ words }: FloorCommand): ShellWord[] {
  const end = words.findIndex((word, i) => i > 0 && word.guesses[0] === "--")
  const isOperand = (word: ShellWord, i: number) => (end > 0 && i > end) || !word.guesses[0]!.startsWith("-")
  return words.filter((word, i) => i > 0 && i !== end && isOperand(word, i))
}

function isFinder({ name }: FloorCommand): boolean {
  return /^(?:g?find|fd|fdfind)$/.test(name)
}

function deletesFinds({ args, segment }: FloorCommand): boolean {
  return args.includes("-delete") || flatten(segment.inner.flatMap(({ segments }) => segments)).some(isDeleter)
}

function isDeleter({ words }: Segment): boolean {
  return /^g?(?:rm|srm|rmdir|shred|unlink)$/.test(programName(words))
}

/** Where the search starts: for `find` the operands in front of its tests, for `fd` any. */
function searchedBy(command: FloorCommand): ShellWord[] {
  const { name, args, words } = command
  if (!name.endsWith("find") || name === "fdfind") return operandsOf(command).slice(1)
  const stop = args.findIndex((arg) => /^(?:-(?![HLPDO])|[(!])/.test(arg))
  return words.slice(1, stop < 0 ? undefined : stop + 1).filter((word) => !word.guesses[0]!.startsWith("-"))
}

/** A target that may not go: `/`, a child of it, the home folder, a folder above the working directory. */
function isVital(word: ShellWord, { segment, facts }: FloorCommand): boolean {
  if (isSomebodysHome(word)) return true
  const left = segment.moved ? [facts.cwd, ...facts.roots.slice(0, 1)] : []
  return pathsOf(word, segment).some((path) => {
    const real = facts.paths.get(path)?.real
    const places = real === undefined || real === path ? [path] : [path, real]
    return places.some((one) => isVitalPath(one, facts, { emptied: word.emptied, left }))
  })
}

/** `~name` and what is in it; `~+` and `~-` are folders of the shell. */
function isSomebodysHome({ raw }: ShellWord): boolean {
  return /^~[A-Za-z_][\w.-]*(?:\/+(?:\.?\*+)?)*$/.test(raw)
}

/** What stands in `/` on any system; what an empty variable would leave in front of another name is no such folder. */
const STANDARD =
  /^\/(?:bin|boot|dev|etc|home|lib\d*|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|Users|System|Library|Applications|private)$/

/** `left`: working folders that the command has left, so that they are no longer where it works. */
function isVitalPath(
  path: string,
  facts: PermissionFacts,
  { emptied = false, left = [] as readonly string[] } = {},
): boolean {
  if (path === "/") return true
  if (dirname(path) === "/") return !emptied || STANDARD.test(path)
  const above = [facts.cwd, ...facts.roots.slice(0, 1)].map((root) => dirname(root))
  const kept = [facts.home, ...above, ...left].filter((one) => one !== "")
  if (kept.some((one) => isAbove(path, one))) return true
  const pattern = /[*?[]/.test(path) ? parsePathPattern(`/${path}`, ROOT, "refuse") : undefined
  return pattern !== undefined && kept.map(cutPath).some((one) => matchesPath(pattern, one, one))
}
const ROOT = { cwd: "/", home: "/", settings: "/" }

/** True when `folder` is the path, or lies above it. */
function isAbove(folder: string, path: string): boolean {
  return isBelow(cutPath(path), cutPath(folder), "refuse")
}

/** The places that a word may name; a glob for everything counts as its folder. */
function pathsOf(word: ShellWord, segment: Segment): string[] {
  const guesses = word.guesses.filter((guess) => guess !== "").map((guess) => withoutGlob(withoutEnd(guess)))
  return absolutePaths(segment.bases, guesses).map((path) => resolve(path))
}

/** Without slashes and `/.` at its end. */
function withoutEnd(path: string): string {
  let end = path.length
  while (end > 1 && (path[end - 1] === "/" || (path[end - 1] === "." && path[end - 2] === "/"))) end--
  return path.slice(0, end)
}
