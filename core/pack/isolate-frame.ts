/**
 * Messages between a host and an isolated plugin ↔ bytes: four bytes of length (big-endian), then JSON.
 *
 * Invariant: nothing larger, deeper or of more parts than the bounds is ever parsed, and no key changes what an object
 * inherits.
 */

/** How much one message may be. */
export const FRAME_LIMITS = {
  bytes: 8 * 2 ** 20,
  /** Objects and lists inside of one another. */
  depth: 64,
  /** Values in it. */
  parts: 500_000,
}

const HEAD_BYTES = 4

/** The bytes of a message. Throws an Error for what JSON cannot hold, and for what is too large. */
export function encodeFrame(message: object): Buffer {
  const body = Buffer.from(JSON.stringify(message))
  const excess = excessOf(body)
  if (excess !== undefined) throw new Error(excess)
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt32BE(body.length)
  return Buffer.concat([head, body])
}

/** Takes bytes in pieces as they come, and hands on each message once it is whole. */
export interface FrameDecoder {
  /** Throws an Error that says which bound was passed, or that it is no JSON. After that the stream is of no use. */
  push(piece: Buffer): void
}

/** Makes a decoder for one stream. */
export function createDecoder(take: (message: unknown) => void): FrameDecoder {
  let pieces: Buffer[] = []
  let held = 0
  let wanted = HEAD_BYTES
  let length: number | undefined
  return {
    push(piece) {
      pieces.push(piece)
      held += piece.length
      while (held >= wanted) {
        const whole = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
        const part = whole.subarray(0, wanted)
        pieces = whole.length > wanted ? [whole.subarray(wanted)] : []
        held -= wanted
        if (length === undefined) {
          length = part.readUInt32BE()
          if (length > FRAME_LIMITS.bytes) throw new Error(tooLarge(length))
          wanted = length
        } else {
          length = undefined
          wanted = HEAD_BYTES
          take(parseBody(part))
        }
      }
    },
  }
}

function parseBody(body: Buffer): unknown {
  const excess = excessOf(body)
  if (excess !== undefined) throw new Error(excess)
  let value: unknown
  try {
    value = JSON.parse(body.toString("utf8"))
  } catch {
    throw new Error("it sent what is no JSON")
  }
  if (hasOddKey(value)) throw new Error('it sent a key "__proto__"')
  return value
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Which bound the text of a JSON value passes; looked up before it is parsed. */
function excessOf(body: Buffer): string | undefined {
  if (body.length > FRAME_LIMITS.bytes) return tooLarge(body.length)
  let depth = 0
  let parts = 0
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]
    if (byte === QUOTE) {
      at = endOfText(body, at)
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      parts++
      if (++depth > FRAME_LIMITS.depth) return `it sent data that is nested more than ${FRAME_LIMITS.depth} times`
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
    else if (byte === COMMA) parts++
    if (parts > FRAME_LIMITS.parts) return `it sent more than ${FRAME_LIMITS.parts} values at once`
  }
  return undefined
}

/** The index of the quote that ends the text which starts at `from`. */
function endOfText(body: Buffer, from: number): number {
  let at = from
  for (;;) {
    at = body.indexOf(QUOTE, at + 1)
    if (at === -1) return body.length
    let slashes = 0
    while (body[at - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at
  }
}

function tooLarge(bytes: number): string {
  return `it sent ${bytes} bytes at once, and may send ${FRAME_LIMITS.bytes}`
}

/** Nested no deeper than the bound, so it may call itself. */
function hasOddKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false
  if (Object.hasOwn(value, "__proto__")) return true
  return Object.values(value).some(hasOddKey)
}
