import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { createDecoder, encodeFrame, FRAME_LIMITS } from "../../../core/pack/isolate-frame.ts"

/** What comes out when the bytes come in pieces of these lengths, again and again. */
function decode(bytes: Buffer, lengths: readonly number[]): unknown[] {
  const found: unknown[] = []
  const decoder = createDecoder((message) => found.push(message))
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const length = lengths[n % lengths.length]!
    decoder.push(bytes.subarray(at, at + length))
    at += length
  }
  return found
}

describe("encodeFrame() and createDecoder()", () => {
  it("hand on the same messages, in whatever pieces they come", () => {
    const message = fc.dictionary(
      fc.string().filter((key) => key !== "__proto__"),
      fc.jsonValue({ maxDepth: 4 }).filter((value) => !JSON.stringify(value).includes("__proto__")),
    )
    fc.assert(
      fc.property(
        fc.array(message, { maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }),
        (messages, lengths) => {
          const bytes = Buffer.concat(messages.map((one) => encodeFrame(one)))
          expect(decode(bytes, lengths)).toEqual(JSON.parse(JSON.stringify(messages)))
        },
      ),
      { numRuns: 200 },
    )
  })

  it("count what is nested and listed, and not what stands in texts", () => {
    const text = `${"[{,".repeat(1000)}\\"${"\\".repeat(7)}`
    expect(decode(encodeFrame({ text, [text]: text }), [7])).toEqual([{ text, [text]: text }])
    const nested = (depth: number) => Buffer.from(`${"[".repeat(depth)}${"]".repeat(depth)}`)
    const framed = (body: Buffer) => Buffer.concat([Buffer.from([0, 0, body.length >> 8, body.length & 255]), body])
    expect(decode(framed(nested(FRAME_LIMITS.depth)), [9])).toHaveLength(1)
    expect(() => decode(framed(nested(FRAME_LIMITS.depth + 1)), [9])).toThrow("nested more than")
    expect(() => encodeFrame({ list: Array(FRAME_LIMITS.parts + 1).fill(0) })).toThrow("values at once")
    expect(() => encodeFrame({ text: "x".repeat(FRAME_LIMITS.bytes) })).toThrow("bytes at once")
    expect(() => decode(framed(Buffer.from('{"a":[{"__proto__":1}]}')), [9])).toThrow("__proto__")
    expect(() => decode(framed(Buffer.from('{"a":')), [9])).toThrow("no JSON")
  })
})
