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
    const found = text.indexOf(chunk, at)
    if (found < 0) return false
    at = found + chunk.length
  }
  const last = chunks.at(-1)!
  if (!bounded) return text.length - last.length >= at && text.endsWith(last)
  for (let found = text.indexOf(last, at); found >= 0; found = text.indexOf(last, found + 1)) {
    if (endsWord(text, found + last.length)) return true
    if (found >= text.length) break
  }
  return false
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
