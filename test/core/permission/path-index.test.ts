import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { RuleSource } from "../../../core/permission/decision.ts"
import { createPathIndex } from "../../../core/permission/path-index.ts"
import { cutPath, matchesPath } from "../../../core/permission/path-pattern.ts"
import { type CompiledRule, createRule } from "../../../core/permission/specifier.ts"

const ANCHORS = {
  cwd: "/app",
  home: "/home/me",
  settings: "/app",
  follow: (path: string) => (path === "/app/link" ? "/srv/real" : path),
}
const RUNS = { numRuns: process.env["SOUS_TEST_FULL"] === "1" ? 20_000 : 1000 }

const partOfRule = fc.constantFrom("a", "b", "secretsdir", ".git", "link", "É", "A", "*", "**", "a*", "?", "[ab]", "..")
const start = fc.constantFrom("", "./", "/", "//", "~/", "//app/", "**/", "//srv/real/")
const specifier = fc.tuple(start, fc.array(partOfRule, { minLength: 1, maxLength: 4 })).map(([a, b]) => a + b.join("/"))
const partOfPath = fc.constantFrom(
  "a",
  "b",
  "c",
  "secret~1",
  "secretsdir",
  ".git",
  "link",
  "é",
  "A",
  "app",
  "srv",
  "real",
)
const path = fc
  .tuple(fc.constantFrom("/", "/app/", "/app/a/", "/home/me/"), fc.array(partOfPath, { maxLength: 4 }))
  .map(([a, b]) => a + b.join("/"))

function compile(text: string, behavior: RuleSource["behavior"]): CompiledRule {
  const source: RuleSource = { text: `Read(${text})`, behavior, scope: "user" }
  return createRule({ tool: "Read", specifier: text }, source, ANCHORS)
}

describe("createPathIndex()", () => {
  it.each(["deny", "allow"] as const)("finds what a walk over all %s rules finds, in the same order", (behavior) => {
    const rules = fc.array(specifier, { maxLength: 30 })
    const paths = fc.array(path, { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(rules, paths, fc.constantFrom("/app", "/app/a", "/"), (texts, written, folder) => {
        const list = texts.map((text) => compile(text, behavior))
        const cut = written.map(cutPath)
        const cwd = cutPath(folder)
        const fits = (rule: CompiledRule) => {
          const pattern = rule.path()
          return rule.bare || (pattern !== undefined && cut.some((one) => matchesPath(pattern, one, cwd)))
        }
        const near = createPathIndex(list)(cut, cwd)
        expect(near.filter(fits)).toEqual(list.filter(fits))
      }),
      RUNS,
    )
  })

  it("leaves out what begins with other names", () => {
    const list = ["./a/x", "**/b", "c*", "~/q"].map((text) => compile(text, "deny"))
    const near = createPathIndex(list)([cutPath("/app/z/b")], cutPath("/app"))
    expect(near.map(({ specifier: text }) => text)).toEqual(["**/b", "c*"])
  })
})
