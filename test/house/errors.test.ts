/**
 * Holds the table of core/error-table.ts to its rules, both ways: every code is thrown, reached by a test, and well said.
 *
 * Invariant: every rule lists all codes that break it at once.
 */
import { describe, expect, it } from "vitest"
import { ERRORS } from "../../core/error-table.ts"
import { listFiles, readSource, shippedFiles } from "./source.ts"

/** The comment above the table lists them. */
const AREAS = /Areas: ([A-Z\s*]+)\./.exec(readSource("core/error-table.ts"))?.[1]?.match(/[A-Z]+/g) ?? []
/** Three ways to go on, one a line, because none of them is the one that is meant. */
const MANY_MENDS = ["MODEL_NOT_CONFIGURED"]
const CONTRACTION = /\b\w+n['’]t\b|\b(?:it|that|there|here|what|who|let|you|we|they|i)['’](?:s|re|ve|ll|d|m)\b/i

const codes = Object.keys(ERRORS) as (keyof typeof ERRORS)[]
const table = Object.entries(ERRORS).map(([code, make]) => ({ code, ...make(anyDetails() as never) }))

describe("the table of errors", () => {
  it("holds only codes that are thrown", () => {
    const code = shippedFiles().filter((file) => file !== "core/error-table.ts")
    expect(unnamedIn(code, /(?<=["'`])[A-Z]+(?:_[A-Z0-9]+)+(?=["'`])/g)).toEqual([])
  })

  it("holds only codes that a test reaches", () => {
    const tests = ["test/"]
      .flatMap((folder) => listFiles([folder], ""))
      .filter((file) => !file.startsWith("test/house/"))
    expect(unnamedIn(tests, /\b[A-Z]+(?:_[A-Z0-9]+)+\b/g)).toEqual([])
  })

  it("names each code AREA_WHAT", () => {
    const shape = new RegExp(`^(?:${AREAS.join("|")})(?:_[A-Z0-9]+)+$`)
    expect(codes.filter((code) => !shape.test(code))).toEqual([])
  })

  it("says each fault in one sentence: a capital first, no period last, no contraction", () => {
    const wrong = table.filter(({ message }) => !/^["\p{Lu}]/u.test(message) || /\.$/.test(message) || isLoose(message))
    expect(wrong.map(({ code, message }) => `${code}: ${message}`)).toEqual([])
  })

  it("mends each fault in one imperative line without a period", () => {
    const single = table.filter(({ code }) => !MANY_MENDS.includes(code))
    const wrong = single.filter(({ mend }) => mend.trim() === "" || /\.$/.test(mend) || isLoose(mend))
    expect(wrong.map(({ code, mend }) => `${code}: ${mend}`)).toEqual([])
  })
})

function isLoose(line: string): boolean {
  return line.includes("\n") || CONTRACTION.test(line)
}

function unnamedIn(files: readonly string[], pattern: RegExp): string[] {
  const named = new Set(files.flatMap((file) => readSource(file).match(pattern) ?? []))
  return codes.filter((code) => !named.has(code))
}

/** Details that answer to whatever a sentence asks of them: text, lists and nested facts, all reading as `thing`. */
function anyDetails(): unknown {
  return new Proxy(() => "thing", {
    get(_, key) {
      if (key === Symbol.toPrimitive) return () => "thing"
      if (key === Symbol.iterator) return () => ["thing"][Symbol.iterator]()
      const home = key in String.prototype ? "thing" : key in Array.prototype ? ["thing"] : undefined
      if (home === undefined) return anyDetails()
      const value = (home as never)[key] as unknown
      return typeof value === "function" ? value.bind(home) : value
    },
    apply: () => "thing",
  })
}
