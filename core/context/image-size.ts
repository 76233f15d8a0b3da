/**
 * The first bytes of an image in base64 → its width and height.
 *
 * Invariant: it decodes the bytes that it looks at and no others, a bounded number of them; what is cut off or foreign has
 * no size.
 *
 * Source: PNG (W3C, 11.2.2), GIF89a 18, JPEG (ITU T.81, B.1 and B.2.2), WebP (RFC 9649, 2.5 to 2.7).
 */

/** Pixels. */
export interface ImageSize {
  width: number
  height: number
}

/** Segments before the frame of a JPEG: metadata, profiles, tables. */
const MOST_SEGMENTS = 500

/** The size of a PNG, GIF, WebP or JPEG; undefined for anything else, and where it says none. */
export function imageSize(base64: string): ImageSize | undefined {
  const head = bytesAt(base64, 0, 30)
  const size = ofPng(head) ?? ofGif(head) ?? ofWebp(head) ?? ofJpeg(head, base64)
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined
}

/** Bytes from the middle of base64 text: three of them are four characters. */
function bytesAt(base64: string, offset: number, length: number): Buffer {
  const start = Math.floor(offset / 3)
  const end = Math.ceil((offset + length) / 3)
  return Buffer.from(base64.slice(start * 4, end * 4), "base64").subarray(
    offset - start * 3,
    offset - start * 3 + length,
  )
}

function ofPng(head: Buffer): ImageSize | undefined {
  if (head.length < 24 || head.toString("latin1", 0, 8) !== "\x89PNG\r\n\x1a\n") return undefined
  return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) }
}

function ofGif(head: Buffer): ImageSize | undefined {
  if (head.length < 10 || !/^GIF8[79]a$/.test(head.toString("latin1", 0, 6))) return undefined
  return { width: head.readUInt16LE(6), height: head.readUInt16LE(8) }
}

function ofWebp(head: Buffer): ImageSize | undefined {
  if (head.length < 30 || head.toString("latin1", 0, 4) !== "RIFF") return undefined
  switch (head.toString("latin1", 8, 16)) {
    case "WEBPVP8 ":
      return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff }
    case "WEBPVP8L": {
      const bits = head.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case "WEBPVP8X":
      return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 }
    default:
      return undefined
  }
}

/** Goes from segment to segment, whatever these hold, to the one that begins the frame. */
function ofJpeg(head: Buffer, base64: string): ImageSize | undefined {
  if (head.length < 4 || head.readUInt16BE(0) !== 0xffd8) return undefined
  let offset = 2
  for (let count = 0; count < MOST_SEGMENTS; count++) {
    const segment = bytesAt(base64, offset, 9)
    if (segment.length < 9 || segment[0] !== 0xff) return undefined
    const marker = segment[1]!
    // Any number of fill bytes may stand before a marker.
    if (marker === 0xff) offset += 1
    else if (isFrame(marker)) return { height: segment.readUInt16BE(5), width: segment.readUInt16BE(7) }
    else offset += 2 + segment.readUInt16BE(2)
  }
  return undefined
}

/** C0 to CF but the tables and the extension that lie between them. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
}
