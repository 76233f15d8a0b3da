import { describe, expect, it } from "vitest"
import { z } from "zod"
import { agent, each, sh, value } from "../../../core/recipe/declare.ts"
import { canonical, itemKey, stepKey } from "../../../core/recipe/key.ts"

describe("stepKey()", () => {
  it("is the same for equal declarations, whatever the order of their fields", () => {
    const one = agent({ prompt: "p", model: "m", output: z.object({ a: z.string() }) })
    const two = agent({ output: z.object({ a: z.string() }), model: "m", prompt: "p" })
    expect(stepKey("a", one)).toBe(stepKey("a", two))
    expect(stepKey("a", one)).toMatch(/^[0-9a-f]{64}$/)
  })

  it("changes with the path, any field, the shape of the output, and each fact", () => {
    const step = agent({ prompt: "p", output: z.object({ a: z.string() }) })
    const keys = [
      stepKey("a", step),
      stepKey("b", step),
      stepKey("a", agent({ prompt: "q", output: z.object({ a: z.string() }) })),
      stepKey("a", agent({ prompt: "p", output: z.object({ a: z.number() }) })),
      stepKey("a", agent({ prompt: "p" })),
      stepKey("a", step, { model: "m" }),
      stepKey("a", step, { model: "n" }),
    ]
    expect(new Set(keys).size).toBe(keys.length)
  })

  it("counts a function by its text", () => {
    const one = stepKey(
      "a",
      each([1], () => value(1)),
    )
    expect(
      stepKey(
        "a",
        each([1], () => value(1)),
      ),
    ).toBe(one)
    expect(
      stepKey(
        "a",
        each([1], () => value(2)),
      ),
    ).not.toBe(one)
    expect(
      stepKey(
        "a",
        each([2], () => value(1)),
      ),
    ).not.toBe(one)
  })

  it("leaves out fields that are undefined", () => {
    const bare = sh`ls`
    expect(stepKey("a", { ...bare, cwd: undefined } as never)).toBe(stepKey("a", bare))
  })
})

describe("itemKey()", () => {
  it("is a short text or a number itself, and the start of a hash of anything else", () => {
    expect([itemKey("src/a.ts"), itemKey("two words"), itemKey(7)]).toEqual(["src/a.ts", "two words", "7"])
    for (const item of ["", " a", "a\nb", "é", "x".repeat(121), { a: 1 }, [1], null, true]) {
      expect(itemKey(item)).toMatch(/^[0-9a-f]{12}$/)
    }
    expect(itemKey({ a: 1, b: 2 })).toBe(itemKey({ b: 2, a: 1 }))
  })
})

describe("canonical()", () => {
  it("writes what JSON cannot", () => {
    const sets = { at: new Date(0), big: 5n, set: new Set([1]), map: new Map([["k", { b: 1, a: 2 }]]) }
    expect(canonical(sets)).toBe('{"at":"1970-01-01T00:00:00.000Z","big":"5n","map":[["k",{"a":2,"b":1}]],"set":[1]}')
    expect(canonical(undefined)).toBe("null")
  })
})
