/**
 * The words of a command and the options of its program → its options with their values, and its operands.
 *
 * Invariant: the one place that takes options apart; whatever it had to guess, an abbreviation or an unknown option
 * among it, makes the match `strange`, which counts for refusing alone.
 */
import type { ShellWord } from "../shell-word.ts"
import type { Option, OptionSet } from "./option-set.ts"

/** An option that was given. */
export interface Hit {
  option: Option
  /** `-o` or `--output`; for one that is only begun, as it was written. */
  name: string
  /** The index of its word. */
  at: number
  value?: ShellWord
}

/** A command line, taken apart. */
export interface Match {
  hits: readonly Hit[]
  operands: readonly ShellWord[]
  /** The index of each operand. */
  places: readonly number[]
  /** Where the operands after `--` begin, among the operands; undefined without one. */
  ended: number | undefined
  /** A guess was needed: an option that is not known, only begun, or whose value looks like another option. */
  strange: boolean
}

/** How a program reads its words. */
export interface Reading {
  /** The index of the first word that may be an option. */
  from?: number
  /** Its options end at the first operand: a command follows. */
  stops?: boolean
  /** The first word may be a cluster without a dash, as that of `tar`. */
  bundles?: boolean
  /** Long names have one dash, and letters do not cluster. */
  single?: boolean
}

interface Work {
  words: readonly ShellWord[]
  set: OptionSet
  hits: Hit[]
  operands: ShellWord[]
  places: number[]
  ended: number | undefined
  strange: boolean
}

/** Takes the words apart, abbreviations of long names included. */
export function matchOptions(words: readonly ShellWord[], set: OptionSet, reading: Reading = {}): Match {
  const { from = 1, stops = false, bundles = false, single = false } = reading
  const work: Work = { words, set, hits: [], operands: [], places: [], ended: undefined, strange: false }
  let at = from
  if (bundles && at < words.length && /^[A-Za-z]+$/.test(textOf(words[at]))) at = matchBundle(work, at)
  for (; at < words.length; at++) {
    const text = textOf(words[at])
    if (work.ended !== undefined || text.length < 2 || text[0] !== "-") {
      addOperand(work, at)
      if (stops) break
    } else if (text === "--") {
      work.ended = work.operands.length
    } else if (single || text[1] === "-" || set.names.has(text)) at = matchName(work, at, text)
    else at = matchLetters(work, at, text)
  }
  if (stops) for (at++; at < words.length; at++) addOperand(work, at)
  return work
}

function addOperand(work: Work, at: number): void {
  work.operands.push(work.words[at]!)
  work.places.push(at)
}

/** Returns the index of the last word that belongs to the option. */
function matchName(work: Work, at: number, text: string): number {
  const { words, set } = work
  const equals = text.indexOf("=")
  const name = equals < 0 ? text : text.slice(0, equals)
  // `--exec` where the names have one dash: most such programs take both.
  const known = set.names.get(name) ?? (name.startsWith("--") ? set.names.get(name.slice(1)) : undefined)
  const glued = equals < 0 ? undefined : cutWord(words[at]!, equals + 1)
  const options = known ? [known] : begunBy(set, name)
  if (known === undefined) work.strange = true
  if (options.length === 0) return at
  if (glued && options.every(({ takes }) => takes === "nothing")) work.strange = true
  const next = glued === undefined && options.some(({ takes }) => takes === "value") ? words[at + 1] : undefined
  for (const option of options) {
    const value = glued ?? (option.takes === "value" ? next : undefined)
    work.hits.push(value ? { option, name, at, value } : { option, name, at })
  }
  if (next === undefined || options.some(({ takes }) => takes !== "value")) return at
  checkValue(work, next)
  return at + 1
}

/** The options that a name may stand for when it is only begun, as getopt_long and npm take it. */
function begunBy(set: OptionSet, begun: string): Option[] {
  if (begun.length < 3) return []
  const found = new Set<Option>()
  for (const [name, option] of set.names) if (name.startsWith(begun)) found.add(option)
  return [...found]
}

function matchLetters(work: Work, at: number, text: string): number {
  const { words, set } = work
  for (let i = 1; i < text.length; i++) {
    const option = set.letters.get(text[i]!)
    const name = `-${text[i]}`
    if (option === undefined) work.strange = true
    else if (option.takes === "nothing") work.hits.push({ option, name, at })
    else if (i + 1 < text.length) {
      work.hits.push({ option, name, at, value: gluedValue(words[at]!, i + 1) })
      return at
    } else if (option.takes === "glued" || words[at + 1] === undefined) work.hits.push({ option, name, at })
    else {
      work.hits.push({ option, name, at, value: words[at + 1]! })
      checkValue(work, words[at + 1]!)
      return at + 1
    }
  }
  return at
}

/** `-o=x` is `=x` to some programs, and `x` to others. */
function gluedValue(word: ShellWord, start: number): ShellWord {
  const value = cutWord(word, start)
  if (!textOf(value).startsWith("=")) return value
  return { ...value, value: undefined, guesses: [...cutWord(value, 1).guesses, ...value.guesses] }
}

/** `xfC a.tar dir`: the values of all letters follow in their order. */
function matchBundle(work: Work, from: number): number {
  let at = from + 1
  for (const letter of textOf(work.words[from])) {
    const option = work.set.letters.get(letter)
    if (option === undefined) work.strange = true
    else if (option.takes !== "value" || work.words[at] === undefined)
      work.hits.push({ option, name: `-${letter}`, at: from })
    else work.hits.push({ option, name: `-${letter}`, at: from, value: work.words[at++]! })
  }
  return at
}

/** A value that looks like an option may be one, to another version of the program. */
function checkValue(work: Work, value: ShellWord): void {
  if (/^-[^\d-]|^--./.test(textOf(value))) work.strange = true
}

/** The word without its first characters. */
export function cutWord(word: ShellWord, start: number): ShellWord {
  return { ...word, value: word.value?.slice(start), guesses: word.guesses.map((guess) => guess.slice(start)) }
}

/** What the word most likely becomes. */
export function textOf(word: ShellWord | undefined): string {
  return word?.guesses[0] ?? ""
}
