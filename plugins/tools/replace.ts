/**
 * Exact text in a file's bytes → the same bytes with it replaced.
 *
 * Invariant: bytes outside of the replaced text are never touched, so encoding, BOM and the line endings of every other
 * line survive; new text takes the line endings of the place where it goes.
 */
import { Refused } from "./refusal.ts"

/** Text as a model writes it: lines end in "\n" whatever the file has. */
export interface Replacement {
  oldText: string
  newText: string
  /** Every occurrence; otherwise there must be exactly one. */
  all: boolean
}

export interface Replaced {
  bytes: Buffer
  /** The line (from 1) of each occurrence. */
  lines: number[]
}

/** Replaces text. Refuses when it is missing or, without `all`, not unique; `path` is for the message. */
export function replaceText(bytes: Buffer, replacement: Replacement, path: string): Replaced {
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? "utf16le" : "utf8"
  const { needle, places } = findPlaces(bytes, replacement.oldText, encoding)
  if (places.length === 0) throw new Refused(missingText(bytes.toString(encoding), replacement.oldText, path))
  const lines = lineNumbers(bytes, places, encoding)
  if (places.length > 1 && !replacement.all) {
    const found = `old_string occurs ${places.length} times in "${path}" (lines ${list(lines)})`
    throw new Refused(`${found}: add lines around it until it is unique, or set replace_all`)
  }
  const pieces: Buffer[] = []
  let from = 0
  for (const place of places) {
    const newText = withLineEnding(replacement.newText, lineEndingAt(bytes, place, encoding))
    pieces.push(bytes.subarray(from, place), Buffer.from(newText, encoding))
    from = place + needle.length
  }
  return { bytes: Buffer.concat([...pieces, bytes.subarray(from)]), lines }
}

type FileEncoding = "utf8" | "utf16le"

/** The text as it is, else as it would stand in a file of CRLF lines. */
function findPlaces(bytes: Buffer, text: string, encoding: FileEncoding): { needle: Buffer; places: number[] } {
  const exact = Buffer.from(text, encoding)
  const places = occurrences(bytes, exact, encoding)
  if (places.length > 0 || !text.includes("\n")) return { needle: exact, places }
  const needle = Buffer.from(withLineEnding(text, "\r\n"), encoding)
  return { needle, places: occurrences(bytes, needle, encoding) }
}

function occurrences(bytes: Buffer, needle: Buffer, encoding: FileEncoding): number[] {
  const places: number[] = []
  const isAligned = (place: number) => encoding === "utf8" || place % 2 === 0
  for (let place = bytes.indexOf(needle); place !== -1; ) {
    if (isAligned(place)) places.push(place)
    place = bytes.indexOf(needle, isAligned(place) ? place + needle.length : place + 1)
  }
  return places
}

/** The ending of the line at a place; in the last line, that of the line before. */
function lineEndingAt(bytes: Buffer, place: number, encoding: FileEncoding): "\n" | "\r\n" {
  const crlf = Buffer.from("\r\n", encoding)
  const feed = Buffer.from("\n", encoding)
  const next = bytes.indexOf(feed, place)
  const end = next === -1 ? bytes.lastIndexOf(feed, place) : next
  if (end === -1) return "\n"
  const start = end + feed.length - crlf.length
  return start >= 0 && bytes.subarray(start, end + feed.length).equals(crlf) ? "\r\n" : "\n"
}

function withLineEnding(text: string, ending: "\n" | "\r\n"): string {
  return ending === "\n" ? text : text.replace(/\r?\n/g, "\r\n")
}

function lineNumbers(bytes: Buffer, places: readonly number[], encoding: FileEncoding): number[] {
  const feed = Buffer.from("\n", encoding)
  let line = 1
  let next = bytes.indexOf(feed)
  return places.map((place) => {
    for (; next !== -1 && next < place; next = bytes.indexOf(feed, next + feed.length)) line++
    return line
  })
}

function missingText(text: string, oldText: string, path: string): string {
  const missing = `old_string does not occur in "${path}" as it is now`
  const wanted = oldText.split("\n").map((line) => line.trim())
  if (wanted.every((line) => /^\d+\t|^$/.test(line))) return `${missing}: leave out the line numbers that Read adds`
  const first = wanted.find((line) => line !== "")
  const lines = text.split("\n").flatMap((line, index) => (line.trim() === first ? [index + 1] : []))
  if (lines.length === 0) return `${missing}: Read the file and copy the text exactly`
  const where = lines.length === 1 ? `line ${lines[0]}` : `lines ${list(lines)}`
  return `${missing}. Its first line stands at ${where}, so white space or a later line differs: Read there and copy it exactly`
}

function list(lines: readonly number[]): string {
  const shown = lines.slice(0, 8).join(", ")
  return lines.length > 8 ? `${shown} and ${lines.length - 8} more` : shown
}
