/**
 * Rules, paths and commands that nobody writes by hand: each is quick, throws nothing odd, and weakens no guard.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { isSousError } from "../../../core/error.ts"
import type { Behavior, PermissionCall, RuleSource } from "../../../core/permission/decision.ts"
import { createForeignCall } from "../../../core/permission/explain.ts"
import { compileRules, type RuleSet } from "../../../core/permission/rule.ts"
import { callOf, decideIn, type Folders, makeProject } from "./fixture.ts"

/** What one decision may take, ms of this process's own time: the best of five, so that a busy machine does not count. */
const LIMIT_MS = 50

let folders: Folders & { remove(): Promise<void> }
beforeAll(async () => {
  folders = await makeProject()
  // The first of each kind loads the parser.
  await behaviorOf(callOf("Bash", "ls"), ["Bash(ls)"])
})
afterAll(() => folders.remove())

function compile(texts: readonly string[], behavior: Behavior = "deny"): RuleSet {
  const rules = texts.map((text): RuleSource => ({ text, behavior, scope: "project" }))
  return compileRules(rules, { cwd: folders.project, home: folders.home })
}

async function behaviorOf(call: PermissionCall, deny: readonly string[], allow: readonly string[] = []) {
  const rules = [
    ...deny.map((text): RuleSource => ({ text, behavior: "deny", scope: "project" })),
    ...allow.map((text): RuleSource => ({ text, behavior: "allow", scope: "project" })),
  ]
  const set = compileRules(rules, { cwd: folders.project, home: folders.home })
  return (await decideIn(folders, call, set)).behavior
}

async function bestOf(work: () => unknown): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 5; i++) {
    const started = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(started)
    times.push((user + system) / 1000)
  }
  return Math.min(...times)
}

const DEEP = "a/".repeat(2000)
const SLOW_PATTERNS = [
  ["stars between slashes", `Read(${"**/".repeat(5000)}x)`],
  ["stars in one name", `Read(${"*a".repeat(5000)}b)`],
  ["questions and stars", `Read(${"?*".repeat(5000)}b)`],
  ["open sets", `Read(${"[a".repeat(20_000)})`],
  ["backslashes", `Read(${"\\".repeat(50_000)})`],
  ["dots", `Read(${"./".repeat(30_000)}x)`],
  ["ups", `Read(${"../".repeat(30_000)}x)`],
  ["stars and names", `Read(${"**/a/*/".repeat(4000)}b)`],
  ["100 KB of letters", `Read(${"x".repeat(100_000)})`],
  ["a command of stars", `Bash(${"*a".repeat(50_000)}b)`],
  ["a command of blanks", `Bash(x${" ".repeat(100_000)}*)`],
  ["a host of stars", `WebFetch(domain:${"*a.".repeat(20_000)}b)`],
  ["a host of labels", `WebFetch(domain:${"a.".repeat(50_000)}b)`],
  ["a parameter", `Bash(timeout:${"*1".repeat(40_000)})`],
  ["an agent", `Agent(${"*a".repeat(40_000)})`],
] as const

describe("decide() with rules of any size", () => {
  it.each(SLOW_PATTERNS)("stays quick: %s", async (_name, text) => {
    const calls = [
      callOf("Read", DEEP),
      callOf("Read", "a".repeat(4000)),
      callOf("Bash", `cat ${"a".repeat(4000)}`),
      callOf("WebFetch", `https://${"a.".repeat(100)}test/`),
      callOf("Agent", "a".repeat(4000)),
    ]
    const set = compile([text])
    for (const call of calls) {
      expect(await bestOf(() => decideIn(folders, call, set)), call.tool).toBeLessThan(LIMIT_MS)
    }
    expect(await bestOf(() => compile([text]))).toBeLessThan(LIMIT_MS)
  })

  it("stays quick with 10,000 rules of each kind", async () => {
    const list = (make: (i: number) => string) => Array.from({ length: 10_000 }, (_, i) => make(i))
    const kinds = [
      list((i) => `Read(src/${i}/**)`),
      list((i) => `Bash(make ${i} *)`),
      list((i) => `WebFetch(domain:*.h${i}.test)`),
      list((i) => `mcp__s${i}__*`),
      list((i) => `Bash(* ${i} *)`),
    ]
    for (const texts of kinds) {
      const set = compile(texts)
      for (const call of [callOf("Read", "src/a.ts"), callOf("Bash", "make x && cat src/a.ts")]) {
        expect(await bestOf(() => decideIn(folders, call, set)), texts[0]!).toBeLessThan(LIMIT_MS)
      }
    }
  })

  it("stops the start for a guard of more than a million characters, and voids such an allow rule", () => {
    const text = `Bash(${"x".repeat(1_000_001)})`
    expect(() => compile([text])).toThrow(expect.toSatisfy(isSousError))
    expect(compile([text], "allow").warnings).toHaveLength(1)
  })
})

/** Paths that lead to `.env` on some system, or to nobody knows what. */
const ODD_PATHS = {
  "a NUL byte behind": ".env\0",
  "a NUL byte within": ".e\0nv",
  "half a character": ".env\ud800",
  "half a character as a folder": "\udc00/.env",
  "a mark of direction": ".e\u202env",
  "100 KB of folders": `${"a/".repeat(50_000)}.env`,
  "100 KB of dots": `${"./".repeat(50_000)}.env`,
  "10,000 times up": `${"../".repeat(10_000)}etc/passwd`,
  "10,000 times up and down": `${"a/../".repeat(10_000)}.env`,
  "100 KB of slashes": `${"/".repeat(100_000)}etc/passwd`,
  "100 KB of backslashes": `${"\\".repeat(100_000)}.env`,
  "100 KB of accents": `.env${"\u0301".repeat(50_000)}`,
  "a device of another system": "\\\\.\\C:\\.env",
  "nothing at all": "",
}

describe("decide() about paths of any kind", () => {
  it.each(Object.entries(ODD_PATHS))("is quick and allows nothing unseen: %s", async (_name, path) => {
    const set = compileRules(
      [
        { text: "Read(.env)", behavior: "deny", scope: "project" },
        { text: "Read(src/**)", behavior: "allow", scope: "project" },
        { text: "Edit(src/**)", behavior: "allow", scope: "project" },
      ],
      { cwd: folders.project, home: folders.home },
    )
    const foreign = createForeignCall("mcp__fs__read", { path })
    for (const call of [callOf("Read", path), callOf("Write", path), callOf("Bash", `cat '${path}'`), foreign]) {
      const { behavior } = await decideIn(folders, call, set)
      expect(await bestOf(() => decideIn(folders, call, set)), call.tool).toBeLessThan(LIMIT_MS)
      if (path !== "") expect(behavior, call.tool).not.toBe("allow")
    }
  })

  it("still refuses by a rule where the path is longer than any system takes", async () => {
    for (const path of [`${"./".repeat(50_000)}.env`, `${"a/../".repeat(10_000)}.env`]) {
      expect(await behaviorOf(callOf("Read", path), ["Read(.env)"], ["Read(**)"])).toBe("deny")
    }
  })

  it("looks at the paths among 10,000 parameters in bounded time", async () => {
    const input = { paths: Array.from({ length: 9000 }, (_, i) => `src/${i}`), last: ".env" }
    const call = createForeignCall("mcp__fs__read", input)
    const set = compile(["Read(.env)"])
    expect((await decideIn(folders, call, set)).behavior).toBe("deny")
    expect(await bestOf(() => decideIn(folders, call, set))).toBeLessThan(500)
  })
})

/** Commands that once took long, or ran out of stack: nested, repeated, or made for a pattern that tries every way. */
const HOSTILE_COMMANDS = {
  "a megabyte of words": "a b ".repeat(250_000),
  "a million words": "a ".repeat(1_000_000),
  "a megabyte of wrappers": "sudo ".repeat(200_000),
  "100,000 commands": Array.from({ length: 100_000 }, (_, i) => `a${i}`).join(";"),
  "sums in sums": `echo ${"$((".repeat(1500)}1${"))".repeat(1500)}`,
  "sums without an end": `echo ${"$((".repeat(3000)}`,
  "2,400 redirects": `a ${"> x ".repeat(2400)}`,
  "searches that start searches": "find . -exec ".repeat(700),
  "a search of 1,900 folders": "find ".repeat(1900),
  "folders that are left again": "cd a; ".repeat(1600),
  "braces in braces": `echo ${"{a,".repeat(2000)}${"}".repeat(2000)}`,
  "subscripts that stay open": `[ ${"[a".repeat(4900)} ]`,
  "subscripts in a text": `test "${"[ a".repeat(2400)}"`,
  "values of variables in each other": `echo ${`\${X:-`.repeat(1500)}a${"}".repeat(1500)}`,
  "values of variables in a row": `echo ${`\${X:-a}`.repeat(1200)}`,
  "blanks in code": `perl -e 'exec ${" ".repeat(9600)}'`,
  "lines in code": `sqlite3 a '${"\n".repeat(9000)}'`,
  "quotes in code": `perl -e 'exec(${'"a" '.repeat(2400)}'`,
  globs: `cat ${"* ".repeat(4900)}`,
} as const

describe("decide() about commands of any size", () => {
  it.each(Object.entries(HOSTILE_COMMANDS))("is quick, and no guard gets smaller: %s", async (_name, text) => {
    const deny = compile(["Bash(rm *)", "Read(.env)"])
    const call = callOf("Bash", text)
    expect(await bestOf(() => decideIn(folders, call, deny))).toBeLessThan(LIMIT_MS)
    // A command in front of it and one behind it are seen all the same.
    for (const more of [`rm a; ${text}`, `${text}; rm a`]) {
      expect(await behaviorOf(callOf("Bash", more), ["Bash(rm *)"], ["Bash"]), more.slice(0, 40)).not.toBe("allow")
    }
    expect(await behaviorOf(callOf("Bash", `rm a; ${text}`), ["Bash(rm *)"], ["Bash"])).toBe("deny")
  })

  it("takes what it does not look through for no command that is allowed", async () => {
    const middle = `${"echo a;".repeat(20_000)}rm a;${"echo a;".repeat(20_000)}`
    expect(await behaviorOf(callOf("Bash", middle), ["Bash(rm *)"], ["Bash"])).not.toBe("allow")
    const names = Array.from({ length: 600 }, (_, i) => `a${i}`)
    expect(await behaviorOf(callOf("Bash", `cat ${names.join(" ")}`), ["Read(.env)"], ["Bash"])).toBe("ask")
    expect(await behaviorOf(callOf("Bash", `cat ${names.join(" ")} .env`), ["Read(.env)"], ["Bash"])).toBe("deny")
  })

  it("looks below as many folders as one archive may name, or for any file", async () => {
    const folders = Array.from({ length: 30 }, (_, i) => `-C ../f${i}`).join(" ")
    const call = callOf("Bash", `tar cf out.tar ${folders} -C ../secret k.txt`)
    expect(await behaviorOf(call, ["Read(../secret/**)"], ["Bash"])).not.toBe("allow")
    expect(await behaviorOf(callOf("Bash", "tar cf out.tar -C ../secret k.txt"), ["Read(../secret/**)"])).toBe("deny")
  })
})

describe("Decision.reason", () => {
  const LONG = "x".repeat(400_000)
  it.each([
    ["an address", callOf("WebFetch", `https://${LONG}.test/`)],
    ["a path that no rule allows", callOf("Write", `../${LONG}`)],
    ["a path that the floor guards", callOf("Write", `/etc/${LONG}`)],
    ["a protected path", callOf("Write", `.git/${LONG}`)],
    ["a command", callOf("Bash", `make ${LONG}`)],
    ["a command that the floor stops", callOf("Bash", `rm -rf /${"x".repeat(9000)}`)],
    ["many files", callOf("Bash", `cat ${Array.from({ length: 400 }, (_, i) => `../file-${i}`).join(" ")}`)],
    ["many commands", callOf("Bash", Array.from({ length: 300 }, (_, i) => `make some-target-${i}`).join(";"))],
  ])("shows the beginning alone of %s", async (_name, call) => {
    for (const canAsk of [true, false]) {
      const { reason, mend = "" } = await decideIn(folders, call, compile(["Read(.env)"]), { canAsk })
      expect(reason.length).toBeLessThan(4000)
      expect(mend.length).toBeLessThan(4000)
    }
  })
})
