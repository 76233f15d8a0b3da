/**
 * What a server answered → what a model is shown of it: text, markdown, or an image.
 *
 * Invariant: what a body is, its first bytes and its type say together; what is neither text nor an image is refused.
 */
import type { ToolResultContent } from "sous"
import { imageBlockWithin, mediaTypeOf } from "./media.ts"
import { Refused } from "./refusal.ts"

type Block = Exclude<ToolResultContent, string>[number]

/** The content of a page, before it is put into words. */
export type PageContent =
  | { kind: "html"; text: string }
  | { kind: "text"; text: string }
  | { kind: "image"; block: Block }

/** Throws Refused for types whose body no model could read, before it is downloaded. */
export function checkType(type: string): void {
  const name = nameOf(type)
  if (name === "application/pdf") throw pdf()
  if (/^(?:audio|video|font)\//.test(name) || ARCHIVES.has(name)) throw binary(name)
}

/** Reads a body by its content type. Throws Refused for PDFs and everything that is no text. */
export function readContent(body: Buffer, type: string): PageContent {
  const name = nameOf(type)
  const media = mediaTypeOf(body.subarray(0, 12))
  if (media === "application/pdf") throw pdf()
  if (media !== undefined) {
    const block = imageBlockWithin(media, body.toString("base64"))
    if (block === undefined) throw new Refused("The image is too large to be shown: look for a smaller one")
    return { kind: "image", block }
  }
  const text = decode(body, type)
  if (text === undefined || text.includes("\0")) throw binary(name)
  const isHtml = /^(?:text\/html|application\/xhtml\+xml)$/.test(name)
  return { kind: isHtml || (name === "" && /^\s{0,100}<(?:!doctype )?html/i.test(text)) ? "html" : "text", text }
}

/** Media types that hold text; what is of another type is text only when it is valid UTF-8. */
const TEXTUAL = /^text\/|[/+](?:json|xml|yaml|x-yaml|toml|javascript|ecmascript|x-ndjson|sql|graphql|x-sh)$/

/** Media types of archives that servers name often. */
const ARCHIVES = new Set(
  ["zip", "gzip", "x-gzip", "x-tar", "x-7z-compressed", "x-bzip2"].map((one) => `application/${one}`),
)

/** Undefined for bytes that are no text. */
function decode(body: Buffer, type: string): string | undefined {
  const isTextual = TEXTUAL.test(nameOf(type))
  try {
    return new TextDecoder(charsetOf(body, type), { fatal: !isTextual }).decode(body)
  } catch {
    // An encoding that nobody knows is most likely close to UTF-8.
    return isTextual ? new TextDecoder().decode(body) : undefined
  }
}

/** As browsers find it: byte order mark, header, then what the document says of itself (WHATWG HTML, 13.2.3). */
function charsetOf(body: Buffer, type: string): string {
  if (body[0] === 0xff && body[1] === 0xfe) return "utf-16le"
  if (body[0] === 0xfe && body[1] === 0xff) return "utf-16be"
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) return "utf-8"
  const header = /charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(type.slice(0, 500))?.[1]
  if (header !== undefined) return header
  const start = body.subarray(0, 1024).toString("latin1")
  const named =
    /<meta\s[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(start)?.[1] ??
    /^<\?xml\s[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{1,40})/i.exec(start)?.[1]
  // These bytes were read as ASCII, so it cannot be UTF-16.
  return named === undefined || /^utf-?16/i.test(named) ? "utf-8" : named
}

function nameOf(type: string): string {
  return type.split(";")[0]!.trim().toLowerCase()
}

function pdf(): Refused {
  return new Refused("It is a PDF: download it with a shell (curl -o) and read the file")
}

function binary(name: string): Refused {
  const what = name === "" ? "without a type" : `of type ${name.slice(0, 80)}`
  return new Refused(`It is data ${what}, no text: download it with a shell (curl -o) if you need it`)
}
