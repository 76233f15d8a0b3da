import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { realpathSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"
import { useSettingsPlace } from "./place.ts"

const place = useSettingsPlace()
const { put, load } = place

const USER = "home/.config/sous/settings.json"
const PROJECT = "project/.sous/settings.json"

test("loadSettings() reads every scope: the stronger one's value stands", async () => {
  put(USER, `{ "model": "user", "effort": "low", "maxTurns": 1 }`)
  put(PROJECT, `{ "model": "project", "effort": "high" }`)
  put("project/.sous/settings.local.yaml", "model: local\n")
  put("etc/settings.yaml", "fallbackModel: managed\n")
  const { settings, files } = await load({ trust: true })
  expect(settings).toMatchObject({ model: "local", effort: "high", maxTurns: 1, fallbackModel: "managed" })
  expect(files.map(({ scope }) => scope)).toEqual(["managed", "local", "project", "user"])
})

test("loadSettings() puts flags above --settings, and managed settings above both", async () => {
  put("etc/settings.json", `{ "maxTurns": 7 }`)
  const { settings } = await load({
    settings: `{ "model": "from settings", "effort": "low", "maxTurns": 99 }`,
    flags: { model: "from flag", maxTurns: 50 },
  })
  expect(settings).toMatchObject({ model: "from flag", effort: "low", maxTurns: 7 })
})

test("loadSettings() reads --settings from a file, relative to the current directory", async () => {
  put("project/my.yaml", "model: mine\n")
  expect((await load({ settings: "my.yaml" })).settings.model).toBe("mine")
  await expect(load({ settings: "other.yaml" })).rejects.toMatchObject({ code: "SETTINGS_FILE_UNREADABLE" })
})

test("loadSettings() reads --settings from a pipe to its end, and waits for none that nobody writes to", async () => {
  const pipe = join(place.folder, "pipe.json")
  execFileSync("mkfifo", [pipe])
  // A reader and a writer at once, so that none of them waits for the other; the writer takes its time.
  const writer = spawn("bash", [
    "-c",
    `exec 3<>"$1"; echo ok; echo '{ "model":' >&3; sleep 0.2; echo '"piped" }' >&3; sleep 0.2`,
    "_",
    pipe,
  ])
  await once(writer.stdout, "data")
  expect((await load({ settings: pipe })).settings.model).toBe("piped")
  await expect(load({ settings: pipe })).rejects.toMatchObject({ code: "SETTINGS_FILE_BROKEN" })
})

test.each([
  ["json", `{\n  // a comment\n  "permissions": {\n    "deny": ["Read",\n      "Bash(rm *)",],\n  },\n}`, 5, 7],
  ["yaml", "# a comment\npermissions:\n  deny:\n    - Read\n    - Bash(rm *)\n", 5, 7],
])("loadSettings() knows file, line and column of a rule in .%s", async (ending, text, line, column) => {
  const file = put(`home/.config/sous/settings.${ending}`, text)
  const { settings } = await load()
  expect(settings.permissions.rules[1]).toEqual({
    text: "Bash(rm *)",
    behavior: "deny",
    scope: "user",
    file,
    line,
    column,
  })
})

test.each([
  ["json", `{\n  "model": "x",\n  "permisions": {}\n}`, 3, 3],
  ["yaml", "model: x\npermisions: {}\n", 2, 1],
])(
  "loadSettings() refuses an unknown key in .%s with the nearest name and its place",
  async (ending, text, line, column) => {
    const file = put(`home/.config/sous/settings.${ending}`, text)
    await expect(load()).rejects.toMatchObject({
      code: "SETTINGS_KEY_UNKNOWN",
      message: `Unknown setting "permisions" at ${file}:${line}:${column}`,
      mend: 'write "permissions"',
    })
  },
)

test("loadSettings() knows where a key belongs that stands at the wrong place", async () => {
  put(USER, `{ "allow": ["Read"] }`)
  await expect(load()).rejects.toMatchObject({ code: "SETTINGS_KEY_UNKNOWN", mend: 'write "permissions.allow"' })
})

test.each([
  [`{\n  "model": "x"\n  "effort": "low"\n}`, 3, 3, "comma expected"],
  [`{\n  "model": "x",\n  "model": "y"\n}`, 3, 3, 'the key "model" is given twice'],
  [`{ "__proto__": { "model": "x" } }`, 1, 3, 'no key may be "__proto__"'],
])("loadSettings() refuses the broken JSON %j with its place", async (text, line, column, problem) => {
  const file = put(USER, text)
  await expect(load()).rejects.toMatchObject({
    code: "SETTINGS_FILE_BROKEN",
    details: { file, line, column, problem },
    mend: `correct ${file}:${line}:${column}`,
  })
})

test("loadSettings() refuses broken YAML with its place", async () => {
  const file = put("home/.config/sous/settings.yaml", "model: x\nenv: [a\n")
  await expect(load()).rejects.toMatchObject({ code: "SETTINGS_FILE_BROKEN", details: { file, line: 3 } })
})

test.each([
  [`{ "maxTurns": "many" }`, "maxTurns", "expected number, received string"],
  [`{ "maxTurns": 0 }`, "maxTurns", "too small: expected number to be >0"],
  [
    `{ "permissions": { "rules": ["Bash(*)"] } }`,
    "permissions.rules.0",
    'expected "allow RULE", "ask RULE" or "deny RULE"',
  ],
  [`[]`, "", "expected object, received array"],
])("loadSettings() refuses the value in %s", async (text, key, problem) => {
  put(USER, text)
  await expect(load()).rejects.toMatchObject({ code: "SETTINGS_VALUE_INVALID", details: { key, problem } })
})

test.each([
  [`{ "effort": "hihg" }`, 'write "high"'],
  [`{ "permissions": { "defaultMode": "acceptEdit" } }`, 'write "acceptEdits"'],
  [`{ "permissions": { "defaultMode": "yolo" } }`, /^choose one of default, manual, /],
  [`{ "permissions": { "deny": "Bash(rm *)" } }`, 'write ["Bash(rm *)"]'],
  [`{ "maxTurns": "many" }`, /^correct .*settings\.json:1:3$/],
])("loadSettings() says what to write instead in %s", async (text, mend) => {
  put(USER, text)
  await expect(load()).rejects.toMatchObject({
    code: "SETTINGS_VALUE_INVALID",
    mend: typeof mend === "string" ? mend : expect.stringMatching(mend),
  })
})

test("loadSettings() takes from an untrusted project only what tightens, and names the rest in one warning", async () => {
  const project = put(
    PROJECT,
    `{ "model": "evil", "permissions": { "allow": ["Bash"], "deny": ["WebFetch"], "rules": ["allow Bash(*)", "deny Edit"] } }`,
  )
  const local = put("project/.sous/settings.local.json", `{ "env": { "PATH": "/evil" } }`)
  const plugin = put("project/.sous/plugins/evil.ts", "throw new Error()")
  const { settings, warnings } = await load()
  expect(settings.model).toBeUndefined()
  expect(settings.env).toEqual({})
  expect(settings.permissions.rules.map(({ behavior, text }) => `${behavior} ${text}`)).toEqual([
    "deny WebFetch",
    "deny Edit",
  ])
  expect(warnings).toEqual([
    `Left out, since nobody has trusted this project: env of "${local}"; model, permissions.allow, permissions.rules of "${project}"; evil.ts of "${dirname(plugin)}". Look at it and say yes with "sous trust", or --trust applies it for this start`,
  ])
})

test("loadSettings() keeps the place of an ordered rule whose neighbour was left out", async () => {
  put(PROJECT, `{ "permissions": { "rules": [\n"allow Bash(*)",\n"deny Edit"] } }`)
  expect((await load()).settings.permissions.rules).toMatchObject([{ text: "Edit", line: 3 }])
})

test("loadSettings() applies a trusted project whole, without a warning", async () => {
  put(PROJECT, `{ "model": "theirs", "permissions": { "allow": ["Bash"] } }`)
  const { settings, warnings } = await load({ trust: true })
  expect(settings.model).toBe("theirs")
  expect(warnings).toEqual([])
})

test("loadSettings() says which of two files of one scope it does not read", async () => {
  put(USER, `{ "model": "json" }`)
  const yaml = put("home/.config/sous/settings.yaml", "model: yaml\n")
  const code = put("home/.config/sous/settings.ts", "export default {}")
  const toml = put("home/.config/sous/settings.toml", "")
  const { settings, warnings } = await load()
  expect(settings.model).toBe("json")
  expect(warnings).toEqual([
    `"${yaml}" is not read: "settings.json" beside it is`,
    `"${code}" is not read: "settings.json" beside it is`,
    `"${toml}" is not read: only .json, .yaml, .yml, .ts are`,
  ])
})

test("loadSettings() runs nothing that lies in the current directory", async () => {
  const cwd = join(place.folder, "project")
  for (const name of [".config/config.js", ".config/config.cjs", ".config/sousrc.js", "sous.config.js", ".sousrc.js"]) {
    put(`project/${name}`, `require("node:fs").writeFileSync(${JSON.stringify(join(place.folder, "ran"))}, "")`)
  }
  const before = process.cwd()
  process.chdir(cwd)
  try {
    await load()
  } finally {
    process.chdir(before)
  }
  expect(() => realpathSync(join(place.folder, "ran"))).toThrow("ENOENT")
})
