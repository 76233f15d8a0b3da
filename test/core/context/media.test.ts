import { expect, test } from "vitest"
import { imageSize } from "../../../core/context/image-size.ts"
import { mediaTokens } from "../../../core/context/media.ts"

const MOST = 1_600
const PAGE = 2_250 + MOST

const image = (bytes: Buffer) => mediaTokens(block("image", bytes))
const pdf = (text: string | Buffer) => mediaTokens(block("document", Buffer.from(text as string, "latin1")))
const block = (type: string, bytes: Buffer) => ({ type, source: { type: "base64", data: bytes.toString("base64") } })

const png = (width: number, height: number) => {
  const bytes = Buffer.alloc(64)
  bytes.write("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1")
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}
const gif = (width: number, height: number) => {
  const bytes = Buffer.alloc(40)
  bytes.write("GIF89a", "latin1")
  bytes.writeUInt16LE(width, 6)
  bytes.writeUInt16LE(height, 8)
  return bytes
}
const webp = (form: "VP8 " | "VP8L" | "VP8X", width: number, height: number) => {
  const bytes = Buffer.alloc(40)
  bytes.write(`RIFF....WEBP${form}`, "latin1")
  if (form === "VP8 ") {
    // The upper two bits are a scale.
    bytes.writeUInt16LE(width | 0x4000, 26)
    bytes.writeUInt16LE(height, 28)
  } else if (form === "VP8L") bytes.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 21)
  else {
    bytes.writeUIntLE(width - 1, 24, 3)
    bytes.writeUIntLE(height - 1, 27, 3)
  }
  return bytes
}
const jpeg = (width: number, height: number, { before = 100, fill = 0 } = {}) => {
  const segment = (marker: number, length: number) => {
    // A thumbnail inside of metadata has a frame of its own.
    const bytes = Buffer.alloc(length + 2, Buffer.from([0xff, 0xc0, 0, 17, 8, 0, 9, 0, 9]))
    bytes.writeUInt16BE(0xff00 | marker, 0)
    bytes.writeUInt16BE(length, 2)
    return bytes
  }
  const frame = Buffer.from([0xff, 0xc2, 0, 17, 8, height >> 8, height & 255, width >> 8, width & 255, 3])
  const tables = [segment(0xe1, before), segment(0xc4, 20), segment(0xdb, 67), Buffer.alloc(fill, 0xff)]
  return Buffer.concat([Buffer.from([0xff, 0xd8]), ...tables, frame, Buffer.alloc(50)])
}

test.each([
  ["PNG", png(3, 700), 3, 700],
  ["GIF", gif(640, 480), 640, 480],
  ["WebP, lossy", webp("VP8 ", 550, 368), 550, 368],
  ["WebP, lossless", webp("VP8L", 386, 395), 386, 395],
  ["WebP, extended", webp("VP8X", 70_000, 300), 70_000, 300],
  ["JPEG", jpeg(1_024, 768), 1_024, 768],
  ["JPEG behind much metadata", jpeg(4_000, 3_000, { before: 65_000 }), 4_000, 3_000],
  ["JPEG with fill bytes", jpeg(200, 100, { fill: 5 }), 200, 100],
])("imageSize() reads a %s", (_what, bytes, width, height) => {
  expect(imageSize(bytes.toString("base64"))).toEqual({ width, height })
})

test.each([
  ["nothing", Buffer.alloc(0)],
  ["a text", Buffer.from("<svg width='10' height='10'/>".repeat(4))],
  ["a PNG cut off in its head", png(10, 10).subarray(0, 20)],
  ["a PNG without pixels", png(0, 10)],
  ["a JPEG cut off before its frame", jpeg(100, 100, { before: 5_000 }).subarray(0, 4_000)],
  ["a JPEG of segments without length", Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(90_000, 0xff)])],
  ["a WebP of a kind to come", webp("VP8 ", 10, 10).fill("VP9 ", 12, 16)],
])("imageSize() knows no size of %s, and mediaTokens() counts it as the largest", (_what, bytes) => {
  expect(imageSize(bytes.toString("base64"))).toBeUndefined()
  expect(image(bytes)).toBe(MOST)
})

test.each([
  [200, 200, 54],
  [1_000, 1_000, 1_334],
  [1_092, 1_092, 1_590],
  [1, 1, 1],
  // Made smaller to 1568 × 157, and to 784 × 1568.
  [3_920, 392, 328],
  [2_000, 4_000, MOST],
  [100_000, 100_000, MOST],
])("mediaTokens() of an image of %i × %i pixels is %i", (width, height, tokens) => {
  expect(image(png(width, height))).toBe(tokens)
})

const page = "1 0 obj << /Type /Page /Parent 2 0 R >> endobj\n"
const root = (count: number) => `2 0 obj <</Type/Pages /Kids [${"1 0 R ".repeat(50)}] /Count ${count}>> endobj\n`

test.each([
  ["its pages", `%PDF-1.4\n${page.repeat(7)}`, 7],
  ["the root of its page tree", `%PDF-1.4\n${root(12)}${page}${root(3)}`, 12],
  ["a count that stands first", "%PDF-1.4\n2 0 obj <</Count 9/Type/Pages>> endobj", 9],
  ["its first dictionary", "%PDF-1.5\n1 0 obj << /Linearized 1 /L 900 /N 31 /T 5 >> endobj", 31],
  ["no outline", `%PDF-1.4\n${page}3 0 obj << /Type /Outlines /Count 400 >> endobj\n${root(1)}`, 1],
  ["its length, where all is packed", `%PDF-1.5\n${"x".repeat(240_000)}`, 5],
  ["no more than a request may hold", `%PDF-1.4\n${root(999_999)}`, 600],
])("mediaTokens() of a PDF goes by %s", (_what, text, pages) => {
  expect(pdf(text)).toBe(pages * PAGE)
})

test.each(["x", "/Type /Pages /Count ", page])(
  "mediaTokens() finds the page tree at the end of 14 MB of %j",
  (filler) => {
    const long = Buffer.alloc(14_000_000, filler)
    long.write("%PDF-1.4\n")
    long.write(`endobj ${root(590)}${" ".repeat(800)}`, long.length - 1_200)
    // A search that began anew at each hit would outlive the test.
    expect([590 * PAGE, 600 * PAGE]).toContain(pdf(long))
  },
)

test("mediaTokens() counts what it cannot look at as the most, and text of a document as none", () => {
  expect(mediaTokens({ type: "image", source: { type: "url", url: "https://example.com/a.png" } })).toBe(MOST)
  expect(mediaTokens({ type: "document", source: { type: "file", file_id: "f" } })).toBe(PAGE)
  expect(mediaTokens({ type: "document", source: { type: "text", data: "abc" } })).toBe(0)
})
