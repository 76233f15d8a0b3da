import { expect, test } from "vitest"
import { createTextRenderer } from "../../../plugins/render/text.ts"
import { event, result, toolResult, toolUse } from "./events.ts"
import { createTerminal, type FakeTerminal } from "./screen.ts"

function show(terminal: FakeTerminal, detail: "quiet" | "normal" | "verbose" = "normal", isStreamed = true) {
  return createTextRenderer(terminal.screen, isStreamed ? { detail, answer: terminal.write } : { detail })
}
const text = (words: string, agent = "a1") => event({ type: "text", text: words }, { agent })

test("createTextRenderer() streams text and shows a finished call as one line with folded output", () => {
  const terminal = createTerminal()
  const renderer = show(terminal)
  renderer.handle(text("I run the "))
  expect(terminal.lines()).toEqual(["I run the", ""])
  renderer.handle(text("tests.\nThen"))
  renderer.handle(toolUse("t1", { command: "npm test" }))
  expect(terminal.lines().slice(0, 3)).toEqual([
    "I run the tests.",
    "Then",
    expect.stringMatching(/^[◐◓◑◒] Bash npm test 0\.\ds$/),
  ])
  renderer.handle(toolResult("t1", "one\ntwo\n\nthree\nfour\nfive"))
  renderer.handle(event({ type: "run_finished", result: result() }))
  renderer.close()
  expect(terminal.lines()).toEqual([
    "I run the tests.",
    "Then",
    "● Bash npm test … 2.1s",
    "  │ one",
    "  │ two",
    "  │ three",
    "  └ 2 more lines",
    "",
  ])
})

test("createTextRenderer() keeps a subagent's text out of the answer and indents its calls", () => {
  const terminal = createTerminal({ isTTY: false })
  const renderer = show(terminal)
  renderer.handle(text("Answer"))
  renderer.handle(text("inner", "a2"))
  renderer.handle(toolUse("t1", { command: "ls" }, { agent: "a2" }))
  renderer.handle(toolResult("t1", "", { agent: "a2" }))
  renderer.close()
  expect(terminal.written()).toBe("Answer  ● Bash ls … 2.1s\n\n")
})

test("createTextRenderer() writes nothing of what a model says as control code", () => {
  const terminal = createTerminal()
  const renderer = show(terminal)
  renderer.handle(text("\x1b]52;c;aGk=\x07 \u202eevil\n"))
  renderer.handle(toolUse("t1", { command: "\x1b[2J" }))
  renderer.handle(toolResult("t1", "\x1b[31mred"))
  renderer.close()
  expect(terminal.lines()).toEqual([
    "\\u{1b}]52;c;aGk=\\u{7} \\u{202e}evil",
    "● Bash \\u{1b}[2J … 2.1s",
    "  │ \\u{1b}[31mred",
    "",
  ])
})

test("createTextRenderer() in quiet shows warnings and denials only", () => {
  const terminal = createTerminal({ isTTY: false })
  const renderer = show(terminal, "quiet", false)
  renderer.handle(text("Answer"))
  renderer.handle(toolUse("t1", { command: "ls" }))
  const decision = {
    behavior: "deny" as const,
    source: "approval" as const,
    reason: "Nobody could be asked",
    trace: [],
  }
  renderer.handle(event({ type: "permission", id: "t1", name: "Bash", decision }))
  renderer.handle(event({ type: "notice", level: "info", message: "retried" }))
  renderer.handle(event({ type: "notice", level: "warning", message: "careful" }))
  renderer.handle(toolResult("t1", "denied", { isError: true }))
  renderer.close()
  expect(terminal.written()).toBe("✗ Bash denied: Nobody could be asked\n! careful\n")
})

test("createTextRenderer() says which plugins were left out", () => {
  const terminal = createTerminal({ isTTY: false })
  const plugins = [{ name: "guard", from: "/guard.ts", ok: false, adds: [], durationMs: 1, error: "Cannot load it" }]
  const run = { recipe: "prompt", cwd: "/", model: "m", mode: "default", tools: [], folder: "/" }
  show(terminal).handle(event({ type: "run_started", ...run, plugins, warnings: ["mind this"] }))
  expect(terminal.written()).toBe("! mind this\n! Plugin left out: Cannot load it\n")
})

test("createTextRenderer() shows a call that takes nothing without a gap, and a compaction that failed once", () => {
  const terminal = createTerminal({ isTTY: false })
  const renderer = show(terminal)
  renderer.handle(toolUse("t1", {}))
  renderer.handle(toolResult("t1", "fine"))
  const failed = { type: "compaction", strategy: "none", ok: false, reason: "cut: too little" } as const
  renderer.handle(event({ ...failed, trigger: "auto" }))
  renderer.handle(event({ ...failed, trigger: "manual" }))
  expect(terminal.written()).toBe("● Bash … 2.1s\n  │ fine\n· compaction (auto) failed: cut: too little\n")
})

test("createTextRenderer() shows a hook that blocks each time, and one that is broken once", () => {
  const terminal = createTerminal()
  const renderer = show(terminal)
  const told = (hook: string, outcome: "failed" | "block" | "pass", reason: string) =>
    event({ type: "hook", event: "PreToolUse", owner: ".hooks.json:3", hook, outcome, reason, durationMs: 1 })
  for (const outcome of ["failed", "block", "failed", "block", "pass"] as const) {
    renderer.handle(told("check", outcome, outcome))
  }
  renderer.handle(told("other", "failed", "another one"))
  renderer.close()
  expect(terminal.lines()).toEqual([
    "· hook PreToolUse of .hooks.json:3: failed: failed",
    "· hook PreToolUse of .hooks.json:3: block: block",
    "· hook PreToolUse of .hooks.json:3: block: block",
    "· hook PreToolUse of .hooks.json:3: failed: another one",
    "",
  ])
})
