/**
 * A builtin of the shell → what it leaves behind for the commands after it: the folder, the variables, the names.
 *
 * Invariant: a folder that cannot be told is unknown, never the old one; a `cd` may fail, so the old one stays possible;
 * a name that may mean something else than before is never taken for its program again.
 */
import { resolve } from "node:path"
import type { Function as FunctionNode } from "unbash"
import { clip } from "./clip.ts"
import { HARMLESS_VARIABLES, isLocalName } from "./harmless.ts"
import { matchOptions, textOf } from "./program/match.ts"
import { parseOptions } from "./program/option-set.ts"
import { writtenName } from "./program/table.ts"
import { assignSums, type ShellState, type ShellWord } from "./shell-word.ts"

/** What the commands of one shell have changed for those after them. Shared by all of them, copied for another shell. */
export interface Changes {
  /** Why a later command may not be what it says; the first reason stays. */
  unsure: string | undefined
  /** Everything that is set is handed to programs. */
  exportsAll: boolean
  /** Names that were set, and may be handed to programs when they are exported. */
  set: Set<string>
  /** Names that no longer mean a program; functions with their body. */
  functions: Map<string, FunctionNode | undefined>
}

/** What is known at one place of a command. */
export interface MovingState extends ShellState {
  /** Folders that a failed `cd` leaves behind. */
  stayed: readonly string[] | undefined
  /** A `cd` came before. */
  moved: boolean
  changes: Changes
}

const MAX_BASES = 8

/** The state at the start of a command. */
export function createState(cwd: string, home: string): MovingState {
  const changes: Changes = { unsure: undefined, exportsAll: false, set: new Set(), functions: new Map() }
  return withAssign({ home, bases: [cwd], variables: new Map(), stayed: undefined, moved: false, changes })
}

/** A state of its own for a command that runs in a shell of its own. */
export function forkState(state: MovingState): MovingState {
  const { changes } = state
  const copy = { ...changes, set: new Set(changes.set), functions: new Map(changes.functions) }
  return withAssign({ ...state, variables: new Map(state.variables), stayed: undefined, changes: copy })
}

function withAssign(state: Omit<MovingState, "assign">): MovingState {
  const made: MovingState = { ...state, assign: (name, guesses) => assignName(made, name, { guesses }) }
  return made
}

/** Sets a variable. `known`: its value is known; `exported`: programs see it. */
export function assignName(
  state: MovingState,
  name: string,
  {
    guesses,
    known = false,
    exported = false,
  }: { guesses?: readonly string[] | undefined; known?: boolean; exported?: boolean },
): void {
  const { variables, changes } = state
  variables.set(name, guesses ?? [""])
  changes.set.add(name)
  const seen = exported || changes.exportsAll
  if (HARMLESS_VARIABLES.test(name) ? !known : seen || !isLocalName(name))
    changes.unsure ??= `"${clip(name)}" was set before it`
}

/** After a command whose success nobody asked for: a `cd` may have failed. */
export function settleState(state: MovingState): void {
  if (state.stayed) state.bases = unite(state.bases, state.stayed)
  state.stayed = undefined
}

/** Both lists of folders; unknown when one of them is, or when there are too many. */
export function unite(
  a: readonly string[] | undefined,
  b: readonly string[] | undefined,
): readonly string[] | undefined {
  if (a === b) return a
  if (a === undefined || b === undefined) return undefined
  const all = [...new Set([...a, ...b])]
  return all.length > MAX_BASES ? undefined : all
}

/** Changes the state as the builtin does that the words call; `assigned`: variables set for it alone. */
export function afterCommand(words: readonly ShellWord[], assigned: readonly string[], state: MovingState): void {
  const name = writtenName(words)
  switch (name) {
    case "command":
    case "builtin":
      afterCommand(words.slice(1), assigned, state)
      break
    case "cd":
    case "pushd":
    case "popd":
      move(words, assigned, state)
      break
    case "set":
      afterSet(words, state)
      break
    case "export":
    case "declare":
    case "typeset":
    case "local":
    case "readonly":
      declare(name, words, state)
      break
    case "read":
    case "mapfile":
    case "readarray":
    case "getopts":
    case "printf":
    case "wait":
    case "unset":
      setNamed(name, words, state)
      break
    case "let":
      for (const word of words.slice(1)) for (const guess of word.guesses) assignSums(guess, state)
      break
    case "alias":
      for (const word of words.slice(1)) state.changes.functions.set(textOf(word).replace(/=.*$/s, ""), undefined)
      break
    case "hash":
    case "enable":
    case "shopt":
    case "source":
    case ".":
      state.changes.unsure ??= `"${name}" came before it`
  }
}

function afterSet(words: readonly ShellWord[], state: MovingState): void {
  const texts = words.slice(1).map(textOf)
  const end = texts.findIndex((text) => text === "--" || !/^[-+]/.test(text))
  const options = end < 0 ? texts : texts.slice(0, end)
  if (
    options.some((text) => /^-[A-Za-z]*[ak]/.test(text)) ||
    texts.some((text) => /^(?:allexport|keyword)$/.test(text))
  ) {
    state.changes.exportsAll = true
    if (state.changes.set.size > 0) state.changes.unsure ??= "variables were handed on before it"
  }
  if (texts[0] !== "--") return
  setParameters(words.slice(2), state)
}

/** Gives `$1`, `$@` and their like their values. */
export function setParameters(words: readonly ShellWord[], state: MovingState): void {
  const values = words.map((word) => word.guesses[0]!)
  for (const key of ["@", "*"]) state.variables.set(key, [values.join(" ")])
  for (const [i, value] of values.entries()) state.variables.set(String(i + 1), [value])
}

function declare(name: string, words: readonly ShellWord[], state: MovingState): void {
  const options = words
    .slice(1)
    .map(textOf)
    .filter((text) => /^[-+]./.test(text))
  const exported = name === "export" || options.some((text) => /^-[A-Za-z]*x/.test(text))
  // A name that stands for another one, or a function that is handed on.
  if (options.some((text) => /^-[A-Za-z]*[nfT]/.test(text) && name !== "export"))
    state.changes.unsure ??= `"${name}" came before it`
  for (const word of words.slice(1)) {
    const set = /^([A-Za-z_]\w*)(\[[^\]]*\])?(\+?=)?(.*)$/s.exec(word.guesses[0]!)
    if (set === null || (set[3] === undefined && (set[4] !== "" || !exported))) continue
    const known = word.value !== undefined && set[3] !== undefined
    const guesses =
      set[3] === undefined ? state.variables.get(set[1]!) : word.guesses.map((guess) => guess.replace(/^[^=]*=/, ""))
    assignName(state, set[1]!, { guesses, known, exported })
  }
}

const NAMES = {
  read: parseOptions("-rse -a= -d= -i= -n= -N= -p= -t= -u="),
  mapfile: parseOptions("-t -d= -n= -O= -s= -u= -C= -c="),
  readarray: parseOptions("-t -d= -n= -O= -s= -u= -C= -c="),
  getopts: parseOptions(""),
  printf: parseOptions("-v="),
  wait: parseOptions("-nf -p="),
  unset: parseOptions("-fvn"),
}

/** Builtins that set variables whose names they are handed. */
function setNamed(name: keyof typeof NAMES, words: readonly ShellWord[], state: MovingState): void {
  const { hits, operands } = matchOptions(words, NAMES[name], { stops: name === "printf" })
  const named = hits.flatMap((hit) =>
    /^-[avp]$/.test(hit.name) && hit.name !== (name === "read" ? "-p" : "") && hit.value ? [hit.value] : [],
  )
  const places = name === "printf" || name === "wait" ? [] : name === "getopts" ? operands.slice(1, 2) : operands
  for (const word of [...named, ...places])
    for (const guess of word.guesses) {
      assignName(state, guess.replace(/\[.*$/s, ""), {})
      if (name === "unset") state.changes.functions.delete(guess)
    }
}

function move(words: readonly ShellWord[], assigned: readonly string[], state: MovingState): void {
  const [target, ...more] = words.slice(1).filter((word) => !/^-[LPe]+$|^--$/.test(word.raw))
  const searches = state.variables.has("CDPATH") || assigned.includes("CDPATH")
  const to = target === undefined ? (writtenName(words) === "cd" ? state.home || undefined : undefined) : target.value
  state.stayed = unite(state.stayed ?? state.bases, state.bases)
  state.moved = true
  const known = to !== undefined && more.length === 0 && !searches && !target?.glob && !/^[-+]/.test(to)
  state.bases = known ? state.bases?.map((base) => resolve(base, to)) : undefined
}
