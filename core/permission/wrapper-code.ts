/**
 * Code in the words of a command (of sed, awk, make, an editor) → the commands that it runs.
 *
 * Invariant: code that runs something is opaque, beside every command that is found in it.
 */
import { commandsInCode, squeeze } from "./code.ts"
import { type Hit, textOf } from "./program/match.ts"
import type { ShellWord } from "./shell-word.ts"
import { opaque, type Unwrapped, unknownFrom } from "./wrapper-shell.ts"

const CODERS = /^(?:sed|[gmn]?awk)$/
const CODE_RUNS =
  /\bsystem\s*\(|\bgetline\b|\|\s*(?:&\s*)?"|"\s*\||\/[gpiIm0-9]*e[gpiIm0-9]*(?:[;}\n]|$)|^\s*(?:\d+|\$|\/[^/\n]{0,500}\/)?\s*e(?:\s|$)/m

/** True when the word is code of the program, and runs commands. */
export function isRunningCode(name: string, word: ShellWord): boolean {
  return CODERS.test(name) && CODE_RUNS.test(squeeze(textOf(word)))
}

/** Code that runs commands is opaque, and the commands in it are looked at. */
export function unwrapCode(name: string, words: readonly ShellWord[]): Unwrapped[] {
  return words.flatMap((word, at): Unwrapped[] => {
    if (at === 0 || !isRunningCode(name, word)) return []
    return [{ kind: "script", at, texts: commandsInCode(textOf(word)) }, opaque(at, "it runs commands from its code")]
  })
}

/** `-x 'command'`, `--exec=command`, `-o ProxyCommand=command`, `--eval=code`. */
export function unwrapHit({ option, at, value, name }: Hit): Unwrapped[] {
  const { effect } = option
  if (value === undefined || (name === "-c" && /^[\w.-]+=/.test(textOf(value)))) return []
  if (effect === "code") {
    const texts = value.guesses.flatMap(commandsInCode)
    return [opaque(at, "it runs code from its command line"), ...(texts.length > 0 ? [script(at, texts)] : [])]
  }
  if (effect !== "run") return []
  const texts = [...new Set(value.guesses.flatMap((guess) => [guess, ...commandsInCode(guess)]))]
  // A program file gets words that nobody sees here.
  const unseen = texts.some((text) => /^\s*[^\s=]*\//.test(text))
    ? [opaque(at, "it runs a program for its own ends")]
    : []
  return [script(at, texts), ...unseen, ...(value.value === undefined ? unknownFrom([value], 0) : [])]
}

function script(at: number, texts: readonly string[]): Unwrapped {
  return { kind: "script", at, texts }
}

/** `+!command`, `SHELL=command`, `EXEC:command`; what holds no command that can be seen is code. */
export function unwrapRunning(running: RegExp, words: readonly ShellWord[]): Unwrapped[] {
  return words.flatMap((word, at): Unwrapped[] => {
    const text = textOf(word)
    if (at === 0 || !running.test(text)) return []
    const texts = commandsInCode(text)
    const seen = texts.length > 0 ? [] : [opaque(at, "it runs code from its command line")]
    return [script(at, texts.concat(text.replace(/^\S*?[=:!](?=\S)/, ""))), ...seen]
  })
}
