/**
 * Settings that change while a run is at work, from outside: the built command, real files, and hands that write them.
 */
import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { describe, expect, it } from "vitest"
import { finished, type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const USER = "home/.config/sous/settings.json"
const permissions = (lists: object) => JSON.stringify({ permissions: lists }, null, 2)
/** Goes on once the file `go` is there. */
const WAIT = "sh wait.sh"
const ALLOW = ["Bash(touch *)", `Bash(${WAIT})`, "Agent"]

interface Line {
  type: string
  name?: string
  input?: { command?: string }
  isError?: boolean
  preview?: string
  message?: string
  code?: string
}

/** Runs a script of turns; while its first command waits, the change is made. */
async function runWith(
  turns: object[],
  change: () => void,
): Promise<{ results: Line[]; notices: Line[]; code: number }> {
  place.put("project/turns.json", JSON.stringify({ turns }))
  place.put("project/wait.sh", "until test -e go; do sleep 0.02; done\n")
  const child = place.start(["-p", "Go", "--model", "script:turns.json", "--json"])
  const lines: Line[] = []
  const reading = (async () => {
    for await (const text of createInterface({ input: child.stdout })) {
      const line = JSON.parse(text) as Line
      lines.push(line)
      if (line.type !== "tool_use" || line.input?.command !== WAIT) continue
      change()
      place.put("project/go", "")
    }
  })()
  const [{ code }] = await Promise.all([finished(child), reading])
  const of = (type: string) => lines.filter((line) => line.type === type)
  expect(of("tool_result")[0]).toMatchObject({ isError: false })
  return { results: of("tool_result").filter(({ name }) => name === "Bash"), notices: of("notice"), code: code ?? -1 }
}

const bash = (command: string) => ({ tool: { Bash: { command } } })
const TURNS = [bash(WAIT), bash("touch two"), { text: "done" }]
const DENIED = /The rule "Bash\(touch two\)" \(\w+ settings, .*settings\.json:\d+\) denies/

describe("a change while a command of turn 1 is at work, and a call in turn 2", () => {
  it("is refused by a deny rule that the change brought", async () => {
    place.put(USER, permissions({ allow: ALLOW }))
    const { results, notices } = await runWith(TURNS, () =>
      place.put("project/.sous/settings.json", permissions({ deny: ["Bash(touch two)"] })),
    )
    expect(results[0]).toMatchObject({ isError: false, preview: "(no output)" })
    expect(results[1]).toMatchObject({ isError: true, preview: expect.stringMatching(DENIED) })
    expect(notices.map(({ message }) => message)).toEqual([
      expect.stringContaining('holds: deny rule "Bash(touch two)"'),
    ])
  })

  it("is refused by the rule that a file had before it broke, and the place is told once", async () => {
    const good = permissions({ allow: ALLOW, deny: ["Bash(touch two)"] })
    place.put(USER, good)
    const { results, notices } = await runWith(
      [bash(WAIT), bash("touch two"), bash("touch two"), { text: "done" }],
      () => place.put(USER, good.replace("deny", "denny")),
    )
    expect(results.slice(1).map(({ preview }) => preview)).toEqual(
      [DENIED, DENIED].map((text) => expect.stringMatching(text)),
    )
    expect(notices).toEqual([expect.objectContaining({ level: "warning", code: "SETTINGS_KEY_UNKNOWN" })])
    expect(notices[0]!.message).toMatch(
      /"permissions\.denny" at .*settings\.json:\d+:\d+; what was in force before stays/,
    )
  })

  it.each([
    ["is emptied", ""],
    ["breaks", '{ "permissions": '],
  ])("is refused by a new rule of the person's own, though a file of the trusted project %s", async (_, text) => {
    place.put(USER, permissions({}))
    place.put("project/.sous/settings.json", permissions({ allow: ALLOW }))
    expect((await place.run(["trust", "--yes"])).code).toBe(0)
    const { results, notices } = await runWith(TURNS, () => {
      place.put("project/.sous/settings.json", text)
      place.put(USER, permissions({ deny: ["Bash(touch two)"] }))
    })
    expect(results[1]!.preview).toMatch(DENIED)
    expect(notices.map(({ code }) => code)).toEqual(["SETTINGS_FILE_BROKEN", undefined])
  })

  it.each([
    ["taken out", () => place.put(USER, permissions({ allow: ALLOW }))],
    ["gone with its file", () => rmSync(join(place.folder, USER))],
  ])("is refused by a deny rule that was %s", async (_, change) => {
    place.put(USER, permissions({ allow: ALLOW, deny: ["Bash(touch two)"] }))
    const { results, notices } = await runWith(TURNS, change)
    expect(results[1]!.preview).toMatch(DENIED)
    expect(notices).toHaveLength(1)
  })

  it("is asked about when its allow rule was taken out: nobody is here, so it is denied", async () => {
    place.put(USER, permissions({ allow: ALLOW }))
    const { results } = await runWith(TURNS, () => place.put(USER, permissions({ allow: ALLOW.slice(1) })))
    expect(results[1]!.preview).toMatch(/No rule allows the command "touch two", and nobody can answer here/)
  })

  it("is not allowed by a rule that came", async () => {
    place.put(USER, permissions({ allow: ALLOW.slice(1) }))
    const { results, notices } = await runWith(TURNS, () => place.put(USER, permissions({ allow: ALLOW })))
    expect(results[1]!.preview).toMatch(/No rule allows/)
    expect(notices[0]!.message).toMatch(/of effect from the next start on: allow rule "Bash\(touch \*\)"/)
  })

  it("is refused to a subagent that was at work before", async () => {
    place.put(USER, permissions({ allow: ALLOW }))
    const turns = [
      { when: { last_user_contains: "Go" }, tool: { Agent: { description: "part", prompt: "the part" } } },
      { when: { last_user_contains: "the part" }, ...bash(WAIT) },
      { when: { last_user_contains: "no output" }, ...bash("touch two") },
      { when: { last_user_contains: "denies" }, text: "could not" },
      { when: { last_user_contains: "could not" }, text: "done" },
    ]
    const { results, code } = await runWith(turns, () =>
      place.put("project/.sous/settings.local.json", permissions({ deny: ["Bash(touch two)"] })),
    )
    expect(results.map(({ preview }) => DENIED.test(preview!.replace(".local", "")))).toEqual([false, true])
    expect(code).toBe(0)
  })

  it("is refused by a guard that came to the person's own hooks, whatever the project brings meanwhile", async () => {
    place.put(USER, permissions({ allow: ALLOW }))
    const hooks = (command: string) => JSON.stringify({ hooks: { PreToolUse: [{ matcher: "Bash", command }] } })
    const { results } = await runWith(TURNS, () => {
      place.put("home/.config/sous/.hooks.json", hooks("echo not today >&2; exit 1"))
      place.put("project/.hooks.json", hooks(`touch ${place.folder}/ran`))
    })
    expect(results[1]!.preview).toContain("not today")
    expect(() => rmSync(join(place.folder, "ran"))).toThrow(/ENOENT/)
  })
})

it("a hook of the person writes the rule that the next turn goes by, and ConfigChange tells of it", async () => {
  const deny = permissions({ deny: ["Bash(touch two)"] })
  place.put(USER, permissions({ allow: ALLOW }))
  place.put("home/write.sh", `mkdir -p .sous; cat > .sous/settings.json <<'END'\n${deny}\nEND\n`)
  place.put(
    "home/.config/sous/.hooks.json",
    JSON.stringify({
      hooks: {
        PostToolUse: [{ matcher: "Bash", command: `sh ${place.home}/write.sh`, once: true }],
        ConfigChange: [{ command: `cat > ${place.home}/told` }],
      },
    }),
  )
  place.put("project/turns.json", JSON.stringify({ turns: [bash("touch one"), bash("touch two"), { text: "done" }] }))
  const { stdout } = await place.run(["-p", "Go", "--model", "script:turns.json", "--json"])
  expect(stdout).toMatch(/The rule \\"Bash\(touch two\)\\" \(project settings, .*:4\) denies/)
  expect(JSON.parse(readFileSync(join(place.home, "told"), "utf8"))).toMatchObject({
    hook_event_name: "ConfigChange",
    scope: "project",
    source: "project_settings",
    file_path: join(place.project, ".sous/settings.json"),
  })
})
