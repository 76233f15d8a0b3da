import fc from "fast-check"
import { beforeAll, describe, expect, it } from "vitest"
import { prepareCommands } from "../../../core/permission/command.ts"
import { decide } from "../../../core/permission/decide.ts"
import type { Behavior, PermissionFacts, RuleSource, Scope } from "../../../core/permission/decision.ts"
import { compileRules } from "../../../core/permission/rule.ts"
import { tightenRules } from "../../../core/settings/reload-rule.ts"
import { callOf } from "../permission/fixture.ts"

beforeAll(prepareCommands)

const STRICTNESS: Record<Behavior, number> = { allow: 0, ask: 1, deny: 2 }
const NONE = { blocked: new Set<never>() }

const facts: PermissionFacts = {
  aborted: false,
  mode: "default",
  cwd: "/app",
  roots: ["/app"],
  readRoots: [],
  home: "/home/me",
  paths: new Map([["/app", { lexical: "/app", real: "/app" }]]),
  canAsk: true,
}

function strictnessOf(command: string, rules: readonly RuleSource[]): number {
  const set = compileRules(rules, { cwd: "/app", home: "/home/me" })
  return STRICTNESS[decide(callOf("Bash", command), set, facts).behavior]
}

const COMMANDS = ["make", "make a", "make b", "make a && make b", "git push", "git", "make a; git push", "x", "ls"]
const PATTERNS = ["Bash", "Bash(make *)", "Bash(make a)", "Bash(make b)", "Bash(git *)", "Bash(git push)", "Bash(x)"]

const rule = fc
  .record({
    text: fc.constantFrom(...PATTERNS),
    behavior: fc.constantFrom<Behavior>("allow", "ask", "deny"),
    scope: fc.constantFrom<Scope>("managed", "local", "project", "user"),
    ordered: fc.boolean(),
  })
  .map(({ ordered, ...one }): RuleSource => (ordered ? { ...one, ordered } : one))
const rules = fc.array(rule, { maxLength: 7 })

describe("tightenRules()", () => {
  it("decides about no call less strictly than before, whatever the settings become, however often", () => {
    fc.assert(
      fc.property(rules, fc.array(rules, { minLength: 1, maxLength: 3 }), (start, changes) => {
        let now: readonly RuleSource[] = start
        for (const fresh of changes) {
          const { next } = tightenRules(now, fresh, NONE)
          for (const command of COMMANDS)
            expect(strictnessOf(command, next), command).toBeGreaterThanOrEqual(strictnessOf(command, now))
          now = next
        }
      }),
      { numRuns: 300 },
    )
  })

  it("lets every deny and ask rule that stands there now have its say", () => {
    fc.assert(
      fc.property(rules, rules, (start, fresh) => {
        const { next } = tightenRules(start, fresh, NONE)
        for (const guard of fresh.filter(({ behavior, ordered }) => behavior !== "allow" && !ordered))
          expect(next).toContainEqual(guard)
        for (const { behavior, ...one } of next.filter(({ behavior }) => behavior === "allow"))
          expect(start).toContainEqual({ behavior, ...one })
      }),
    )
  })

  it("changes nothing where nothing has changed but the places", () => {
    fc.assert(
      fc.property(rules, (start) => {
        const moved = start.map((one, index) => ({ ...one, line: index + 7 }))
        const { next, added, removed, kept, waiting } = tightenRules(start, moved, NONE)
        expect([added, removed, kept, waiting]).toEqual([[], [], [], []])
        for (const command of COMMANDS) expect(strictnessOf(command, next)).toBe(strictnessOf(command, start))
        expect(next.every(({ line }) => line !== undefined)).toBe(true)
      }),
    )
  })

  const list = (...texts: string[]): RuleSource[] =>
    texts.map((entry) => {
      const [behavior, ...text] = entry.split(" ")
      return { text: text.join(" "), behavior: behavior as Behavior, scope: "user", ordered: true }
    })
  const textOf = (found: readonly RuleSource[]) => found.map(({ behavior, text }) => `${behavior} ${text}`)

  it.each([
    [
      "in front of what follows it",
      ["allow A", "deny C"],
      ["deny B", "allow A", "deny C"],
      ["deny B", "allow A", "deny C"],
    ],
    ["behind what stands before it", ["allow A"], ["allow A", "deny B"], ["allow A", "deny B"]],
    [
      "a question never before a refusal",
      ["allow A", "deny C"],
      ["ask B", "allow A", "deny C"],
      ["allow A", "deny C", "ask B"],
    ],
    ["and no entry that would allow more", ["deny C"], ["allow A", "deny C"], ["deny C"]],
    ["without an entry that allowed", ["allow A", "deny C"], ["deny C"], ["deny C"]],
    ["with a guard that was taken out", ["deny C", "allow A"], ["allow A"], ["deny C", "allow A"]],
  ])("puts new guards of an ordered list %s", (_, before, now, wanted) => {
    expect(textOf(tightenRules(list(...before), list(...now), NONE).next)).toEqual(wanted)
  })

  it("tells rules of a person's two files apart, since /x in each starts from its own folder", () => {
    const of = (file: string): RuleSource => ({ text: "Read(/x)", behavior: "allow", scope: "user", file })
    const { removed, waiting } = tightenRules([of("/a/s.json")], [of("/b/s.json")], NONE)
    expect([removed, waiting]).toEqual([[of("/a/s.json")], [of("/b/s.json")]])
    expect(tightenRules([of("/a/s.json")], [of("/a/t.yaml")], NONE).removed).toEqual([])
  })
})
