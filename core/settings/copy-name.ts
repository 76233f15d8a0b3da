/**
 * A text about the copy of a file that was trusted → the same text about the file itself.
 *
 * Invariant: a person never has to know where copies lie.
 */

/** The text with the places of the file's copy, and of what lies beside it, told as those of the original. */
export function nameOriginal(text: string, file: string, copy: string | undefined): string {
  if (copy === undefined || copy === file) return text
  const [own, other] = [file.split("/"), copy.split("/")]
  let shared = 0
  while (shared < Math.min(own.length, other.length) && own.at(-1 - shared) === other.at(-1 - shared)) shared++
  const root = (parts: string[]) => parts.slice(0, parts.length - shared).join("/")
  return text.replaceAll(`${root(other)}/`, `${root(own)}/`)
}
