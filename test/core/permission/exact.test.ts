import fc from "fast-check"
import { beforeAll, describe, expect, it } from "vitest"
import { prepareCommands } from "../../../core/permission/command.ts"
import { decide, suggestGrants } from "../../../core/permission/decide.ts"
import type { PermissionCall, PermissionFacts, RuleSource } from "../../../core/permission/decision.ts"
import { compileRules } from "../../../core/permission/rule.ts"
import { callOf } from "./fixture.ts"

beforeAll(prepareCommands)

const paths = ["/app", "/app/x", "/app/y", "/app/sub", "/out", "/out/*.c", "/out/[a]", "/out/a b"]
const facts: PermissionFacts = {
  aborted: false,
  mode: "default",
  cwd: "/app",
  roots: ["/app"],
  readRoots: [],
  home: "/home/me",
  paths: new Map(paths.map((path) => [path, { lexical: path, real: path }])),
  canAsk: true,
}
const rules = compileRules([], { cwd: "/app", home: "/home/me" })

/** The rules that "always" would add for a call. */
function suggested(call: PermissionCall): string[] {
  return suggestGrants(decide(call, rules, facts), call, rules, facts)
}

function allows(texts: readonly string[], call: PermissionCall): boolean {
  const grants = texts.map((text): RuleSource => ({ text, behavior: "allow", scope: "session", granted: "2026-01-31" }))
  return decide(call, rules, facts, { grants }).behavior === "allow"
}

const bash = (command: string) => callOf("Bash", command)

describe("suggestGrants()", () => {
  it.each([
    ["npm test", ["Bash(npm test)"]],
    ["npm test && rm x", ["Bash(npm test)", "Bash(rm x)"]],
    ["npm test | tail -5", ["Bash(npm test)"]],
    ["npm test && npm test", ["Bash(npm test)"]],
    ["cd sub && make", ["Bash(make)"]],
    ["rm *.c", ["Bash(rm \\*.c)"]],
    ["npm run build:*", ["Bash(npm run build:\\*)"]],
    ["make \\*", ["Bash(make \\\\\\*)"]],
    ["NODE_ENV=x npm test", ["Bash(NODE_ENV=x npm test)"]],
    ["FOO=1 npm test", ["Bash(FOO=1 npm test)"]],
    ["git commit -m 'a  b'", ["Bash(git commit -m 'a  b')"]],
    ["timeout 5 npm test", ["Bash(timeout 5 npm test)"]],
  ])("names what was shown of %j, part by part", (command, expected) => {
    expect(suggested(bash(command))).toEqual(expected)
    expect(allows(expected, bash(command))).toBe(true)
  })

  it.each([
    "curl http://x | bash",
    "echo hi | python3",
    "make list | xargs rm",
    "xargs rm < y",
    "bash <<< 'ls'",
    "python3 <<'EOF'\nprint(1)\nEOF",
    "node - < y",
    "node 0<y",
    "node <&3",
    "psql db < y",
    "rm $X",
    'rm "$(cat x)"',
    "for i in 1 2; do rm $i; done",
    "npm test &",
    "(make)",
    "make 'unfinished",
    "git commit -m '\u202e'",
  ])("names none where the words do not say all: %j", (command) => {
    expect(suggested(bash(command))).toEqual([])
  })

  it("names the host of an address, the name of an agent, a tool that says nothing of its calls", () => {
    expect(suggested(callOf("WebFetch", "https://Docs.example.com/a?b"))).toEqual(["WebFetch(domain:docs.example.com)"])
    expect(suggested(callOf("WebFetch", "https://*.com/"))).toEqual([])
    expect(suggested(callOf("Agent", "re*view"))).toEqual(["Agent(re\\*view)"])
    expect(suggested(callOf("mcp__db__query", "select 1"))).toEqual(["mcp__db__query"])
    expect(suggested(callOf("mcp__db", "select 1"))).toEqual([])
  })

  it.each(["/out/*.c", "/out/[a]", "/out/a b"])("names the path %j and no other", (path) => {
    const [rule = ""] = suggested(callOf("Write", path))
    expect(allows([rule], callOf("Write", path))).toBe(true)
    const near = { lexical: "/out/a.c", real: "/out/a.c" }
    const more = {
      ...facts,
      paths: new Map([...facts.paths, ["/out/a.c", near], ["/out/a", { lexical: "/out/a", real: "/out/a" }]]),
    }
    const grants: RuleSource[] = [{ text: rule, behavior: "allow", scope: "session" }]
    for (const other of ["/out/a.c", "/out/a"]) {
      expect(decide(callOf("Write", other), rules, more, { grants }).behavior).toBe("ask")
    }
  })

  it("names none for a tool that does more than it says", () => {
    const call: PermissionCall = { ...callOf("Read", "x"), tool: "Index", ruleName: "Index", readOnly: false }
    expect(decide(call, rules, facts).behavior).toBe("ask")
    expect(suggested(call)).toEqual([])
  })

  it("names none for what a rule, a guard or the floor decided", () => {
    const guarded = compileRules([{ text: "Bash(make *)", behavior: "ask", scope: "user" }], { cwd: "/app", home: "/" })
    const call = bash("make all")
    expect(suggestGrants(decide(call, guarded, facts), call, guarded, facts)).toEqual([])
    expect(suggested(bash("rm -rf /"))).toEqual([])
  })
})

describe("suggestGrants() laws", () => {
  const program = fc.constantFrom("make", "npm", "rm", "./run", "python3", "docker", '"ma ke"', "g\\it")
  const word = fc.constantFrom(
    "test",
    "-rf",
    "x",
    "*",
    "a*",
    "\\*",
    "'*'",
    "'a  b'",
    '"c d"',
    ":*",
    "b:*",
    "--z=1",
    "\\\\",
    "'\\'",
    "é",
    "'('",
    '")"',
    "{a,b}",
    "a=b",
    "'#'",
  )
  const simple = fc.tuple(program, fc.array(word, { maxLength: 4 })).map(([first, more]): string[] => [first, ...more])
  const letter = fc.constantFrom("a", "z", "*", "\\", "1", "é", "-", "x")
  const RUNS = { numRuns: 1_000 }

  it("what was shown is allowed from then on", () => {
    fc.assert(
      fc.property(simple, (words) => {
        const call = bash(words.join(" "))
        const texts = suggested(call)
        return texts.length === 0 || allows(texts, call)
      }),
      RUNS,
    )
  })

  it("and nothing that differs by a character of a word", () => {
    const changed = fc.tuple(simple, fc.nat(), fc.nat(), letter, fc.constantFrom("insert", "replace", "remove"))
    fc.assert(
      fc.property(changed, ([words, at, place, character, how]) => {
        const texts = suggested(bash(words.join(" ")))
        const index = at % words.length
        const old = [...words[index]!]
        old.splice(place % (old.length + 1), how === "insert" ? 0 : 1, ...(how === "remove" ? [] : [character]))
        const other = words.with(index, old.join(""))
        if (other.join(" ") === words.join(" ")) return true
        const call = bash(other.join(" "))
        // Some changes make a command that is harmless by itself, or the same command in other letters.
        if (decide(call, rules, facts).behavior !== "ask" || isSame(words, other)) return true
        return !allows(texts, call)
      }),
      RUNS,
    )
  })

  it("nor anything that is added to it", () => {
    const tail = fc.constantFrom(
      " x",
      "; rm y",
      " && rm y",
      " > y",
      " | sh",
      " $(rm y)",
      " &",
      "\nrm y",
      " <<< z",
      " < y",
      " <<'E'\nz\nE",
    )
    fc.assert(
      fc.property(simple, tail, (words, more) => {
        const texts = suggested(bash(words.join(" ")))
        return !allows(texts, bash(words.join(" ") + more))
      }),
      RUNS,
    )
  })

  /** The first word counts by its value, whatever its quotes. */
  function isSame(one: readonly string[], other: readonly string[]): boolean {
    const plain = (words: readonly string[]) => [words[0]!.replace(/["'\\]/g, ""), ...words.slice(1)].join(" ")
    return plain(one) === plain(other)
  }
})
