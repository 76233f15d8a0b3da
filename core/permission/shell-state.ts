/**
 * A builtin of the shell → what it leaves behind for the commands after it: the folder, the variables.
 *
 * Invariant: a folder that cannot be told is unknown, never the old one; a `cd` may fail, so the old one stays possible.
 */
import { resolve } from "node:path"
import type { ShellState, ShellWord } from "./shell-word.ts"
import { programName } from "./wrapper.ts"

/** What is known at one place of a command. */
export interface MovingState extends ShellState {
  /** Folders that a failed `cd` leaves behind. */
  stayed: readonly string[] | undefined
  /** A `cd` came before. */
  moved: boolean
}

const MAX_BASES = 8

/** A state of its own for a command that runs in a shell of its own. */
export function forkState(state: MovingState): MovingState {
  return { ...state, variables: new Map(state.variables), stayed: undefined }
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
  if (a === undefined || b === undefined) return undefined
  const all = [...new Set([...a, ...b])]
  return all.length > MAX_BASES ? undefined : all
}

/** Changes the state as the builtin does that the words call; `assigned`: variables set for it alone. */
export function afterCommand(words: readonly ShellWord[], assigned: readonly string[], state: MovingState): void {
  const name = programName(words)
  if (name === "command" || name === "builtin") {
    afterCommand(words.slice(1), assigned, state)
    return
  }
  if (name === "cd" || name === "pushd" || name === "popd") move(words, assigned, state)
  if (name === "set" && words[1]?.raw === "--") {
    const values = words.slice(2).map((word) => word.guesses[0]!)
    for (const key of ["@", "*"]) state.variables.set(key, [values.join(" ")])
    for (const [i, value] of values.entries()) state.variables.set(String(i + 1), [value])
  }
  if (name === "read" || name === "mapfile")
    for (const word of words.slice(1)) state.variables.set(word.guesses[0]!, [""])
  if (!/^(?:export|declare|typeset|local|readonly)$/.test(name)) return
  for (const word of words.slice(1)) {
    const set = /^([A-Za-z_]\w*)\+?=(.*)$/s.exec(word.guesses[0]!)
    if (set) state.variables.set(set[1]!, [set[2]!])
  }
}

function move(words: readonly ShellWord[], assigned: readonly string[], state: MovingState): void {
  const [target, ...more] = words.slice(1).filter((word) => !/^-[LPe]+$|^--$/.test(word.raw))
  const searches = state.variables.has("CDPATH") || assigned.includes("CDPATH")
  const to = target === undefined ? (programName(words) === "cd" ? state.home || undefined : undefined) : target.value
  state.stayed = unite(state.stayed ?? state.bases, state.bases)
  state.moved = true
  const known = to !== undefined && more.length === 0 && !searches && !target?.glob && !/^[-+]/.test(to)
  state.bases = known ? state.bases?.map((base) => resolve(base, to)) : undefined
}
