/**
 * Cutting text by characters.
 *
 * Invariant: a cut never leaves half of a surrogate pair, which no JSON for the Messages API may hold.
 */

/** The first `length` characters, one fewer where the cut would split a pair. */
export function headOf(text: string, length: number): string {
  if (text.length <= length) return text
  return text.slice(0, isHighSurrogate(text.charCodeAt(length - 1)) ? length - 1 : length)
}

/** The last `length` characters, one fewer where the cut would split a pair. */
export function tailOf(text: string, length: number): string {
  if (text.length <= length) return text
  const start = text.length - length
  return text.slice(isHighSurrogate(text.charCodeAt(start - 1)) ? start + 1 : start)
}

/** The text with U+FFFD in the place of every half of a surrogate pair that stands alone. */
export function withoutHalves(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\uFFFD")
}

/** `1 line`, `2 lines`. */
export function count(number: number, noun: string): string {
  return `${number.toLocaleString("en-US")} ${noun}${number === 1 ? "" : "s"}`
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
