/**
 * The command line on a real terminal: what a person sees, and what the keys do.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { createCommand, type Place } from "./command.ts"

const hasTmux = spawnSync("tmux", ["-V"]).status === 0
let command: ReturnType<typeof createCommand>
let place: Place

beforeAll(() => {
  if (hasTmux) command = createCommand()
}, 60_000)
afterAll(() => command?.remove())
beforeEach(() => {
  if (hasTmux) place = command.place()
})
afterEach(() => void (hasTmux && spawnSync("tmux", ["-S", join(place.folder, "tmux"), "kill-server"])))

/** Each test has a server of its own. */
function tmux(...args: string[]): string {
  return execFileSync("tmux", ["-S", join(place.folder, "tmux"), "-f", "/dev/null", ...args], { encoding: "utf8" })
}

/** Starts the command in a terminal of 80 by 30 that stays open after it. */
function start(args: string[]): void {
  const words = [process.execPath, place.file, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
  const line = `HOME=${place.home} ${words.join(" ")}; echo "ended with $?"; exec sleep 60`
  tmux("new-session", "-d", "-x", "80", "-y", "30", "-c", place.project, line)
}

/** Waits for a text on the screen; returns its lines. */
async function shown(text: string): Promise<string[]> {
  let lines: string[] = []
  await expect
    .poll(
      () => {
        lines = tmux("capture-pane", "-p", "-J").trimEnd().split("\n")
        return lines.join("\n")
      },
      { interval: 20, timeout: 10_000 },
    )
    .toContain(text)
  return lines
}

const TURNS = (line: string, then = "done") =>
  `turns:\n  - text: I will do it.\n    tool: { Bash: { command: ${JSON.stringify(line)} } }\n  - text: ${then}\n`

describe.skipIf(!hasTmux)("a prompt on a terminal", () => {
  it("streams the text, asks, and runs the call after y", async () => {
    place.put("project/turns.yaml", TURNS("touch made"))
    start(["Do it now", "--model", "script:turns.yaml"])
    const question = await shown("y once")
    expect(question.join("\n")).toMatch(
      /I will do it\.\n\? Bash wants to run.*\n {2}│ command: touch made\n {2}because /,
    )
    expect(existsSync(join(place.project, "made"))).toBe(false)
    tmux("send-keys", "y")
    const end = await shown("ended with 0")
    expect(end.join("\n")).toMatch(/allowed\n● Bash touch made … [\s\S]*\ndone\n✓ prompt ok · 2 turns/)
    expect(existsSync(join(place.project, "made"))).toBe(true)
  })

  it("tells the model why after n and a sentence", async () => {
    const expectation =
      "turns:\n  - tool: { Bash: { command: touch made } }\n  - expect: { last_user_contains: use rm instead }\n    text: I see\n"
    place.put("project/turns.yaml", expectation)
    start(["Do it now", "--model", "script:turns.yaml"])
    await shown("y once")
    tmux("send-keys", "n")
    await shown("a sentence for the model")
    tmux("send-keys", "-l", "use rm instead")
    tmux("send-keys", "Enter")
    expect((await shown("ended with 0")).join("\n")).toContain("I see")
    expect(existsSync(join(place.project, "made"))).toBe(false)
  })

  it("asks once for a, and never again in this session", async () => {
    place.put(
      "project/turns.yaml",
      "turns:\n  - tool: { Bash: { command: touch made } }\n  - tool: { Bash: { command: touch made } }\n  - text: done\n",
    )
    start(["Do it now", "--model", "script:turns.yaml"])
    await shown("a always")
    tmux("send-keys", "a")
    const end = await shown("ended with 0")
    expect(end.filter((line) => line.includes("wants to run"))).toHaveLength(1)
    expect(end.filter((line) => line.startsWith("● Bash"))).toHaveLength(2)
  })

  it("shows what a command hides", async () => {
    place.put("project/turns.yaml", TURNS("echo \u202e\u001b[2J hidden"))
    start(["Do it now", "--model", "script:turns.yaml"])
    expect((await shown("y once")).join("\n")).toContain("│ command: echo \\u{202e}\\u{1b}[2J hidden")
  })

  it("ends with 130 for Ctrl-C while it asks, and leaves the terminal as it was", async () => {
    place.put("project/turns.yaml", TURNS("touch made"))
    start(["Do it now", "--model", "script:turns.yaml"])
    await shown("y once")
    tmux("send-keys", "C-c")
    await shown("ended with 130")
    expect(existsSync(join(place.project, "made"))).toBe(false)
    const tty = tmux("display-message", "-p", "#{pane_tty}").trim()
    expect(execFileSync("stty", ["-F", tty, "-a"], { encoding: "utf8" })).toMatch(/ icanon .* echo /s)
  })
})

describe.skipIf(!hasTmux)("a recipe on a terminal", () => {
  it("asks for what it wants, and shows its steps", async () => {
    place.put(
      "project/one.yaml",
      "name: one\ndescription: d\npermissions: { allow: ['Bash(touch made)'] }\nsteps:\n  - id: make\n    sh: touch made\n",
    )
    start(["run", "one.yaml"])
    const question = await shown("y yes")
    expect(question.slice(0, 2)).toEqual(["? Recipe one asks for", "  │ Bash(touch made)"])
    tmux("send-keys", "y")
    const end = (await shown("ended with 0")).join("\n")
    expect(end).toMatch(/✓ make {2}touch made [\d.]+s\n[\s\S]*✓ one ok · 0 turns/)
    expect(existsSync(join(place.project, "made"))).toBe(true)
  })
})
