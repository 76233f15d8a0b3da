import { execFileSync } from "node:child_process"
import { closeSync, ftruncateSync, mkdirSync, openSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { beforeEach, expect, test } from "vitest"
import { suppressionOf } from "../../../core/hook-source.ts"
import { fitsUrl } from "../../../core/settings/hook-policy.ts"
import { type LoadSettingsOptions, loadSettings } from "../../../core/settings/load.ts"
import { folder as makeFolder } from "../../harness.ts"

let folder: string
beforeEach(() => {
  folder = makeFolder()
  mkdirSync(join(folder, "project/.git"), { recursive: true })
  mkdirSync(join(folder, "home"))
})

function put(path: string, text: string): string {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

async function load(options: Partial<LoadSettingsOptions> = {}) {
  const places = { cwd: join(folder, "project"), env: {}, home: join(folder, "home"), managed: join(folder, "etc") }
  return await loadSettings({ ...places, trust: true, ...options })
}

/** The commands, each with what keeps it from running. */
async function commands(options: Partial<LoadSettingsOptions> = {}) {
  const { sources } = (await load(options)).hooks
  return sources.map((source) => [
    source.form.type === "command" ? source.form.command : source.form.type,
    suppressionOf(source),
  ])
}

const hook = (command: string) => `"hooks": {"Stop": [{"command": "${command}"}]}`
const HOOKS_FILE = "project/.hooks.json"
const USER = "home/.config/sous"

test("loadSettings() gathers the hooks of every scope, strongest first, settings before .hooks.json", async () => {
  put(`${USER}/settings.json`, `{${hook("user settings")}}`)
  put(`${USER}/.hooks.json`, `{${hook("user file")}}`)
  put(HOOKS_FILE, `{${hook("project file")}}`)
  put("project/.sous/settings.yaml", `hooks:\n  Stop:\n    - command: project settings\n`)
  put("project/.sous/settings.local.json", `{${hook("local")}}`)
  put("etc/settings.json", `{${hook("managed")}}`)
  const { hooks, files } = await load({ settings: `{${hook("cli")}}` })
  expect(hooks.sources.map(({ form, origin }) => [(form as { command: string }).command, origin.scope])).toEqual([
    ["managed", "managed"],
    ["cli", "cli"],
    ["local", "local"],
    ["project settings", "project"],
    ["project file", "project"],
    ["user settings", "user"],
    ["user file", "user"],
  ])
  expect(hooks.sources[3]!.origin).toMatchObject({ line: 3, column: 7 })
  expect(files).toContainEqual({ scope: "project", file: join(folder, HOOKS_FILE) })
})

test("loadSettings() keeps the hooks of a project that nobody trusts, and says why they do not run", async () => {
  const file = put(HOOKS_FILE, `{${hook("a")}}`)
  put("project/.sous/settings.json", `{${hook("b")}, "disableAllHooks": true}`)
  put(`${USER}/.hooks.json`, `{${hook("mine")}}`)
  expect(await commands({ trust: false })).toEqual([
    ["b", "nobody has trusted this project"],
    ["a", "nobody has trusted this project"],
    ["mine", undefined],
  ])
  const { warnings } = await load({ trust: false })
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toContain(`hooks of "${file}"`)
  expect(warnings[0]).toContain("hooks, disableAllHooks of")
})

test("loadSettings() switches hooks off by disableAllHooks of the strongest scope that says so, but never managed ones", async () => {
  put("etc/settings.json", `{${hook("managed")}}`)
  put(`${USER}/settings.json`, `{${hook("user")},\n "disableAllHooks": true}`)
  const where = `hooks are off by disableAllHooks of ${join(folder, USER, "settings.json")}:2`
  expect(await commands()).toEqual([
    ["managed", undefined],
    ["user", where],
  ])
  expect(await commands({ settings: `{"disableAllHooks": false}` })).toEqual([
    ["managed", undefined],
    ["user", undefined],
  ])
  put("etc/settings.json", `{${hook("managed")}, "disableAllHooks": true}`)
  const byManaged = `hooks are off by disableAllHooks of ${join(folder, "etc/settings.json")}:1`
  expect(await commands({ settings: `{"disableAllHooks": false}` })).toEqual([
    ["managed", byManaged],
    ["user", byManaged],
  ])
})

test("loadSettings() lets only the organisation say that only its hooks run", async () => {
  put(`${USER}/settings.json`, `{${hook("user")}, "allowManagedHooksOnly": true}`)
  expect(await commands()).toEqual([["user", undefined]])
  expect((await load()).warnings).toEqual([
    `allowManagedHooksOnly of ${join(folder, USER, "settings.json")}:1 is ignored: only managed settings can set it`,
  ])
  put("etc/settings.json", `{${hook("managed")}, "allowManagedHooksOnly": true}`)
  expect(await commands()).toEqual([
    ["managed", undefined],
    ["user", `allowManagedHooksOnly of ${join(folder, "etc/settings.json")}:1 lets only managed hooks run`],
  ])
})

test("loadSettings() bounds the addresses and variables of HTTP hooks by the organisation's list and by the others'", async () => {
  put(
    `${USER}/settings.json`,
    `{"hooks": {"Stop": [
      {"url": "https://in.example/a", "headers": {"X": "$A $B"}, "allowedEnvVars": ["A", "B"]},
      {"url": "https://out.example/a"}]},
      "allowedHttpHookUrls": ["https://in.example/*"], "httpHookAllowedEnvVars": ["B"]}`,
  )
  const away = "its address is not in allowedHttpHookUrls"
  expect(await commands()).toEqual([
    ["http", undefined],
    ["http", away],
  ])
  expect((await load()).hooks.sources[0]!.form).toMatchObject({ headerEnv: ["B"] })
  put("etc/settings.json", `{"allowedHttpHookUrls": [], "httpHookAllowedEnvVars": ["A"]}`)
  expect(await commands()).toEqual([
    ["http", away],
    ["http", away],
  ])
  expect((await load()).hooks.sources[0]!.form).not.toHaveProperty("headerEnv")
})

test("loadSettings() leaves hooks for another shell out with the reason", async () => {
  put(HOOKS_FILE, `{"hooks": {"Stop": [{"command": "a", "shell": "powershell"}, {"command": "b", "shell": "bash"}]}}`)
  expect(await commands()).toEqual([
    ["a", "it is written for powershell, and hooks run in bash"],
    ["b", undefined],
  ])
})

test.each([
  ["https://a.example/x", "https://a.example/*", true],
  ["https://a.example/x?y=1", "https://a.example/*", true],
  ["https://b.a.example/x", "https://*.a.example/*", true],
  ["https://evil.example/b.a.example/", "https://*.a.example/*", false],
  ["https://evil.example?b.a.example/", "https://*.a.example/*", false],
  ["https://a.example:8443/x", "https://a.example/*", false],
  ["https://a.example/x", "http://a.example/*", false],
  ["https://a.example/x", "https://a.example", false],
  ["https://a.example/", "https://a.example", true],
  ["https://A.example/x", "https://a.EXAMPLE/x", true],
  ["https://aXexample/x", "https://a.example/x", false],
  ["http://127.0.0.1:9/x", "http://127.0.0.1:*/*", true],
  ["https://anything.example/", "*", true],
  ["https://anything.example/", "anything.example", false],
])("fitsUrl() says of %s and %s: %s", (url, pattern, fits) => {
  expect(fitsUrl(url, pattern)).toBe(fits)
})

test.each([
  ["a key of no hooks file", `{"hook": {}}`, "SETTINGS_KEY_UNKNOWN", 'write "hooks"'],
  ["an event beside hooks", `{"PreToolUse": []}`, "SETTINGS_KEY_UNKNOWN", 'write "PreToolUse" into "hooks"'],
  ["a setting", `{"disableAllHooks": true}`, "SETTINGS_KEY_UNKNOWN", 'write "disableAllHooks" into settings.json'],
  ["no hooks", `{}`, "SETTINGS_VALUE_INVALID", /^correct .*\.hooks\.json:1:1$/],
  ["a list", `[]`, "SETTINGS_VALUE_INVALID", /^correct /],
  ["half a file", `{"hooks": {`, "SETTINGS_FILE_BROKEN", /^correct /],
  ["nothing", ``, "SETTINGS_FILE_BROKEN", /^correct /],
  ["a key twice", `{"hooks": {"Stop": [], "Stop": []}}`, "SETTINGS_FILE_BROKEN", /^correct .*:1:24$/],
  ["a prototype", `{"hooks": {"__proto__": []}}`, "SETTINGS_FILE_BROKEN", /^correct /],
  ["depth without end", "[".repeat(200_000), "SETTINGS_FILE_BROKEN", /^correct /],
  [
    "deep input",
    `{"hooks": {"Stop": ${"[".repeat(50_000)}${"]".repeat(50_000)}}}`,
    "SETTINGS_FILE_BROKEN",
    /^correct /,
  ],
])("loadSettings() stops at a .hooks.json with %s, whoever trusts it", async (_, text, code, mend) => {
  put(HOOKS_FILE, text)
  const fault = { code, mend: expect.stringMatching(mend) as string }
  await expect(load()).rejects.toMatchObject(fault)
  await expect(load({ trust: false })).rejects.toMatchObject(fault)
})

test("loadSettings() takes comments, trailing commas and a byte order mark in a .hooks.json", async () => {
  put(HOOKS_FILE, `\uFEFF{ // why\n "description": "d", ${hook("a")}, }`)
  expect(await commands()).toEqual([["a", undefined]])
})

test("loadSettings() reads a .hooks.json through a link, and refuses one that leads nowhere", async () => {
  put("project/team/hooks.json", `{${hook("linked")}}`)
  symlinkSync("team/hooks.json", join(folder, HOOKS_FILE))
  expect(await commands()).toEqual([["linked", undefined]])
  mkdirSync(join(folder, USER), { recursive: true })
  symlinkSync("nowhere", join(folder, USER, ".hooks.json"))
  await expect(load()).rejects.toMatchObject({ code: "SETTINGS_FILE_UNREADABLE", details: { reason: "ENOENT" } })
})

test.each([HOOKS_FILE, "project/.sous/settings.json"])(
  "loadSettings() never waits for %s to be written",
  async (path) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    execFileSync("mkfifo", [join(folder, path)])
    await expect(load()).rejects.toMatchObject({
      code: "SETTINGS_FILE_UNREADABLE",
      details: { reason: "it is a pipe, not a file" },
    })
  },
)

test("loadSettings() does not read a .hooks.json of 100 MB, a folder or a device", async () => {
  const file = put(HOOKS_FILE, "")
  const descriptor = openSync(file, "w")
  ftruncateSync(descriptor, 100_000_000)
  closeSync(descriptor)
  const before = process.memoryUsage().rss
  await expect(load()).rejects.toMatchObject({
    code: "SETTINGS_FILE_UNREADABLE",
    details: { reason: "it has 100,000,000 bytes, more than settings may have" },
  })
  expect(process.memoryUsage().rss - before).toBeLessThan(50e6)
  mkdirSync(join(folder, USER, ".hooks.json"), { recursive: true })
  put(HOOKS_FILE, `{"hooks": {}}`)
  await expect(load()).rejects.toMatchObject({ details: { reason: "it is a folder" } })
})

test("loadSettings() says that a .hooks.json which is no project's is not read", async () => {
  const file = put("project/sub/.hooks.json", `{${hook("a")}}`)
  const { hooks, warnings } = await load({ cwd: join(folder, "project/sub") })
  expect(hooks.sources).toEqual([])
  expect(warnings).toEqual([expect.stringContaining(`"${file}" is not read`)])
})
