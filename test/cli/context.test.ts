import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeEach, describe, expect, test } from "vitest"
import { finished, type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

beforeEach(() => {
  place.put("project/AGENTS.md", "Always say please.\n")
  place.put("project/big.txt", "A line of the big file, which says little.\n".repeat(600))
  place.put(
    "script.yaml",
    `turns:\n${"  - tool: { Read: { file_path: big.txt } }\n".repeat(6)}  - text: I have read it six times\n`,
  )
  place.put("sum.yaml", "unused: ignore\nturns:\n  - text: |-\n      Goal: read the big file\n")
})

const script = (name: string) => ["--model", `script:${join(place.folder, name)}`]

/** Runs a prompt that reads; returns the id of its session, and its file. */
async function session(): Promise<{ id: string; file: string; text: () => string }> {
  const ended = await place.run(["-p", "Read the big file", ...script("script.yaml"), "-A"])
  expect(ended).toMatchObject({ code: 0, stderr: "" })
  const projects = join(place.home, ".local/state/sous/projects")
  const [project] = readdirSync(projects)
  const folder = join(projects, project!, "sessions")
  const [name] = readdirSync(folder).filter((one) => one.endsWith(".jsonl"))
  const file = join(folder, name!)
  return { id: name!.slice(0, -".jsonl".length), file, text: () => readFileSync(file, "utf8") }
}

describe("sous context", () => {
  test("shows what a new conversation here begins with, as a bar and a table", async () => {
    const { code, stdout, stderr } = await place.run(["context", ...script("script.yaml")])
    expect([code, stderr]).toEqual([0, ""])
    expect(stdout).toMatch(/^A new conversation here · script:.* · 200\.0k tokens\n\[S+T+[A-Z]*·+x+\]\n/)
    for (const row of ["S  system prompt", "T  tools, \\d+", "in use", "·  free", "x  reserve, for an answer"])
      expect(stdout).toMatch(new RegExp(`^ +${row} +[\\d.]+k? +[\\d.]+ %$`, "m"))
    expect(stdout).not.toContain("Grep")
    expect((await place.run(["context", "--verbose"])).stdout).toMatch(/^ +Grep +\d+ /m)
  })

  test("shows a stored session by its id or the start of it, for machines too", async () => {
    const { id, text } = await session()
    const before = text()
    const { stdout } = await place.run(["context", id])
    expect(stdout).toContain(`Session ${id}, 14 messages · script:`)
    expect(stdout).toMatch(/^ {2}R {2}tool results, 6 +[\d.]+k/m)
    expect(stdout).toMatch(/of it were counted by the model\n$/)
    const { stdout: json } = await place.run(["context", id.slice(0, -2), "--json"])
    const found = JSON.parse(json)
    expect(found).toMatchObject({ session: id, messages: 14, window: 200_000, warnings: [] })
    expect(found.parts.reduce((sum: number, { tokens }: any) => sum + tokens, 0)).toBe(found.tokens)
    expect(text()).toBe(before)
  })

  test.each([
    [["context", "nothing"], "SESSION_UNKNOWN"],
    [["context", "a", "b"], "CLI_ARGUMENT_UNEXPECTED"],
    [["context", "--tools", "Raed"], "TOOL_UNKNOWN"],
    [["context", "--focus", "x"], "CLI_FLAG_UNKNOWN"],
    [["compact"], "SESSION_NONE"],
    [["compact", "nothing", "--try", "cut"], "SESSION_UNKNOWN"],
    [["compact", "--try="], "CLI_VALUE_INVALID"],
  ])("refuses %j with %s", async (words, code) => {
    const ended = await place.run(words)
    expect(ended).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(`code  ${code}`) })
  })
})

describe("sous compact", () => {
  test("with --try says what would be kept, dropped and saved, and changes nothing", async () => {
    const { id, text } = await session()
    const before = text()
    const args = ["--try", "cut", ...script("sum.yaml"), "--settings", '{"compact":{"threshold":0.1,"keep":2000}}']
    const { code, stdout, stderr } = await place.run(["compact", ...args])
    expect([code, stderr]).toEqual([0, ""])
    expect(stdout).toMatch(new RegExp(`^cut would save [\\d.]+k of [\\d.]+k tokens \\(\\d+ %\\) of session ${id};`))
    expect(stdout).toMatch(/^kept +\d+ messages? as they are\ndropped +\d+ messages?, and \d+ results? of those/m)
    expect(stdout).toMatch(/^tool results +[\d.]+k +[\d.]+k?$/m)
    const { stdout: json } = await place.run(["compact", id, "--json", ...args])
    const found = JSON.parse(json)
    expect(found).toMatchObject({ session: id, strategy: "cut", ok: true })
    expect(found.kept + found.gone).toBe(14)
    expect(found.after.tokens).toBeLessThan(found.before.tokens * 0.8)
    const wrong = await place.run(["compact", "--try", "cuts", ...script("sum.yaml")])
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("code  COMPACTION_UNKNOWN") })
    expect(text()).toBe(before)
  })

  test("makes room in the newest session, which then goes on with less", async () => {
    const { id, text } = await session()
    const before = text()
    const tokens = async () => JSON.parse((await place.run(["context", id, "--json"])).stdout).tokens
    const full = await tokens()
    const settings = ["--settings", '{"compact":{"strategy":"cut","keep":2000}}']
    const { code, stdout } = await place.run(["compact", "--focus", "the end", ...script("sum.yaml"), ...settings])
    expect([code, stdout]).toEqual([0, expect.stringContaining("compacted")])
    expect(text().startsWith(before)).toBe(true)
    expect(await tokens()).toBeLessThan(full * 0.8)
  })

  test("is refused while the session is written, but may be looked at", async () => {
    place.put("slow.yaml", "turns:\n  - tool: { Bash: { command: echo begun; sleep 60 } }\n")
    const running = place.start(["-p", "Wait", "--json", ...script("slow.yaml"), "-A"])
    const ended = finished(running)
    let told = ""
    await new Promise<void>((resolve) => {
      running.stdout.on("data", (chunk) => {
        told += chunk
        if (told.includes('"type":"permission"')) resolve()
      })
    })
    const locked = await place.run(["compact", ...script("sum.yaml")])
    expect(locked).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("code  SESSION_LOCKED") })
    const { id } = JSON.parse(told.split("\n")[0]!).session
    expect((await place.run(["context", id])).stdout).toContain(`Session ${id}, `)
    running.kill("SIGTERM")
    await ended
  })

  test("is refused inside a run", async () => {
    const { id, text } = await session()
    const before = text()
    const inside = await place.run(["compact", id], { more: { SOUS_SESSION_ID: "x" } })
    expect(inside).toMatchObject({ code: 2, stderr: expect.stringContaining("code  CLI_INSIDE_RUN") })
    expect(text()).toBe(before)
  })
})
