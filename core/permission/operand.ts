/**
 * A simple command → the files that it opens, by the habits of well-known programs and by its redirects.
 *
 * Invariant: generous on purpose: a word too many costs nothing, since only guards and the classifier read this; what a
 * program opens without naming it stays unseen.
 */
import { isAbsolute, resolve } from "node:path"
import { type Operand, operand } from "./file-operand.ts"
import { gitFiles } from "./git-file.ts"
import { namedFiles } from "./named-file.ts"
import { isGit, programOf } from "./program/table.ts"
import type { Analysis, Segment } from "./segment.ts"
import { type ShellWord, SOME_TEXT, splitWords } from "./shell-word.ts"

export type { Operand } from "./file-operand.ts"

const cache = new WeakMap<Segment, readonly Operand[]>()

/** The files of one segment, without those of the commands that it runs in turn. */
export function operandsOf(segment: Segment): readonly Operand[] {
  let operands = cache.get(segment)
  if (operands === undefined) {
    operands = readOperands(segment)
    cache.set(segment, operands)
  }
  return operands
}

function readOperands(segment: Segment): readonly Operand[] {
  const redirects = segment.redirects.map(({ access, word }) => operand(word, access, { from: "redirect" }))
  const named = variantsOf(segment.words).flatMap((words) => {
    const program = programOf(words)
    if (program === undefined) return []
    return isGit(program) ? gitFiles(program) : namedFiles(program, words)
  })
  return redirects.length === 0 ? named : [...redirects, ...named]
}

/** The words for each value that a variable in the place of an option may have, and with those that may be empty. */
function variantsOf(written: readonly ShellWord[]): (readonly ShellWord[])[] {
  const words = splitWords(written)
  const filled = written.map((word) => (isGone(word) ? { ...word, guesses: [SOME_TEXT], emptied: false } : word))
  return [...variantsOfSplit(words), ...(words.length < written.length ? [filled] : [])]
}

function isGone({ splits, value, guesses }: ShellWord): boolean {
  return splits && value === undefined && guesses.length === 1 && guesses[0]!.trim() === ""
}

function variantsOfSplit(words: readonly ShellWord[]): (readonly ShellWord[])[] {
  const most = words.reduce(
    (all, { guesses }) => (guesses.some((guess) => guess[0] === "-") ? Math.max(all, guesses.length) : all),
    1,
  )
  if (most === 1) return [words]
  return Array.from({ length: most }, (_, i) => {
    return words.map((word) => ({ ...word, guesses: [word.guesses[i] ?? word.guesses[0]!, ...word.guesses] }))
  })
}

/** The absolute paths that a command may open, as far as they are known; each is looked up on the disk. */
export function commandPaths(analysis: Analysis): string[] {
  const paths = analysis.all.flatMap((segment) => {
    return operandsOf(segment).flatMap(({ guesses, unless = [] }) => {
      const folders = guesses.map(withoutGlob).filter((folder, i) => folder !== guesses[i])
      return absolutePaths(segment.bases, [...guesses, ...folders, ...unless])
    })
  })
  const bases = analysis.all.flatMap(({ bases }) => bases ?? [])
  return [...new Set([...bases, ...paths])]
}

/** Guesses made absolute; relative ones fall out when the folder is not known. */
export function absolutePaths(bases: readonly string[] | undefined, guesses: readonly string[]): string[] {
  return guesses.flatMap((guess) => {
    if (isAbsolute(guess)) return [resolve(guess)]
    return (bases ?? []).map((base) => resolve(base, guess))
  })
}

/** `x/*` → `x`: a glob that takes everything counts as its folder. */
export function withoutGlob(path: string): string {
  if (!/[*?[]/.test(path)) return path
  const parts = path.split("/")
  while (parts.length > 0 && EVERYTHING.test(parts.at(-1)!)) parts.pop()
  const cut = parts.join("/")
  return cut === "" ? (path.startsWith("/") ? "/" : ".") : cut
}
const EVERYTHING = /^(?:\.?\*+|\.?\?\*|\.?\[[!^]?\.\]\*)$/
