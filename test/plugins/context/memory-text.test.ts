import { expect, test } from "vitest"
import { parseMemory, splitFrontMatter } from "../../../plugins/context/memory-text.ts"

const importsOf = (source: string) => parseMemory(source).imports

test("parseMemory() takes comments out, with their lines where nothing else stands in them", () => {
  expect(parseMemory("a\n<!-- one\n\ntwo -->\nb <!-- c --> d\n  <!-- e --> \r\nf").text).toBe("a\nb  d\nf")
  expect(parseMemory("<!--a--><!--b-->\nc").text).toBe("c")
  expect(parseMemory("a <!-- never closed\n@b.md")).toEqual({ text: "a <!-- never closed\n@b.md", imports: ["b.md"] })
})

test("parseMemory() leaves comments in code as they are", () => {
  const code = "`<!-- a -->`\n```html\n<!-- b -->\n```\n~~~~\n```\n<!-- c -->\n~~~\n<!-- d -->\n~~~~"
  expect(parseMemory(`${code}\n<!-- e -->`).text).toBe(code)
  expect(parseMemory("<!--\n```\n-->\na\n```\n<!-- b -->").text).toBe("a\n```\n<!-- b -->")
})

test("parseMemory() finds imports after a space or at the beginning of a line, each once", () => {
  expect(importsOf("@a.md @./b/c.md\n- @~/d\n(@e.md) f@g.md @a.md @../h.md. @/i/j.md, @k\\ l.md @m.md#part")).toEqual([
    "a.md",
    "./b/c.md",
    "~/d",
    "../h.md",
    "/i/j.md",
    "k l.md",
    "m.md",
  ])
  expect(importsOf("@ @/ @@a @#b @*c @(d @ü.md @日本.md")).toEqual(["ü.md", "日本.md"])
})

test("parseMemory() finds no imports in comments, code spans and fences", () => {
  expect(importsOf("<!-- @a.md -->\n`@b.md` ``x ` @c.md`` @d.md `\n@e.md\n` @f.md")).toEqual(["d.md", "f.md"])
  expect(
    importsOf(
      "```\n@a.md\n```\n@b.md\n  ~~~ts x\n@c.md\n  ~~~\n@d.md\n> ```\n> @e.md\n> ```\n1. ```\n   @f.md\n   ```\n@g.md",
    ),
  ).toEqual(["b.md", "d.md", "g.md"])
  expect(importsOf("a `\n\n@b.md `")).toEqual(["b.md"])
  expect(importsOf("```not a fence``` @a.md\n````\n```\n@b.md")).toEqual(["a.md"])
})

test.each([
  ["backticks of all lengths", Array.from({ length: 2000 }, (_, n) => "`".repeat(n + 1)).join(" ")],
  ["backticks in pairs of lines", "` a\n\n`` b\n\n".repeat(200_000)],
  ["one run of backticks", `${"`".repeat(2e6)} a \``],
  ["comments that open", "<!-- ".repeat(400_000)],
  ["comments that close", "<!---->".repeat(300_000)],
  ["blanks", " ".repeat(2e6)],
  ["quotes", `${">".repeat(2e6)} a`],
  ["fences that open", "```\n~~~\n".repeat(250_000)],
  ["a fence and blanks", `\`\`\`\n${`\`\`\`${" ".repeat(1000)}x\n`.repeat(2000)}`],
  ["imports", "@a ".repeat(600_000)],
  ["one import", `@${".".repeat(2e6)}x`],
  ["blank lines", "` \n \n".repeat(400_000)],
])("parseMemory() is quick over two megabytes of %s", (_, source) => {
  const before = performance.now()
  parseMemory(source)
  expect(performance.now() - before).toBeLessThan(2000)
})

test("splitFrontMatter() takes what stands between two lines of three dashes at the beginning", () => {
  expect(splitFrontMatter("---\na: 1\n---\nb")).toEqual({ head: "a: 1\n", body: "\nb" })
  expect(splitFrontMatter("---\r\na: 1\r\n---\r\nb")).toEqual({ head: "a: 1\r\n", body: "\nb" })
  expect(splitFrontMatter("---\n---\nb")).toEqual({ head: "", body: "\nb" })
  for (const body of ["a\n---\nb: 1\n---\n", "---\na", "----\na\n---\n", ""])
    expect(splitFrontMatter(body)).toEqual({ head: undefined, body })
})
