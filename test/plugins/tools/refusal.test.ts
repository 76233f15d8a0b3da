import { describe, expect, test } from "vitest"
import { clipQuoted } from "../../../plugins/tools/refusal.ts"
import { lastResults, runPrompt } from "../../harness.ts"

describe("clipQuoted()", () => {
  test("cuts what is quoted and long, and leaves the rest of the sentence", () => {
    const long = "x".repeat(400_000)
    expect(clipQuoted(`"${long}" does not exist, nor does "${"y".repeat(300)}": look again`)).toBe(
      `"${"x".repeat(300)}…" does not exist, nor does "${"y".repeat(300)}": look again`,
    )
    const prose = `"a" ${"is ".repeat(200)}"b"`
    expect(clipQuoted(prose)).toBe(prose)
  })

  test("cuts no character in two, and bounds a text that is full of quotes", () => {
    expect(clipQuoted(`"${"x".repeat(299)}😀😀"`)).toBe(`"${"x".repeat(299)}…"`)
    expect(clipQuoted('"a'.repeat(200_000)).length).toBeLessThan(10_000)
  })
})

describe("a path of 400 KB", () => {
  const file_path = `${"a/".repeat(200_000)}b`
  const content = [{ tool: { Read: { file_path } } }, { tool: { Write: { file_path, content: "x" } } }]

  test.each(["default", "bypassPermissions"] as const)(
    "is named in a sentence that a model can read, in the mode %s",
    async (mode) => {
      const { bodies } = await runPrompt([{ content }, { text: "ok" }], { mode })
      const texts = lastResults(bodies[1]).map(({ text }) => text)
      expect(texts).toHaveLength(2)
      for (const text of texts) {
        expect(text.length).toBeLessThan(2000)
        expect(text).toContain("…")
      }
    },
  )
})
