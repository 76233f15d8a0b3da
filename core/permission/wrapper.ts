/**
 * The words of a simple command → the commands that it runs in turn: wrappers, shells with a string, `find -exec` …
 *
 * Invariant: what is found here is looked at by every refusal; only a `clear` wrapper lets an allow rule look through.
 */
import { commandsInCode } from "./code.ts"
import { namesSought, startsOf } from "./program/find.ts"
import { textOf } from "./program/match.ts"
import { isGit, isRunner, type Program, programName, programOf } from "./program/table.ts"
import { literalWord, type ShellWord, SOME_TEXT } from "./shell-word.ts"
import { unwrapCode, unwrapHit, unwrapRunning } from "./wrapper-code.ts"
import { unwrapGit } from "./wrapper-git.ts"
import {
  opaque,
  textFrom,
  type Unwrapped,
  unknownFrom,
  unwrapInterpreter,
  unwrapShell,
  unwrapSplit,
} from "./wrapper-shell.ts"

export { programName, writtenName } from "./program/table.ts"
export { SHELL_NAMES, type Unwrapped } from "./wrapper-shell.ts"

/** What the command runs in turn. `stdin`: texts that are fed to it, when they are known. */
export function unwrap(words: readonly ShellWord[], stdin: readonly string[]): Unwrapped[] {
  const [program] = words
  if (program === undefined) return []
  const name = programName(words)
  const special = unwrapShell(name, words, stdin) ?? unwrapInterpreter(name, words, stdin) ?? unwrapBuiltin(name, words)
  if (special) return special
  const known = programOf(words)
  const found = known ? unwrapKnown(known, words, stdin) : []
  if (program.value === undefined || program.glob) found.push(opaque(0, "its program is only known when it runs"))
  return found
}

/** Builtins after which a name no longer means what it meant, or that run a file or a text. */
function unwrapBuiltin(name: string, words: readonly ShellWord[]): Unwrapped[] | undefined {
  switch (name) {
    case "command":
      return /^-[pvV]*[vV]/.test(textOf(words[1])) ? [] : undefined
    case "eval":
      return words.length > 1
        ? [{ kind: "script", at: 1, texts: [textFrom(words, 1)], here: true }, ...unknownFrom(words, 1)]
        : []
    case "alias": {
      const texts = words.slice(1).map((word) => textOf(word).replace(/^[^=]*=/, ""))
      return [{ kind: "script", at: 1, texts }]
    }
    case "source":
    case ".":
      return [opaque(1, "it runs a file")]
    case "hash":
    case "enable":
      return /^-[pf]/.test(textOf(words[1])) ? [opaque(1, "it gives a name another meaning")] : []
    default:
      // The shell's own `time` knows no option but -p; the program behind it does.
      if (/^-./.test(name)) return [{ kind: "command", at: 0, words: [literalWord("gtime"), ...words], clear: false }]
      // git keeps a program for each of its sub-commands.
      return /^git-[a-z]/.test(name)
        ? [
            {
              kind: "command",
              at: 0,
              words: [literalWord("git"), literalWord(name.slice(4)), ...words.slice(1)],
              clear: false,
            },
          ]
        : undefined
  }
}

/** By the row about the program. */
function unwrapKnown(program: Program, words: readonly ShellWord[], stdin: readonly string[]): Unwrapped[] {
  const { row, name } = program
  const hits = [...program.before, program.match].flatMap((match) => match.hits)
  const found = name === "env" ? unwrapSplit(program, words) : hits.flatMap(unwrapHit)
  if (row.running) found.push(...unwrapRunning(row.running, words))
  if (row.runs) found.push(...unwrapCommand(program, words, stdin))
  if (name === "find" || name === "fd") found.push(...unwrapFound(program, words))
  if (name === "crontab" && textOf(program.match.operands[0]) === "-") found.push(...unwrapTimes(words.length, stdin))
  if (STRINGS.has(name)) found.push(...unwrapString(words))
  found.push(...unwrapCode(name, words))
  if (isGit(program)) found.push(...unwrapGit(program, words))
  return found
}

function unwrapCommand(program: Program, words: readonly ShellWord[], stdin: readonly string[]): Unwrapped[] {
  const { row, match } = program
  const runs = row.runs!
  const dashes = runs.dashes ? words.findIndex((word, i) => i > program.at && textOf(word) === "--") : -1
  let at = dashes > 0 ? dashes + 1 : (match.places[runs.skips] ?? words.length)
  while (runs.assigns && (isAssignment(words[at]) || textOf(words[at]) === "-")) at++
  // The text that such a program runs stands behind its operand.
  if (STRINGS.has(program.name) && textOf(words[at]).startsWith("-")) return []
  if (at >= words.length) {
    if (!runs.reads || match.hits.some(({ name }) => /^-[flrcbdvV]$/.test(name))) return []
    return stdin.length > 0
      ? [{ kind: "script", at, texts: stdin.flatMap((text) => [text, ...text.split("\n").flatMap(commandsInCode)]) }]
      : [opaque(at, "it runs whatever is written to it")]
  }
  const ends = runs.skips > 0 && textOf(words[at]) === "--"
  if (ends) at++
  const owned = runs.owns ? { owned: true as const } : {}
  if (runs.each)
    return words.slice(at).map((word, i) => ({ kind: "script", at: at + i, texts: word.guesses, ...owned }))
  if (runs.joins) return joined(words, at, owned, runs.feeds === true)
  const bare = match.hits.length === 0 && !match.strange
  const clear = !ends && isOfSystem(words[0]!) && (runs.clear === "always" || (runs.clear === "bare" && bare))
  const inner = words.slice(at)
  const plain: Unwrapped = { kind: "command", at, words: inner, clear, ...owned }
  if (runs.feeds) {
    const whole: Unwrapped = { kind: "command", at, words: fed(program, inner, stdin), clear: false }
    return clear || whole.words.length > inner.length ? [plain, whole] : [whole]
  }
  return match.strange && !clear ? [plain, ...guessedFrom(words, at + 1)] : [plain]
}

/** Its name is looked up, or its path leads where the system keeps programs: no file of the project. */
function isOfSystem({ value }: ShellWord): boolean {
  return (
    value !== undefined &&
    !/[A-Z.]/.test(value) &&
    (!value.includes("/") || /^(?:\/usr(?:\/local)?)?\/s?bin\/[^/]+$/.test(value))
  )
}

const MAX_GUESSED = 8

/** An option that is not known may take one of the words behind it, or two: the command may begin at each of them. */
function guessedFrom(words: readonly ShellWord[], from: number): Unwrapped[] {
  const found: Unwrapped[] = []
  for (let at = from; at < words.length && found.length < MAX_GUESSED; at++) {
    const text = textOf(words[at])
    if (/^[A-Za-z./]/.test(text) && !isRunner(text))
      found.push({ kind: "command", at, words: words.slice(at), clear: false })
  }
  return found
}

/** `parallel cmd {} ::: a b` runs `cmd a` and `cmd b`. */
function joined(words: readonly ShellWord[], at: number, owned: { owned?: true }, feeds: boolean): Unwrapped[] {
  const end = feeds ? words.findIndex((word, i) => i > at && /^::::?\+?$/.test(textOf(word))) : -1
  const command = textFrom(words.slice(0, end < 0 ? undefined : end), at)
  const given = end < 0 ? [] : words.slice(end + 1).map(textOf)
  const texts = given
    .slice(0, 16)
    .map((text) => (/\{\}/.test(command) ? command.replaceAll("{}", text) : `${command} ${text}`))
  return [{ kind: "script", at, texts: [command, ...texts], ...owned }, ...unknownFrom(words, at)]
}

/** Stands for words that nobody sees. */
const UNSEEN: ShellWord = { ...literalWord(SOME_TEXT), value: undefined }

/** The command with the words that are written to it, in the place where it wants them. */
function fed({ match }: Program, inner: readonly ShellWord[], stdin: readonly string[]): ShellWord[] {
  const known = stdin.flatMap((text) => text.split(/\s+/)).filter((text) => text !== "")
  const words =
    known.length > 0 ? known.slice(0, 50).map((text) => ({ ...literalWord(text), value: undefined })) : [UNSEEN]
  const replace = match.hits.find(({ name }) => /^-[IJi]$|^--replace$/.test(name))
  if (replace === undefined) return [...inner, ...words]
  const mark = textOf(replace.value) || "{}"
  return inner.map((word) => {
    if (!textOf(word).includes(mark)) return word
    const guesses = words.slice(0, 16).map((one) => textOf(word).replaceAll(mark, textOf(one)))
    return { ...word, value: undefined, guesses }
  })
}

/** `find … -exec command {} +`; what it finds is guessed at from its starting points and the names that it looks for. */
function unwrapFound({ match }: Program, words: readonly ShellWord[]): Unwrapped[] {
  const names = namesSought(match)
  const starts = startsOf(match).map(textOf)
  const paths = (starts.length > 0 ? starts : ["."]).flatMap((start) => [
    start,
    ...names.map((name) => `${start}/${name}`),
  ])
  const found: Unwrapped[] = []
  for (let i = 1; i < words.length; i++) {
    if (!/^(?:-(?:exec|execdir|ok|okdir)|-[xX]|--exec(?:-batch)?)$/.test(textOf(words[i]))) continue
    const end = words.findIndex(
      (word, at) => at > i && (textOf(word) === ";" || (textOf(word) === "+" && textOf(words[at - 1]) === "{}")),
    )
    const inner = words.slice(i + 1, end < 0 ? undefined : end).map((word): ShellWord => {
      if (!textOf(word).includes("{}")) return word
      return {
        ...word,
        value: undefined,
        guesses: paths.slice(0, 16).map((path) => textOf(word).replaceAll("{}", path)),
      }
    })
    if (inner.length > 0) found.push({ kind: "command", at: i + 1, words: inner, clear: false })
    if (found.length > MAX_GUESSED) return [...found, opaque(i, "it runs too many commands")]
  }
  return found
}

/** `0 5 * * * command`, line by line. */
function unwrapTimes(at: number, stdin: readonly string[]): Unwrapped[] {
  if (stdin.length === 0) return [opaque(at, "it runs whatever is written to it")]
  const texts = stdin
    .flatMap((text) => text.split("\n"))
    .map((line) => line.replace(/^\s*(?:@\w+|(?:[\w*,/-]+\s+){5})/, ""))
  return [{ kind: "script", at, texts }]
}

/** Programs to which `-c` hands a text, wherever it stands. */
const STRINGS = new Set(["runuser", "flock", "sg"])

function unwrapString(words: readonly ShellWord[]): Unwrapped[] {
  const at = words.findIndex((word, i) => i > 0 && /^(?:-[A-Za-z]*c|--command(?:=.*)?)$/s.test(textOf(word)))
  if (at < 0) return []
  const inline = /^--command=(.*)$/s.exec(textOf(words[at]))
  if (inline) return [{ kind: "script", at, texts: [inline[1]!] }]
  const string = words[at + 1]
  return string ? [{ kind: "script", at: at + 1, texts: string.guesses }, ...unknownFrom(words, at + 1, at + 2)] : []
}

function isAssignment(word: ShellWord | undefined): boolean {
  return word !== undefined && /^[A-Za-z_][A-Za-z0-9_%()]*\+?=/.test(textOf(word))
}
