/** The table of known models: its aliases lead somewhere, its figures are of one kind. */
import { rateFor } from "sous"
import { describe, expect, it } from "vitest"
import { ALIASES, KNOWN_AS_OF, knownIds, knownModel } from "../../../plugins/models/price.ts"

describe("knownModel()", () => {
  it("knows what the aliases stand for", () => {
    for (const id of Object.values(ALIASES)) expect(knownModel(id)).toBeDefined()
  })

  it("knows a dated id by its name, and nothing of others", () => {
    expect(knownModel("claude-haiku-4-5-20251001")).toBe(knownModel("claude-haiku-4-5"))
    expect(knownModel("claude-opus-99")).toBeUndefined()
    expect(knownModel("constructor")).toBeUndefined()
  })

  it("has figures that fit together", () => {
    expect(KNOWN_AS_OF).toMatch(/^\d{4}-\d\d-\d\d$/)
    for (const id of knownIds()) {
      const { limits, price } = knownModel(id)!
      expect(limits.contextWindow, id).toBeGreaterThan(limits.maxOutput)
      if (price === undefined) continue
      expect(price.output, id).toBeCloseTo(price.input * 5)
      expect(price.cacheWrite, id).toBeCloseTo(price.input * 1.25)
      expect(price.cacheRead, id).toBeLessThan(price.input)
    }
  })
})

describe("rateFor()", () => {
  it("is the higher one beyond the length that the price names", () => {
    const price = knownModel("claude-haiku-5-5")!.price!
    expect(rateFor(price, 100_000)).toMatchObject({ input: 0.1, output: 0.5 })
    expect(rateFor(price, 100_001)).toMatchObject({ input: 0.5, output: 2.5, cacheRead: 0.05, cacheWrite: 0.625 })
    const flat = knownModel("claude-opus-5-5")!.price!
    expect(rateFor(flat, 900_000)).toBe(flat)
  })
})
