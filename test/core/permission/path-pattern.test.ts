import { describe, expect, it } from "vitest"
import {
  cutPath,
  escapePath,
  matchesPath,
  mayMatchBelow,
  parsePathPattern,
} from "../../../core/permission/path-pattern.ts"

const anchors = { cwd: "/home/me/app", home: "/home/me", settings: "/home/me/app/conf" }

function fits(side: "allow" | "refuse", pattern: string, path: string, cwd = anchors.cwd): boolean {
  const parsed = parsePathPattern(pattern, anchors, side)
  return parsed !== undefined && matchesPath(parsed, cutPath(path), cutPath(cwd))
}

describe("matchesPath()", () => {
  it.each([
    ["src/**", "/home/me/app/src/a.ts", true],
    ["src/**", "/home/me/app/src", true],
    ["src/**", "/home/me/app/lib/src/a.ts", false],
    ["src", "/home/me/app/lib/src/a.ts", true],
    ["*.ts", "/home/me/app/deep/a.ts", true],
    ["*.ts", "/home/me/other/a.ts", false],
    ["src/*", "/home/me/app/src/deep/a.ts", true],
    ["src/*.ts", "/home/me/app/src/deep/a.ts", false],
    ["src/**/*.ts", "/home/me/app/src/a.ts", true],
    ["**/x/y", "/home/me/app/a/b/x/y", true],
    ["./src/**", "/home/me/app/src/a.ts", true],
    ["/data", "/home/me/app/conf/data/x", true],
    ["/data", "/home/me/app/data", false],
    ["~/notes/**", "/home/me/notes/a", true],
    ["//var/log/**", "/var/log/x", true],
    ["//**", "/any/where", true],
    ["**", "/home/me/app/x", true],
    ["**", "/home/me/x", false],
    ["[ab].ts", "/home/me/app/a.ts", true],
    ["[!ab].ts", "/home/me/app/a.ts", false],
    ["a?.ts", "/home/me/app/ab.ts", true],
    ["\\[id\\].ts", "/home/me/app/[id].ts", true],
    ["../x", "/home/me/x", false],
    ["!src/a.ts", "/home/me/app/src/a.ts", false],
    ["SRC/**", "/home/me/app/src/a.ts", false],
  ])("on the allow side %s and %s: %s", (pattern, path, expected) => {
    expect(fits("allow", pattern, path)).toBe(expected)
  })

  it.each([
    ["secret/**", "/home/me/app/lib/secret/k", true],
    ["./secret", "/home/me/app/lib/secret/k", true],
    ["secret/k", "/home/me/app/lib/secret/k", false],
    ["SECRET/**", "/home/me/app/secret/k", true],
    ["../x", "/home/me/x", true],
    ["se\u0301crets/**", "/home/me/app/s\u00e9crets/k", true],
    ["secretsdir/**", "/home/me/app/SECRET~1/k", true],
  ])("on the refusing side %s and %s: %s", (pattern, path, expected) => {
    expect(fits("refuse", pattern, path)).toBe(expected)
  })

  it("refuses below the agent's current folder as well as below the first one", () => {
    expect(fits("refuse", "secret/k", "/home/me/app/lib/secret/k", "/home/me/app/lib")).toBe(true)
    expect(fits("refuse", "secret/k", "/home/me/app/secret/k", "/home/me/app/lib")).toBe(true)
    expect(fits("allow", "secret/k", "/home/me/app/lib/secret/k", "/home/me/app/lib")).toBe(false)
  })

  it("fits nothing below a home folder that is not known", () => {
    expect(parsePathPattern("~/**", { ...anchors, home: "" }, "allow")).toBeUndefined()
  })
})

describe("mayMatchBelow()", () => {
  const below = (pattern: string, folder: string) =>
    mayMatchBelow(parsePathPattern(pattern, anchors, "refuse")!, cutPath(folder), cutPath(anchors.cwd))

  it("says whether something in the folder could fit", () => {
    expect(below(".env", "/home/me/app/src")).toBe(true)
    expect(below("/data/x", "/home/me")).toBe(true)
    expect(below("/data/x", "/home/me/app/conf/data")).toBe(true)
    expect(below("/data/x", "/home/me/app/conf/other")).toBe(false)
    expect(below("//var/log/**", "/home/me/app")).toBe(false)
  })
})

describe("escapePath()", () => {
  it("writes a path so that it fits itself alone", () => {
    const path = "/home/me/app/[id]/*.ts"
    expect(fits("allow", escapePath(path), path)).toBe(true)
    expect(fits("allow", escapePath(path), "/home/me/app/i/a.ts")).toBe(false)
  })
})
