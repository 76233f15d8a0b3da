/**
 * A command of git → the programs that its configuration and its addresses make it run.
 *
 * Invariant: an alias is followed into the command that it stands for; a key that names a program is opaque.
 */
import { textOf } from "./program/match.ts"
import type { Program } from "./program/table.ts"
import type { ShellWord } from "./shell-word.ts"
import { opaque, type Unwrapped } from "./wrapper-shell.ts"

/** Keys whose value is a program, or names a file with programs in it. */
const PROGRAM_KEYS =
  /^(?:core\.(?:fsmonitor|pager|editor|sshcommand|hookspath|askpass|gitproxy|alternaterefscommand)|pager\..*|sequence\.editor|.*\.(?:external|textconv|command|cmd|driver|helper|clean|smudge|process|program|path|uploadpack|receivepack|proxy|sshcommand|pager|browser|editor|difftool|mergetool|tocmd|cccmd|sendmailcmd)|include\.path|includeif\..*|init\.templatedir|credential\..*|uploadpack\.packobjectshook|gpg\..*|ssh\.variant|protocol\..*|trailer\..*)$/i

/** What git runs because of its words, beside what its options name. */
export function unwrapGit(program: Program, words: readonly ShellWord[]): Unwrapped[] {
  const set = [...program.before, program.match].flatMap(({ hits }) => {
    return hits.flatMap(({ name, value, at }) =>
      value && /^(?:-c|--config)$/.test(name) ? [{ text: textOf(value), at }] : [],
    )
  })
  const pairs = set.map(({ text, at }) => ({
    at,
    key: text.replace(/=.*$/s, ""),
    value: /=(.*)$/s.exec(text)?.[1] ?? "",
  }))
  if (/^git config(?: set)?$/.test(program.name)) {
    const [key, value] = program.match.operands
    if (key && value) pairs.push({ at: program.match.places[1]!, key: textOf(key), value: textOf(value) })
  }
  return [...pairs.flatMap(unwrapPair), ...words.flatMap(unwrapAddress)]
}

function unwrapPair({ at, key, value }: { at: number; key: string; value: string }): Unwrapped[] {
  if (/^alias\./i.test(key))
    return [{ kind: "script", at, texts: [value.startsWith("!") ? value.slice(1) : `git ${value}`] }]
  if (!PROGRAM_KEYS.test(key)) return []
  return [{ kind: "script", at, texts: [value.replace(/^!/, "")] }, opaque(at, "it sets a program that git runs")]
}

/** `ext::command` is run to reach the other side. */
function unwrapAddress(word: ShellWord, at: number): Unwrapped[] {
  const found = /(?:^|=)ext::(.*)$/s.exec(textOf(word))
  return found ? [{ kind: "script", at, texts: [found[1]!.replaceAll("% ", " ")] }] : []
}
