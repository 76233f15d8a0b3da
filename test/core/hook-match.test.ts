import { describe, expect, it } from "vitest"
import { isSousError } from "../../core/error.ts"
import type { HookEvent } from "../../core/hook.ts"
import { compileHooks, missedTools } from "../../core/hook-match.ts"

const handler = () => undefined

function matcherOf(matcher: string | undefined, event: HookEvent = "PreToolUse") {
  const hook = { event, plugin: "guard", handler, ...(matcher === undefined ? {} : { matcher }) }
  return compileHooks([hook]).get(event)![0]!.matches
}

function codeOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return isSousError(error) ? error.code : String(error)
  }
  return "nothing thrown"
}

describe("compileHooks()", () => {
  it.each([
    [undefined, "Bash", true],
    ["", "Bash", true],
    ["*", "mcp__x__y", true],
    [" * ", "mcp__x__y", true],
    ["Bash", "Bash", true],
    ["Bash", "BashOutput", false],
    ["Bash", "bash", false],
    ["Edit | Write, Read", "Write", true],
    ["Edit | Write, Read", "Read", true],
    ["Edit|Write", "NotebookEdit", false],
    ["mcp__git-hub", "mcp__git-hub", true],
    ["mcp__git-hub", "mcp__git-hub__push", false],
    ["mcp__.*", "mcp__git__push", true],
    ["Edit.?", "NotebookEdit", true],
    ["^Edit$", "NotebookEdit", false],
    ["^(Edit|Write)$", "Write", true],
  ])("reads the matcher %j on %j as %j", (matcher, value, expected) => {
    expect(matcherOf(matcher)(value)).toBe(expected)
  })

  it("lets UserPromptSubmit see what people write, unless its matcher says otherwise", () => {
    const origins = ["human", "system", "agent"]
    expect(origins.filter(matcherOf(undefined, "UserPromptSubmit"))).toEqual(["human"])
    expect(origins.filter(matcherOf("system|agent", "UserPromptSubmit"))).toEqual(["system", "agent"])
    expect(origins.filter(matcherOf("*", "UserPromptSubmit"))).toEqual(origins)
  })

  it("refuses a matcher that is no regular expression", () => {
    expect(codeOf(() => matcherOf("Bash("))).toBe("HOOK_MATCHER_INVALID")
  })

  it("refuses a matcher on an event that has nothing to match", () => {
    expect(codeOf(() => matcherOf("Bash", "Stop"))).toBe("HOOK_MATCHER_INVALID")
    expect(matcherOf("*", "Stop")("")).toBe(true)
  })

  it("names each hook apart from the others of its plugin", () => {
    const hook = { event: "PreToolUse" as const, plugin: "guard", handler }
    const hooks = [
      hook,
      { ...hook, matcher: "Bash" },
      { ...hook, matcher: "Bash" },
      { ...hook, description: "No push" },
    ]
    const names = compileHooks(hooks)
      .get("PreToolUse")!
      .map(({ name }) => name)
    expect(names).toEqual(["PreToolUse", "PreToolUse(Bash)", "PreToolUse(Bash) #2", "No push"])
  })

  it("takes the timeout of the hook, then of the event's row, then a minute", () => {
    const timeoutOf = (event: HookEvent, own: object = {}) =>
      compileHooks([{ event, plugin: "guard", handler, ...own }]).get(event)![0]!.timeoutMs
    expect(timeoutOf("PreToolUse", { timeoutMs: 10 })).toBe(10)
    expect(timeoutOf("SessionEnd")).toBe(5_000)
    expect(timeoutOf("PreToolUse")).toBe(60_000)
  })
})

describe("missedTools()", () => {
  const tools = ["Bash", "Edit", "Agent"]
  const missed = (matcher: string, dialect?: "native" | "claude-code") => {
    const event = "PreToolUse" as const
    const origin = { scope: "project" as const, file: ".hooks.json", line: 3 }
    const source = { event, matcher, dialect: dialect!, form: { type: "command" as const, command: "x" }, origin }
    return missedTools([dialect ? { event, matcher, source } : { event, matcher, plugin: "guard", handler }], tools)
  }

  it.each([
    ["bash", 'no tool is named "bash"; write "Bash"'],
    ["Edit|bash", 'no tool is named "bash"; write "Bash"'],
    ["Edti", 'no tool is named "Edti"; write "Edit"'],
    ["Task", 'no tool is named "Task"; write "Agent"'],
    ["Bash(rm *)", 'write the matcher "Bash", and the rule as "if"'],
    ['"Bash"', 'it fits no tool; write "Bash"'],
    ["/bash/", 'it fits no tool; write "Bash"'],
    ["Bash&Edit", 'it fits no tool; write "Bash|Edit"'],
  ])("says of the matcher %j what is meant", (matcher, mend) => {
    const [said, ...more] = missed(matcher, "native")
    expect(said).toContain(`The PreToolUse hook of .hooks.json:3 with the matcher "${matcher}"`)
    expect(said).toContain(mend)
    expect(more).toEqual([])
  })

  it.each(["Bash", "Bash|Edti", "*", "", "mcp__git", "B(a|o)sh", "NotebookEdit", "constructor", "mcp__x__Edit.*"])(
    "says nothing of the matcher %j",
    (matcher) => {
      expect(missed(matcher)).toEqual([])
    },
  )

  it("knows the names of the other protocol", () => {
    expect(missed("Task", "claude-code")).toEqual([])
  })
})

it.each(["\u200bBash", "Ba\0sh", "Bash\ufeff.*"])(
  "compileHooks() refuses the matcher %j: nobody sees all of it",
  (matcher) => {
    const hook = { event: "PreToolUse" as const, matcher, plugin: "guard", handler }
    expect(() => compileHooks([hook])).toThrow(/a character that nobody sees, U\+/)
  },
)
