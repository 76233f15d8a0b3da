import { describe, expect, it } from "vitest"
import { isSousError } from "../../../core/error.ts"
import type { RuleSource } from "../../../core/permission/decision.ts"
import { compileGrant, compileRules, describeOrigin, isRemoved, parseRule } from "../../../core/permission/rule.ts"

const place = { scope: "project", file: ".sous/settings.json", line: 3, column: 7 } as const
const rule = (behavior: RuleSource["behavior"], text: string): RuleSource => ({ text, behavior, ...place })
const options = { cwd: "/app", home: "/home/me" }

function faultOf(make: () => unknown) {
  try {
    make()
  } catch (error) {
    if (isSousError(error)) return error
    throw error
  }
  throw new Error("nothing was thrown")
}

describe("parseRule()", () => {
  it("cuts a rule into tool and specifier", () => {
    expect(parseRule("Bash")).toEqual({ tool: "Bash" })
    expect(parseRule(" Bash(npm test:*) ")).toEqual({ tool: "Bash", specifier: "npm test:*" })
    expect(parseRule("Bash(echo (a) b)")).toEqual({ tool: "Bash", specifier: "echo (a) b" })
    expect(parseRule("mcp__server__*")).toEqual({ tool: "mcp__server__*" })
  })

  it.each([
    ["Bash(rm *", 'write "Bash(rm *)"'],
    ["Bash(rm *) now", 'write "Bash(rm *)"'],
    ["Bash()", 'write "Bash"'],
    ["(rm *)", "write the tool first"],
    ["rm -rf", 'write "Tool"'],
    ["Bash)", 'write "Tool'],
    ["", "write the tool first"],
  ])("says how to mend %j", (text, mend) => {
    const fault = faultOf(() => parseRule(text))
    expect(fault.code).toBe("PERMISSION_RULE_INVALID")
    expect(fault.mend).toContain(mend)
  })
})

describe("compileRules()", () => {
  it("stops the start for a deny or ask rule that does not parse, and names its place", () => {
    for (const behavior of ["deny", "ask"] as const) {
      const fault = faultOf(() => compileRules([rule(behavior, "Bash(rm *")], options))
      expect(fault.message).toContain(".sous/settings.json:3:7")
    }
  })

  it("voids such a rule on the allow side, or everywhere when lenient, with a warning", () => {
    expect(compileRules([rule("allow", "Bash(rm *")], options).warnings).toHaveLength(1)
    expect(compileRules([rule("deny", "Bash(rm *")], { ...options, lenient: true }).warnings).toHaveLength(1)
  })

  it("voids patterns of tools on the allow side, but for one server", () => {
    const rules = ["*", "Bash*", "mcp__*", "mcp__server__*", "mcp__server__read*"].map((text) => rule("allow", text))
    expect(compileRules(rules, options).warnings.map((text) => text.split('"')[1])).toEqual(["*", "Bash*", "mcp__*"])
  })

  it("warns of an unknown tool with the nearest name, but not of patterns and servers", () => {
    const rules = ["bash(ls)", "Raed", "mcp__x__y", "Task"].map((text) => rule("allow", text))
    const { warnings } = compileRules(rules, { ...options, knownTools: ["Bash", "Read", "Agent"] })
    expect(warnings).toHaveLength(2)
    expect(warnings[0]).toContain('"Bash"')
    expect(warnings[1]).toContain('"Read"')
  })

  it("refuses a guard on a field that has a syntax of its own", () => {
    expect(faultOf(() => compileRules([rule("deny", "Bash(command:rm *)")], options)).mend).toBe('write "Bash(rm *)"')
  })

  it("refuses what is no text", () => {
    expect(faultOf(() => compileRules([rule("deny", 5 as never)], options)).code).toBe("PERMISSION_RULE_INVALID")
  })
})

describe("isRemoved()", () => {
  it("is true for a bare deny of the tool, however it is written", () => {
    for (const text of ["Bash", "Bash(*)", "B*"]) {
      expect(isRemoved(compileRules([rule("deny", text)], options), ["Bash"])).toBe(true)
    }
    for (const text of ["Bash(rm *)", "Read"]) {
      expect(isRemoved(compileRules([rule("deny", text)], options), ["Bash"])).toBe(false)
    }
  })
})

describe("compileGrant()", () => {
  it("compiles one object once, and gives nothing for one that does not parse", () => {
    const source = rule("allow", "Bash(ls)")
    expect(compileGrant(source, options)).toBe(compileGrant(source, options))
    expect(compileGrant(rule("allow", "Bash("), options)).toBeUndefined()
  })
})

describe("describeOrigin()", () => {
  it("names scope, file and line", () => {
    expect(describeOrigin(rule("deny", "Bash"))).toBe("project settings, .sous/settings.json:3")
    expect(describeOrigin({ text: "Bash", behavior: "deny", scope: "plugin", by: "guard" })).toBe("plugin guard")
  })
})
