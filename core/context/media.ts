/**
 * An image or a document → the tokens that it takes.
 *
 * Invariant: of an image its head is read, of a document a bounded part; what cannot be read counts as the most that it
 * may be.
 *
 * Source: https://platform.claude.com/docs/en/build-with-claude/vision (tokens = width × height ÷ 750) and
 * .../pdf-support (each page counts as its text and as an image).
 */
import { imageSize } from "./image-size.ts"

/** The longer edge of an image as the model sees it, pixels: a larger one is made smaller. */
const LONGEST_EDGE = 1_568
const PIXELS_PER_TOKEN = 750
/** A larger image is made smaller until it has as many; tokens. */
const MOST_IMAGE = 1_600
/** Text of a page, tokens: between 1,500 and 3,000. */
const PAGE_TEXT = 2_250
/** A request has no more pages. */
const MOST_PAGES = 600
/** Bytes of a page where the file does not tell how many it has. */
const PAGE_BYTES = 50_000
/** Bytes of a document that are looked through, one half of them at each end. */
const LOOKED_THROUGH = 4 * 2 ** 20
/** Places of a document that are looked at for its number of pages. */
const MOST_PLACES = 2_000
/** Bytes before and behind such a place that belong to it at the most. */
const AROUND = 2_000

/** Tokens of one image or document block. Text that a document holds is not media: it counts as none. */
export function mediaTokens({ type, source }: { type: string; source?: unknown }): number {
  const { type: kind, data } = (source ?? {}) as { type?: unknown; data?: unknown }
  const base64 = kind === "base64" && typeof data === "string" ? data : undefined
  if (type === "image") return base64 === undefined ? MOST_IMAGE : imageTokens(base64)
  if (kind === "text" || kind === "content") return 0
  // A page is as tall as it may be, so that it counts as the largest image.
  return (base64 === undefined ? 1 : pagesOf(base64)) * (PAGE_TEXT + MOST_IMAGE)
}

/** Tokens of an image by its size; the most where that cannot be read. */
function imageTokens(base64: string): number {
  const size = imageSize(base64)
  if (size === undefined) return MOST_IMAGE
  const scale = Math.min(1, LONGEST_EDGE / Math.max(size.width, size.height))
  const pixels = size.width * scale * size.height * scale
  return Math.min(MOST_IMAGE, Math.max(1, Math.ceil(pixels / PIXELS_PER_TOKEN)))
}

/** Pages of a PDF: as it says, as many as are found in it, or by its length. */
function pagesOf(base64: string): number {
  const text = endsOf(base64)
  const found = Math.max(linearizedPages(text), treePages(text), foundPages(text))
  const guessed = Math.ceil((base64.length * 3) / 4 / PAGE_BYTES)
  return Math.min(MOST_PAGES, Math.max(1, found || guessed))
}

/** The document, or both ends of a long one; each byte is one character. */
function endsOf(base64: string): string {
  const decode = (part: string) => Buffer.from(part, "base64").toString("latin1")
  const half = Math.floor(LOOKED_THROUGH / 3 / 2) * 4
  if (base64.length <= 2 * half) return decode(base64)
  const tail = base64.length - half
  return `${decode(base64.slice(0, half))}\n${decode(base64.slice(tail - (tail % 4)))}`
}

/** The number in the first dictionary of a file that is made for reading page by page. */
function linearizedPages(text: string): number {
  const head = text.slice(0, 1_024)
  return head.includes("/Linearized") ? Number(/\/N\s+(\d{1,6})\b/.exec(head)?.[1] ?? 0) : 0
}

/** The largest count of a node of the page tree; outlines count something else. */
function treePages(text: string): number {
  let most = 0
  for (const at of placesOf(text, "/Count")) {
    const before = text.slice(Math.max(0, at - AROUND), at)
    const around = before.slice(before.lastIndexOf("obj") + 1) + text.slice(at, at + AROUND).split("endobj", 1)[0]
    if (!/\/Type\s*\/Pages\b/.test(around)) continue
    most = Math.max(most, Number(/^\/Count\s+(\d{1,6})\b/.exec(text.slice(at, at + 40))?.[1] ?? 0))
  }
  return most
}

function foundPages(text: string): number {
  let count = 0
  for (const at of placesOf(text, "/Page")) if (/^\/Page(?![A-Za-z])/.test(text.slice(at, at + 6))) count++
  return count
}

/** From the end on: that is where the page tree mostly lies. */
function* placesOf(text: string, word: string): Generator<number> {
  let at = text.lastIndexOf(word)
  for (let count = 0; at !== -1 && count < MOST_PLACES; count++) {
    yield at
    at = at === 0 ? -1 : text.lastIndexOf(word, at - 1)
  }
}
