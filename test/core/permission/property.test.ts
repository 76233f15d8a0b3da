import fc from "fast-check"
import { beforeAll, describe, expect, it } from "vitest"
import { prepareCommands } from "../../../core/permission/command.ts"
import { decide } from "../../../core/permission/decide.ts"
import type { Behavior, Decision, PermissionFacts, RuleSource, Scope } from "../../../core/permission/decision.ts"
import { compileRules } from "../../../core/permission/rule.ts"
import { escapeWildcard } from "../../../core/permission/wildcard.ts"
import { callOf } from "./fixture.ts"

beforeAll(prepareCommands)

const isFull = process.env["SOUS_TEST_FULL"] === "1"
const RUNS = { numRuns: isFull ? 10_000 : 200 }
const TIMEOUT_MS = isFull ? 600_000 : 20_000
const STRICTNESS: Record<Behavior, number> = { allow: 0, ask: 1, deny: 2 }

const facts: PermissionFacts = {
  aborted: false,
  mode: "default",
  cwd: "/app",
  roots: ["/app"],
  readRoots: [],
  home: "/home/me",
  paths: new Map(["/app", "/app/x", "/app/y"].map((path) => [path, { lexical: path, real: path }])),
  canAsk: true,
}

function decisionOf(command: string, rules: readonly RuleSource[]): Decision {
  const set = compileRules(rules, { cwd: "/app", home: "/home/me" })
  return decide(callOf("Bash", command), set, facts)
}

function behaviorOf(command: string, rules: readonly RuleSource[]): Behavior {
  return decisionOf(command, rules).behavior
}

const program = fc.constantFrom("make", "git", "rm", "ls", "cat", "npm", "x", '"y"', "\\d")
const word = fc.constantFrom(
  "push",
  "-rf",
  "x",
  "y",
  "test",
  "'a b'",
  '"c"',
  "\\d",
  "--z=1",
  "rm",
  "$X",
  "{a,b}",
  "*.c",
  "> f",
  "<<< z",
  '"$(x y)"',
  "~/q",
  "a=b",
)
const simple = fc.tuple(program, fc.array(word, { maxLength: 3 })).map(([first, more]) => [first, ...more].join(" "))
const command = fc
  .tuple(
    simple,
    fc.array(fc.tuple(fc.constantFrom(" && ", " | ", "; ", " || ", " & ", "\n"), simple), { maxLength: 2 }),
  )
  .map(([first, more]) => first + more.map((part) => part.join("")).join(""))
const pattern = fc.oneof(
  simple.map((text) => `Bash(${text})`),
  simple.map((text) => `Bash(${text} *)`),
  simple.map((text) => `Bash(${text}:*)`),
  fc.constantFrom("Bash", "Bash(*)", "Bash(* x)", "Read(x)", "Edit(y)", "Read(**)"),
)
const scope = fc.constantFrom<Scope>("managed", "cli", "local", "project", "user")
const rule = fc.record<RuleSource>({
  text: pattern,
  behavior: fc.constantFrom<Behavior>("allow", "ask", "deny"),
  scope,
})
const rules = fc.array(rule, { maxLength: 6 })
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

describe("decide() laws", { timeout: TIMEOUT_MS }, () => {
  it("shuffling the lists changes nothing", () => {
    const shuffled = rules.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    )
    fc.assert(
      fc.property(command, shuffled, (text, [list, other]) => behaviorOf(text, list) === behaviorOf(text, other)),
      RUNS,
    )
  })

  it("a denied command is denied behind another one, in wrappers, in strings and in substitutions", () => {
    fc.assert(
      fc.property(simple, rules, (text, list) => {
        const denying: RuleSource[] = [
          ...list,
          { text: `Bash(${escapeWildcard(text)})`, behavior: "deny", scope: "user" },
        ]
        const around = [
          text,
          `a && ${text}`,
          `${text} | b`,
          `timeout 5 ${text}`,
          `sudo ${text}`,
          `sh -c ${quote(text)}`,
          `bash -lc ${quote(`a; ${text}`)}`,
          `eval ${quote(text)}`,
          `a $(${text})`,
          `(${text})`,
          `{ ${text}; } &`,
          `while a; do ${text}; done`,
        ]
        for (const one of around) expect(behaviorOf(one, denying), one).toBe("deny")
      }),
      RUNS,
    )
  })

  it("what any set of rules denies, it denies in a longer command", () => {
    fc.assert(
      fc.property(command, rules, (text, list) => {
        fc.pre(behaviorOf(text, list) === "deny")
        expect(behaviorOf(`a; ${text}`, list)).toBe("deny")
        expect(behaviorOf(`sh -c ${quote(text)}`, list)).toBe("deny")
      }),
      RUNS,
    )
  })

  it("one more deny or ask rule never loosens, one more allow rule never tightens", () => {
    fc.assert(
      fc.property(command, rules, rule, (text, list, more) => {
        const [before, after] = [behaviorOf(text, list), behaviorOf(text, [...list, more])].map(
          (one) => STRICTNESS[one],
        )
        if (more.behavior === "allow") expect(after).toBeLessThanOrEqual(before!)
        else expect(after).toBeGreaterThanOrEqual(before!)
      }),
      RUNS,
    )
  })

  it("what a lower scope adds tightens, or grants what no higher scope refuses", () => {
    const listed = fc.record<RuleSource>({
      text: pattern,
      behavior: fc.constantFrom<Behavior>("allow", "ask", "deny"),
      scope: fc.constantFrom<Scope>("managed", "cli", "local"),
      ordered: fc.constant<true>(true),
    })
    const higher = fc.array(
      fc.oneof(
        rule.map((one): RuleSource => ({ ...one, scope: "managed" })),
        listed,
      ),
      { maxLength: 6 },
    )
    const lower = fc.array(
      fc.oneof(rule, listed).map((one): RuleSource => ({ ...one, scope: "user" })),
      { maxLength: 4 },
    )
    fc.assert(
      fc.property(command, higher, lower, (text, above, below) => {
        const before = decisionOf(text, above)
        const after = decisionOf(text, [...above, ...below])
        // What no rule spoke of is open; whatever a rule refused or asked about is not.
        const isOpen = before.behavior !== "allow" && before.source === "approval"
        if (!isOpen) expect(STRICTNESS[after.behavior]).toBeGreaterThanOrEqual(STRICTNESS[before.behavior])
      }),
      RUNS,
    )
  })

  it("an entry of the ordered list refuses in a list, a pipe, a wrapper and a substitution as it does alone", () => {
    const entry = fc.record<RuleSource>({
      text: pattern,
      behavior: fc.constantFrom<Behavior>("allow", "ask", "deny"),
      scope,
      ordered: fc.constant<true>(true),
    })
    fc.assert(
      fc.property(simple, fc.array(entry, { maxLength: 6 }), (text, list) => {
        const { behavior, source } = decisionOf(text, list)
        fc.pre(source === "rules" && behavior !== "allow")
        for (const one of [`ls; ${text}`, `${text} && ls`, `ls | ${text}`, `ls $(${text})`, `(${text})`]) {
          expect(STRICTNESS[behaviorOf(one, list)], one).toBeGreaterThanOrEqual(STRICTNESS[behavior])
        }
      }),
      RUNS,
    )
  })

  it("an allow rule lifts no refusal", () => {
    fc.assert(
      fc.property(command, rules, pattern, scope, (text, list, allowed, from) => {
        const refusing = list.filter(({ behavior }) => behavior !== "allow")
        const before = behaviorOf(text, [...refusing, { text: "Bash", behavior: "ask", scope: "user" }])
        const after = behaviorOf(text, [
          ...refusing,
          { text: "Bash", behavior: "ask", scope: "user" },
          { text: allowed, behavior: "allow", scope: from },
        ])
        expect(after).toBe(before)
      }),
      RUNS,
    )
  })

  it("a wrapper or one more command never loosens", () => {
    fc.assert(
      fc.property(command, rules, (text, list) => {
        // A rule that names the wrapper itself speaks about the wrapped form alone.
        const inner = STRICTNESS[behaviorOf(text, list)]
        for (const outer of [`sh -c ${quote(text)}`, `make; ${text}`, `(${text})`, `sudo sh -c ${quote(text)}`]) {
          expect(STRICTNESS[behaviorOf(outer, list)], outer).toBeGreaterThanOrEqual(Math.min(inner, 2))
        }
      }),
      RUNS,
    )
  })

  it("no text makes it throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), rules, (text, list) => {
        expect(STRICTNESS[behaviorOf(text, list)]).toBeDefined()
      }),
      RUNS,
    )
  })
})
