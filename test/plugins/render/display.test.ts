import { expect, test } from "vitest"
import * as display from "../../../plugins/render/display.ts"

test("escapeHidden() shows control characters, bidirectional marks and joiners, and keeps line breaks", () => {
  expect(display.escapeHidden("a\x1b[31mb\r\u202ec\u200dd\n\te")).toBe("a\\u{1b}[31mb\\u{d}\\u{202e}c\\u{200d}d\n\te")
  expect(display.escapeHidden("\0 \ud800 \udc00x \u3164\u034f\u2800")).toBe(
    "\\u{0} \\u{d800} \\u{dc00}x \\u{3164}\\u{34f}\\u{2800}",
  )
  expect(display.escapeHidden("rm -rf\u00a0/\u3000")).toBe("rm -rf\\u{a0}/\\u{3000}")
  expect(display.escapeHidden("日本語 👩 äöü")).toBe("日本語 👩 äöü")
  expect(display.escapeHidden("\u{e0041}\u2066\ufeff\x9b")).toBe("\\u{e0041}\\u{2066}\\u{feff}\\u{9b}")
})

test("escapeControls() leaves the joiners of scripts and emoji", () => {
  expect(display.escapeControls("👩\u200d🔬 می\u200cخواهم\x1b]52;\u202e")).toBe(
    "👩\u200d🔬 می\u200cخواهم\\u{1b}]52;\\u{202e}",
  )
})

test("widthOf() counts wide characters twice, marks and colours not at all", () => {
  expect(display.widthOf("\x1b[31m日本\x1b[39m e\u0301")).toBe(6)
})

test("clip() cuts to columns, never through a wide character", () => {
  expect(display.clip("hello", 5)).toBe("hello")
  expect(display.clip("hello world", 8)).toBe("hello w…")
  expect(display.widthOf(display.clip("日本語日本語", 6))).toBeLessThanOrEqual(6)
})

test("wrap() loses nothing", () => {
  const line = "日本語 and some text"
  expect(display.wrap(line, 5).join("")).toBe(line)
  expect(display.wrap(line, 5).every((piece) => display.widthOf(piece) <= 5)).toBe(true)
})

test.each([
  [450, "0.5s"],
  [9960, "10s"],
  [59_600, "1m 00s"],
  [200_000, "3m 20s"],
  [3_900_000, "1h 05m"],
])("formatDuration() writes %i ms as %s", (ms, text) => {
  expect(display.formatDuration(ms)).toBe(text)
})

test("formatCount() and formatUsd() stay short", () => {
  expect([950, 12_340, 999_960, 2_000_000].map(display.formatCount)).toEqual(["950", "12.3k", "1.0M", "2.0M"])
  expect([0.00421, 1.254].map(display.formatUsd)).toEqual(["$0.0042", "$1.25"])
})

test("summarizeInput() takes the first text of an input, on one line", () => {
  expect(display.summarizeInput({ timeout: 3, command: "npm  test\n--all" })).toBe("npm test --all")
  expect(display.summarizeInput(undefined)).toBe("")
})
