/**
 * A text file, streamed → one page of numbered lines.
 *
 * Invariant: memory does not grow with the file: what lies outside of the page is counted and hashed, never kept.
 */
import { createHash, hash } from "node:crypto"
import { StringDecoder } from "node:string_decoder"
import { megabytes, type OpenFile } from "./file.ts"
import type { Stamp } from "./ledger.ts"
import { Refused } from "./refusal.ts"
import { count, headOf, withoutHalves } from "./text.ts"

/** Lines of a page when no limit is given. */
const PAGE_LINES = 2000
/** Characters of a page; it ends at the line before. */
const PAGE_CHARS = 60_000
/** Characters of a line that are shown. */
const LINE_CHARS = 2000
const CHUNK_BYTES = 2 ** 18
/** Bytes that are scanned beyond the page, to tell how many lines there are in all. */
const SCAN_BYTES = 64 * 2 ** 20

/** What to show: `offset` is the first line (from 1). */
export interface PageRequest {
  offset?: number | undefined
  limit?: number | undefined
  /** Characters at most; left out, and never more than, those of a page. */
  chars?: number | undefined
  signal: AbortSignal
}

export interface Page {
  /** Numbered lines and, when there is something to say, a note. */
  text: string
  /** First and last line shown; `last` is below `first` when none is. */
  first: number
  last: number
  /** Lines of the file; undefined when it was too long to be counted. */
  lines: number | undefined
  isEnd: boolean
  stamp: Stamp
  /** All that the file holds, where that was read in one piece. */
  content?: Buffer
}

/** Reads one page. Refuses a file that is not text. */
export async function readPage(file: OpenFile, request: PageRequest): Promise<Page> {
  const digest = createDigest(file.stats.size)
  const lines = createLines(request)
  let decoder: StringDecoder | undefined
  let scanned = 0
  let counted = true
  let content: Buffer | undefined
  for await (const chunk of chunksOf(file)) {
    request.signal.throwIfAborted()
    digest.update(chunk)
    const isStart = decoder === undefined
    content = isStart ? chunk : undefined
    decoder ??= new StringDecoder(encodingOf(file, chunk))
    // UTF-16 may hold halves of pairs, and no JSON for the Messages API those.
    const text = withoutHalves(decoder.write(chunk))
    lines.add(isStart && text.startsWith("\ufeff") ? text.slice(1) : text)
    if (lines.isFull()) scanned += chunk.length
    if (scanned > SCAN_BYTES) {
      counted = false
      break
    }
  }
  if (counted) lines.end(withoutHalves(decoder?.end() ?? ""))
  const stamp = {
    size: file.stats.size,
    mtimeMs: file.stats.mtimeMs,
    ...(counted ? { hash: digest.end() } : {}),
  }
  const { first } = lines
  const last = lines.last()
  const total = counted ? lines.total() : undefined
  return {
    text: lines.text() + noteOf(lines, total),
    first,
    last,
    lines: total,
    isEnd: total !== undefined && last >= total,
    stamp,
    ...(content === undefined ? {} : { content }),
  }
}

/** The hash of a file that comes in pieces; one of a single piece is spared the object, which costs more than the hash. */
function createDigest(size: number) {
  const rest = size > CHUNK_BYTES ? createHash("sha256") : undefined
  let value = hash("sha256", "", "base64")
  return {
    update: (chunk: Buffer) => {
      if (rest === undefined) value = hash("sha256", chunk, "base64")
      else rest.update(chunk)
    },
    end: () => rest?.digest("base64") ?? value,
  }
}

/** At most what the file held when it was opened: one that grows while it is read must end too. */
async function* chunksOf(file: OpenFile): AsyncGenerator<Buffer> {
  const { size } = file.stats
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(size, CHUNK_BYTES)))
  for (let position = 0; position < size; ) {
    const length = await file.read(buffer.subarray(0, size - position), position)
    if (length === 0) return
    position += length
    yield buffer.subarray(0, length)
  }
}

function encodingOf(file: OpenFile, start: Buffer): "utf-8" | "utf-16le" {
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le"
  if (start.subarray(0, 8192).includes(0)) {
    const size = megabytes(file.stats.size)
    throw new Refused(`"${file.path}" is not text (${size}): look into it with a shell command (file, xxd, strings)`)
  }
  return "utf-8"
}

type Lines = ReturnType<typeof createLines>

/** Cuts a stream of text into lines and keeps those of the page. */
function createLines({ offset = 1, limit = PAGE_LINES, chars: most = PAGE_CHARS }: Omit<PageRequest, "signal">) {
  const shown: string[] = []
  let chars = 0
  let number = 1
  let full = false
  /** The start of a line whose end has not come yet, as far as it may be shown, and its length. */
  let rest = ""
  let restLength = 0

  const show = (line: string, length: number) => {
    const entry = `${number}\t${length > LINE_CHARS ? cutLine(line, length) : withoutReturn(line)}\n`
    chars += entry.length
    full = chars > Math.min(most, PAGE_CHARS) && shown.length > 0
    if (!full) shown.push(entry)
    full ||= shown.length >= limit
  }
  const finish = (line: string, length: number) => {
    if (number >= offset && !full) show(line, length)
    number++
  }
  const keep = (piece: string) => {
    restLength += piece.length
    if (rest.length <= LINE_CHARS) rest += piece.slice(0, LINE_CHARS + 1)
  }
  const finishRest = () => {
    finish(rest, restLength)
    rest = ""
    restLength = 0
  }
  return {
    first: offset,
    last: () => offset + shown.length - 1,
    isFull: () => full,
    add: (text: string) => {
      const lines = text.split("\n")
      const open = lines.pop()!
      for (const [index, line] of lines.entries()) {
        if (index > 0 || restLength === 0) finish(line, line.length)
        else {
          keep(line)
          finishRest()
        }
      }
      keep(open)
    },
    end: (text: string) => {
      keep(text)
      if (restLength > 0) finishRest()
    },
    total: () => number - 1,
    text: () => shown.join(""),
  }
}

function cutLine(start: string, length: number): string {
  return `${headOf(start, LINE_CHARS)} … (cut: the line has ${count(length, "character")})`
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line
}

function noteOf(lines: Lines, total: number | undefined): string {
  if (total === 0) return "(the file is empty)"
  if (total !== undefined && lines.first > total)
    return `(offset ${lines.first} is past the end: the file has ${count(total, "line")})`
  if (total !== undefined && lines.last() >= total) return ""
  const of = total === undefined ? "" : ` of ${total}`
  return `\n(lines ${lines.first} to ${lines.last()}${of}; read on with offset ${lines.last() + 1})`
}
