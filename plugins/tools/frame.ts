/**
 * What stands in a conversation outside of any tool's result → a text in marks that what it holds cannot end.
 *
 * Invariant: no file, name or note closes the marks that it stands in and goes on as somebody else's words.
 */

import { withoutHalves } from "./text.ts"

/** Marks with which sous tells what nobody said: a person would not write them. */
const MARK = /<(?=\s*\/?\s*(?:system-reminder|auto-memory|memory|memory-file|environment|file|tasks|plan)\b)/gi

/** `words` between `<tag>` and `</tag>`; marks in them come out as text. */
export function frame(tag: string, words: string, { attributes = "" } = {}): string {
  return `<${tag}${asText(attributes)}>\n${asText(words)}\n</${tag}>`
}

/** True for a content that could not be shown as it is. */
export function holdsMarks(content: string): boolean {
  return asText(content) !== content
}

function asText(text: string): string {
  return withoutHalves(text.replace(MARK, "&lt;"))
}
