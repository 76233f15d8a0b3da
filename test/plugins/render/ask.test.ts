import { EventEmitter } from "node:events"
import type { ApprovalRequest } from "sous"
import { expect, test } from "vitest"
import { createAsker, type Keyboard } from "../../../plugins/render/ask.ts"
import { createTerminal } from "./screen.ts"

class FakeKeyboard extends EventEmitter implements Keyboard {
  raw = false
  reading = false
  setRawMode(raw: boolean) {
    this.raw = raw
  }
  setEncoding() {}
  resume() {
    this.reading = true
  }
  pause() {
    this.reading = false
  }
  type(text: string) {
    this.emit("data", text)
  }
}

function open(options: { columns?: number } = {}) {
  const terminal = createTerminal(options)
  const keyboard = new FakeKeyboard()
  let interrupts = 0
  const asker = createAsker(keyboard, terminal.screen, { interrupt: () => void interrupts++, settleMs: 1 })
  return { ...terminal, keyboard, asker, interrupts: () => interrupts }
}

const request: ApprovalRequest = {
  id: "t1",
  tool: "Bash",
  input: { command: "npm test", timeout: 5 },
  decision: { behavior: "ask", source: "approval", reason: "No rule allows it", trace: [] },
  agent: { id: "a1", type: "main", depth: 0, step: "fix" },
  suggestions: ["Bash(npm test)"],
}
const never = new AbortController().signal

/** Waits until a line with this text stands on the terminal. */
async function shown(terminal: { lines(): string[] }, text: string): Promise<void> {
  await expect.poll(() => terminal.lines().some((line) => line.includes(text)), { interval: 1 }).toBe(true)
}

test("ask() shows tool, whole input, reason and keys", async () => {
  const { asker, keyboard, lines, ...terminal } = open()
  const answer = asker.ask(request, never)
  await shown({ lines }, "because")
  expect(lines().slice(0, 5)).toEqual([
    "? Bash wants to run (fix)",
    "  │ command: npm test",
    "  │ timeout: 5",
    "  because No rule allows it",
    "  y once  n no  a always in this session: Bash(npm test)",
  ])
  expect(keyboard).toMatchObject({ raw: true, reading: true })
  keyboard.type("y")
  expect(await answer).toEqual({ behavior: "allow" })
  expect(keyboard).toMatchObject({ raw: false, reading: false })
  expect(terminal.interrupts()).toBe(0)
})

test("ask() shows what could hide or pass for our own text", async () => {
  const { asker, keyboard, lines } = open({ columns: 30 })
  const command = `ls \u202e\x1b[2K\n  y once  n no\n${"x".repeat(40)}`
  const answer = asker.ask({ ...request, input: { command } }, never)
  await shown({ lines }, "because")
  expect(lines().slice(1, 6)).toEqual([
    "  │ command: ls \\u{202e}\\u{1",
    "  ┊ b}[2K",
    "  │   y once  n no",
    `  │ ${"x".repeat(24)}`,
    `  ┊ ${"x".repeat(16)}`,
  ])
  keyboard.type("y")
  await answer
})

test.each([
  ["y", { behavior: "allow" }],
  ["Yes\r", { behavior: "allow" }],
  ["a", { behavior: "allow", remember: "session" }],
  ["n\r", { behavior: "deny" }],
  ["n use rg\r", { behavior: "deny", message: "use rg" }],
  ["no, use rg\r", { behavior: "deny", message: "use rg" }],
])("ask() reads %j", async (keys, expected) => {
  const { asker, keyboard, lines } = open()
  const answer = asker.ask(request, never)
  await shown({ lines }, "because")
  keyboard.type(keys)
  expect(await answer).toEqual(expected)
})

test("ask() reads a sentence for the model, with corrections", async () => {
  const { asker, keyboard, lines } = open()
  const answer = asker.ask(request, never)
  await shown({ lines }, "because")
  keyboard.type("n")
  await shown({ lines }, "a sentence for the model")
  for (const key of ["u", "s", "x", "\x7f", "e rg"]) keyboard.type(key)
  await shown({ lines }, "> use rg")
  keyboard.type("\r")
  expect(await answer).toEqual({ behavior: "deny", message: "use rg" })
})

test("ask() takes nothing for an answer but its keys", async () => {
  const { asker, keyboard, lines } = open()
  const answer = asker.ask({ ...request, suggestions: [] }, never)
  keyboard.type("y")
  await shown({ lines }, "because")
  expect(lines().join("\n")).not.toContain("always")
  for (const keys of ["\x1b[A", "\x1bOA", "a", "\r", "q", "pasted y"]) keyboard.type(keys)
  const early = await Promise.race([answer, new Promise((resolve) => setImmediate(resolve, "none"))])
  expect(early).toBe("none")
  keyboard.type("y")
  expect(await answer).toEqual({ behavior: "allow" })
})

test("ask() puts several questions one after another, and says how many wait", async () => {
  const { asker, keyboard, lines } = open()
  const answers = [asker.ask(request, never), asker.ask({ ...request, tool: "Edit" }, never)]
  await shown({ lines }, "(1 more waiting)")
  expect(lines().join("\n")).not.toContain("Edit")
  keyboard.type("y")
  await shown({ lines }, "Edit wants to run")
  keyboard.type("n\r")
  expect(await Promise.all(answers)).toEqual([{ behavior: "allow" }, { behavior: "deny" }])
})

test("ask() ends without an answer when the signal fires or the keyboard is gone", async () => {
  const { asker, keyboard, lines } = open()
  const aborter = new AbortController()
  const aborted = asker.ask(request, aborter.signal)
  await shown({ lines }, "because")
  aborter.abort()
  expect(await aborted).toBeUndefined()
  expect(keyboard.raw).toBe(false)
  const ended = asker.ask({ ...request, tool: "Edit" }, never)
  await shown({ lines }, "Edit")
  keyboard.emit("end")
  expect(await ended).toBeUndefined()
  expect(keyboard.listenerCount("data")).toBe(0)
})

test("ask() hands Ctrl-C on", async () => {
  const { asker, keyboard, lines, interrupts } = open()
  const answer = asker.ask(request, never)
  await shown({ lines }, "because")
  keyboard.type("\x03")
  expect(interrupts()).toBe(1)
  keyboard.type("n\r")
  await answer
})

test("grant() lists what a recipe asks for", async () => {
  const { asker, keyboard, lines } = open()
  const recipe = { name: "green", allow: ["Read", "Bash(npm test)"] }
  const granted = asker.grant(recipe, never)
  await shown({ lines }, "y yes  n no")
  expect(lines().slice(0, 3)).toEqual(["? Recipe green asks for", "  │ Read", "  │ Bash(npm test)"])
  keyboard.type("y")
  expect(await granted).toBe(true)
})
