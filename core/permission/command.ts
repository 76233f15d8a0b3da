/**
 * The text of a shell command → an analysis that rules, floor and classifier share; one parse, two logics.
 *
 * Invariant: what does not parse, is too long or holds odd characters carries `trouble` and is never allowed without a
 * question, while refusals still look at a rough cut of its text.
 */

import { type Analysis, flatten } from "./segment.ts"
import { cutRoughly } from "./shell-rough.ts"
import { type Walked, walkCommand } from "./shell-walk.ts"
import { useWalker } from "./shell-word.ts"

/** Longer commands are never allowed without a question, in characters. */
const MAX_COMMAND_CHARS = 10_000
/** What is kept of commands that were taken apart, in characters; what hangs on each takes a multiple of it. */
const MAX_CACHED_CHARS = 400_000
/** What a short command counts for. */
const MIN_CACHED_CHARS = 500
/** Parentheses in parentheses; the parser takes each level apart again. */
const MAX_PARENTHESES = 60

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
  const walked = walk(text, options)
  const trouble = oddity(text) ?? walked.trouble
  const rough = trouble === undefined ? { segments: [], texts: [] } : cutRoughly(text, options.cwd)
  const segments = [...walked.segments, ...rough.segments]
  const analysis: Analysis = {
    text,
    segments,
    all: flatten(segments),
    spans: [...walked.spans, ...rough.texts],
    forkBomb: walked.forkBomb || (/\(\)\s{0,9}\{/.test(text) && ROUGH_FORK_BOMB.test(text)),
  }
  return trouble === undefined ? analysis : { ...analysis, trouble }
}

function walk(text: string, options: { cwd: string; home: string }): Walked {
  const nothing = { segments: [], spans: [], forkBomb: false }
  if (text.length > MAX_COMMAND_CHARS) return { ...nothing, trouble: "it is too long to be looked through" }
  if (nestsDeep(text)) return { ...nothing, trouble: "its commands are nested too deep" }
  try {
    if (parser) return walkCommand(text, parser, options)
  } catch {
    // What the parser stumbles over is no shell that anybody could judge.
  }
  return { ...nothing, trouble: "it does not parse as shell" }
}

function nestsDeep(text: string): boolean {
  let depth = 0
  for (const [mark] of text.matchAll(/[()]/g)) {
    depth = mark === "(" ? depth + 1 : Math.max(0, depth - 1)
    if (depth > MAX_PARENTHESES) return true
  }
  return false
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
