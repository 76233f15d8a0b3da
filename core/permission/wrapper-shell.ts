/**
 * Shells, interpreters and `env -S` → the texts that they run.
 *
 * Invariant: a text that is only known when it runs is reported as opaque, beside every guess at it.
 */
import { commandsInCode } from "./code.ts"
import { textOf } from "./program/match.ts"
import type { Program } from "./program/table.ts"
import type { ShellWord } from "./shell-word.ts"

/** A command inside a command. `at`: the index, in the outer words, of its program or of the string that holds it. */
export type Unwrapped = { at: number; owned?: true } & (
  | { kind: "command"; words: readonly ShellWord[]; clear: boolean; owned?: true }
  /** `here`: it runs in the shell itself. */
  | { kind: "script"; texts: readonly string[]; here?: true }
  /** Nobody can say what runs; why. */
  | { kind: "opaque"; why: string }
)

/** Programs that run what `-c` hands them, or what is written to them. */
export const SHELL_NAMES: ReadonlySet<string> = new Set(
  "sh bash dash zsh ksh mksh ash fish rbash csh tcsh yash posh".split(" "),
)
const INTERPRETERS =
  /^(?:python|pypy|perl|ruby|node|nodejs|deno|bun|tsx|ts-node|php|lua|luajit|rscript|osascript|tclsh|pwsh|powershell|nu|elvish|xonsh|julia|octave|raku|guile|racket|sbcl|ocaml|groovy|scala|jshell|qjs|erl|escript)[\d.]*$/

/** What a shell runs; undefined for any other program. */
export function unwrapShell(
  name: string,
  words: readonly ShellWord[],
  stdin: readonly string[],
): Unwrapped[] | undefined {
  if (!SHELL_NAMES.has(name)) return undefined
  let at = 1
  for (; at < words.length && /^[-+]./.test(textOf(words[at])); at++) {
    const option = textOf(words[at])
    if (option === "--") break
    const inline = /^--(?:init-)?command=(.*)$/s.exec(option)
    if (inline) return [{ kind: "script", at, texts: [inline[1]!] }]
    if (/^-[A-Za-z]*c/.test(option) || /^--(?:init-)?command$/.test(option)) return unwrapShellString(words, at)
    if (/^--(?:rcfile|init-file)/.test(option)) return [opaque(at, "it runs a file")]
    if (/^[-+][A-Za-z]*[oO]$/.test(option)) at++
  }
  const reads = at >= words.length || words.slice(1, at).some((word) => /^-[A-Za-z]*s/.test(textOf(word)))
  const file = /^\/dev\/(?:stdin|fd\/\d+)$|^-$/.test(textOf(words[at]))
  if (!(reads || file) || words.some((word) => /^--?(?:help|version)$/.test(textOf(word))))
    return words[at]?.value === undefined && at < words.length ? [opaque(at, "it runs a file that nobody knows")] : []
  return stdin.length > 0
    ? [{ kind: "script", at: words.length, texts: stdin }]
    : [opaque(words.length, "it runs whatever is written to it")]
}

/** The string is the first word after `-c` that is no option; a word right behind it is looked at as well. */
function unwrapShellString(words: readonly ShellWord[], option: number): Unwrapped[] {
  const string = words.findIndex((word, i) => i > option && !/^[-+]/.test(textOf(word)))
  const found = [...new Set([string, option + 1])].filter((at) => at > 0 && at < words.length)
  return found.flatMap((at): Unwrapped[] => [
    { kind: "script", at, texts: words[at]!.guesses },
    ...unknownFrom(words, at, at + 1),
  ])
}

/** What an interpreter runs; undefined for any other program. */
export function unwrapInterpreter(
  name: string,
  words: readonly ShellWord[],
  stdin: readonly string[],
): Unwrapped[] | undefined {
  if (!INTERPRETERS.test(name)) return undefined
  // What tools of a project these start is in the table of runners.
  if ((name === "bun" || name === "deno") && /^(?:x|run|test|task|install|fmt|lint)$/.test(textOf(words[1])))
    return undefined
  const code = words.findIndex(
    (word, i) =>
      i > 0 &&
      /^(?:-[A-Za-z]*[ceEpr]|--?(?:eval|print|run|command|Command|EncodedCommand)\b.*|eval)$/s.test(textOf(word)),
  )
  const inCode = (texts: readonly string[], at: number): Unwrapped[] => {
    const commands = texts.flatMap(commandsInCode)
    return commands.length > 0 ? [{ kind: "script", at, texts: commands }] : []
  }
  if (code > 0) {
    const texts = [textOf(words[code]), textOf(words[code + 1])]
    return [opaque(code, "it runs code from its command line"), ...inCode(texts, code)]
  }
  const file = words.slice(1).find((word) => !textOf(word).startsWith("-") || textOf(word) === "-")
  const informs = words.some((word) => /^(?:-[vVh]+|--(?:version|help))$/.test(textOf(word)))
  if ((file === undefined && !informs) || /^(?:-|\/dev\/stdin)$/.test(textOf(file)))
    return [opaque(words.length, "it runs whatever is written to it"), ...inCode(stdin, words.length)]
  return []
}

/** `env -S 'command'`: the text is cut, and the words behind it are handed on. */
export function unwrapSplit({ match }: Program, words: readonly ShellWord[]): Unwrapped[] {
  const split = match.hits.find(({ option, value }) => option.effect === "run" && value)
  if (split === undefined) return []
  const at = words[split.at + 1] === split.value ? split.at + 1 : split.at
  const text = [textOf(split.value), ...words.slice(at + 1).map(textOf)].join(" ")
  return [{ kind: "script", at, texts: [text] }, ...unknownFrom(words, at)]
}

/** Opaque when a word is only known when it runs. */
export function unknownFrom(words: readonly ShellWord[], from: number, to = words.length): Unwrapped[] {
  const unknown = words.slice(from, to).some((word) => word.value === undefined)
  return unknown ? [opaque(from, "it runs a text that is only known when it runs")] : []
}

/** Nobody can say what runs. */
export function opaque(at: number, why: string): Unwrapped {
  return { kind: "opaque", at, why }
}

/** The words as one text. */
export function textFrom(words: readonly ShellWord[], from: number): string {
  return words.slice(from).map(textOf).join(" ")
}
