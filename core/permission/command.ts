/**
 * The text of a shell command → an analysis that rules, floor and classifier share; one parse, two logics.
 *
 * Invariant: what does not parse, is too long or holds odd characters carries `trouble` and is never allowed without a
 * question, while refusals still look at a rough cut of its text.
 */

import { isRunner } from "./program/table.ts"
import { type Analysis, flatten, type Segment, type ShellRedirect } from "./segment.ts"
import { walkCommand } from "./shell-walk.ts"
import { literalWord, type ShellWord, useWalker } from "./shell-word.ts"
import { SHELL_NAMES, unwrap } from "./wrapper.ts"

/** Longer commands are never allowed without a question, in characters. */
const MAX_COMMAND_CHARS = 10_000
/** What is kept of commands that were taken apart, in characters; what hangs on each takes a multiple of it. */
const MAX_CACHED_CHARS = 200_000
/** What a short command counts for. */
const MIN_CACHED_CHARS = 500
/** Wrappers around wrappers that are looked at one by one; further ones are skipped. */
const MAX_ROUGH_DEPTH = 24
/** In longer commands they are skipped at once. */
const MAX_ROUGH_WORDS = 5000

let parser: typeof import("unbash") | undefined
const cache = new Map<string, Analysis>()
let cachedChars = 0

/** Loads the shell parser, once. Until then every command counts as one that does not parse. */
export async function prepareCommands(): Promise<void> {
  if (parser) return
  const loaded = await import("unbash")
  useWalker(loaded.forEachChild)
  parser = loaded
}

/** True once `prepareCommands` was done. */
export function areCommandsReady(): boolean {
  return parser !== undefined
}

/** Takes a command apart. `cwd`: absolute; `home`: absolute, or "" when unknown. */
export function analyseCommand(text: string, options: { cwd: string; home: string }): Analysis {
  const key = `${options.cwd}\0${options.home}\0${text}`
  const known = cache.get(key)
  if (known) return known
  const analysis = analyse(text, options)
  keep(key, analysis)
  return analysis
}

/** The oldest give way; the newest is kept however long it is, since one decision asks for it several times. */
function keep(key: string, analysis: Analysis): void {
  cache.set(key, analysis)
  cachedChars += weightOf(key)
  for (const oldest of cache.keys()) {
    if (cachedChars <= MAX_CACHED_CHARS || oldest === key) break
    cache.delete(oldest)
    cachedChars -= weightOf(oldest)
  }
}

function weightOf(key: string): number {
  return Math.max(key.length, MIN_CACHED_CHARS)
}

function analyse(text: string, options: { cwd: string; home: string }): Analysis {
  const odd = oddity(text)
  const walked = text.length > MAX_COMMAND_CHARS ? undefined : walk(text, options)
  const trouble = odd ?? (walked === undefined ? "it is too long to be looked through" : walked.trouble)
  const rough = trouble === undefined ? [] : roughSegments(text, options.cwd)
  const segments = [...(walked?.segments ?? []), ...rough]
  const { spans = [], forkBomb = false } = walked ?? {}
  const analysis: Analysis = {
    text,
    segments,
    all: flatten(segments),
    spans,
    forkBomb: forkBomb || (/\(\)\s{0,9}\{/.test(text) && ROUGH_FORK_BOMB.test(text)),
  }
  return trouble === undefined ? analysis : { ...analysis, trouble }
}

function walk(text: string, options: { cwd: string; home: string }) {
  if (parser === undefined) return { segments: [], spans: [], forkBomb: false, trouble: "it does not parse as shell" }
  try {
    return walkCommand(text, parser, options)
  } catch {
    return { segments: [], spans: [], forkBomb: false, trouble: "it does not parse as shell" }
  }
}

const ROUGH_FORK_BOMB = /([\w:.]{1,32})\s{0,9}\(\)\s{0,9}\{\s{0,9}\1\s{0,9}\|\s{0,9}\1\s{0,9}&/

/** Characters that a person does not see, or that the shell and we may read differently. */
function oddity(text: string): string | undefined {
  if (!/[^\t\n\x20-\x7E]/.test(text)) return undefined
  if (/[\0-\x08\x0B-\x1F\x7F-\x9F]/.test(text)) return "it holds control characters"
  if (
    /[\u00A0\u00AD\u061C\u115F\u1160\u1680\u17B4\u17B5\u180E\u2000-\u200C\u200E\u200F\u2028-\u202F\u205F\u2060-\u206F\u2800\u3000\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{E0000}-\u{E00FF}]|\u034F|[\u180B-\u180D\u180F]|[\uFE00-\uFE0E]|[\u{E0100}-\u{E0FFF}]/u.test(
      text,
    )
  ) {
    return "it holds characters that nobody sees"
  }
  return /\p{Surrogate}/u.test(text) ? "it is no valid Unicode" : undefined
}

/** Cuts at everything that may separate commands and drops quotes: too many pieces rather than too few. */
function roughSegments(text: string, cwd: string): Segment[] {
  const plain = text.replaceAll("\\\n", "").replace(/["'\\\0]/g, "")
  const seen = new Set<string>()
  for (const piece of plain.split(/[;&|\r\n`(){}]+|\$(?=\()/)) {
    const trimmed = piece.trim()
    if (trimmed !== "") seen.add(trimmed)
  }
  return [...seen].map((piece) => roughSegment(piece, cwd))
}

function roughSegment(piece: string, cwd: string): Segment {
  const written = fewer(piece.split(/\s+/))
  const redirects = written.flatMap((word, i) => {
    const target = /^\d?(?:>>|>\||&>|>)(.*)$/.exec(word)
    const text = target && (target[1] || written[i + 1])
    return text ? [{ access: "write" as const, word: literalWord(text) }] : []
  })
  const isFile = (word: string, i: number) =>
    /^\d?[<>]/.test(word) || /^\d?(?:<|>|>>|<>|>\|)$/.test(written[i - 1] ?? "")
  const kept = written.filter((word, i) => !isFile(word, i))
  const start = kept.findIndex((word) => !/^\w+=/.test(word))
  const words = kept.slice(Math.max(0, start)).map((word) => literalWord(word.replace(/\$\w+/g, "")))
  return roughCommand(words, redirects, cwd)
}

/** Of very many words the later ones count once each. */
function fewer(words: readonly string[]): readonly string[] {
  if (words.length <= MAX_ROUGH_WORDS) return words
  return [...words.slice(0, MAX_ROUGH_WORDS), ...new Set(words.slice(MAX_ROUGH_WORDS))]
}

/** Follows wrappers and shells inwards one by one: quotes are gone, so that a string is just the words that follow. */
function roughCommand(words: readonly ShellWord[], redirects: readonly ShellRedirect[], cwd: string): Segment {
  const chain: { words: readonly ShellWord[]; at: number }[] = [{ words, at: 0 }]
  const most = words.length > MAX_ROUGH_WORDS ? 1 : MAX_ROUGH_DEPTH
  for (let depth = 0; depth <= most; depth++) {
    const outer = chain.at(-1)!.words
    const at = depth < most ? nextCommand(outer) : lastCommand(outer)
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
