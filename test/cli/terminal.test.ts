/**
 * The command line on a real terminal: what a person sees, and what the keys do.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { type Place, useCommand } from "./command.ts"
import { hasTmux, openTerminal, type Terminal } from "./tmux.ts"

let place: Place
let terminal: Terminal
useCommand(
  (fresh) => {
    place = fresh
    terminal = openTerminal(place)
  },
  { when: hasTmux },
)
afterEach(() => terminal?.close())

const TURNS = (line: string, then = "done") =>
  `turns:\n  - text: I will do it.\n    tool: { Bash: { command: ${JSON.stringify(line)} } }\n  - text: ${then}\n`

describe.skipIf(!hasTmux)("a prompt on a terminal", () => {
  it("streams the text, asks, and runs the call after y", async () => {
    place.put("project/turns.yaml", TURNS("touch made"))
    terminal.start(["Do it now", "--model", "script:turns.yaml"])
    const question = await terminal.shown("y once")
    expect(question.join("\n")).toMatch(
      /I will do it\.\n\? Bash wants to run.*\n {2}│ command: touch made\n {2}because /,
    )
    expect(existsSync(join(place.project, "made"))).toBe(false)
    terminal.press("y")
    const end = await terminal.shown("ended with 0")
    expect(end.join("\n")).toMatch(/allowed\n● Bash touch made … [\s\S]*\ndone\n✓ prompt ok · 2 turns/)
    expect(existsSync(join(place.project, "made"))).toBe(true)
  })

  it("tells the model why after n and a sentence", async () => {
    const expectation =
      "turns:\n  - tool: { Bash: { command: touch made } }\n  - expect: { last_user_contains: use rm instead }\n    text: I see\n"
    place.put("project/turns.yaml", expectation)
    terminal.start(["Do it now", "--model", "script:turns.yaml"])
    await terminal.shown("y once")
    terminal.press("n")
    await terminal.shown("a sentence for the model")
    terminal.type("use rm instead")
    terminal.press("Enter")
    expect((await terminal.shown("ended with 0")).join("\n")).toContain("I see")
    expect(existsSync(join(place.project, "made"))).toBe(false)
  })

  it("asks once for a, and never again in this session", async () => {
    place.put(
      "project/turns.yaml",
      "turns:\n  - tool: { Bash: { command: touch made } }\n  - tool: { Bash: { command: touch made } }\n  - text: done\n",
    )
    terminal.start(["Do it now", "--model", "script:turns.yaml"])
    await terminal.shown("a always")
    terminal.press("a")
    const end = await terminal.shown("ended with 0")
    expect(end.filter((line) => line.includes("wants to run"))).toHaveLength(1)
    expect(end.filter((line) => line.startsWith("● Bash"))).toHaveLength(2)
  })

  it("shows what a command hides", async () => {
    place.put("project/turns.yaml", TURNS("echo \u202e\u001b[2J hidden"))
    terminal.start(["Do it now", "--model", "script:turns.yaml"])
    expect((await terminal.shown("y once")).join("\n")).toContain("│ command: echo \\u{202e}\\u{1b}[2J hidden")
  })

  it("ends with 130 for Ctrl-C while it asks, and leaves the terminal as it was", async () => {
    place.put("project/turns.yaml", TURNS("touch made"))
    terminal.start(["Do it now", "--model", "script:turns.yaml"])
    await terminal.shown("y once")
    terminal.press("C-c")
    await terminal.shown("ended with 130")
    expect(existsSync(join(place.project, "made"))).toBe(false)
    expect(terminal.settings()).toMatch(/ icanon .* echo /s)
  })
})

describe.skipIf(!hasTmux)("a recipe on a terminal", () => {
  it("asks for what it wants, and shows its steps", async () => {
    place.put(
      "project/one.yaml",
      "name: one\ndescription: d\npermissions: { allow: ['Bash(touch made)'] }\nsteps:\n  - id: make\n    sh: touch made\n",
    )
    terminal.start(["run", "one.yaml"])
    const question = await terminal.shown("y yes")
    expect(question.slice(0, 2)).toEqual(["? Recipe one asks for", "  │ Bash(touch made)"])
    terminal.press("y")
    const end = (await terminal.shown("ended with 0")).join("\n")
    expect(end).toMatch(/✓ make {2}touch made [\d.]+s\n[\s\S]*✓ one ok · 0 turns/)
    expect(existsSync(join(place.project, "made"))).toBe(true)
  })
})
