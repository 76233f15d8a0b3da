/**
 * A text and one item in it → the text without the item, its comma, and the lines that nothing is left of.
 *
 * Invariant: a comment beside what is taken out stays where it was.
 */

/** Offsets; `end` is that behind the last character. */
export interface Range {
  start: number
  end: number
}

/** Takes an item out, and the comma before or behind it that is too many then. */
export function withoutItem(text: string, item: Range, comma?: Range): string {
  if (comma === undefined) return cut(text, item)
  const isBehind = comma.start >= item.end
  const between = isBehind ? text.slice(item.end, comma.start) : text.slice(comma.end, item.start)
  const isAlone = isBehind || !between.includes("\n") || isBlank(text.slice(item.end, lineEnd(text, item.end)))
  if (isBlank(between) && isAlone) {
    return cut(text, { start: Math.min(item.start, comma.start), end: Math.max(item.end, comma.end) })
  }
  return isBehind ? cut(splice(text, comma, ""), item) : splice(cut(text, item), comma, "")
}

/** Puts a text in the place of a range. */
export function splice(text: string, { start, end }: Range, added: string): string {
  return text.slice(0, start) + added + text.slice(end)
}

/** Where the line of an offset begins. */
export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1
}

/** Behind the line end of the line of an offset. */
export function lineEnd(text: string, offset: number): number {
  const next = text.indexOf("\n", offset)
  return next === -1 ? text.length : next + 1
}

/** The indentation of the line of an offset. */
export function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset)))![0]
}

function cut(text: string, range: Range): string {
  const lines = { start: lineStart(text, range.start), end: lineEnd(text, range.end) }
  if (isBlank(text.slice(lines.start, range.start)) && isBlank(text.slice(range.end, lines.end))) {
    const isLast = lines.end === text.length && !text.endsWith("\n")
    return isLast ? text.slice(0, lines.start).replace(/\r?\n$/, "") : splice(text, lines, "")
  }
  const spaces = text[range.start] === "," ? 0 : /^[ \t]*/.exec(text.slice(range.end))![0].length
  return splice(text, { start: range.start, end: range.end + spaces }, "")
}

function isBlank(text: string): boolean {
  return text.trim() === ""
}
