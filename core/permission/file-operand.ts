/**
 * A word of a command → a file that the command names.
 *
 * Invariant: `exact` and `listed` are never a guess; everything else may be a file too many.
 */
import type { ShellWord } from "./shell-word.ts"

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
  /** Its value is known, and a glob stands in its last part alone. */
  listed: boolean
  /** If it is a folder, everything below it is opened too. */
  recursive: boolean
  /** Perhaps no file at all: the value of an option. Only guards look at it. */
  loose: boolean
  /** An unknown part counts as empty in its guesses. */
  emptied: boolean
  /** What it holds says what the program does: a rule on the program reaches no further than the working folders. */
  steers?: true
  /** Counted from the top of a repository, so from any working folder above. */
  top?: true
  /** Does not count when one of these, relative to the segment's folders, exists: then the command speaks of that alone. */
  unless?: readonly string[]
}

/** An operand from a word. */
export function operand(word: ShellWord, access: Operand["access"], more: Partial<Operand> = {}): Operand {
  const { raw, guesses, value, glob, emptied } = word
  return {
    access,
    change: false,
    from: "operand",
    written: raw,
    guesses,
    exact: value !== undefined && !glob,
    listed: value !== undefined && !/[*?[]/.test(value.slice(0, value.lastIndexOf("/") + 1)),
    recursive: false,
    loose: false,
    emptied,
    ...more,
  }
}
