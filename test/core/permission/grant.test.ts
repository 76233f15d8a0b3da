import { describe, expect, it } from "vitest"
import { createBreaker } from "../../../core/permission/breaker.ts"
import type { Grantee } from "../../../core/permission/decision.ts"
import { createGrants, type Grants } from "../../../core/permission/grant.ts"

const main = (step?: string, each?: string): Grantee => ({
  id: "main",
  type: "main",
  depth: 0,
  ...(step ? { step } : {}),
  ...(each ? { each } : {}),
})
const child = (id: string, type: string, step: string): Grantee => ({ id, type, depth: 1, step, each: "verify" })
const texts = (grants: Grants, grantee: Grantee) => grants.of(grantee).map(({ text }) => text)

describe("createGrants()", () => {
  it("keeps a session's grant for its conversation alone", () => {
    const grants = createGrants({ now: () => 0 })
    expect(grants.add(main("a"), "session", ["Bash(x)", "Bash(x)"])).toEqual([
      { text: "Bash(x)", behavior: "allow", scope: "session", granted: "1970-01-01T00:00:00.000Z" },
    ])
    expect(grants.add(main("b"), "session", ["Bash(x)"])).toEqual([])
    expect(texts(grants, main("c"))).toEqual(["Bash(x)"])
    expect(texts(grants, child("k", "general", "a"))).toEqual([])
  })

  it("keeps a step's grant for the items of that fan-out, and for no other step", () => {
    const grants = createGrants({ now: () => 0 })
    grants.add(main("verify/src/a.ts:3", "verify"), "step", ["Bash(x)"])
    expect(texts(grants, main("verify/src/b.ts/fix", "verify"))).toEqual(["Bash(x)"])
    expect(texts(grants, main("verify/c/inner/d", "verify/c/inner"))).toEqual(["Bash(x)"])
    for (const step of ["verify2/src/a.ts", "other", undefined]) expect(texts(grants, main(step))).toEqual([])
  })

  it("keeps a step's grant to a subagent for subagents of its kind", () => {
    const grants = createGrants({ now: () => 0 })
    grants.add(child("one", "reader", "verify/a"), "step", ["Bash(x)"])
    expect(texts(grants, child("two", "reader", "verify/b"))).toEqual(["Bash(x)"])
    expect(texts(grants, child("three", "writer", "verify/b"))).toEqual([])
    expect(texts(grants, main("verify/a", "verify"))).toEqual([])
  })

  it("takes a step outside of any fan-out for itself, and none for the conversation", () => {
    const grants = createGrants({ now: () => 0 })
    grants.add(main("a"), "step", ["Bash(x)"])
    grants.add(main(), "step", ["Bash(y)"])
    expect(texts(grants, main("a"))).toEqual(["Bash(y)", "Bash(x)"])
    expect(texts(grants, main("b"))).toEqual(["Bash(y)"])
  })

  it("keeps a project's grant for everybody", () => {
    const grants = createGrants({ now: () => 0 })
    expect(grants.add(main("a"), "project", ["Bash(x)"])).toMatchObject([{ scope: "local" }])
    expect(texts(grants, child("k", "general", "b"))).toEqual(["Bash(x)"])
  })
})

describe("createBreaker()", () => {
  it("stops for good after so many denials in a row, and starts anew with each allowed call", () => {
    const breaker = createBreaker({ limit: 2, attended: false })
    breaker.denied("one", "rules")
    breaker.allowed()
    breaker.denied("two", "person")
    expect(breaker.tripped()).toBeUndefined()
    breaker.denied("three", "rules")
    breaker.allowed()
    expect(breaker.tripped()).toBe("2 calls in a row were denied; the last one: three")
  })

  it("offers plan mode after each three denials in a row by a person, which stop nothing", () => {
    const breaker = createBreaker({ limit: 4, attended: true })
    const offered = Array.from({ length: 7 }, () => breaker.denied("no", "person"))
    expect(offered).toEqual([false, false, true, false, false, true, false])
    breaker.allowed()
    expect([breaker.denied("no", "person"), breaker.denied("no", "rules")]).toEqual([false, false])
    expect([breaker.denied("no", "person"), breaker.denied("no", "person")]).toEqual([false, true])
    expect(breaker.tripped()).toBeUndefined()
  })
})
