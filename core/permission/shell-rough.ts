/**
 * The text of a command that cannot be read → commands that may stand in it, for refusals alone.
 *
 * Invariant: nothing that is found here is ever allowed, so that too many pieces do no harm; the work is bounded, whatever
 * the text.
 */
import { isRunner } from "./program/table.ts"
import type { Segment, ShellRedirect } from "./segment.ts"
import { literalWord, type ShellWord } from "./shell-word.ts"
import { SHELL_NAMES, unwrap } from "./wrapper.ts"

/** What one word of a command may have on Linux (MAX_ARG_STRLEN), in characters. */
const MAX_CHARS = 131_072
/** Pieces that are taken apart, half of them from each end; of those in the middle only the text counts. */
const MAX_PIECES = 200
/** Words of a piece that are looked at in their order; as many further ones are looked at once each. */
const MAX_WORDS = 250
/** The same where there are many pieces, and the words of all pieces. */
const MIN_WORDS = 16
const ALL_WORDS = 2000
/** Wrappers around wrappers that are looked at one by one; further ones are skipped. */
const MAX_DEPTH = 24

/** The commands, and the texts of those that were too many to be taken apart. */
export interface RoughCut {
  segments: Segment[]
  texts: string[]
}

/** Cuts at everything that may separate commands and drops quotes: too many pieces rather than too few. */
export function cutRoughly(text: string, cwd: string): RoughCut {
  const plain = shorten(text)
    .replaceAll("\\\n", "")
    .replace(/["'\\\0]/g, "")
  const seen = new Set<string>()
  for (const piece of plain.split(/[;&|\r\n`(){}]+|\$(?=\()/)) {
    const trimmed = piece.trim()
    if (trimmed !== "") seen.add(trimmed)
  }
  const texts = [...seen]
  const middle = texts.splice(MAX_PIECES / 2, Math.max(0, texts.length - MAX_PIECES))
  const most = Math.max(MIN_WORDS, Math.min(MAX_WORDS, Math.floor(ALL_WORDS / texts.length)))
  return { segments: texts.map((piece) => roughSegment(fewer(piece.split(/\s+/), most), cwd)), texts: middle }
}

/** No shell can be handed more as one word; where one could, the middle is what a person is asked about. */
function shorten(text: string): string {
  if (text.length <= MAX_CHARS) return text
  return `${text.slice(0, MAX_CHARS / 2)}\n${text.slice(-MAX_CHARS / 2)}`
}

function roughSegment(written: readonly string[], cwd: string): Segment {
  const targets = written.flatMap((word, i) => {
    const target = /^\d?(?:>>|>\||&>|>)(.*)$/.exec(word)
    const text = target && (target[1] || written[i + 1])
    return text ? [text] : []
  })
  const redirects = [...new Set(targets)].map((text) => ({ access: "write" as const, word: literalWord(text) }))
  const isFile = (word: string, i: number) =>
    /^\d?[<>]/.test(word) || /^\d?(?:<|>|>>|<>|>\|)$/.test(written[i - 1] ?? "")
  const kept = written.filter((word, i) => !isFile(word, i))
  const start = kept.findIndex((word) => !/^\w+=/.test(word))
  const words = kept.slice(Math.max(0, start)).map((word) => literalWord(word.replace(/\$\w+/g, "")))
  return roughCommand(words, redirects, cwd)
}

/** Of very many words the later ones count once each, and those at the end before those in the middle. */
function fewer(words: readonly string[], most: number): readonly string[] {
  if (words.length <= most) return words
  return [...words.slice(0, most), ...[...new Set(words.slice(most))].slice(-most)]
}

/** Follows wrappers and shells inwards one by one: quotes are gone, so that a string is just the words that follow. */
function roughCommand(words: readonly ShellWord[], redirects: readonly ShellRedirect[], cwd: string): Segment {
  const chain: { words: readonly ShellWord[]; at: number }[] = [{ words, at: 0 }]
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    const outer = chain.at(-1)!.words
    const at = depth < MAX_DEPTH ? nextCommand(outer) : lastCommand(outer)
    if (at === undefined) break
    chain.push({ words: outer.slice(at), at })
  }
  return chain.reduceRight((inner: Segment | undefined, link, i): Segment => {
    const next = inner && { segments: [inner], at: chain[i + 1]!.at, clear: false }
    const place = { bases: [cwd], moved: false, nested: true, opaque: "it does not parse" }
    return {
      words: link.words,
      assignments: [],
      redirects: i === 0 ? redirects : [],
      tails: [],
      ...place,
      inner: next ? [next] : [],
    }
  }, undefined)!
}

function nextCommand(words: readonly ShellWord[]): number | undefined {
  return unwrap(words, []).find(({ kind, at }) => kind !== "opaque" && at > 0 && at < words.length)?.at
}

/** The first word that is neither a wrapper nor anything that wrappers take. */
function lastCommand(words: readonly ShellWord[]): number | undefined {
  const at = words.findIndex(
    ({ raw }) => !isRunner(raw) && !SHELL_NAMES.has(raw) && raw !== "eval" && !/^-|^\w+=|^\d/.test(raw),
  )
  return at > 0 ? at : undefined
}
