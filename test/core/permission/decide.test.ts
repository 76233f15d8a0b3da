import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { denyUnanswered, suggestGrants } from "../../../core/permission/decide.ts"
import { DECISION_SOURCES, type PermissionFacts, type RuleSource } from "../../../core/permission/decision.ts"
import { resolveTargets } from "../../../core/permission/path.ts"
import { compileRules } from "../../../core/permission/rule.ts"
import { callOf, decideIn, type Folders, makeProject, rulesOf } from "./fixture.ts"

let folders: Folders & { remove(): Promise<void> }
beforeAll(async () => {
  folders = await makeProject()
})
afterAll(() => folders.remove())

describe("decide()", () => {
  it("lists every source in the trace, those after the answer as not reached", async () => {
    const rules = rulesOf({ deny: ["Bash(rm *)"] }, folders)
    const decision = await decideIn(folders, callOf("Bash", "ls && rm x"), rules)
    expect(decision.trace.map(({ source }) => source)).toEqual(DECISION_SOURCES)
    expect(decision.trace.slice(0, 4).map(({ outcome }) => outcome)).toEqual([
      "no match",
      "no match",
      "match",
      "not reached",
    ])
    expect(decision.rule).toMatchObject({ text: "Bash(rm *)", scope: "project" })
    expect(decision.trace[2]).toMatchObject({ rule: decision.rule, target: decision.target })
  })

  it("denies everything once the run is being aborted", async () => {
    const decision = await decideIn(folders, callOf("Read", "src/a.ts"), rulesOf({ all: true }, folders), {
      aborted: true,
    })
    expect(decision).toMatchObject({ behavior: "deny", source: "abort" })
  })

  it("names rule, scope, file and line of a denial", async () => {
    const deny: RuleSource = { text: "Bash(rm *)", behavior: "deny", scope: "user", file: "/home/me/s.json", line: 4 }
    const rules = compileRules([deny], { cwd: folders.project, home: folders.home })
    const { reason } = await decideIn(folders, callOf("Bash", "rm -rf build"), rules)
    expect(reason).toContain(
      'The rule "Bash(rm *)" (user settings, /home/me/s.json:4) denies the command "rm -rf build"',
    )
  })

  it.each([
    ["Bash", "npm test && make", '--allow-run=npm,make, or add the rules "Bash(npm test)" and "Bash(make)"'],
    ["Bash", "ls > a/b.txt", '--allow-write=a/b.txt, or add the rule "Edit(/PROJECT/a/b.txt)"'],
    ["Bash", "find . -name '*.ts' -delete", `--allow-run=find, or add the rule "Bash(find . -name '\\*.ts' -delete)"`],
    ["Bash", "for f in a; do make $f; done", "run again with --allow-run=make"],
    ["Bash", "npx tsc --noEmit", 'again with --allow-run=npx,tsc, or add the rule "Bash(npx tsc --noEmit)"'],
    ["Bash", "timeout 5 npm test", 'again with --allow-run=npm, or add the rule "Bash(timeout 5 npm test)"'],
    ["Bash", "ls | xargs grep x", 'again with --allow-run=grep, or add the rule "Bash(xargs grep x)"'],
    [
      "Bash",
      "find . -exec wc -l {} +",
      'again with --allow-run=find,wc, or add the rule "Bash(find . -exec wc -l {} +)"',
    ],
    ["Bash", "FOO=1 npm test", 'here: add the rule "Bash(FOO=1 npm test)"'],
    ["Bash", "cd .. && make", "here: run again with --allow-run=cd,make"],
    ["Bash", "export A=1 && npm test", "no exact rule can allow it; write it as simple commands"],
    ["Bash", "$X", "write it as simple commands"],
    ["Bash", "ls &&& x", "it does not parse as shell"],
    ["Write", "a.txt", '--allow-write=a.txt, or add the rule "Edit(/PROJECT/a.txt)"'],
    ["Read", "OUTSIDE/o.txt", '--allow-read=OUTSIDE/o.txt, or add the rule "Read(/OUTSIDE/o.txt)"'],
    ["WebFetch", "https://a.test/x", '--allow-net=a.test, or add the rule "WebFetch(domain:a.test)"'],
    ["Agent", "review", 'add the rule "Agent(review)"'],
    ["mcp__a__b", "", 'add the rule "mcp__a__b"'],
  ])("without a terminal denies %s %j and says what would allow it", async (tool, subject, mend) => {
    const place = (text: string) => text.replaceAll("PROJECT", folders.project).replaceAll("OUTSIDE", folders.outside)
    const decision = await decideIn(folders, callOf(tool, place(subject)), rulesOf({}, folders), { canAsk: false })
    expect(decision).toMatchObject({ behavior: "deny", source: "approval" })
    expect(decision.reason).toContain(place(mend))
  })

  it("is allowed by each of the rules and by the flags that it named", async () => {
    const call = callOf("Bash", "npm test -- '*.ts' && ls > 'x [1].txt'")
    const asked = await decideIn(folders, call, rulesOf({}, folders))
    expect(asked.mend).toContain("--allow-run=npm --allow-write=x [1].txt")
    const allow = (asked.mend!.match(/"[^"]+"/g) ?? []).map((text) => text.slice(1, -1))
    expect((await decideIn(folders, call, rulesOf({ allow }, folders))).behavior).toBe("allow")
    const flags = rulesOf({ run: ["npm"], write: ["x [1].txt"] }, folders)
    expect((await decideIn(folders, call, flags)).behavior).toBe("allow")
    const other = callOf("Bash", "npm test -- 'a.ts' && ls > 'x 1.txt'")
    expect((await decideIn(folders, other, rulesOf({ allow }, folders))).behavior).toBe("ask")
  })

  it("matches parameters for deny and ask alone, and never one that was left out", async () => {
    const rules = rulesOf(
      { allow: ["Bash(id)", "Bash(mode:x)"], deny: ["Bash(unsafe:true)", "mcp__a__b(n:1*)"] },
      folders,
    )
    const id = (input: object) => callOf("Bash", "id", { command: "id", ...input })
    expect((await decideIn(folders, id({ unsafe: true }), rules)).behavior).toBe("deny")
    expect((await decideIn(folders, id({}), rules)).behavior).toBe("allow")
    expect((await decideIn(folders, callOf("Bash", "make", { mode: "x" }), rules)).behavior).toBe("ask")
    expect((await decideIn(folders, callOf("mcp__a__b", "", { n: 12 }), rules)).behavior).toBe("deny")
    expect((await decideIn(folders, callOf("mcp__a__b", "", { n: { toString: () => "1" } }), rules)).behavior).toBe(
      "ask",
    )
  })

  it("takes the older name of the agent tool for the same", async () => {
    const rules = rulesOf({ deny: ["Task(explore)"], allow: ["Agent"] }, folders)
    expect((await decideIn(folders, callOf("Agent", "explore"), rules)).behavior).toBe("deny")
    expect((await decideIn(folders, callOf("Agent", "other"), rules)).behavior).toBe("allow")
  })

  it("lets grants allow, but never beat a deny or ask rule, nor deny anything themselves", async () => {
    const grant = (text: string, behavior: RuleSource["behavior"] = "allow"): RuleSource => ({
      text,
      behavior,
      scope: "session",
    })
    const grants = [grant("Bash(make)"), grant("Bash(npm *)"), grant("Bash(ls)", "deny"), grant("Bash(")]
    const rules = rulesOf({ deny: ["Bash(npm publish*)"], ask: ["Bash(npm run *)"] }, folders)
    const behaviors = ["make", "npm test", "npm publish", "npm run x", "ls"].map(async (text) => {
      return (await decideIn(folders, callOf("Bash", text), rules, { grants })).behavior
    })
    expect(await Promise.all(behaviors)).toEqual(["allow", "allow", "deny", "ask", "allow"])
  })

  it("narrows a tool that a filter names to what fits one of them, and grants nothing", async () => {
    const rules = rulesOf({ allow: ["Bash", "Edit(**)"] }, folders)
    const filters = [["Bash(npm test*)", "Edit(src/**)", "Bash(make"]]
    const decided = async (tool: string, subject: string, set = rules) => {
      const { behavior, source } = await decideIn(folders, callOf(tool, subject), set, { filters })
      return `${behavior} ${source}`
    }
    expect(await decided("Bash", "npm test && npm test:unit")).toBe("allow allow")
    expect(await decided("Bash", "npm test && make")).toBe("deny deny")
    expect(await decided("Bash", "ls")).toBe("deny deny")
    expect(await decided("Bash", "make")).toBe("deny deny")
    expect(await decided("Write", "src/x.ts")).toBe("allow allow")
    expect(await decided("Write", "x.ts")).toBe("deny deny")
    expect(await decided("Read", "src/a.ts")).toBe("allow classifier")
    expect(await decided("Bash", "npm test", rulesOf({}, folders))).toBe("ask approval")
  })

  it("wants a call to fit the filters of every level", async () => {
    const rules = rulesOf({ allow: ["Bash"] }, folders)
    const filters = [["Bash(npm *)"], ["Bash(npm test*)", "Read"]]
    const behaviors = ["npm test", "npm run x", "make"].map(async (text) => {
      return (await decideIn(folders, callOf("Bash", text), rules, { filters })).behavior
    })
    expect(await Promise.all(behaviors)).toEqual(["allow", "deny", "deny"])
  })

  it("lets a weaker scope tighten the ordered list of a stronger one, and never lift it", async () => {
    const entry = (text: string, behavior: RuleSource["behavior"], scope: RuleSource["scope"]): RuleSource => {
      return { text, behavior, scope, ordered: true }
    }
    const rules = compileRules(
      [
        entry("Bash(git *)", "allow", "user"),
        entry("Bash(git push*)", "deny", "user"),
        entry("Bash(make *)", "allow", "project"),
        entry("Bash(make clean)", "allow", "managed"),
        entry("Bash(make *)", "ask", "managed"),
        entry("Bash(git log*)", "deny", "project"),
      ],
      { cwd: folders.project, home: folders.home },
    )
    const decided = async (text: string) => (await decideIn(folders, callOf("Bash", text), rules)).behavior
    expect(await decided("git push")).toBe("allow")
    expect(await decided("git log")).toBe("deny")
    expect(await decided("make all")).toBe("ask")
    expect(await decided("make clean")).toBe("allow")
  })

  it("lets only tools that leave denied files out search a folder that holds some", async () => {
    const rules = rulesOf({ deny: ["Read(.env)"] }, folders)
    const search = callOf("Read", ".")
    const asked = await decideIn(folders, search, rules)
    expect(asked.behavior).toBe("ask")
    expect(asked.mend).toContain('guards files that "." may hold')
    const filtered = { ...search, skipsDenied: true }
    expect((await decideIn(folders, filtered, rules, { filtersReads: true })).behavior).toBe("allow")
    const shown = await decideIn(folders, filtered, rules)
    expect(shown.behavior).toBe("ask")
    expect(shown.mend).toContain("in a run Read leaves those out")
    expect(
      (await decideIn(folders, callOf("Read", "secret"), rulesOf({ deny: ["Read(/src/x)"] }, folders))).behavior,
    ).toBe("allow")
  })

  it("asks for a tool that only shows what it reads, but also does other things", async () => {
    const call = { ...callOf("Read", "src/a.ts"), tool: "mcp__fs__move", ruleName: "mcp__fs__move", readOnly: false }
    expect((await decideIn(folders, call, rulesOf({ allow: ["Read"] }, folders))).behavior).toBe("ask")
    expect((await decideIn(folders, call, rulesOf({ allow: ["mcp__fs"] }, folders))).behavior).toBe("allow")
  })

  it("lets writes to a system folder pass where this start works, or named it", async () => {
    const call = callOf("Write", "/usr/src/app/x.ts")
    const facts = (more: Partial<PermissionFacts>) => decideIn(folders, call, rulesOf({ all: true }, folders), more)
    expect((await facts({})).source).toBe("floor")
    expect((await facts({ roots: ["/usr/src/app"], cwd: "/usr/src/app" })).behavior).toBe("allow")
    expect((await facts({ roots: [folders.project, "/usr/src"] })).source).toBe("floor")
    expect((await facts({ roots: [folders.project, "/usr/src"], namedRoots: ["/usr/src"] })).behavior).toBe("allow")
    expect((await facts({ roots: ["/"], cwd: "/" })).source).toBe("floor")
  })

  it("protects what the facts say configures sous, in every mode", async () => {
    const configures = [`${folders.project}/hooks`]
    const facts = { mode: "bypassPermissions", configures } as const
    const decided = (path: string) => decideIn(folders, callOf("Write", path), rulesOf({}, folders), facts)
    expect((await decided("hooks/check.sh")).source).toBe("protected")
    expect((await decided("other.sh")).behavior).toBe("allow")
  })

  it("allows nothing when the paths were not looked up", async () => {
    const facts = { paths: new Map() }
    expect((await decideIn(folders, callOf("Read", "src/a.ts"), rulesOf({}, folders), facts)).behavior).toBe("ask")
    expect((await decideIn(folders, callOf("Bash", "cat src/a.ts"), rulesOf({}, folders), facts)).behavior).toBe("ask")
    const deny = rulesOf({ deny: ["Read(src/**)"] }, folders)
    expect((await decideIn(folders, callOf("Bash", "cat src/a.ts"), deny, facts)).behavior).toBe("deny")
  })

  it("never throws, and never allows, for hostile inputs", async () => {
    const rules = rulesOf(
      { allow: ["Bash(*)", "Edit(**)"], deny: [`Bash(${"a*".repeat(20_000)}b)`, "Read(**/a/**/b)"] },
      folders,
    )
    const texts = [
      "\0",
      "a\0b",
      "\ud800",
      "../".repeat(5000),
      "a".repeat(1_000_000),
      "x/".repeat(500_000),
      "\\\\?\\C:\\x",
    ]
    for (const text of texts) {
      expect((await decideIn(folders, callOf("Write", text), rules)).behavior).not.toBe("allow")
      expect((await decideIn(folders, callOf("Bash", `make ${text}\0`), rules)).behavior).not.toBe("allow")
    }
  })
})

describe("suggestGrants()", () => {
  const suggestions = async (subject: string, rules = rulesOf({}, folders)) => {
    const call = callOf("Bash", subject)
    const decision = await decideIn(folders, call, rules)
    const paths = await resolveTargets(call.targets, folders.project, { home: folders.home })
    const { project: cwd, home } = folders
    const facts = {
      aborted: false,
      mode: "default",
      cwd,
      roots: [cwd],
      readRoots: [],
      home,
      paths,
      canAsk: true,
    } as const
    return suggestGrants(decision, call, rules, facts)
  }

  it("gives one exact rule for each part that needed it", async () => {
    expect(await suggestions("ls && npm test && make -C x | tail")).toEqual(["Bash(npm test)", "Bash(make -C x)"])
  })

  it("gives none where no exact rule exists, and none for what no rule can answer", async () => {
    expect(await suggestions("make & make")).toEqual([])
    expect(await suggestions("make $X")).toEqual([])
    expect(await suggestions("make", rulesOf({ ask: ["Bash(make)"] }, folders))).toEqual([])
    expect(await suggestions("ls")).toEqual([])
  })
})

describe("denyUnanswered()", () => {
  it("keeps the decision and names what would have allowed the call", async () => {
    const decision = denyUnanswered(await decideIn(folders, callOf("Bash", "make"), rulesOf({}, folders)))
    expect(decision).toMatchObject({ behavior: "deny", source: "approval" })
    expect(decision.reason).toContain('nobody answered: run again with --allow-run=make, or add the rule "Bash(make)"')
  })
})
