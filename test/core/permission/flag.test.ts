import { describe, expect, it } from "vitest"
import { compileFlags } from "../../../core/permission/flag.ts"

describe("compileFlags()", () => {
  it("spells every value out as a rule of the command line, paths absolute", () => {
    const flags = compileFlags(
      { allow: { run: ["git"], write: ["src"], read: true }, deny: { net: ["x.test"] } },
      "/app",
    )
    expect(flags.map(({ kind, value, source }) => [kind, value, source.behavior, source.text])).toEqual([
      ["read", undefined, "allow", "--allow-read"],
      ["write", "/app/src", "allow", "--allow-write=src"],
      ["run", "git", "allow", "--allow-run=git"],
      ["net", "x.test", "deny", "--deny-net=x.test"],
    ])
    expect(flags.every(({ source }) => source.scope === "cli")).toBe(true)
  })

  it("makes -A a rule of its own", () => {
    expect(compileFlags({ allow: { all: true }, deny: {} }, "/app")).toMatchObject([
      { kind: "all", source: { text: "-A" } },
    ])
  })
})
