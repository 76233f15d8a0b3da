/**
 * Text with `*` → a matcher that never backtracks over more than the text itself.
 *
 * Invariant: no regular expression is built from a rule, so no rule can be slow; `\*` and `\\` stand for themselves.
 */

/** A pattern, cut at its stars. */
export interface Wildcard {
  /** The literal parts; what lies between two of them is any text. */
  chunks: readonly string[]
  /** The last part ends at the end of the text or in front of a blank; anything may follow. */
  bounded: boolean
}

/** Parses; a trailing ` *` or `:*` makes a word-bounded prefix, `*` elsewhere stands for any text, blanks included. */
export function parseWildcard(text: string): Wildcard {
  const bounded = text.length > 2 && (text.endsWith(" *") || text.endsWith("\t*") || text.endsWith(":*"))
  const body = !bounded ? text : text.endsWith(":*") ? text.slice(0, -2) : text.slice(0, -1).trimEnd()
  const chunks = [""]
  for (let i = 0; i < body.length; i++) {
    const c = body[i]!
    if (c === "\\" && (body[i + 1] === "*" || body[i + 1] === "\\")) chunks[chunks.length - 1] += body[++i]!
    else if (c === "*") chunks.push("")
    else chunks[chunks.length - 1] += c
  }
  return { chunks, bounded }
}

/** True when the whole text fits. */
export function matchesWildcard({ chunks, bounded }: Wildcard, text: string): boolean {
  const head = chunks[0]!
  if (!text.startsWith(head)) return false
  if (chunks.length === 1) return bounded ? endsWord(text, head.length) : text.length === head.length
  let at = head.length
  for (const chunk of chunks.slice(1, -1)) {
    const found = find(text, chunk, at, () => true)
    if (found < 0) return false
    at = found + chunk.length
  }
  const last = chunks.at(-1)!
  if (!bounded) return text.length - last.length >= at && text.endsWith(last)
  return find(text, last, at, (found) => endsWord(text, found + last.length)) >= 0
}

/** Longer parts are looked for in a way that no text makes slow. */
const PLAIN_CHARS = 64

/** Where the part stands first, from there on, and the test holds; -1 when it does not. */
function find(text: string, part: string, from: number, holds: (at: number) => boolean): number {
  if (part.length > PLAIN_CHARS) return findLong(text, part, from, holds)
  for (let at = text.indexOf(part, from); at >= 0; at = text.indexOf(part, at + 1)) {
    if (holds(at)) return at
    if (at >= text.length) break
  }
  return -1
}

/** Knuth, Morris and Pratt: linear, where the search of the engine may take the product of both lengths. */
function findLong(text: string, part: string, from: number, holds: (at: number) => boolean): number {
  const fallback = fallbacksOf(part)
  let fits = 0
  for (let at = from; at < text.length; at++) {
    while (fits > 0 && text[at] !== part[fits]) fits = fallback[fits - 1]!
    if (text[at] === part[fits]) fits++
    if (fits < part.length) continue
    const start = at - part.length + 1
    if (holds(start)) return start
    fits = fallback[fits - 1]!
  }
  return -1
}

/** For each beginning of the part, how much of it is also its end. */
function fallbacksOf(part: string): Uint32Array {
  const found = new Uint32Array(part.length)
  let fits = 0
  for (let at = 1; at < part.length; at++) {
    while (fits > 0 && part[at] !== part[fits]) fits = found[fits - 1]!
    if (part[at] === part[fits]) fits++
    found[at] = fits
  }
  return found
}

/** True when it fits one text only. */
export function isExact({ chunks, bounded }: Wildcard): boolean {
  return chunks.length === 1 && !bounded
}

/** Writes a text as the pattern that fits it alone. */
export function escapeWildcard(text: string): string {
  return text.replace(/[\\*]/g, "\\$&")
}

function endsWord(text: string, at: number): boolean {
  return at === text.length || /\s/.test(text[at]!)
}
