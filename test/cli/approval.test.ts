/**
 * Questions on a real terminal: what a person sees before answering, and what each key does.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, test } from "vitest"
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

type Turn = { run?: string; plan?: string; expect?: string; text?: string }

/** Writes the turns of a model, and starts a prompt with it. */
function startPrompt(turns: readonly Turn[], options: { args?: string[]; columns?: number; rows?: number } = {}) {
  const list = turns.map(({ run, plan, expect, text }) => ({
    ...(expect === undefined ? {} : { expect: { last_user_contains: expect } }),
    ...(run === undefined ? {} : { tool: { Bash: { command: run } } }),
    ...(plan === undefined ? {} : { tool: { ExitPlanMode: { plan } } }),
    ...(text === undefined ? {} : { text }),
  }))
  place.put("project/turns.yaml", JSON.stringify({ turns: list }))
  terminal.start(["Do it now", "--model", "script:turns.yaml", ...(options.args ?? [])], options)
}

const done = { text: "done" }
const made = (...names: string[]) => names.map((name) => existsSync(join(place.project, name)))

describe.skipIf(!hasTmux)("what is shown", () => {
  test("is whole on twenty columns, behind bars, however long", async () => {
    const run = `touch ${Array.from({ length: 60 }, (_, i) => `file-${i}`).join(" ")}`
    startPrompt([{ run }, done], { columns: 20, rows: 12 })
    const lines = await terminal.shown("p always in this")
    const from = lines.findIndex((line) => line.includes("command: "))
    const to = lines.findIndex((line) => line.includes("because"))
    const text = lines.slice(from, to).join("\n")
    expect(
      text
        .replace(/\n {2}┊ ?/g, "")
        .replace(/^ {2}│ command: ?/, "")
        .replace(/\n[\s\S]*/, "")
        .replaceAll(" ", ""),
    ).toBe(run.replaceAll(" ", ""))
    const barred = lines.slice(from, to).filter((line) => /^ {2}[│┊]/.test(line))
    expect(Math.max(...barred.map((line) => line.length))).toBeLessThanOrEqual(20)
    terminal.press("y")
    await terminal.shown("ended with 0")
    expect(made("file-59")).toEqual([true])
  })

  test("names the reason, and one rule for each segment that needs one", async () => {
    startPrompt([{ run: "touch one && ls && touch two" }, done])
    const text = (await terminal.shown("p always")).join("\n")
    expect(text).toContain("  because No rule allows the command")
    expect(text).toContain("  a, p would allow from now on\n  │ Bash(touch one)\n  │ Bash(touch two)\n  y once")
    terminal.press("a")
    await terminal.shown("ended with 0")
    expect(made("one", "two")).toEqual([true, true])
  })

  test("hides nothing: control characters, turned text, blanks, halves of characters", async () => {
    startPrompt([{ run: "echo \u0007\u001b]0;x\u202eab\u00a0c\ud800 é 日本" }, done], { args: ["--deny-net"] })
    const text = (await terminal.shown("y once")).join("\n")
    expect(text).toContain("echo \\u{7}\\u{1b}]0;x\\u{202e}ab\\u{a0}c")
    expect(text).toContain("é 日本")
    // What a rule cannot say exactly is not offered as one.
    expect(text).not.toContain("always")
    terminal.press("n", "Enter")
    await terminal.shown("ended with")
  })
})

describe.skipIf(!hasTmux)("the keys", () => {
  test("typed before the question answer nothing", async () => {
    startPrompt([{ run: "touch made" }, done])
    terminal.type("yyyayp")
    terminal.press("Enter")
    terminal.type("y")
    await terminal.shown("y once")
    terminal.type("nonsense y")
    terminal.press("F1", "Up", "Space", "Enter")
    // A key that is no answer is not shown; the question stands until one is.
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(made("made")).toEqual([false])
    terminal.press("n")
    await terminal.shown("a sentence for the model")
    terminal.press("Enter")
    await terminal.shown("ended with 0")
    expect(made("made")).toEqual([false])
  })

  test("n takes a sentence in any script, corrected, on a terminal that was made narrow", async () => {
    const sentence = "nein, nimm ‘rg’ für 日本語 👩 instead of it all"
    startPrompt([{ run: "touch made" }, { expect: sentence, text: "I see" }])
    await terminal.shown("y once")
    terminal.tmux("resize-window", "-x", "24", "-y", "20")
    terminal.press("n")
    await terminal.shown("a sentence for")
    terminal.type(`${sentence}x`)
    terminal.press("BSpace", "Enter")
    const text = (await terminal.shown("ended with 0")).join("\n")
    expect(text).toContain("I see")
    expect(text).toMatch(/instead of it all\n/)
  })

  test("p holds for the next run, is listed, and leaves nothing in the project", async () => {
    startPrompt([{ run: "touch 'a*b' c" }, done])
    await terminal.shown("Bash(touch 'a\\*b' c)")
    terminal.press("p")
    await terminal.shown("ended with 0")
    expect(readdirSync(place.project).sort()).toEqual([".git", "a*b", "c", "turns.yaml"])
    const again = await place.run(["-p", "Do it now", "--model", "script:turns.yaml", "--json"])
    expect(again.stdout).not.toContain('"approval_requested"')
    expect(again.code).toBe(0)
    const listed = JSON.parse((await place.run(["permissions", "--json"])).stdout)
    expect(listed.grants).toMatchObject([{ number: 1, rule: "Bash(touch 'a\\*b' c)" }])
    // Not the wildcard that it looks like.
    place.put("project/turns.yaml", JSON.stringify({ turns: [{ tool: { Bash: { command: "touch axb c" } } }, done] }))
    const other = await place.run(["-p", "Do it now", "--model", "script:turns.yaml"])
    expect(other.stderr).toContain("denied")
    expect(made("axb")).toEqual([false])
  })

  test("r holds for all items of the fan-out", async () => {
    const step = { id: "all", each: { items: ["1", "2", "3"], concurrency: 1 }, sh: "touch made" }
    place.put("project/fan.yaml", JSON.stringify({ name: "fan", description: "d", steps: [step] }))
    terminal.start(["run", "fan.yaml"])
    await terminal.shown("r for all of all")
    terminal.press("r")
    const lines = await terminal.shown("ended with 0")
    expect(lines.filter((line) => line.includes("wants to run"))).toHaveLength(1)
  })

  test("answer three questions that are open at once, each for itself", async () => {
    const parallel = Object.fromEntries(["one", "two", "three"].map((name) => [name, { sh: `touch ${name}` }]))
    const steps = [{ id: "all", parallel }]
    place.put("project/three.yaml", JSON.stringify({ name: "three", description: "d", steps }))
    terminal.start(["run", "three.yaml"])
    await terminal.shown("(2 more waiting)")
    // Steps at the same time ask in no certain order.
    for (let asked = 1; asked <= 3; asked++) {
      const lines = await terminal.shown(new RegExp(`(?:y once[^]*){${asked}}`))
      const [, name] = /.*touch (\w+)/s.exec(lines.join("\n"))!
      terminal.press(name === "two" ? "n" : "y")
      if (name !== "two") continue
      await terminal.shown("a sentence for the model")
      terminal.press("Enter")
    }
    await terminal.shown("ended with 4")
    expect(made("one", "two", "three")).toEqual([true, false, true])
  })
})

describe.skipIf(!hasTmux)("Ctrl-C and SIGTERM", () => {
  test.each([
    ["C-c", 130],
    ["kill", 143],
  ])("%s while a sentence is written leaves the terminal and the session whole", async (how, code) => {
    startPrompt([{ run: "touch made" }, done])
    await terminal.shown("y once")
    terminal.press("n")
    await terminal.shown("a sentence for the model")
    terminal.type("half a sen")
    await terminal.shown("> half a sen")
    if (how === "kill") process.kill(terminal.pid(), "SIGTERM")
    else terminal.press(how)
    const lines = await terminal.shown(`ended with ${code}`)
    expect(lines.at(-1)).toBe(`ended with ${code}`)
    expect(lines.join("\n")).not.toMatch(/\^C|\x1b|denied/)
    expect(terminal.settings()).toMatch(/ icanon .* echo /s)
    expect(made("made")).toEqual([false])
    const state = join(place.home, ".local/state/sous/projects")
    const files = readdirSync(state, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".jsonl"))
    expect(files.length).toBeGreaterThan(0)
    for (const file of files) {
      const text = readFileSync(join(state, file), "utf8")
      expect(text.endsWith("\n")).toBe(true)
      for (const line of text.trimEnd().split("\n")) JSON.parse(line)
    }
  })
})

describe.skipIf(!hasTmux)("plan mode", () => {
  const plan = "1. Make the file\n2. Check it"

  test("y carries the plan out in the mode from before", async () => {
    startPrompt([{ run: "touch early" }, { plan }, { expect: "approved", run: "touch made" }, done], {
      args: ["--mode", "plan"],
    })
    const text = (await terminal.shown("y carry it out")).join("\n")
    expect(text).toContain("  │ 1. Make the file\n  │ 2. Check it\n")
    terminal.press("y")
    await terminal.shown(/command: touch made[\s\S]*y once/)
    terminal.press("y")
    await terminal.shown("ended with 0")
    expect(made("early", "made")).toEqual([false, true])
  })

  test("n and a sentence keep it on", async () => {
    startPrompt([{ plan }, { expect: "too broad", run: "touch made" }, { expect: "plan mode", text: "done" }], {
      args: ["--mode", "plan"],
    })
    await terminal.shown("y carry it out")
    terminal.press("n")
    await terminal.shown("a sentence for the model")
    terminal.type("too broad")
    terminal.press("Enter")
    await terminal.shown("ended with 0")
    expect(made("made")).toEqual([false])
  })

  test("is offered after three denials in a row, and y takes it", async () => {
    const run = "touch made"
    startPrompt([{ run }, { run }, { run }, { expect: "Plan mode is on", run }, { expect: "plan mode", text: "done" }])
    for (let count = 1; count <= 3; count++) {
      await terminal.shown(new RegExp(`(?:y once[\\s\\S]*){${count}}`))
      terminal.press("n")
      await terminal.shown(new RegExp(`(?:a sentence for[\\s\\S]*){${count}}`))
      terminal.press("Enter")
    }
    await terminal.shown("Three calls in a row were denied. Go on in plan mode?")
    terminal.press("y")
    const lines = await terminal.shown("ended with 0")
    expect(lines.filter((line) => line.includes("wants to run"))).toHaveLength(3)
    expect(made("made")).toEqual([false])
  })
})
