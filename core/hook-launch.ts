/**
 * A command's text → the script that it names and that is not there.
 *
 * Invariant: it looks only as far as the text is plain; what a shell would have to work out is left to the shell. It
 * exists because interpreters end with 1 or 2 when their script is missing, which reads like a decision.
 */
import { existsSync } from "node:fs"
import { resolve } from "node:path"
import type { HookForm } from "./hook-source.ts"

/** Programs whose first argument is a script. */
export const INTERPRETER =
  /^(?:(?:ba|da|z|k|fi)?sh|python[\d.]*|pypy[\d.]*|node(?:js)?|deno|bun|tsx|ts-node|ruby|perl|php|lua|Rscript|osascript)$/

/** Flags before a script that take no value and give no code. */
const PLAIN_FLAG: Readonly<Record<string, RegExp>> = { sh: /^-[euxlp]+$/, python: /^-[uBEIsSOvx]+$/, other: /^--$/ }

/** Words between an interpreter and its script. */
const RUN_WORDS: readonly string[] = ["run"]

/** The script's path as written, when it can be seen and does not exist. */
export function missingScript(
  { command, args }: Extract<HookForm, { type: "command" }>,
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): string | undefined {
  const words = args === undefined ? plainWords(command, env) : [command, ...args].map((word) => expand(word, env))
  const script = scriptOf(words)
  return script === undefined || existsSync(resolve(cwd, script)) ? undefined : script
}

/** The program that a command starts, as written, when it can be seen. */
export function programOf(
  { command, args }: Extract<HookForm, { type: "command" }>,
  env: Readonly<Record<string, string>>,
): string | undefined {
  const words = args === undefined ? plainWords(command, env) : [expand(command, env)]
  return words.find((word) => word === undefined || !/^[A-Za-z_]\w*=/.test(word))
}

/** The files that a command is seen to run, absolute: its program and its script. Whether they exist is not looked at. */
export function filesOf(
  form: Extract<HookForm, { type: "command" }>,
  { cwd, env }: { cwd: string; env: Readonly<Record<string, string>> },
): string[] {
  const { command, args } = form
  const words = args === undefined ? plainWords(command, env) : [command, ...args].map((word) => expand(word, env))
  const program = programOf(form, env)
  const files = [program?.includes("/") ? program : undefined, scriptOf(words)]
  return files.flatMap((file) => (file === undefined ? [] : [resolve(cwd, file)]))
}

/** The script among the words: undefined when there is none, or the words before it leave a doubt. */
function scriptOf(words: readonly (string | undefined)[]): string | undefined {
  let rest = words
  while (rest[0] !== undefined && (/^[A-Za-z_]\w*=/.test(rest[0]) || /^(?:.*\/)?env$/.test(rest[0])))
    rest = rest.slice(1)
  const program = rest[0]?.replace(/^.*\//, "")
  if (program === undefined || !INTERPRETER.test(program)) return undefined
  const family = program.endsWith("sh") ? "sh" : program.startsWith("py") ? "python" : "other"
  rest = rest.slice(1)
  while (rest[0] !== undefined && (PLAIN_FLAG[family]!.test(rest[0]) || isRunWord(program, rest[0])))
    rest = rest.slice(1)
  const script = rest[0]
  return script === undefined || script === "" || script.startsWith("-") ? undefined : script
}

function isRunWord(program: string, word: string): boolean {
  return (program === "deno" || program === "bun") && RUN_WORDS.includes(word)
}

const WORD = /\s*((?:[\w./:=@%+,~-]|\$\{?(?:CLAUDE|SOUS)_PROJECT_DIR\b\}?|\$\{?HOME\b\}?|"[^"`\\]*"|'[^']*')+)/y

/** The words from the start of a command as far as they are plain; undefined stands for the first that is not. */
function plainWords(command: string, env: Readonly<Record<string, string>>): (string | undefined)[] {
  const words: (string | undefined)[] = []
  WORD.lastIndex = 0
  for (let match = WORD.exec(command); match !== null; match = WORD.exec(command)) {
    const end = WORD.lastIndex
    const next = command[end]
    // A word that goes on in a way which is not plain is not seen whole.
    if (next !== undefined && !/[\s;|&<>()]/.test(next)) return [...words, undefined]
    words.push(unquote(match[1]!, env))
    if (next !== undefined && !/[ \t]/.test(next)) return [...words, undefined]
    WORD.lastIndex = end
  }
  return words
}

/** A word as the shell would hand it on; undefined when that takes more than two variables. */
function unquote(word: string, env: Readonly<Record<string, string>>): string | undefined {
  let plain = ""
  for (const [, double, single, bare] of word.matchAll(/"([^"]*)"|'([^']*)'|([^"']+)/g)) {
    const part = single ?? expand(double ?? bare!, env)
    if (part === undefined) return undefined
    plain += part
  }
  return plain.startsWith("~/") ? `${env.HOME ?? "~"}${plain.slice(1)}` : plain
}

/** With the variables filled in that a hook's path is written with; undefined when there are others. */
function expand(text: string, env: Readonly<Record<string, string>>): string | undefined {
  const filled = text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (whole, braced, bare) => {
    const name = braced ?? bare
    return /^(?:CLAUDE|SOUS)_PROJECT_DIR$|^HOME$/.test(name) ? (env[name] ?? "") : whole
  })
  return filled.includes("$") ? undefined : filled
}
