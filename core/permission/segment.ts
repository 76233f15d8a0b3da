/**
 * What the analyser says of a shell command: its simple commands, in order, with what each of them runs in turn.
 *
 * Invariant: data only; a segment that is missing here is a command that nobody judged.
 */
import type { ShellWord } from "./shell-word.ts"

/** One simple command. */
export interface Segment {
  /** Program and arguments; empty for bare assignments or redirects. */
  words: readonly ShellWord[]
  assignments: readonly { name: string; word: ShellWord }[]
  redirects: readonly ShellRedirect[]
  /** For each word, the text from there to the end of the command as written, redirects included. */
  tails: readonly string[]
  /** Folders that its relative paths may start from, absolute; undefined: not known. */
  bases: readonly string[] | undefined
  /** It follows a `cd` of the same command. */
  moved: boolean
  /** Stands where an allow pattern does not look: loops, subshells, substitutions, the background … */
  nested: boolean
  /** Something is piped or redirected into it that its words do not show. */
  fed?: true
  /** Why nobody can say what it runs. */
  opaque?: string
  /** Why its words may not mean what they say: a variable or a name was set before it. */
  changed?: string
  inner: readonly InnerCommand[]
}

/** Commands that a segment runs in turn. */
export interface InnerCommand {
  segments: readonly Segment[]
  /** Index of the outer word that they begin with. */
  at: number
  /** The outer program cannot change their meaning. */
  clear: boolean
  /** A rule that lets the outer program run anything speaks for them too. */
  owned?: true
}

/** A file that a redirect opens. Descriptors that are only copied are left out. */
export interface ShellRedirect {
  access: "read" | "write"
  word: ShellWord
}

/** A command, taken apart. */
export interface Analysis {
  text: string
  /** The simple commands, those of substitutions too; what wrappers run hangs below them. */
  segments: readonly Segment[]
  /** All of them, inner ones included. */
  all: readonly Segment[]
  /** The text of every pipeline and list, as written. */
  spans: readonly string[]
  /** Why it can never be allowed without a question: it does not parse, is too long, holds odd characters. */
  trouble?: string
  forkBomb: boolean
}

/** Every segment below a list, outer ones before what they run. */
export function flatten(segments: readonly Segment[]): Segment[] {
  const all: Segment[] = []
  const waiting = [...segments].reverse()
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    all.push(next)
    for (const { segments: inner } of next.inner.toReversed()) for (const one of inner.toReversed()) waiting.push(one)
  }
  return all
}
