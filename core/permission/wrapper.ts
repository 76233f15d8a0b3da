/**
 * The words of a simple command → the commands that it runs in turn: wrappers, shells with a string, `find -exec` …
 *
 * Invariant: what is found here is looked at by every refusal; only a `clear` wrapper lets an allow rule look through.
 */
import { basename } from "node:path"
import type { ShellWord } from "./shell-word.ts"
import { wrappers } from "./wrapper-table.ts"

/** A command inside a command. `at`: the index, in the outer words, of its program or of the string that holds it. */
export type Unwrapped = { at: number } & (
  | { kind: "command"; words: ShellWord[]; clear: boolean }
  | { kind: "script"; texts: readonly string[] }
  /** Nobody can say what runs; why. */
  | { kind: "opaque"; why: string }
)

/** The name of the program without its folder, as far as it can be guessed. */
export function programName(words: readonly ShellWord[]): string {
  return basename(words[0]?.guesses[0] ?? "")
}

/** What the command runs in turn. `stdin`: texts that are fed to it, when they are known. */
export function unwrap(words: readonly ShellWord[], stdin: readonly string[]): Unwrapped[] {
  const [program] = words
  if (program === undefined) return []
  const name = programName(words)
  const found = unwrapSpecial(name, words, stdin)
  if (found) return found
  const wrapper = wrappers.get(name)
  if (wrapper) return unwrapPlain(words, wrapper)
  if (program.value === undefined || program.glob) return [opaque(0, "its program is only known when it runs")]
  return []
}

type Wrapper = NonNullable<ReturnType<typeof wrappers.get>>

function unwrapPlain(words: readonly ShellWord[], wrapper: Wrapper): Unwrapped[] {
  const options = skipOptions(words, 1, wrapper.valued)
  let at = options + wrapper.operands
  while (wrapper.assigns && isAssignment(words[at])) at++
  if (at >= words.length) return []
  if (wrapper.joins) return [{ kind: "script", at, texts: [textFrom(words, at)] }]
  const clear = wrapper.clear === "always" || (wrapper.clear === "bare" && options === 1)
  return [{ kind: "command", at, words: words.slice(at), clear }]
}

function unwrapSpecial(name: string, words: readonly ShellWord[], stdin: readonly string[]): Unwrapped[] | undefined {
  if (SHELL_NAMES.has(name)) return unwrapShell(words, stdin)
  if (INTERPRETERS.test(name)) return unwrapInterpreter(words)
  switch (name) {
    case "command":
      return /^-[vV]/.test(text(words[1])) ? [] : undefined
    case "eval":
      return words.length > 1 ? [{ kind: "script", at: 1, texts: [textFrom(words, 1)] }, ...unknownFrom(words, 1)] : []
    case "env":
      return unwrapEnv(words)
    case "find":
    case "fd":
    case "fdfind":
      return unwrapFind(words)
    case "su":
    case "script":
    case "runuser":
    case "flock":
      return unwrapString(words, "-c")
    case "ssh":
      return unwrapSsh(words)
    case "git":
      return unwrapGit(words)
    default:
      return rebinds(name, words)
  }
}

/** Programs that run what `-c` hands them, or what is written to them. */
export const SHELL_NAMES: ReadonlySet<string> = new Set([
  "sh",
  "bash",
  "dash",
  "zsh",
  "ksh",
  "mksh",
  "ash",
  "fish",
  "rbash",
])
const INTERPRETERS =
  /^(?:python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|Rscript|osascript|tclsh|pwsh)[\d.]*$/

function unwrapShell(words: readonly ShellWord[], stdin: readonly string[]): Unwrapped[] {
  let at = 1
  for (; at < words.length && /^[-+]./.test(text(words[at])); at++) {
    const option = text(words[at])
    if (option === "--") break
    if (/^-[A-Za-z]*c/.test(option)) return unwrapShellString(words, at)
    if (/^[-+][A-Za-z]*[oO]$|^--(?:rcfile|init-file)$/.test(option)) at++
  }
  const reads = at >= words.length || words.slice(1, at).some((word) => /^-[A-Za-z]*s/.test(text(word)))
  if (!reads || words.some((word) => /^--?(?:help|version)$/.test(text(word)))) return []
  if (stdin.length > 0) return [{ kind: "script", at: words.length, texts: stdin }]
  return [opaque(words.length, "it runs whatever is written to it")]
}

/** The string is the first word after `-c` that is no option; a word right behind it is looked at as well. */
function unwrapShellString(words: readonly ShellWord[], option: number): Unwrapped[] {
  const string = words.findIndex((word, i) => i > option && !/^[-+]/.test(text(word)))
  const found = [...new Set([string, option + 1])].filter((at) => at > 0 && at < words.length)
  return found.flatMap((at): Unwrapped[] => [
    { kind: "script", at, texts: words[at]!.guesses },
    ...unknownFrom(words, at, at + 1),
  ])
}

function unwrapInterpreter(words: readonly ShellWord[]): Unwrapped[] {
  const code = words.findIndex(
    (word, i) => i > 0 && /^(?:-[A-Za-z]*[ceEpr]|--?(?:eval|print|run|command|Command)\b.*|eval)$/.test(text(word)),
  )
  if (code > 0) return [opaque(code, "it runs code from its command line")]
  const file = words.slice(1).find((word) => !text(word).startsWith("-") || text(word) === "-")
  const informs = words.some((word) => /^(?:-[vVh]+|--(?:version|help))$/.test(text(word)))
  if ((file === undefined && !informs) || text(file) === "-")
    return [opaque(words.length, "it runs whatever is written to it")]
  return []
}

function unwrapEnv(words: readonly ShellWord[]): Unwrapped[] {
  for (const [i, word] of words.entries()) {
    const split = /^(?:-[A-Za-z]*S|--split-string=?)(.*)$/s.exec(text(word))
    if (i > 0 && split) {
      const inline = split[1] !== ""
      const at = inline ? i : i + 1
      const rest = words.slice(at + 1).map(text)
      return [{ kind: "script", at, texts: [[inline ? split[1]! : text(words[at]), ...rest].join(" ")] }]
    }
  }
  let at = skipOptions(words, 1, "uC")
  while (isAssignment(words[at])) at++
  return at < words.length ? [{ kind: "command", at, words: words.slice(at), clear: false }] : []
}

function unwrapFind(words: readonly ShellWord[]): Unwrapped[] {
  const found: Unwrapped[] = []
  for (let i = 1; i < words.length; i++) {
    if (!/^(?:-(?:exec|execdir|ok|okdir)|-[xX]|--exec(?:-batch)?)$/.test(text(words[i]))) continue
    const end = words.findIndex(
      (word, at) => at > i && (text(word) === ";" || (text(word) === "+" && text(words[at - 1]) === "{}")),
    )
    const inner = words.slice(i + 1, end < 0 ? undefined : end)
    if (inner.length > 0) found.push({ kind: "command", at: i + 1, words: inner, clear: false })
  }
  return found
}

/** `su -c '…'`, `flock FILE -c '…'`, or a plain command after the operands. */
function unwrapString(words: readonly ShellWord[], option: string): Unwrapped[] | undefined {
  const at = words.findIndex((word) => text(word) === option || text(word).startsWith("--command"))
  if (at < 0) return undefined
  const inline = /^--command=(.*)$/s.exec(text(words[at]))
  if (inline) return [{ kind: "script", at, texts: [inline[1]!] }]
  const string = words[at + 1]
  return string ? [{ kind: "script", at: at + 1, texts: string.guesses }] : undefined
}

function unwrapSsh(words: readonly ShellWord[]): Unwrapped[] {
  const found: Unwrapped[] = []
  for (const [i, word] of words.entries()) {
    const local = /^(?:-o)?\s*(?:ProxyCommand|LocalCommand|KnownHostsCommand)[ =](.*)$/is.exec(text(word))
    if (local) found.push({ kind: "script", at: i, texts: [local[1]!] })
  }
  const host = skipOptions(words, 1, "bcDEeFIiJLlmOopQRSWw")
  if (host + 1 < words.length) found.push({ kind: "script", at: host + 1, texts: [textFrom(words, host + 1)] })
  return found
}

/** `git -c alias.x='!cmd'` and the options that name a program. */
function unwrapGit(words: readonly ShellWord[]): Unwrapped[] {
  return words.flatMap((word, at): Unwrapped[] => {
    const before = text(words[at - 1])
    const alias = /^(?:-c)?[A-Za-z0-9.-]+=!(.*)$/s.exec(text(word))
    if (alias && (before === "-c" || text(word).startsWith("-c"))) return [{ kind: "script", at, texts: [alias[1]!] }]
    const program =
      /^(?:-c)?(?:core\.(?:fsmonitor|pager|editor|sshCommand|hooksPath|askPass)|[A-Za-z]+\.external|diff\.[^=]*\.(?:command|textconv)|filter\.[^=]*\.\w+)=(.*)$/is.exec(
        text(word),
      )
    if (program && before === "-c")
      return [{ kind: "script", at, texts: [program[1]!] }, opaque(at, "it sets a program that git runs")]
    return []
  })
}

/** Builtins after which a name no longer means what it meant, or that run a file. */
function rebinds(name: string, words: readonly ShellWord[]): Unwrapped[] | undefined {
  const first = text(words[1])
  if (name === "alias") {
    const texts = words.slice(1).map((word) => text(word).replace(/^[^=]*=/, ""))
    return [{ kind: "script", at: 1, texts }, opaque(1, "it gives a name another meaning")]
  }
  if ((name === "hash" && first.startsWith("-p")) || (name === "enable" && first.startsWith("-f"))) {
    return [opaque(1, "it gives a name another meaning")]
  }
  if (name === "source" || name === ".") return [opaque(1, "it runs a file")]
  return undefined
}

/** Steps over options; `valued` lists the letters and long names that take the next word. */
function skipOptions(words: readonly ShellWord[], from: number, valued: string): number {
  const [letters = "", ...long] = valued.split(" ")
  let at = from
  for (; at < words.length; at++) {
    const option = text(words[at])
    if (option === "--") return at + 1
    if (!/^-./.test(option)) break
    if (option.startsWith("--")) {
      if (long.includes(option.slice(2))) at++
    } else if (letters.includes(option.at(-1)!) && ![...option.slice(1, -1)].some((letter) => letters.includes(letter)))
      at++
  }
  return at
}

function isAssignment(word: ShellWord | undefined): boolean {
  return word !== undefined && /^[A-Za-z_][A-Za-z0-9_%()]*\+?=/.test(text(word))
}

function unknownFrom(words: readonly ShellWord[], from: number, to = words.length): Unwrapped[] {
  const unknown = words.slice(from, to).some((word) => word.value === undefined)
  return unknown ? [opaque(from, "it runs a text that is only known when it runs")] : []
}

function opaque(at: number, why: string): Unwrapped {
  return { kind: "opaque", at, why }
}

function textFrom(words: readonly ShellWord[], from: number): string {
  return words.slice(from).map(text).join(" ")
}

function text(word: ShellWord | undefined): string {
  return word?.guesses[0] ?? ""
}
