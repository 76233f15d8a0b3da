/**
 * `sous rewind` from outside: what it lists, shows and asks, what it refuses, and that a kill in the middle costs nothing.
 */
import { once } from "node:events"
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { afterEach, describe, expect, it } from "vitest"
import { checkpointPlace } from "../../core/session/checkpoint.ts"
import { readLog } from "../../core/session/checkpoint-log.ts"
import { rewind as carryOut } from "../../core/session/rewind.ts"
import { planRewind } from "../../core/session/rewind-plan.ts"
import { holdSession } from "../../core/session/session-lock.ts"
import { sessionFile, sessionsFolder } from "../../core/session/session-place.ts"
import { snapshot } from "../core/session/kept-session.ts"
import { type Place, useCommand } from "./command.ts"
import { hasTmux, openTerminal, type Terminal } from "./tmux.ts"

let place: Place
let terminal: Terminal | undefined
useCommand((fresh) => {
  place = fresh
})
afterEach(() => terminal?.close())

const TURNS = `turns:
  - tool: { Read: { file_path: a.txt } }
  - tool: { Edit: { file_path: a.txt, old_string: one, new_string: two } }
  - tool: { Bash: { command: touch by-shell } }
  - tool: { Write: { file_path: new/b.txt, content: "b\\n" } }
  - text: done
`

const sessions = () => sessionsFolder(join(place.home, ".local/state/sous"), place.project)
const idOf = () =>
  readdirSync(sessions())
    .find((name) => name.endsWith(".jsonl"))!
    .replace(".jsonl", "")
const tree = () => {
  const found = snapshot(place.project)
  for (const path of Object.keys(found)) if (/^\.git\b|^turns\.yaml$/.test(path)) delete found[path]
  return found
}
const rewind = (...args: string[]) => place.run(["rewind", ...args])

/** A session of five turns. */
async function play(turns = TURNS): Promise<void> {
  place.put("project/turns.yaml", turns)
  place.put("project/a.txt", "zero\r\none\r\n")
  chmodSync(join(place.project, "a.txt"), 0o640)
  const { code, stderr } = await place.run(["-p", "Change them", "--model", "script:turns.yaml", "-A"])
  expect([code, stderr]).toEqual([0, expect.anything()])
}

describe("sous rewind", () => {
  it("lists the turns with the files that each changed", async () => {
    await play()
    const { code, stdout } = await rewind()
    expect(code).toBe(0)
    expect(stdout).toBe(`Session ${idOf()}, its turns and the files that each changed
   0 before the first
     > Change them
   1 no files
   2 a.txt
   3 1 shell command
   4 new/b.txt, new
   5 no files
`)
    const listed = JSON.parse((await rewind(idOf(), "--json")).stdout)
    expect(listed.session).toBe(idOf())
    expect(listed.turns[2]).toMatchObject({ turn: 2, files: [join(place.project, "a.txt")], commands: 0 })
  })

  it("shows a diff and what it cannot undo, goes back with --yes, and takes that back", async () => {
    const before = "file 640 zero\r\none\r\n"
    await play()
    const then = tree()
    const unasked = await rewind("1")
    expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining("REWIND_NOT_ASKED") })
    expect(tree()).toEqual(then)
    const { code, stdout, stderr } = await rewind("1", "--yes")
    expect(code).toBe(0)
    expect(stdout).toBe(`--- a.txt
+++ a.txt
@@ -1,2 +1,2 @@
 zero\\r
-two\\r
+one\\r
--- new
+++ /dev/null
folder becomes nothing
--- new/b.txt
+++ /dev/null
file of mode 0644 becomes nothing
@@ -1,1 +0,0 @@
-b
Not undone: what 1 shell command changed that ran since that turn (Bash 1)
The conversation goes back to the end of turn 1
`)
    expect(stderr).toContain(`3 paths are as before, the conversation is at the end of turn 1\n`)
    expect(stderr).toContain(`Take it back: sous rewind ${idOf()} --undo`)
    expect(tree()).toEqual({ "a.txt": before, "by-shell": then["by-shell"] })
    expect(await rewind("1", "--yes")).toMatchObject({ code: 0, stderr: "There is nothing to put back\n" })
    const undone = JSON.parse((await rewind("--undo", "--yes", "--json")).stdout)
    expect(undone).toMatchObject({ done: true, turns: 5 })
    expect(tree()).toEqual(then)
    expect(await rewind("--undo", "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("REWIND_NOTHING_TO_UNDO"),
    })
  })

  it("goes on from where it went back to, with what had been read there", async () => {
    await play()
    await rewind("2", "--yes")
    const edit = "{ Edit: { file_path: a.txt, old_string: two, new_string: three } }"
    place.put("project/turns.yaml", `turns:\n  - tool: ${edit}\n  - text: done\n`)
    const { code } = await place.run(["-p", "On", "--continue", "--model", "script:turns.yaml", "-A"])
    expect(code).toBe(0)
    expect(tree()["a.txt"]).toBe("file 640 zero\r\nthree\r\n")
    expect((await rewind()).stdout).toMatch(/ 2 a\.txt\n {5}> On\n {3}3 a\.txt\n {3}4 no files\n$/)
  })

  it("refuses what a person changed since until it is forced", async () => {
    await play()
    writeFileSync(join(place.project, "a.txt"), "mine")
    const refused = await rewind("0", "--yes", "--json")
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("REWIND_CHANGED_SINCE") })
    writeFileSync(join(place.project, "a.txt"), "m".repeat(5000))
    expect((await rewind("0", "--yes")).stdout).toContain("m… 3001 characters more\n")
    writeFileSync(join(place.project, "a.txt"), "mine")
    expect(JSON.parse(refused.stdout)).toMatchObject({ done: false })
    expect(existsSync(join(place.project, "new/b.txt"))).toBe(true)
    expect((await rewind("0", "--yes", "--force", "--code")).code).toBe(0)
    expect(readFileSync(join(place.project, "a.txt"), "utf8")).toBe("zero\r\none\r\n")
    expect((await rewind("--undo", "--yes")).code).toBe(0)
    expect(readFileSync(join(place.project, "a.txt"), "utf8")).toBe("mine")
  })

  it("refuses turns and sessions that are not there, and words that do not go together", async () => {
    await play("turns:\n  - text: done\n")
    const cases: [string[], string][] = [
      [["7"], "REWIND_TURN_UNKNOWN"],
      [["nobody", "1"], "SESSION_UNKNOWN"],
      [["--force"], "CLI_ARGUMENT_MISSING"],
      [["1", "--undo"], "CLI_FLAGS_CONFLICT"],
      [["nobody", "one"], "CLI_VALUE_INVALID"],
    ]
    const answers = await Promise.all(cases.map(async ([args]) => await rewind(...args)))
    for (const [index, [, code]] of cases.entries())
      expect(answers[index]).toMatchObject({ code: 2, stderr: expect.stringContaining(code) })
    expect((await rewind("1", "4f9a1c")).stderr).toContain("put the session first: sous rewind 4f9a1c 1")
  })

  it("refuses inside of a run, while the session is at work, from elsewhere, and with a log that is none", async () => {
    await play()
    const inside = await place.run(["rewind", "1", "--yes"], { more: { SOUS_SESSION_ID: "s" } })
    expect(inside).toMatchObject({ code: 2, stderr: expect.stringContaining("CLI_INSIDE_RUN") })
    const release = await holdSession(sessions(), idOf())
    expect(await rewind("1", "--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining("SESSION_LOCKED") })
    await release()
    const elsewhere = await place.run(["rewind", idOf(), "1", "--yes"], { cwd: place.home })
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining("SESSION_ELSEWHERE") })
    writeFileSync(checkpointPlace(join(sessions(), idOf())).log, "nonsense\n")
    expect(await rewind()).toMatchObject({ code: 2, stderr: expect.stringContaining("CHECKPOINT_LOG_BROKEN") })
  })

  it("is finished by doing it again when it is killed in the middle", async () => {
    const names = Array.from({ length: 60 }, (_, index) => `made/${index % 7}/f${index}.txt`)
    const countFiles = () => names.filter((path) => existsSync(join(place.project, path))).length
    const uses = names.map((path) => `{ tool: { Write: { file_path: ${path}, content: "${path}" } } }`)
    await play(`turns:\n  - content: [${uses.join(", ")}]\n  - text: done\n`)
    const id = idOf()
    const checkpoints = checkpointPlace(join(sessions(), id))
    const subject = { id, file: sessionFile(sessions(), id), checkpoints }
    const full = tree()
    const goBack = async () => await carryOut(await planRewind(subject, { turn: 0 }))
    await goBack()
    const empty = tree()
    let cut = 0
    for (const files of [1, 30]) {
      const child = place.start(["rewind", "--undo", "--yes"])
      const ended = once(child, "close")
      // Each file goes to the disk before the next one, which takes its time.
      while (countFiles() < files && child.exitCode === null) await delay(1)
      child.kill("SIGKILL")
      await ended
      if (countFiles() < names.length) cut++
      const last = (await readLog(checkpoints.log)).at(-1)
      if (last?.type !== "rewound") await carryOut(await planRewind(subject, "undo"))
      expect(tree()).toEqual(full)
      await goBack()
      expect(tree()).toEqual(empty)
    }
    expect(cut).toBeGreaterThan(0)
  })

  it.skipIf(!hasTmux)("asks on a terminal, and leaves all as it is after a no", async () => {
    await play()
    const then = tree()
    terminal = openTerminal(place)
    terminal.start(["rewind", "1"])
    await terminal.shown("Put it back as shown?")
    terminal.press("n")
    await terminal.shown("ended with 1")
    expect(tree()).toEqual(then)
    terminal.start(["rewind", "1"])
    await terminal.shown("Put it back as shown?")
    terminal.press("y")
    await terminal.shown("ended with 0")
    expect(existsSync(join(place.project, "new"))).toBe(false)
    rmSync(join(place.project, "by-shell"))
  })
})
