/**
 * Sessions from outside: prompts that go on, `sous sessions`, and cleaning.
 */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { saveConsent } from "../../core/session/session-clean.ts"
import { projectFolder } from "../../core/session/store.ts"
import { type Place, useCommand } from "./command.ts"
import { hasTmux, openTerminal, type Terminal } from "./tmux.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const state = () => join(place.home, ".local/state/sous")
const folderOf = (project = place.project) => join(projectFolder(state(), project), "sessions")
const ids = (project?: string) =>
  readdirSync(folderOf(project))
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => name.replace(".jsonl", ""))
const model = () => ["--model", `script:${place.put("turns.yaml", "turns:\n  - text: one\n")}`]
const prompt = (text: string, ...flags: string[]) => place.run(["-p", text, ...model(), ...flags])

/** A session as a prompt leaves it. */
function plant(id: string, words: string, { runs = [id], cwd = place.project } = {}): string {
  const entries = [
    { type: "session", version: 1, cwd },
    ...runs.map((run) => ({ type: "run", run, folder: join(folderOf(cwd), "../runs", run), words })),
    { type: "ended", turns: 1 },
  ]
  const lines = entries.map((one, at) => ({ uuid: `${at}`, parentUuid: at > 0 ? `${at - 1}` : null, ts: "", ...one }))
  mkdirSync(folderOf(cwd), { recursive: true })
  writeFileSync(join(folderOf(cwd), `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
  for (const run of runs) mkdirSync(join(folderOf(cwd), "../runs", run), { recursive: true })
  return id
}
const [FIRST, SECOND] = ["20260101-000000000-00000a", "20260101-000000000-00000b"]

/** As if nobody had written to it for so many days. */
function age(id: string, days: number, project?: string): void {
  const then = new Date(Date.now() - days * 86_400_000)
  utimesSync(join(folderOf(project), `${id}.jsonl`), then, then)
}
const forgetLook = () => {
  const then = new Date(Date.now() - 2 * 86_400_000)
  appendFileSync(join(state(), "cleaning.json"), "", { mode: 0o600 })
  utimesSync(join(state(), "cleaning.json"), then, then)
}

describe("a prompt that goes on", () => {
  it("takes --continue, --resume with an id or the end of one, and --fork", async () => {
    expect((await prompt("First words here")).code).toBe(0)
    const [id = ""] = ids()
    for (const flags of [["--continue"], ["-c"], ["--resume", id], ["-r", id.slice(-6)]])
      expect(await prompt("More", ...flags)).toMatchObject({ code: 0 })
    expect(ids()).toEqual([id])
    expect((await prompt("Other", "-c", "--fork")).code).toBe(0)
    expect(ids()).toHaveLength(2)
    const listed = JSON.parse((await place.run(["sessions", "--json"])).stdout).sessions
    expect(listed.map(({ turns, words, folder }: any) => [turns, words, folder])).toEqual([
      [6, "First words here", place.project],
      [5, "First words here", place.project],
    ])
  })

  it("says which sessions there are when none is named and nobody can choose", async () => {
    const id = plant(FIRST, "First words here")
    const { code, stderr } = await prompt("More", "--resume")
    expect(code).toBe(2)
    expect(stderr).toContain("SESSION_NOT_NAMED")
    expect(stderr).toContain(id)
  })

  it("is refused for a recipe, for one who works inside of a run, and without a session", async () => {
    const one = place.put("one.yaml", "name: one\ndescription: One\nsteps:\n  - id: one\n    value: 1\n")
    expect((await place.run(["run", one, "--continue"])).stderr).toContain("CLI_FLAG_OF_PROMPT")
    expect((await prompt("More", "--continue")).stderr).toContain("SESSION_NONE")
    const inside = await place.run(["-p", "x", ...model(), "-c"], { more: { SOUS_SESSION_ID: "x" } })
    expect(inside).toMatchObject({ code: 2, stderr: expect.stringContaining("CLI_INSIDE_RUN") })
    expect((await prompt("More", "--fork")).stderr).toContain("SESSION_REQUEST_INVALID")
  })
})

describe("sous sessions", () => {
  it("lists those of this folder, or of all, newest first", async () => {
    expect((await place.run(["sessions"])).stderr).toContain("There are no sessions in this folder")
    const other = join(place.folder, "other")
    mkdirSync(other)
    plant(FIRST, "Older\nwords")
    age(FIRST, 1)
    plant(FIRST, "Elsewhere", { cwd: other })
    plant(SECOND, "Newer words")
    const here = (await place.run(["sessions"])).stdout.trimEnd().split("\n")
    expect(here).toEqual([
      expect.stringMatching(/^2\S+-[0-9a-f]{6} {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}1 turn {2}\d+ KiB {2}Newer words$/),
      expect.stringMatching(/Older words$/),
    ])
    const all = (await place.run(["sessions", "--all"])).stdout
    expect(all.trimEnd().split("\n")).toHaveLength(3)
    expect(all).toContain(`${other}`)
  })

  it("deletes what is named, with all that was kept for it, and nothing while it is at work", async () => {
    const first = plant(FIRST, "One")
    const second = plant(SECOND, "Two", { runs: [FIRST, SECOND] })
    mkdirSync(join(folderOf(), second))
    const runs = join(folderOf(), "../runs")
    writeFileSync(join(folderOf(), `${first}.holder`), "half")
    expect((await place.run(["sessions", "rm", first])).stderr).toContain("SESSION_LOCKED")
    expect((await place.run(["sessions", "rm", second, "nobody"])).stderr).toContain("SESSION_UNKNOWN")
    expect(ids()).toEqual([first, second])
    expect(await place.run(["sessions", "rm", second])).toMatchObject({ code: 0, stdout: `deleted  ${second}\n` })
    const third = plant(SECOND, "Two", { runs: [] })
    const told = await place.run(["sessions", "rm", third, third.slice(-6), "--json"])
    expect([told.code, JSON.parse(told.stdout)]).toEqual([0, { deleted: [third] }])
    expect(readdirSync(folderOf()).sort()).toEqual([`${first}.holder`, `${first}.jsonl`])
    // The run of the original is read by it, too.
    expect(readdirSync(runs)).toEqual([first])
  })

  it("refuses what it does not know, and any deletion from inside of a run", async () => {
    for (const [args, code] of [
      [["sessions", "lst"], "CLI_ARGUMENT_UNEXPECTED"],
      [["sessions", "rm"], "CLI_ARGUMENT_MISSING"],
      [["sessions", "list", "--yes"], "CLI_ARGUMENT_UNEXPECTED"],
      [["sessions", "clean", "--days", "0"], "CLI_VALUE_INVALID"],
    ] as const)
      expect((await place.run([...args])).stderr).toContain(code)
    const inside = await place.run(["sessions", "clean", "--yes"], { more: { SOUS_SESSION_ID: "x" } })
    expect(inside.stderr).toContain("CLI_INSIDE_RUN")
  })

  it("cleans what is old, of all folders, when it is told to", async () => {
    const old = plant(FIRST, "Old")
    plant(SECOND, "New")
    age(old, 31)
    const asked = await place.run(["sessions", "clean"])
    expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining("clean --yes") })
    expect(ids()).toHaveLength(2)
    expect((await place.run(["sessions", "clean", "--days", "40", "--yes"])).stderr).toContain("older than 40 days")
    expect(await place.run(["sessions", "clean", "--yes"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^deleted {2}1 session, \d+ KiB\n$/),
    })
    expect(ids()).not.toContain(old)
    expect(ids()).toHaveLength(1)
    // Nobody was asked, so nothing was agreed to.
    expect(existsSync(join(state(), "cleaning.json"))).toBe(false)
  })

  it("says what is old and what was deleted to machines", async () => {
    const clean = async (...flags: string[]) => {
      const { code, stdout } = await place.run(["sessions", "clean", "--json", ...flags])
      return [code, JSON.parse(stdout)]
    }
    expect(await clean()).toEqual([0, { days: 30, old: [], deleted: [] }])
    const old = plant(FIRST, "Old")
    age(old, 31)
    const found = expect.objectContaining({ id: old, words: "Old" })
    expect(await clean()).toEqual([1, { days: 30, old: [found], deleted: [] }])
    expect(await clean("--yes", "--days", "29")).toEqual([0, { days: 29, old: [found], deleted: [old] }])
    expect(ids()).toEqual([])
  })
})

describe("cleaning by itself", () => {
  it("tells how to allow it, once a day, and deletes nothing before that", async () => {
    const old = plant(FIRST, "Old")
    await prompt("First")
    age(old, 31)
    const notice = '1 session older than 30 days: "sous sessions clean"'
    expect((await prompt("New")).stderr).not.toContain(notice)
    forgetLook()
    expect((await prompt("New")).stderr).toContain(notice)
    expect((await prompt("New")).stderr).not.toContain(notice)
    expect(ids()).toContain(old)
    expect(statSync(join(state(), "cleaning.json")).mode & 0o777).toBe(0o600)
  })

  it("deletes what gets old once a person has agreed", async () => {
    await saveConsent(state(), "yes")
    const later = plant(SECOND, "Later")
    age(later, 31)
    forgetLook()
    expect((await prompt("Now")).stderr).toContain("Deleted 1 session older than 30 days")
    expect(ids()).not.toContain(later)
    expect(existsSync(join(folderOf(), "../runs", later))).toBe(false)
  })
})

describe.skipIf(!hasTmux)("at a terminal", () => {
  let terminal: Terminal
  beforeEach(() => {
    terminal = openTerminal(place)
  })
  afterEach(() => terminal?.close())

  it("chooses a session by its number", async () => {
    const id = plant(FIRST, "First one")
    age(id, 1)
    plant(SECOND, "Second one")
    terminal.start(["More words", ...model(), "--resume"])
    const shown = (await terminal.shown("a number, or Enter for none")).join("\n")
    expect(shown).toMatch(/1 .*Second one\n.*2 .*First one/)
    terminal.press("2")
    await terminal.shown("ended with 0")
    expect(readFileSync(join(folderOf(), `${id}.jsonl`), "utf8")).toContain('"words":"More words"')
  })

  it("asks once whether what is old may go, and remembers the answer", async () => {
    age(plant(FIRST, "Old"), 31)
    forgetLook()
    terminal.start(["New words", ...model()])
    expect((await terminal.shown("Delete it?")).join("\n")).toMatch(/1 session is older than 30 days/)
    terminal.press("n")
    await terminal.shown("ended with 0")
    expect(ids()).toHaveLength(2)
    expect(JSON.parse(readFileSync(join(state(), "cleaning.json"), "utf8"))).toMatchObject({ consent: "no" })
  })
})
