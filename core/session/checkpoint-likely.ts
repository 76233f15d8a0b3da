/**
 * The words that a call was handed, and the bytes of a file before it → the contents that it may be about to write there.
 *
 * Invariant: it names only what the call's own words make of the file, so that what a killed call left is told from what
 * somebody else wrote; what it does not name costs a question, nothing else.
 */
import { hashOf } from "./checkpoint-state.ts"

/** Larger files and longer words are left out, bytes. */
const MOST_BYTES = 4 * 2 ** 20
/** More words are no edit. */
const MOST_WORDS = 8

/** The texts at the top of an input. */
export function wordsOf(input: unknown): string[] {
  const values = typeof input === "object" && input !== null ? Object.values(input) : []
  const texts = values.filter((value): value is string => typeof value === "string" && value.length <= MOST_BYTES)
  return texts.length > MOST_WORDS ? [] : [...new Set(texts)]
}

/** Hashes of the words: the file may become one of them. */
export function hashesOf(words: readonly string[]): string[] {
  return words.map((text) => hashOf(Buffer.from(text)))
}

/** Hashes of the file's bytes with each occurrence of one of the words replaced by another, in its encoding and with its line endings. */
export function replacedHashes(bytes: Buffer, words: readonly string[]): string[] {
  if (bytes.length > MOST_BYTES) return []
  // One character for each byte: no byte is lost, whatever the file holds.
  const whole = bytes.toString("latin1")
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf16le" : "utf8"
  const endings = (text: string) =>
    [...new Set([text, text.replace(/\r?\n/g, "\r\n")])].map((form) => Buffer.from(form, encoding).toString("latin1"))
  const found = words.flatMap((from) =>
    endings(from)
      .filter((old) => old !== "" && whole.includes(old))
      .flatMap((old) =>
        words.flatMap((to) => (to === from ? [] : endings(to).map((fresh) => whole.replaceAll(old, () => fresh)))),
      ),
  )
  return [...new Set(found)].map((text) => hashOf(Buffer.from(text, "latin1")))
}
