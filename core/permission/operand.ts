/**
 * A simple command → the files that it opens, by the habits of well-known programs and by its redirects.
 *
 * Invariant: generous on purpose: a word too many costs nothing, since only guards and the classifier read this; what a
 * program opens without naming it stays unseen.
 */
import { basename, isAbsolute, resolve } from "node:path"
import type { Analysis, Segment } from "./segment.ts"
import { type ShellWord, splitWords } from "./shell-word.ts"
import { programName } from "./wrapper.ts"

/** A file that a command names. */
export interface Operand {
  access: "read" | "write"
  /** The file itself is removed, moved or given other rights. */
  change: boolean
  from: "redirect" | "operand"
  /** As written. */
  written: string
  /** What the word may become, relative to the segment's folders; folders of trailing globs are not cut off. */
  guesses: readonly string[]
  /** Its value is known and holds no glob. */
  exact: boolean
  /** Everything below it is opened too. */
  recursive: boolean
  /** Perhaps no file at all: the value of an option. Only guards look at it. */
  loose: boolean
  /** An unknown part counts as empty in its guesses. */
  emptied: boolean
}

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

function readOperands(segment: Segment): Operand[] {
  const redirects = segment.redirects.map(({ access, word }) => operand(word, access, { from: "redirect" }))
  const words = splitWords(segment.words)
  const name = programName(words)
  return [...redirects, ...namedFiles(name, words)]
}

/** The absolute paths that a command may open, as far as they are known; each is looked up on the disk. */
export function commandPaths(analysis: Analysis): string[] {
  const paths = analysis.all.flatMap((segment) => {
    return operandsOf(segment).flatMap(({ guesses }) =>
      absolutePaths(segment.bases, [...guesses, ...guesses.map(withoutGlob)]),
    )
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
  const parts = path.split("/")
  while (parts.length > 0 && EVERYTHING.test(parts.at(-1)!)) parts.pop()
  const cut = parts.join("/")
  return cut === "" ? (path.startsWith("/") ? "/" : ".") : cut
}
const EVERYTHING = /^(?:\.?\*+|\.?\?\*|\.?\[[!^]?\.\]\*)$/

const READERS =
  /^(?:cat|bat|batcat|head|tail|less|more|most|nl|tac|rev|wc|sort|uniq|cut|paste|join|comm|diff|cmp|sdiff|od|xxd|hexdump|strings|base64|base32|(?:md5|sha\d+|b2|ck)?sum|file|stat|ls|dir|vdir|tree|du|realpath|readlink|column|fold|fmt|expand|unexpand|shuf|split|csplit|zcat|bzcat|xzcat|gunzip|gzip|bzip2|xz|zstd|zip|tar|cpio|pv|source|\.|iconv|dos2unix|pr|tsort|basenc|openssl|gpg|nano|vi|vim|emacs|code|open|xdg-open|mapfile|readarray|cd|pushd)$/
const SEARCHERS = /^(?:grep|egrep|fgrep|zgrep|rg|ag|ack|awk|gawk|mawk|nawk|sed|gsed|jq|yq|ugrep)$/
const WRITERS = /^(?:tee|touch|mkdir|mkfifo|mknod|truncate|sponge)$/
const REMOVERS = /^(?:rm|rmdir|unlink|shred|srm)$/
const RIGHTS = /^(?:chmod|chown|chgrp|chattr|setfacl)$/
const COPIERS = /^(?:cp|gcp|mv|gmv|ln|install|rsync|scp|ditto)$/

function namedFiles(name: string, words: readonly ShellWord[]): Operand[] {
  const { plain, options } = sortWords(words)
  const loose = options
    .filter((word) => /=/.test(textOf(word)))
    .map((word) => operand(optionValue(word), "read", { loose: true }))
  if (READERS.test(name)) return [...plain.map((word) => operand(word, "read")), ...loose, ...namedOutputs(name, words)]
  if (SEARCHERS.test(name)) return [...searched(name, words, plain, options), ...loose]
  if (WRITERS.test(name)) return plain.map((word) => operand(word, "write"))
  if (REMOVERS.test(name)) return plain.map((word) => operand(word, "write", { change: true }))
  if (RIGHTS.test(name)) return plain.slice(1).map((word) => operand(word, "write", { change: true }))
  if (COPIERS.test(name)) return copied(name, words, plain)
  if (name === "find" || name === "fd") return foundBelow(words)
  if (name === "git") return gitFiles(words, plain)
  if (name === "dd") return ddFiles(words)
  if (name === "curl" || name === "wget") return namedOutputs(name, words)
  return []
}

function sortWords(words: readonly ShellWord[]): { plain: ShellWord[]; options: ShellWord[] } {
  const plain: ShellWord[] = []
  const options: ShellWord[] = []
  let ended = false
  for (const word of words.slice(1)) {
    const text = textOf(word)
    if (!ended && text === "--") ended = true
    else if (!ended && text.startsWith("-") && text !== "-") options.push(word)
    else plain.push(word)
  }
  return { plain, options }
}

function searched(
  name: string,
  words: readonly ShellWord[],
  plain: readonly ShellWord[],
  options: readonly ShellWord[],
): Operand[] {
  const flags = options.map(textOf)
  const named = flags.some((flag) => /^(?:-[A-Za-z]*[ef]|--(?:regexp|file|expression|from-file).*)$/.test(flag))
  const inPlace = /sed$/.test(name) && flags.some((flag) => /^(?:-[A-Za-z]*i|--in-p)/.test(flag))
  const recursive =
    /^(?:rg|ag|ack|ugrep)$/.test(name) ||
    flags.some((flag) => /^(?:-[A-Za-z]*[rR]|--(?:dereference-)?recursive)/.test(flag))
  const scripts = words.filter((_, i) => /^-[A-Za-z]*f$|^--(?:file|from-file)$/.test(textOf(words[i - 1])))
  const files = plain.slice(named ? 0 : 1)
  const searches = recursive && files.length === 0 && !/awk|sed|jq|yq/.test(name)
  return [
    ...scripts.map((word) => operand(word, "read")),
    ...files.map((word) => operand(word, "read", { recursive })),
    ...(inPlace ? files.map((word) => operand(word, "write")) : []),
    ...(searches ? [operand(dot, "read", { recursive })] : []),
  ]
}

const dot: ShellWord = { raw: ".", value: ".", guesses: ["."], glob: false, splits: false, emptied: false }

function copied(name: string, words: readonly ShellWord[], plain: readonly ShellWord[]): Operand[] {
  const at = words.findIndex((word) => /^(?:-t|--target-directory)$/.test(textOf(word)))
  const inline = words.find((word) => /^(?:-t.|--target-directory=)/.test(textOf(word)))
  const folder = at > 0 ? words[at + 1] : inline && optionValue(inline)
  const sources = folder ? plain.filter((word) => word !== folder) : plain.slice(0, -1)
  const target = folder ?? (plain.length > 1 ? plain.at(-1) : undefined)
  const moves = /mv$/.test(name)
  const read = sources.flatMap((word) => {
    const reading = operand(word, "read", { recursive: true })
    return moves ? [reading, operand(word, "write", { change: true })] : [reading]
  })
  if (target === undefined) return read
  // When the target is a folder, the file gets its own name in it.
  const below = sources
    .map((word) => basename(textOf(word)))
    .filter((part) => part !== "" && part !== "." && part !== "..")
  const guesses = target.guesses.flatMap((guess) => [guess, ...below.map((part) => `${guess}/${part}`)])
  return [...read, { ...operand(target, "write"), guesses }]
}

function foundBelow(words: readonly ShellWord[]): Operand[] {
  const first = words.findIndex((word, i) => i > 0 && /^(?:-(?!-?[HLPDO])|[(!])/.test(textOf(word)))
  const starts = words.slice(1, first < 0 ? undefined : first).filter((word) => !/^-[HLP]$/.test(textOf(word)))
  const deletes = words.some((word) => textOf(word) === "-delete")
  const written = words.filter((_, i) => /^-f(?:print0?|printf|ls)$/.test(textOf(words[i - 1])))
  return [
    ...(starts.length > 0 ? starts : [dot]).flatMap((word) => {
      return [operand(word, "read"), ...(deletes ? [operand(word, "write", { change: true })] : [])]
    }),
    ...written.map((word) => operand(word, "write")),
  ]
}

function gitFiles(words: readonly ShellWord[], plain: readonly ShellWord[]): Operand[] {
  const reads = plain.slice(1).flatMap((word) => {
    const text = textOf(word)
    const colon = text.indexOf(":")
    const path = colon > 0 ? { ...word, guesses: [text.slice(colon + 1)] } : word
    return [operand(path, "read")]
  })
  return [...reads, ...namedOutputs("git", words)]
}

function ddFiles(words: readonly ShellWord[]): Operand[] {
  return words.flatMap((word) => {
    const match = /^(if|of)=/.exec(textOf(word))
    return match ? [operand(optionValue(word), match[1] === "if" ? "read" : "write")] : []
  })
}

/** Options that name a file to write, by program. */
const OUTPUTS: Record<string, RegExp> = {
  sort: /^(?:-[A-Za-z]*o|--o(?:u(?:t(?:p(?:ut?)?)?)?)?)$/,
  shuf: /^(?:-[A-Za-z]*o|--output)$/,
  tree: /^-[A-Za-z]*o$/,
  base64: /^-[A-Za-z]*o$/,
  curl: /^(?:-[A-Za-z]*[oDc]|--(?:output|dump-header|cookie-jar|output-dir|trace))$/,
  wget: /^(?:-[A-Za-z]*[OoP]|--(?:output-document|output-file|directory-prefix))$/,
  git: /^--output$/,
  tar: /^(?:-?[A-Za-z]*c[A-Za-z]*f|-C|--directory)$/,
}

function namedOutputs(name: string, words: readonly ShellWord[]): Operand[] {
  const pattern = OUTPUTS[name]
  if (pattern === undefined) return []
  return words.flatMap((word, i) => {
    const text = textOf(word)
    const [option, ...value] = text.split("=")
    if (value.length > 0) return pattern.test(option!) ? [operand(optionValue(word), "write")] : []
    if (pattern.test(text) && words[i + 1]) return [operand(words[i + 1]!, "write")]
    // A cluster such as `-uo/tmp/x`: the value hangs on the letter.
    const at = /^-[A-Za-z]/.test(text)
      ? [...text].findIndex((_, end) => end > 0 && pattern.test(text.slice(0, end + 1)))
      : -1
    if (at < 0 || at + 1 >= text.length || name === "tar") return []
    return [operand({ ...word, guesses: [text.slice(at + 1)], value: word.value?.slice(at + 1) }, "write")]
  })
}

function operand(word: ShellWord, access: Operand["access"], more: Partial<Operand> = {}): Operand {
  const { raw, guesses, value, glob, emptied } = word
  const exact = value !== undefined && !glob
  return {
    access,
    change: false,
    from: "operand",
    written: raw,
    guesses,
    exact,
    recursive: false,
    loose: false,
    emptied,
    ...more,
  }
}

function optionValue(word: ShellWord): ShellWord {
  const cut = (text: string) => text.slice(text.startsWith("-t") ? 2 : text.indexOf("=") + 1)
  return { ...word, value: word.value === undefined ? undefined : cut(word.value), guesses: word.guesses.map(cut) }
}

function textOf(word: ShellWord | undefined): string {
  return word?.guesses[0] ?? ""
}
