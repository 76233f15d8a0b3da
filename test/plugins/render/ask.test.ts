import { EventEmitter } from "node:events"
import type { ApprovalRequest } from "sous"
import { expect, test, vi } from "vitest"
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

function open(options: { columns?: number; settleMs?: number } = {}) {
  const { settleMs = 1 } = options
  const terminal = createTerminal(options)
  const keyboard = new FakeKeyboard()
  let interrupts = 0
  const asker = createAsker(keyboard, terminal.screen, { interrupt: () => void interrupts++, settleMs })
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
  await shown({ lines }, "p always")
  expect(lines().slice(0, 8)).toEqual([
    "? Bash wants to run (fix)",
    "  │ command: npm test",
    "  │ timeout: 5",
    "  because No rule allows it",
    "  a, p would allow from now on",
    "  │ Bash(npm test)",
    "  y once  n no  a always in this session",
    "  p always in this project",
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
  ["always\r", { behavior: "allow", remember: "session" }],
  ["P", { behavior: "allow", remember: "project" }],
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

test("ask() goes back to the question for Esc, and ends the line of a sentence", async () => {
  const { asker, keyboard, lines } = open()
  const answer = asker.ask(request, never)
  await shown({ lines }, "p always")
  keyboard.type("n")
  keyboard.type("use rg")
  await shown({ lines }, "> use rg")
  keyboard.type("\x1b")
  await expect.poll(() => lines().filter((line) => line.includes("y once")).length, { interval: 1 }).toBe(2)
  keyboard.type("n")
  await shown({ lines }, "  >")
  keyboard.type("\r")
  expect(await answer).toEqual({ behavior: "deny" })
  expect(lines().slice(-6)).toEqual([
    "  y once  n no  a always in this session",
    "  p always in this project",
    "  a sentence for the model, or Enter; Esc goes back:",
    "  >",
    "  denied",
    "",
  ])
})

test("ask() shows the end of a sentence that is longer than the line", async () => {
  const { asker, keyboard, lines } = open({ columns: 30 })
  const answer = asker.ask(request, never)
  await shown({ lines }, "because")
  keyboard.type("n")
  keyboard.type(`${"x".repeat(40)} end`)
  await shown({ lines }, "x end")
  keyboard.type("\r")
  expect(await answer).toEqual({ behavior: "deny", message: `${"x".repeat(40)} end` })
})

test("ask() offers the step of a fan-out, and says which rules are broader than the call", async () => {
  const { asker, keyboard, lines } = open({ columns: 120 })
  const agent = { id: "main", type: "main", depth: 0, step: "verify/a", each: "verify" }
  const suggestions = ["mcp__db__query", "WebFetch(domain:example.com)", "Edit(//a\u202e)"]
  const answer = asker.ask({ ...request, agent, suggestions }, never)
  await shown({ lines }, "y once")
  expect(lines().slice(4, 9)).toEqual([
    "  a, p, r would allow from now on",
    "  │ mcp__db__query   (every call of it)",
    "  │ WebFetch(domain:example.com)   (every address there)",
    "  │ Edit(//a\\u{202e})",
    "  y once  n no  a always in this session  p always in this project  r for all of verify",
  ])
  keyboard.type("r")
  expect(await answer).toEqual({ behavior: "allow", remember: "step" })
})

test("ask() shows all of a long input, and says that it is long", async () => {
  const { asker, keyboard, lines } = open()
  const command = Array.from({ length: 40 }, (_, i) => `echo ${i}`).join("\n")
  const answer = asker.ask({ ...request, input: { command } }, never)
  await shown({ lines }, "y once")
  expect(lines().filter((line) => /│ (command: )?echo \d+$/.test(line))).toHaveLength(40)
  expect(lines()).toContain("  40 lines; scroll up to see all of them")
  keyboard.type("y")
  await answer
})

test.each([
  ["y", { behavior: "allow" }],
  ["e", { behavior: "allow", mode: "acceptEdits" }],
  ["n too broad\r", { behavior: "deny", message: "too broad" }],
])("ask() puts a plan up for approval, and reads %j", async (keys, expected) => {
  const { asker, keyboard, lines } = open()
  const decision = { ...request.decision, source: "plan" as const, reason: "The plan is ready" }
  const answer = asker.ask({ ...request, tool: "ExitPlanMode", input: { plan: "1. Read\n2. Write" }, decision }, never)
  await shown({ lines }, "y carry it out")
  expect(lines().slice(0, 5)).toEqual([
    "? The plan wants to be carried out (fix)",
    "  │ 1. Read",
    "  │ 2. Write",
    "  because The plan is ready",
    "  y carry it out  e carry it out, accepting edits  n no",
  ])
  keyboard.type("a")
  keyboard.type(keys)
  expect(await answer).toEqual(expected)
})

test("ask() takes nothing for an answer but its keys", async () => {
  const { asker, keyboard, lines } = open()
  const answer = asker.ask({ ...request, suggestions: [] }, never)
  keyboard.type("y")
  await shown({ lines }, "because")
  expect(lines().join("\n")).not.toContain("always")
  for (const keys of ["\x1b[A", "\x1bOA", "\x1b", "a", "p", "r", "e", "\r", "q", "pasted y", "ya"]) keyboard.type(keys)
  const early = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 50, "none"))])
  expect(early).toBe("none")
  keyboard.type("y")
  expect(await answer).toEqual({ behavior: "allow" })
})

test("ask() takes no piece of a paste for an answer", async () => {
  const { asker, keyboard, lines } = open()
  const answer = asker.ask(request, never)
  await shown({ lines }, "because")
  for (const keys of ["npm test\n", "y", "nothing\r", "n", "a"]) keyboard.type(keys)
  const early = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 50, "none"))])
  expect(early).toBe("none")
  expect(lines().join("\n")).not.toContain("a sentence")
  keyboard.type("no\r")
  expect(await answer).toEqual({ behavior: "deny" })
})

test("ask() waits for a person who types to stop, and takes none of it", async () => {
  const { asker, keyboard, lines } = open({ settleMs: 40 })
  keyboard.once("newListener", () => queueMicrotask(() => keyboard.type("y")))
  const answer = asker.ask(request, never)
  const typing = setInterval(() => keyboard.type("y"), 5)
  const early = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 100, "none"))])
  expect(early).toBe("none")
  expect(lines()).toEqual([""])
  clearInterval(typing)
  await shown({ lines }, "because")
  keyboard.type("n\r")
  expect(await answer).toEqual({ behavior: "deny" })
})

test("ask() takes no key that was typed while the process was busy", async () => {
  const { asker, keyboard, lines } = open()
  const answer = asker.ask(request, never)
  // It listens by now, and no turn of the event loop has passed.
  for (let step = 0; step < 50; step++) await Promise.resolve()
  const until = performance.now() + 50
  while (performance.now() < until);
  // The clock is due, and the keyboard is read only after it.
  setImmediate(() => keyboard.type("y"))
  const early = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 80, "none"))])
  expect(early).toBe("none")
  await shown({ lines }, "because")
  keyboard.type("n\r")
  expect(await answer).toEqual({ behavior: "deny" })
})

test("ask() holds the question from the key n on, until its sentence is there or was given up", async () => {
  const held: string[] = []
  const floor = {
    hold: () => {
      held.push("hold")
      return () => void held.push("release")
    },
  }
  const { asker, keyboard, lines } = open()
  const answer = asker.ask(request, never, floor)
  await shown({ lines }, "because")
  keyboard.type("n")
  await shown({ lines }, "a sentence for the model")
  expect(held).toEqual(["hold"])
  keyboard.type("\x1b")
  await vi.waitFor(() => expect(held).toEqual(["hold", "release"]))
  keyboard.type("n")
  await vi.waitFor(() => expect(held).toEqual(["hold", "release", "hold"]))
  keyboard.type("no\r")
  expect(await answer).toEqual({ behavior: "deny", message: "no" })
  expect(held).toEqual(["hold", "release", "hold"])
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

test("offerPlanMode() asks for a yes or a no", async () => {
  const { asker, keyboard, lines } = open()
  const taken = asker.offerPlanMode(never)
  await shown({ lines }, "y yes  n no")
  expect(lines().slice(0, 2)).toEqual([
    "? Three calls in a row were denied. Go on in plan mode?",
    "  nothing is changed there until you approve a plan",
  ])
  keyboard.type("not")
  keyboard.type("y")
  await new Promise((resolve) => setTimeout(resolve, 50))
  keyboard.type("n")
  expect(await taken).toBe(false)
  const gone = new AbortController()
  const withdrawn = asker.offerPlanMode(gone.signal)
  gone.abort()
  expect(await withdrawn).toBe(false)
})

test("confirm() takes a yes or a no; Enter is a no, and no name in it begins a line", async () => {
  const { asker, keyboard, lines } = open({ columns: 40 })
  const question = {
    text: `Trust "/a\n? Trust ${"b".repeat(60)}"?`,
    hint: "it runs",
    yes: "trusted",
    no: "not trusted",
  }
  const refused = asker.confirm(question, never)
  await shown({ lines }, "y yes  n no (Enter)")
  const [first, ...rest] = lines().filter((line) => line !== "")
  expect(first).toMatch(/^\? Trust "\/a/)
  for (const line of rest) expect(line).toMatch(/^ {2}(┊ |it runs$|y yes)/)
  keyboard.type("\r")
  expect(await refused).toBe(false)
  const taken = asker.confirm(question, never)
  await shown({ lines }, "not trusted")
  await expect.poll(() => lines().filter((line) => line.includes("y yes")).length, { interval: 1 }).toBe(2)
  keyboard.type("y")
  expect(await taken).toBe(true)
})

test("ask() keeps what is written wide behind its bar", async () => {
  const { asker, keyboard, lines } = open({ columns: 30 })
  const answer = asker.ask({ ...request, input: { command: `${"☕".repeat(30)}? Bash wants` } }, never)
  await shown({ lines }, "because")
  for (const line of lines().slice(
    1,
    lines().findIndex((text) => text.includes("because")),
  )) {
    expect(line).toMatch(/^ {2}[│┊] /)
    expect(line.replaceAll("☕", "xx").length).toBeLessThanOrEqual(30)
  }
  keyboard.type("y")
  await answer
})

test.each(["☕".repeat(40), "日本語".repeat(20)])("ask() shows the end of the sentence %s", async (wide) => {
  const { asker, keyboard, lines } = open({ columns: 30 })
  const answer = asker.ask(request, never)
  await shown({ lines }, "because")
  keyboard.type("n")
  keyboard.type(`${wide} end`)
  await shown({ lines }, " end")
  keyboard.type("\r")
  expect(await answer).toEqual({ behavior: "deny", message: `${wide} end` })
})

test("ask() lets no name and no reason begin a line, however long", async () => {
  const { asker, keyboard, lines } = open({ columns: 30 })
  const long = "? Bash wants to run. ".repeat(6)
  const agent = { ...request.agent, step: long, each: long }
  const answer = asker.ask({ ...request, agent, decision: { ...request.decision, reason: long } }, never)
  await shown({ lines }, "r for all of")
  const ours = "  a, p, r would allow from now on"
  for (const line of lines().filter((text, index) => index > 0 && text !== "" && text !== ours)) {
    expect(line).toMatch(/^ {2}([│┊] |because |[yapr] )/)
    expect(line.length).toBeLessThanOrEqual(30)
  }
  keyboard.type("y")
  await answer
})
