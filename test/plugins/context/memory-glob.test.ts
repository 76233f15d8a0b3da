import { expect, test } from "vitest"
import { parseGlobs } from "../../../plugins/context/memory-glob.ts"

test.each<[string, string[], string[]]>([
  ["*.ts", ["a.ts", ".ts"], ["a/b.ts", "a.tsx", "ts"]],
  ["**/*.ts", ["a.ts", "a/b/c.ts"], ["a.js"]],
  ["src/**", ["src/a", "src/a/b", "src"], ["a/src/b", "srca"]],
  ["src/", ["src/a/b"], ["a/src/b"]],
  ["./src/*/x", ["src/a/x"], ["src/x", "src/a/b/x"]],
  ["a/**/b/**/c", ["a/b/c", "a/x/y/b/z/c", "a/b/b/c/c"], ["a/c", "b/c"]],
  ["/a/**", ["/a/b"], ["a/b"]],
  ["a?c", ["abc", "aéc", "a😀c"], ["ac", "a/c"]],
  ["[a-c!]x", ["ax", "cx", "!x"], ["dx", "x"]],
  ["[!a-c]x", ["dx"], ["ax"]],
  ["[]a]x", ["]x", "ax"], ["bx"]],
  ["{a,b/{c,d}}.md", ["a.md", "b/c.md", "b/d.md"], ["b.md", "c.md"]],
  ["a{,b}", ["a", "ab"], ["a{,b}"]],
  ["{a}", ["{a}"], ["a"]],
  ["a\\*\\{b,c\\}", ["a*{b,c}"], ["axb"]],
  ["", [""], ["a"]],
])("parseGlobs() %s", (pattern, fitting, others) => {
  const globs = parseGlobs([pattern])
  expect(globs.refused).toEqual([])
  expect(fitting.filter((path) => !globs.fits(path))).toEqual([])
  expect(others.filter((path) => globs.fits(path))).toEqual([])
})

test("parseGlobs() leaves out what a pattern with ! fits, wherever it stands in the list", () => {
  const globs = parseGlobs(["!a/b/**", "a/**"])
  expect([globs.fits("a/c"), globs.fits("a/b/c")]).toEqual([true, false])
  expect(parseGlobs(["!a"]).fits("b")).toBe(false)
})

test("parseGlobs() refuses what is not closed and what would be over 1,000 patterns", () => {
  const many = "{a,b}".repeat(10)
  const globs = parseGlobs(["a[b", many, "{".repeat(5000), "ok"])
  expect(globs.refused).toEqual(["a[b", many, "{".repeat(5000)])
  expect(globs.fits("ok")).toBe(true)
  const [half, more] = [`{${"a,".repeat(599)}a}`, `{${"b,".repeat(599)}b}`]
  expect(parseGlobs([half, more]).refused).toEqual([more])
})

test("parseGlobs() takes no time over patterns that would keep a regular expression busy for years", () => {
  const before = performance.now()
  expect(parseGlobs([`${"*a".repeat(100)}b`]).fits("a".repeat(1000))).toBe(false)
  expect(parseGlobs([`${"**/a/".repeat(100)}b`]).fits("a/".repeat(1000))).toBe(false)
  parseGlobs([`${"{a,".repeat(900)}${"}".repeat(900)}`, `${"{".repeat(3999)}`])
  expect(performance.now() - before).toBeLessThan(1000)
})
