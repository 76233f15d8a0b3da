/**
 * The grammar of rules, family by family: the spellings that count, what each fits, and what is said of the others.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { isSousError } from "../../../core/error.ts"
import type { Behavior, PermissionCall, RuleSource } from "../../../core/permission/decision.ts"
import { createForeignCall } from "../../../core/permission/explain.ts"
import { compileRules } from "../../../core/permission/rule.ts"
import { callOf, decideIn, type Folders, makeProject } from "./fixture.ts"

const KNOWN = ["Bash", "Read", "Edit", "Write", "WebFetch", "Agent", "Skill", "Grep", "Glob"]

let folders: Folders & { remove(): Promise<void> }
beforeAll(async () => {
  folders = await makeProject()
})
afterAll(() => folders.remove())

const source = (behavior: Behavior, text: string): RuleSource => ({ behavior, text, scope: "project" })

/** True when the rule settles the call: allows it, or denies it although all else would allow. */
async function fits(behavior: "allow" | "deny", text: string, call: PermissionCall): Promise<boolean> {
  const more = behavior === "deny" ? ["Bash", "Read", "Edit", "WebFetch", "Agent", "Skill", "mcp__s", "mcp__t"] : []
  const rules = compileRules([source(behavior, text), ...more.map((one) => source("allow", one))], {
    cwd: folders.project,
    home: folders.home,
    settingsRoots: { project: `${folders.project}/conf` },
  })
  expect(rules.warnings).toEqual([])
  const decision = await decideIn(folders, call, rules)
  return behavior === "allow" ? decision.source === "allow" : decision.source === "deny"
}

const bash = (text: string) => callOf("Bash", text)
const write = (path: string) => callOf("Write", path)
const read = (path: string) => callOf("Read", path)
const fetch = (url: string) => callOf("WebFetch", url)
const agent = (name: string, input?: unknown) => callOf("Agent", name, input)
const mcp = (tool: string, input: unknown = { id: "1" }) => createForeignCall(tool, input)
const skill = (name: string): PermissionCall => ({
  tool: "Skill",
  ruleName: "Skill",
  input: { skill: name },
  readOnly: false,
  targets: [{ kind: "name", name }],
})

/** A spelling, the calls that it fits and those that it does not: as an allow rule, and as a deny rule. */
type Row = [
  rule: string,
  allows: PermissionCall[],
  leaves: PermissionCall[],
  denies: PermissionCall[],
  passes: PermissionCall[],
]

const command: Row[] = [
  ["Bash", [bash("touch a")], [write("a")], [bash("touch a")], [read("src/a.ts")]],
  ["Bash(*)", [bash("touch a")], [write("a")], [bash("touch a")], [read("src/a.ts")]],
  ["Bash(make)", [bash("make")], [bash("make all")], [bash("make")], [bash("make all")]],
  ["Bash(make *)", [bash("make"), bash("make all")], [bash("makefile")], [bash("sudo make x")], [bash("makex")]],
  ["Bash(make:*)", [bash("make"), bash("make all")], [bash("make:all")], [bash("x && make")], [bash("makex")]],
  ["Bash(make*)", [bash("makex"), bash("make all")], [bash("mak")], [bash("makex")], [bash("xmake")]],
  ["Bash(* --help)", [bash("x --help")], [bash("x --help y")], [bash("x --help")], [bash("x --helper")]],
  [
    "Bash(git * main)",
    [bash("git merge main")],
    [bash("git merge x")],
    [bash("git merge main")],
    [bash("git merge x")],
  ],
  ["Bash(touch \\*)", [bash("touch *")], [bash("touch a")], [], [bash("touch a")]],
  ["Bash(echo (a) b)", [], [bash("touch a")], [], [bash("touch a")]],
]
const path: Row[] = [
  [
    "Edit(src/**)",
    [write("src/x"), write("./src/y/z")],
    [write("x"), write("lib/src/x")],
    [write("lib/src/x")],
    [write("x")],
  ],
  ["Edit(./src/**)", [write("src/x")], [write("lib/src/x")], [write("src/x")], [write("x")]],
  ["Edit(*.md)", [write("a.md"), write("docs/a.md")], [write("a.mdx")], [write("docs/a.md")], [write("a.mdx")]],
  ["Edit(/out/**)", [write("conf/out/x")], [write("out/x")], [write("conf/out/x")], [write("out/x")]],
  ["Edit(~/notes/**)", [write("~/notes/x")], [write("~/x")], [write("~/notes/x")], [write("~/x")]],
  ["Edit(//**/k.txt)", [write("secret/k.txt")], [write("secret/x")], [write("secret/k.txt")], [write("secret/x")]],
  [
    "Read(~/notes/n.md)",
    [read("~/notes/n.md")],
    [read("~/notes/m.md")],
    [read("~/notes/n.md")],
    [read("~/notes/m.md")],
  ],
  [
    "Read(secret)",
    [],
    [read("~/x")],
    [read("secret/k.txt"), write("secret/k.txt"), bash("cat secret/k.txt")],
    [read("src/a.ts")],
  ],
  ["Read(**)", [], [read("~/x")], [read("src/a.ts")], []],
  ["Edit(src/[a-c].ts)", [write("src/b.ts")], [write("src/d.ts")], [write("src/b.ts")], [write("src/d.ts")]],
  ["Edit(src/?.ts)", [write("src/b.ts")], [write("src/bb.ts")], [write("src/b.ts")], [write("src/bb.ts")]],
  ["Edit(a\\*b)", [write("a*b")], [write("axb")], [write("a*b")], [write("axb")]],
]
const domain: Row[] = [
  ["WebFetch", [fetch("https://a.test/")], [bash("touch a")], [fetch("https://a.test/")], [bash("touch a")]],
  [
    "WebFetch(domain:a.test)",
    [fetch("https://A.test./x")],
    [fetch("https://b.a.test/")],
    [fetch("https://a.test:8080/")],
    [fetch("https://xa.test/")],
  ],
  [
    "WebFetch(domain:*.a.test)",
    [fetch("https://x.y.a.test/")],
    [fetch("https://a.test/")],
    [fetch("https://x.a.test/")],
    [fetch("https://a.test/")],
  ],
  ["WebFetch(domain:*)", [fetch("https://a.test/")], [bash("touch a")], [fetch("https://a.test/")], [bash("touch a")]],
  [
    "WebFetch(domain:a.*.test)",
    [fetch("https://a.x.test/")],
    [fetch("https://a.x.y.test/")],
    [fetch("https://a.x.test/")],
    [fetch("https://a.test/")],
  ],
]
const names: Row[] = [
  ["mcp__s", [mcp("mcp__s__x")], [mcp("mcp__sx__y")], [mcp("mcp__s__x")], [mcp("mcp__t__x")]],
  ["mcp__s__*", [mcp("mcp__s__x")], [mcp("mcp__sx__y")], [mcp("mcp__s__x")], [mcp("mcp__t__x")]],
  ["mcp__s__x", [mcp("mcp__s__x")], [mcp("mcp__s__xy")], [mcp("mcp__s__x")], [mcp("mcp__s__y")]],
  ["mcp__s__get*", [mcp("mcp__s__get_a")], [mcp("mcp__s__set")], [mcp("mcp__s__get_a")], [mcp("mcp__s__set")]],
  ["Agent", [agent("any")], [bash("touch a")], [agent("any")], [bash("touch a")]],
  ["Agent(explore)", [agent("explore")], [agent("explorer")], [agent("explore")], [agent("other")]],
  ["Task(explore)", [agent("explore")], [agent("other")], [agent("explore")], [agent("other")]],
  ["Skill(pdf)", [skill("pdf")], [skill("pdf x"), skill("pdfs")], [skill("pdf"), skill("pdf x")], [skill("pdfs")]],
  ["Skill(pdf *)", [skill("pdf"), skill("pdf x")], [skill("pdfs")], [skill("pdf x")], [skill("pdfs")]],
  ["Skill(pdf:*)", [skill("pdf x")], [skill("pdfs")], [skill("pdf:make")], [skill("pdfs")]],
]
const refusing: Row[] = [
  ["mcp__*", [], [], [mcp("mcp__s__x"), mcp("mcp__t__y")], [bash("touch a")]],
  ["mcp__*__write*", [], [], [mcp("mcp__s__write_x")], [mcp("mcp__s__read")]],
  ["*", [], [], [bash("touch a"), mcp("mcp__s__x")], []],
  ["Agent(exp*)", [], [], [agent("explore")], [agent("other")]],
  ["Agent(model:opus)", [], [], [agent("x", { model: "opus" })], [agent("x", { model: "haiku" }), agent("x", {})]],
  ["Agent(model: op*)", [], [], [agent("x", { model: "opus" })], [agent("x", { model: "haiku" })]],
  [
    "Bash(run_in_background:true)",
    [],
    [],
    [callOf("Bash", "x", { command: "x", run_in_background: true })],
    [callOf("Bash", "x", { command: "x" })],
  ],
  [
    "mcp__s__x(id:1)",
    [],
    [],
    [mcp("mcp__s__x", { id: 1 })],
    [mcp("mcp__s__x", { id: 2 }), mcp("mcp__s__x", { id: { id: 1 } })],
  ],
]

describe.each([
  ["command", command],
  ["path", path],
  ["domain", domain],
  ["server, agent and skill", names],
] as const)("a rule of the family %s", (_family, rows) => {
  it.each(rows)("%s", async (text, allows, leaves, denies, passes) => {
    for (const call of allows)
      expect(await fits("allow", text, call), `allows ${JSON.stringify(call.input)}`).toBe(true)
    for (const call of leaves)
      expect(await fits("allow", text, call), `leaves ${JSON.stringify(call.input)}`).toBe(false)
    for (const call of denies) expect(await fits("deny", text, call), `denies ${JSON.stringify(call.input)}`).toBe(true)
    for (const call of passes)
      expect(await fits("deny", text, call), `passes ${JSON.stringify(call.input)}`).toBe(false)
  })
})

describe("a rule that only refuses", () => {
  it.each(refusing)("%s", async (text, _allows, _leaves, denies, passes) => {
    for (const call of denies) expect(await fits("deny", text, call), `denies ${JSON.stringify(call.input)}`).toBe(true)
    for (const call of passes)
      expect(await fits("deny", text, call), `passes ${JSON.stringify(call.input)}`).toBe(false)
  })
})

/** A guard that stops the start: what is wrong with it, and how to write it. */
const INVALID = [
  ["Bash(rm *", "its parenthesis is not closed", 'write "Bash(rm *)"'],
  ["Bash rm *)", '"Bash rm *)" is no tool name', 'write "Tool" or "Tool(specifier)"'],
  ["Bash)", '"Bash)" is no tool name', 'write "Tool" or "Tool(specifier)"'],
  ["Bash()", "its parentheses are empty", 'write "Bash" for every call of Bash'],
  ["Bash( )", "its parentheses are empty", 'write "Bash" for every call of Bash'],
  ["Bash(rm *) # no", "text follows its specifier", 'write "Bash(rm *)"'],
  ["(rm *)", "it names no tool", 'write the tool first: "Bash((rm *))"'],
  ["", "it names no tool", 'write the tool first: "Bash()"'],
  ["rm -rf", '"rm -rf" is no tool name', 'write "Tool" or "Tool(specifier)"'],
  ["Bash,Edit", '"Bash,Edit" is no tool name', 'write "Tool" or "Tool(specifier)"'],
  ["!Bash", '"!Bash" is no tool name', 'write "Tool" or "Tool(specifier)"'],
  ["Bash(rm\u202e)", "it holds a character that nobody sees, U+202E", "write the rule without it"],
  ["Ba\u200bsh", "it holds a character that nobody sees, U+200B", "write the rule without it"],
  ["Bash(rm\0)", "it holds a character that nobody sees, U+0000", "write the rule without it"],
  ["Bash(rm *),Edit(/a)", "it holds more than one rule", 'write "Bash(rm *)" and "Edit(/a)" as two entries'],
  ["Bash(rm *) Bash(mv *)", "it holds more than one rule", 'write "Bash(rm *)" and "Bash(mv *)" as two entries'],
  ["Bash(command:rm *)", '"command" is not matched as a parameter', 'write "Bash(rm *)"'],
  ["Edit(file_path:src/**)", '"file_path" is not matched as a parameter', 'write "Edit(src/**)"'],
  ["WebFetch(url:https://x.test/)", '"url" is not matched as a parameter', 'write "WebFetch(https://x.test/)"'],
] as const

describe("a guard that does not parse stops the start", () => {
  it.each(INVALID)("%j", (text, problem, mend) => {
    const options = { cwd: "/app", home: "/home/me", knownTools: KNOWN }
    const fault = (() => {
      try {
        compileRules([source("deny", text)], options)
      } catch (error) {
        if (isSousError(error)) return error
      }
      throw new Error("it compiled")
    })()
    expect(fault.code).toBe("PERMISSION_RULE_INVALID")
    expect(fault.message).toContain(problem)
    expect(fault.mend).toBe(mend)
    const { warnings } = compileRules([source("deny", text)], { ...options, lenient: true })
    expect(warnings[0]).toContain(`is void: ${problem}; ${mend}`)
  })
})

/** Rules that start with a warning: the side, the rule, and what is said of it. */
const ODD = [
  ["allow", "Bash(rm *", "is void: its parenthesis is not closed"],
  ["allow", "*", "is void: a pattern of tools cannot be allowed"],
  ["allow", "mcp__*", 'is void: a pattern of tools cannot be allowed; name the tool, or one server: "mcp__server__*"'],
  ["allow", "mcp__*__read", "is void: a pattern of tools cannot be allowed"],
  ["allow", "mcp__s__x(id:1)", 'is void: parameters are matched by deny and ask rules alone; write "mcp__s__x"'],
  ["deny", "bash(rm *)", 'names a tool that is not there: did you mean "Bash"?'],
  ["ask", "Raed(.env)", 'names a tool that is not there: did you mean "Read"?'],
  ["deny", "WebFecth(domain:a.test)", 'names a tool that is not there: did you mean "WebFetch"?'],
  ["deny", "Agnt(explore)", 'names a tool that is not there: did you mean "Agent"?'],
  ["deny", "Skil(pdf)", 'names a tool that is not there: did you mean "Skill"?'],
  ["deny", "Zzzzzz", "names a tool that is not there: no tool has a name like it"],
  ["deny", "Bash( rm *)", 'has blanks inside its parentheses: write "Bash(rm *)"'],
] as const

describe("a rule that is odd starts with a warning", () => {
  it("of all in one file about one tool that is not there, one", () => {
    const at = (behavior: "deny" | "ask", text: string, line: number) => ({
      ...source(behavior, text),
      file: "/app/.sous/settings.json",
      line,
    })
    const rules = [
      ...Array.from({ length: 40 }, (_, index) => at("deny", `PowerShell(Rm-${index} *)`, index + 1)),
      at("deny", "Zzzzzz", 41),
      at("ask", "PowerShell(Get *)", 42),
    ]
    const { warnings, deny } = compileRules(rules, { cwd: "/app", home: "/home/me", knownTools: KNOWN })
    expect(warnings).toEqual([
      expect.stringMatching(/^The deny rules "PowerShell\(Rm-0 \*\)" \(.*settings\.json:1\) and 39 more name a tool/),
      expect.stringMatching(/^The deny rule "Zzzzzz" \(.*:41\) names a tool/),
      expect.stringMatching(/^The ask rule "PowerShell\(Get \*\)" \(.*:42\) names a tool/),
    ])
    expect(deny).toBeDefined()
  })

  it.each(ODD)("%s %j", (behavior, text, said) => {
    const { warnings } = compileRules([source(behavior, text)], { cwd: "/app", home: "/home/me", knownTools: KNOWN })
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain(said)
  })
})
