import { describe, expect, it } from "vitest"
import { addWeights, FIRST_GAUGE, type Gauge, learn, mostTokens, tokensOf, weigh } from "../../../core/context/usage.ts"
import type { MessageParam } from "../../../core/message.ts"

const user = (...content: object[]) => ({ role: "user", content }) as unknown as MessageParam
const text = (length: number) => ({ type: "text", text: "x".repeat(length) })
const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "A".repeat(400_000) } }

describe("weigh()", () => {
  it("counts characters of text, thinking, results and input, and no base64", () => {
    const plain = weigh(user(text(0)))
    const chars = (...content: object[]) => weigh(user(...content)).chars - plain.chars
    expect(chars(text(1_000))).toBe(1_000)
    expect(chars({ type: "thinking", thinking: "x".repeat(500), signature: "y".repeat(9_000) })).toBe(500)
    expect(chars({ type: "tool_result", tool_use_id: "t", content: "x".repeat(700) })).toBe(700)
    expect(chars({ type: "tool_result", tool_use_id: "t" })).toBe(0)
    const use = { type: "tool_use", id: "t", name: "Read", input: { path: "x".repeat(300) } }
    expect(chars(use)).toBe(JSON.stringify(use).length)
    const inner = weigh(user({ type: "tool_result", tool_use_id: "t", content: [text(10), image] }))
    expect(inner).toEqual({ chars: plain.chars + 2 * 30 + 10, media: 1_600 })
    expect(weigh({ role: "user", content: "abc" }).chars).toBe(23)
  })

  it("counts the text that a document holds as text", () => {
    const plain = weigh(user(text(0)))
    const document = (source: object) => weigh(user({ type: "document", source }))
    expect(document({ type: "text", media_type: "text/plain", data: "x".repeat(800) })).toEqual({
      chars: plain.chars + 800,
      media: 0,
    })
    const blocks = document({ type: "content", content: [text(50), image] })
    expect(blocks).toEqual({ chars: plain.chars + 2 * 30 + 50, media: 1_600 })
  })
})

describe("mostTokens()", () => {
  it("is one for each byte of text, and for media what a model can make of it", () => {
    expect(mostTokens([user({ type: "text", text: "ä".repeat(1_000) })])).toBeGreaterThan(2_000)
    expect(mostTokens([user(image)])).toBeLessThan(6_000)
    expect(mostTokens([user({ type: "tool_result", tool_use_id: "t", content: [image, image] })])).toBeLessThan(12_000)
    const like = { type: "tool_use", id: "t", name: "Draw", input: { shape: image } }
    expect(mostTokens([user(like)])).toBeGreaterThan(400_000)
  })

  it("is never below what is estimated", () => {
    const blocks = [text(5_000), image, { type: "tool_result", tool_use_id: "t", content: [text(40), image] }]
    for (const block of blocks) {
      const message = user(block)
      expect(mostTokens([message])).toBeGreaterThanOrEqual(tokensOf(weigh(message), { ratio: 1, learned: 0 }))
    }
  })
})

describe("learn()", () => {
  const of = (chars: number, media = 0) => ({ chars, media })

  it("takes the first count as it is, media left aside", () => {
    expect(learn(FIRST_GAUGE, of(10_000), 2_500)).toEqual({ ratio: 4, learned: 10_000 })
    expect(learn(FIRST_GAUGE, of(10_000, 1_600), 4_100)).toEqual({ ratio: 4, learned: 10_000 })
  })

  it("comes nearer with each count, and no odd one turns it round", () => {
    let gauge: Gauge = learn(FIRST_GAUGE, of(40_000), 10_000)
    gauge = learn(gauge, of(2_000), 2_000)
    expect(gauge.ratio).toBeGreaterThan(3.8)
    for (let i = 0; i < 40; i++) gauge = learn(gauge, of(20_000), 10_000)
    expect(gauge.ratio).toBeGreaterThan(2)
    expect(gauge.ratio).toBeLessThan(2.3)
  })

  it("learns nothing from little, nor from a count that cannot be one", () => {
    const gauge = { ratio: 3.5, learned: 9_000 }
    expect(learn(gauge, of(1_999), 10)).toBe(gauge)
    expect(learn(gauge, of(50_000, 3_200), 3_200)).toBe(gauge)
    expect(learn(gauge, of(50_000), -400)).toBe(gauge)
    expect(learn(FIRST_GAUGE, of(50_000), 1).ratio).toBe(6)
    expect(learn(FIRST_GAUGE, of(5_000), 50_000).ratio).toBe(1)
  })
})

describe("tokensOf()", () => {
  it("divides characters and leaves media as they are", () => {
    const sum = addWeights([
      { chars: 100, media: 5 },
      { chars: 21, media: 2 },
    ])
    expect(tokensOf(sum, { ratio: 4, learned: 1 })).toBe(38)
  })
})
