import { expect, test } from "vitest"
import { type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const json = async (args: string[]) => JSON.parse((await place.run([...args, "--json"])).stdout)

test("sous config shows what is in force, where it comes from, and what is ignored", async () => {
  place.put("home/.claude/settings.json", `{\n  "model": "opus",\n  "theme": "dark"\n}`)
  place.put(
    "project/.sous/settings.json",
    `{\n  "permissions": {\n    "deny": ["WebFetch"],\n    "allow": ["Bash"] } }`,
  )
  const { code, stdout, stderr } = await place.run(["config"])
  expect(code).toBe(0)
  const lines = stdout.split("\n").map((line) => line.replace(/ {2,}/g, "  "))
  expect(lines).toContain("model  opus  user  ~/.claude/settings.json:2:3")
  expect(lines).toContain("permissions.deny  WebFetch  project  .sous/settings.json:3:14")
  expect(lines).toContain("permissions.denialLimit  10  default")
  expect(lines.slice(lines.indexOf("Ignored"))).toEqual([
    "Ignored",
    '  permissions.allow  ["Bash"]  project  .sous/settings.json:4:5  nobody has trusted this project',
    "  theme  dark  user  ~/.claude/settings.json:3:3  it means nothing here: colours on its screen",
    "",
  ])
  expect(stderr).toContain("! Left out, since nobody has trusted this project")
})

test("sous config explain tells all about one key", async () => {
  place.put("home/.claude/settings.json", `{ "model": "opus" }`)
  place.put("home/.config/sous/settings.yaml", "model: haiku\n")
  place.put("project/.sous/settings.json", `{ "model": "sonnet" }`)
  const { code, stdout, stderr } = await place.run(["config", "explain", "model"])
  expect(code).toBe(0)
  expect(stdout.split("\n").map((line) => line.replace(/ {2,}/g, "  "))).toEqual([
    "model  The model to use: an id or alias of the Anthropic API, script:FILE, cassette:FILE, or what a plugin provides.",
    "  value  haiku  user  ~/.config/sous/settings.yaml:1:1",
    "  beaten  opus  user  ~/.claude/settings.json:1:3",
    "  ignored  sonnet  project  .sous/settings.json:1:3  nobody has trusted this project",
    "  merge  the strongest scope's value counts: managed, CLI, local, project, user",
    "",
  ])
  expect(stderr).toContain("sets it too")
})

test("sous config goes by flags and by trust", async () => {
  place.put("project/.sous/settings.json", `{ "model": "sonnet", "permissions": { "allow": ["Read"] } }`)
  const found = await json(["config", "explain", "model", "--trust"])
  expect(found).toMatchObject({
    trust: "start",
    settings: [{ key: "model", value: "sonnet", by: { scope: "project" } }],
  })
  expect(await json(["config", "explain", "model", "--model", "opus", "--trust"])).toMatchObject({
    settings: [{ value: "opus", by: { scope: "cli" }, beaten: [{ value: "sonnet", scope: "project" }] }],
  })
  expect(await json(["config", "explain", "permissions.allow", "--allowed-tools", "Grep"])).toMatchObject({
    settings: [{ value: ["Grep"], ignored: [{ value: ["Read"] }] }],
  })
})

test("sous config shows what was granted here", async () => {
  const { stdout } = await place.run(["permissions", "--json"])
  const { grantsFile } = JSON.parse(stdout) as { grantsFile: string }
  const grants = [{ rule: "Bash(npm test)", at: "2026-01-02T00:00:00.000Z" }]
  place.put(grantsFile.slice(place.folder.length + 1), JSON.stringify({ version: 1, project: place.project, grants }))
  const { stdout: shown } = await place.run(["config"])
  expect(shown.replace(/ {2,}/g, "  ")).toContain("permissions.allow  Bash(npm test)  session (granted 2026-01-02)")
})

test("sous config refuses what it does not know", async () => {
  const cases: [string[], string, string][] = [
    [["config", "explain", "modle"], "SETTINGS_NAME_UNKNOWN", 'write "model"'],
    [["config", "explain"], "CLI_ARGUMENT_MISSING", "sous config explain"],
    [["config", "explain", "model", "effort"], "CLI_ARGUMENT_UNEXPECTED", "name one key"],
    [["config", "model"], "CLI_ARGUMENT_UNEXPECTED", 'write "sous config explain model"'],
    [["config", "explian", "model"], "CLI_ARGUMENT_UNEXPECTED", 'write "sous config explain"'],
    [["config", "show", "model"], "CLI_ARGUMENT_UNEXPECTED", 'write "sous config explain model"'],
    [["config", "--scope", "user"], "CLI_ARGUMENT_UNEXPECTED", "leave it out"],
  ]
  await Promise.all(
    cases.map(async ([args, code, mend]) => {
      const ended = await place.run(args)
      expect(ended).toMatchObject({ code: 2, stdout: "" })
      expect(ended.stderr).toContain(code)
      expect(ended.stderr).toContain(mend)
    }),
  )
})

test("sous config names a broken file, with its place", async () => {
  place.put("home/.claude/settings.json", `{ "permissions": { "deny": "Bash" } }`)
  const { code, stderr } = await place.run(["config"])
  expect(code).toBe(2)
  expect(stderr).toContain(".claude/settings.json:1:20 is wrong: expected a list of permission rules")
})

test("sous config and a prompt load settings that are code, of the person", async () => {
  place.put("home/.config/sous/settings.ts", `const model: string = "script:turn.yaml"\nexport default { model }\n`)
  place.put("project/turn.yaml", "turns:\n  - text: done\n")
  expect(await json(["config", "explain", "model"])).toMatchObject({ settings: [{ value: "script:turn.yaml" }] })
  expect((await place.run(["-p", "hi"])).stdout).toBe("done\n")
})
