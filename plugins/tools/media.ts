/**
 * Images and PDFs → blocks that the Messages API takes.
 *
 * Invariant: what a file is, its first bytes say, never its name; what the API would refuse for its size is refused here.
 */
import type { ToolOutput, ToolResultContent } from "sous"
import { megabytes, type OpenFile, readWhole } from "./file.ts"
import { Refused } from "./refusal.ts"

type Block = Exclude<ToolResultContent, string>[number]
type ImageType = "image/png" | "image/jpeg" | "image/gif" | "image/webp"

/** The API takes 5 MB of base64 for an image (docs: vision) and 32 MB for a whole request (docs: PDF support). */
const IMAGE_BYTES = 3_750_000
const PDF_BYTES = 15_000_000

/** An image or document that a file holds, by its first bytes. */
export type MediaType = ImageType | "application/pdf"

/** What the first 12 bytes say; undefined for everything that is neither image nor PDF. */
export function mediaTypeOf(start: Buffer): MediaType | undefined {
  const text = start.toString("latin1")
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return "image/png"
  if (text.startsWith("\xff\xd8\xff")) return "image/jpeg"
  if (text.startsWith("GIF8")) return "image/gif"
  if (text.startsWith("RIFF") && text.slice(8, 12) === "WEBP") return "image/webp"
  return text.startsWith("%PDF-") ? "application/pdf" : undefined
}

/** Reads an image or a PDF as one block. */
export async function readMedia(file: OpenFile, type: MediaType): Promise<{ output: ToolOutput; bytes: Buffer }> {
  const isPdf = type === "application/pdf"
  const limit = isPdf ? PDF_BYTES : IMAGE_BYTES
  if (file.stats.size > limit) {
    const next = isPdf
      ? "take out the pages you need (qpdf, pdftotext)"
      : "make a smaller copy (convert -resize, sips -Z)"
    throw new Refused(
      `"${file.path}" has ${megabytes(file.stats.size)}, more than the ${megabytes(limit)} that can be shown: ${next}`,
    )
  }
  const bytes = await readWhole(file, limit)
  const data = bytes.toString("base64")
  const block = isPdf ? documentBlock(data) : imageBlock(type, data)
  return { output: { content: [block], data: { path: file.real, type, bytes: bytes.length } }, bytes }
}

/** An image block; undefined when the API would refuse its size. `data` is base64. */
export function imageBlockWithin(type: ImageType, data: string): Block | undefined {
  return data.length * 0.75 > IMAGE_BYTES ? undefined : imageBlock(type, data)
}

function imageBlock(type: ImageType, data: string): Block {
  return { type: "image", source: { type: "base64", media_type: type, data } }
}

function documentBlock(data: string): Block {
  return { type: "document", source: { type: "base64", media_type: "application/pdf", data } }
}
