import { describe, expect, it } from "vitest"
import { escapeWildcard, matchesWildcard, parseWildcard } from "../../../core/permission/wildcard.ts"

const fits = (pattern: string, text: string) => matchesWildcard(parseWildcard(pattern), text)

describe("matchesWildcard()", () => {
  it("fits the whole text when there is no star", () => {
    expect(fits("npm test", "npm test")).toBe(true)
    expect(fits("npm test", "npm test x")).toBe(false)
  })

  it("takes a trailing blank and star, or colon and star, as a prefix that ends a word", () => {
    for (const pattern of ["npm test *", "npm test:*", "npm test   *"]) {
      expect(["npm test", "npm test -- x", "npm testing", "npm test:x"].map((text) => fits(pattern, text))).toEqual([
        true,
        true,
        false,
        false,
      ])
    }
  })

  it("lets a star elsewhere stand for any text, blanks included", () => {
    expect(fits("git * main", "git push origin main")).toBe(true)
    expect(fits("git * main", "git push origin main --tags")).toBe(false)
    expect(fits("git * push *", "git -C x push")).toBe(true)
    expect(fits("git * push *", "git -C x pushing")).toBe(false)
    expect(fits("* --version", "node --version")).toBe(true)
    expect(fits("npm run test*", "npm run test:unit")).toBe(true)
  })

  it("does not let two parts share the same letters", () => {
    expect(fits("ab*ba", "aba")).toBe(false)
    expect(fits("ab*ba", "abba")).toBe(true)
  })

  it("takes a colon-star that is not at the end by the letter", () => {
    expect(fits("git:* push", "git push")).toBe(false)
  })

  it("stays quick for a pattern of 100 KB", () => {
    const started = performance.now()
    expect(fits(`${"a*".repeat(50_000)}b`, "a".repeat(9_999))).toBe(false)
    expect(performance.now() - started).toBeLessThan(1000)
  })
})

describe("escapeWildcard()", () => {
  it("writes a text so that it fits itself alone", () => {
    for (const text of ["ls *.ts", "a\\*b", "echo :*", "x *", "\\\\"]) {
      expect(fits(escapeWildcard(text), text)).toBe(true)
      expect(fits(escapeWildcard(text), `${text}x`)).toBe(false)
    }
    expect(fits(escapeWildcard("ls *.ts"), "ls a.ts")).toBe(false)
  })
})
