/**
 * A program and its words → the files that they name, by the row about the program.
 *
 * Invariant: an option is taken apart by the one matcher alone; a doubt adds a file, and never drops one.
 */
import { basename } from "node:path"
import { codeFiles } from "./code.ts"
import { type Operand, operand } from "./file-operand.ts"
import { startsOf } from "./program/find.ts"
import { cutWord, type Hit, type Match, textOf } from "./program/match.ts"
import type { Program } from "./program/table.ts"
import type { ShellWord } from "./shell-word.ts"

/** The current folder. */
export const dot: ShellWord = { raw: ".", value: ".", guesses: ["."], glob: false, splits: false, emptied: false }

/** The files of a program, its options' values among them. */
export function namedFiles(program: Program, words: readonly ShellWord[]): Operand[] {
  const { row, match, name } = program
  const byOptions = [...program.before, match].flatMap(({ hits }) => hits.flatMap(hitFiles))
  if (name === "find") return [...searchFiles(match), ...byOptions]
  if (name === "tar" || name === "bsdtar") return [...archiveFiles(program), ...byOptions]
  if (name === "dd") return ddFiles(words)
  if (name === "ffmpeg") return [...match.operands.slice(-1).map((word) => operand(word, "write")), ...byOptions]
  const writes = match.hits.some(({ option, value }) => option.effect === "write" && value !== undefined)
  const drops = row.drops && !writes && !hides(match.hits)
  return [
    ...operandFiles(program),
    ...byOptions,
    ...(drops ? [operand(dot, "write", { recursive: true })] : []),
    ...codeFiles(program, words),
    ...looseFiles(program, words),
  ]
}

function hides(hits: readonly Hit[]): boolean {
  return hits.some(({ option }) => option.effect === "hide")
}

function hitFiles({ option, value, name }: Hit): Operand[] {
  const { effect } = option
  if (effect === "steer") return value ? [operand(value, "read", { steers: true })] : []
  if (effect !== "read" && effect !== "write" && effect !== "upload") return []
  if (value === undefined) return effect === "write" ? [operand(dot, "write", { recursive: true })] : []
  if (textOf(value) === "-") return []
  if (effect !== "upload") return [operand(value, effect)]
  const at = textOf(value).search(/^[@<]|[=;][@<]/)
  const text = textOf(value)
  if (at < 0) return name === "-b" || name === "--cookie" ? [operand(value, "read", { loose: true })] : []
  return [operand(cutWord(value, /^[@<]/.test(text) ? 1 : at + 2), "read")]
}

function operandFiles(program: Program): Operand[] {
  const { row, match } = program
  const { hits, operands } = match
  const rewrites = hits.some(({ option }) => option.effect === "rewrite")
  const recursive = row.deep === true || hits.some(({ option }) => option.deep)
  const patterned = hits.some(({ option }) => option.pattern)
  const read = (word: ShellWord) => operand(word, "read", { recursive: recursive || row.plain?.flat === true })
  const both = (word: ShellWord) => (rewrites ? [read(word), operand(word, "write")] : [read(word)])
  const change = (word: ShellWord) => operand(word, "write", { change: true })
  switch (row.operands) {
    case "text":
      return []
    case "steer":
      return operands.map((word) => operand(word, "read", { steers: true }))
    case "read":
      return operands.flatMap(both)
    case "pattern": {
      const files = operands.slice(patterned ? 0 : 1)
      return files.length === 0 && recursive ? [read(dot)] : files.flatMap(both)
    }
    case "write":
      return operands.map((word) => operand(word, "write"))
    case "edit":
    case "replace":
      if (hides(hits)) return operands.map(read)
      return operands.flatMap((word) => [read(word), row.operands === "edit" ? operand(word, "write") : change(word)])
    case "remove":
      return operands.map(change)
    case "rights":
      return operands.slice(patterned || match.strange ? 0 : 1).map(change)
    case "pair":
      return operands.map((word, i) => operand(word, i === 0 ? "read" : "write"))
    case "pack":
      return operands.map((word, i) => operand(word, i === 0 ? "write" : "read", { recursive: true }))
    case "unpack":
      return unpacked(program)
    case "copy":
    case "move":
      return copied(program)
  }
}

function unpacked({ match }: Program): Operand[] {
  const [archive] = match.operands
  const read = archive ? [operand(archive, "read")] : []
  if (hides(match.hits)) return read
  const folder = match.hits.find(({ name, value }) => name === "-d" && value)?.value
  return [...read, operand(folder ?? dot, "write", { recursive: true })]
}

const FAR = /^(?:[\w.@-]+:(?![\\])|[a-z][\w+.-]*:\/\/)/

function copied({ match, row, name }: Program): Operand[] {
  const { hits, operands } = match
  if (name === "install" && hits.some((hit) => hit.name === "-d" || hit.name === "--directory"))
    return operands.map((word) => operand(word, "write"))
  const folder = hits.find(
    (hit) => hit.value && (hit.name === "-t" || "--target-directory".startsWith(hit.name)),
  )?.value
  const goesFar = /^(?:scp|rsync|git clone)$/.test(name)
  const alone = operands.length === 1 && !folder
  const sources = (folder || alone ? operands : operands.slice(0, -1)).filter(
    (word) => !goesFar || !FAR.test(textOf(word)),
  )
  const read = sources.flatMap((word) => {
    const reading = operand(word, "read", { recursive: true })
    return row.operands === "move" ? [reading, operand(word, "write", { change: true })] : [reading]
  })
  const target = folder ?? (alone ? (/^(?:ln|git clone)$/.test(name) ? dot : undefined) : operands.at(-1))
  if (target === undefined || (goesFar && FAR.test(textOf(target)))) return read
  // When the target is a folder, the file gets its own name in it.
  const below = operands
    .filter((word) => word !== target)
    .map((word) => basename(textOf(word)).replace(/\.git$/, ""))
    .filter((part) => part !== "" && part !== "." && part !== "..")
  const guesses = target.guesses.flatMap((guess) => [guess, ...below.map((part) => `${guess}/${part}`)])
  return [...read, { ...operand(target, "write"), guesses: target === dot ? guesses.slice(1) : guesses }]
}

function archiveFiles({ match }: Program): Operand[] {
  const { hits, operands } = match
  const has = (...names: string[]) => hits.some(({ name }) => names.includes(name))
  const valuesOf = (...names: string[]) =>
    hits.flatMap(({ name, value }) => (value && names.includes(name) ? [value] : []))
  const archives = valuesOf("-f", "--file").filter((word) => textOf(word) !== "-")
  const folders = valuesOf("-C", "--directory")
  const packs = has("-c", "-r", "-u", "-A", "--create", "--append", "--update", "--concatenate", "--catenate")
  const members = packs
    ? operands
        .flatMap((word) => [word, ...belowEach(word, folders)])
        .map((word) => operand(word, "read", { recursive: true }))
    : []
  const lists =
    !packs && has("-t", "--list", "-d", "--diff", "--compare", "-O", "--to-stdout") && !has("-x", "--extract", "--get")
  const targets = packs || lists || has("-O", "--to-stdout") ? [] : folders.length > 0 ? folders : [dot]
  return [
    ...archives.map((word) => operand(word, packs ? "write" : "read")),
    ...members,
    ...targets.map((word) => operand(word, "write", { recursive: true })),
    ...(packs ? [] : operands.flatMap((word) => belowEach(word, targets).map((one) => operand(one, "write")))),
    ...(packs && has("--remove-files") ? operands.map((word) => operand(word, "write", { change: true })) : []),
  ]
}

/** Below more folders than this nobody looks; the word then stands for any file. */
const MAX_FOLDERS = 4

function belowEach(word: ShellWord, folders: readonly ShellWord[]): ShellWord[] {
  const anywhere = folders.length > MAX_FOLDERS ? [{ ...word, value: undefined }] : []
  return [...anywhere, ...folders.slice(0, MAX_FOLDERS).map((folder) => belowFolder(word, folder))]
}

/** The word, counted from a folder. */
export function belowFolder(word: ShellWord, folder: ShellWord): ShellWord {
  const inside = (text: string, base: string) => (text.startsWith("/") ? text : `${base}/${text}`)
  return {
    ...word,
    value: word.value === undefined || folder.value === undefined ? undefined : inside(word.value, folder.value),
    guesses: word.guesses.flatMap((guess) => folder.guesses.map((base) => inside(guess, base))).slice(0, 16),
  }
}

function searchFiles(match: Match): Operand[] {
  const { hits } = match
  const starts = startsOf(match)
  const deletes = hits.some(({ name }) => name === "-delete")
  // What it runs may open all that it finds.
  const recursive = hits.some(({ name }) => /^-(?:exec|ok)/.test(name))
  return (starts.length > 0 ? starts : [dot]).flatMap((word) => {
    return [operand(word, "read", { recursive }), ...(deletes ? [operand(word, "write", { change: true })] : [])]
  })
}

function ddFiles(words: readonly ShellWord[]): Operand[] {
  return words.flatMap((word) => {
    const match = /^(if|of)=/.exec(textOf(word))
    return match ? [operand(cutWord(word, 3), match[1] === "if" ? "read" : "write")] : []
  })
}

/** What hangs on an option that is not known may be a file. */
function looseFiles({ row, match }: Program, words: readonly ShellWord[]): Operand[] {
  if (!match.strange || (row.operands !== "read" && row.operands !== "pattern")) return []
  return words.flatMap((word) => {
    const text = textOf(word)
    return /^-.*=/.test(text) ? [operand(cutWord(word, text.indexOf("=") + 1), "read", { loose: true })] : []
  })
}
