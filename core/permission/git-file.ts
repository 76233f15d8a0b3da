/**
 * A command of git → the files that it names, and those whose content it shows out of the repository.
 *
 * Invariant: a command that would print what a guarded file holds, now or in an older version, reads that file; without
 * paths that narrow it, it reads everything below the top of the repository.
 */

import { type Operand, operand } from "./file-operand.ts"
import { belowFolder, dot, namedFiles } from "./named-file.ts"
import { textOf } from "./program/match.ts"
import type { Program } from "./program/table.ts"
import type { ShellWord } from "./shell-word.ts"

/** The files of a command of git. */
export function gitFiles(program: Program): Operand[] {
  const [before] = program.before
  const folders = (before?.hits ?? []).flatMap(({ name, value }) => (name === "-C" && value ? [value] : []))
  const named = namedFiles(program, []).flatMap(readPath)
  const all = showsContent(program) ? [...named.map(lookThrough), ...wholeRepository(program)] : named
  return folders.length === 0 ? all : all.map((one) => (one.steers ? one : moveInto(one, folders)))
}

function moveInto(one: Operand, folders: readonly ShellWord[]): Operand {
  const word: ShellWord = {
    raw: one.written,
    value: undefined,
    guesses: one.guesses,
    glob: false,
    splits: false,
    emptied: false,
  }
  return { ...one, guesses: folders.reduceRight(belowFolder, word).guesses }
}

function lookThrough(one: Operand): Operand {
  return one.access === "read" ? { ...one, recursive: true } : one
}

/** `HEAD:a`, `:0:a`, `:(top)a`: the path in a word that may name a version too. */
function readPath(one: Operand): Operand[] {
  const [text = ""] = one.guesses
  const path = pathIn(text)
  return path === text ? [one] : [{ ...one, guesses: [path], top: true, exact: one.exact && !MAGIC.test(text) }]
}

const MAGIC = /^:(?:[/!^(])|[*?[]/

function pathIn(text: string): string {
  const magic = /^:(?:\([^)]*\)|[/!^]+)(.*)$/s.exec(text)
  if (magic) return magic[1] || "."
  const version = /^[^:]*:(?:[0-3]:)?(.*)$/s.exec(text)
  return version ? version[1] || "." : text
}

function showsContent({ row, match }: Program): boolean {
  if (row.shows === undefined) return false
  if (match.hits.some(({ option }) => option.effect === "show")) return true
  return row.shows === "always" && !match.hits.some(({ option }) => option.effect === "hide")
}

/** Everything in the repository, unless paths narrow it. */
function wholeRepository({ row, match }: Program): Operand[] {
  const operands =
    row.operands === "pattern" && !match.hits.some(({ option }) => option.pattern)
      ? match.operands.slice(1)
      : match.operands
  const skipped = match.operands.length - operands.length
  const paths = match.ended === undefined ? [] : operands.slice(Math.max(0, match.ended - skipped))
  if (paths.length > 0 && !paths.some((word) => MAGIC.test(textOf(word)))) return []
  const texts = operands.map(textOf)
  if (paths.length === 0 && texts.length > 0 && texts.every((text) => /^[^:]*:[^/!^(]/.test(text))) return []
  const unless = paths.length === 0 ? texts.filter((text) => !MAGIC.test(text)) : []
  return [operand(dot, "read", { recursive: true, top: true, ...(unless.length > 0 && { unless }) })]
}
