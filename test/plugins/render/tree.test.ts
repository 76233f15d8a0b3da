import { expect, test } from "vitest"
import { createTreeRenderer } from "../../../plugins/render/tree.ts"
import { event, stepFinished, stepStarted, toolUse } from "./events.ts"
import { createTerminal } from "./screen.ts"

test("createTreeRenderer() redraws what runs and leaves what is done", () => {
  const terminal = createTerminal()
  const renderer = createTreeRenderer(terminal.screen, { detail: "normal" })
  renderer.handle(stepStarted("diff", "sh"))
  renderer.handle(stepFinished("diff", "sh"))
  renderer.handle(stepStarted("find", "agent"))
  renderer.handle(event({ type: "turn_started", turn: 3, model: "m" }, { step: "find" }))
  renderer.handle(toolUse("t1", { command: "npm test" }, { step: "find" }))
  expect(terminal.lines()).toEqual([
    "✓ diff 1.5s",
    expect.stringMatching(/^[◐◓◑◒] find {2}turn 3 · Bash npm test 0\.\ds$/),
    "  0 in, 0 out",
    "",
  ])
  renderer.handle(stepFinished("find", "agent", "The model gave up"))
  renderer.close()
  expect(terminal.lines()).toEqual(["✓ diff 1.5s", "✗ find 1.5s", "  tool The model gave up", ""])
})

test("createTreeRenderer() shows a fan-out as one line with counts, and a failed item by itself", () => {
  const terminal = createTerminal()
  const renderer = createTreeRenderer(terminal.screen, { detail: "normal" })
  renderer.handle(stepStarted("verify", "each", 400))
  for (const key of ["src/a.ts:1", "src/b.ts:2", "src/c.ts:3"]) renderer.handle(stepStarted(`verify/${key}`, "agent"))
  renderer.handle(stepFinished("verify/src/a.ts:1", "agent"))
  renderer.handle(stepFinished("verify/src/b.ts:2", "agent", "no"))
  expect(terminal.lines()[0]).toBe("  ✗ src/b.ts:2 1.5s")
  expect(terminal.lines()[2]).toMatch(/^[◐◓◑◒] verify {2}2\/400 · 1 failed · 1 running /)
  expect(terminal.lines()[3]).toMatch(/^ {2}[◐◓◑◒] src\/c\.ts:3 /)
  renderer.handle(stepFinished("verify/src/c.ts:3", "agent"))
  renderer.handle(stepFinished("verify", "each"))
  renderer.close()
  expect(terminal.lines()).toEqual(["  ✗ src/b.ts:2 1.5s", "    tool no", "✓ verify 3/400 · 1 failed 1.5s", ""])
})

test("createTreeRenderer() writes plain lines without a terminal, and one for each twentieth of a fan-out", () => {
  const terminal = createTerminal({ isTTY: false })
  const renderer = createTreeRenderer(terminal.screen, { detail: "normal" })
  renderer.handle(stepStarted("verify", "each", 100))
  for (let i = 0; i < 100; i++) {
    renderer.handle(stepStarted(`verify/${i}`, "agent"))
    renderer.handle(stepFinished(`verify/${i}`, "agent"))
  }
  renderer.handle(stepFinished("verify", "each"))
  renderer.close()
  const lines = terminal.written().trimEnd().split("\n")
  expect(lines).toHaveLength(22)
  expect(lines[0]).toBe("▸ verify 100 items")
  expect(lines[1]).toMatch(/^ {2}5\/100/)
  expect(lines.at(-1)).toBe("✓ verify 100/100 1.5s")
})

test("createTreeRenderer() says what a step does, cut to the width of a terminal only", () => {
  const title = "git diff main...HEAD -- src test docs and whatever else there is to look at"
  const started = event({ type: "step_started", id: "diff", kind: "sh", title })
  const [terminal, plain] = [createTerminal(), createTerminal({ isTTY: false })]
  for (const { screen } of [terminal, plain]) {
    const renderer = createTreeRenderer(screen, { detail: "normal" })
    for (const one of [started, stepFinished("diff", "sh")]) renderer.handle(one)
    renderer.close()
  }
  expect(terminal.lines()).toEqual(["✓ diff  git diff main...HEAD -- src test … 1.5s", ""])
  expect(plain.lines()).toEqual([`▸ diff  ${title}`, `✓ diff  ${title} 1.5s`, ""])
})

test("createTreeRenderer() in quiet says what failed and nothing else", () => {
  const terminal = createTerminal({ isTTY: false })
  const renderer = createTreeRenderer(terminal.screen, { detail: "quiet" })
  renderer.handle(stepStarted("a", "sh"))
  renderer.handle(stepFinished("a", "sh"))
  renderer.handle(stepStarted("b", "sh"))
  renderer.handle(stepFinished("b", "sh", "exit code 2"))
  renderer.close()
  expect(terminal.written()).toBe("✗ b 1.5s\n  tool exit code 2\n")
})
