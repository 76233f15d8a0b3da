import { join } from "node:path"
import { expect, test } from "vitest"
import { useSettingsPlace } from "./place.ts"

const place = useSettingsPlace({ trust: true })
const { put, load } = place

const PROJECT = "project/.claude/settings.json"
const LOCAL = "project/.claude/settings.local.json"
const USER = "home/.claude/settings.json"
const MANAGED = "etc-claude/managed-settings.json"

/** The fault of a project file with this content, as code and sentence. */
async function faultOf(content: string | object): Promise<string> {
  const file = put(PROJECT, content)
  const fault = await load().then(
    () => ({ code: "none", message: "" }),
    (error) => error as { code: string; message: string },
  )
  return `${fault.code}: ${fault.message}`.replace(file, "FILE")
}

/** The warnings about a project file with this content. */
async function warningsOf(content: string | object): Promise<string[]> {
  const file = put(PROJECT, content)
  return (await load()).warnings.map((warning) => warning.replace(file, "FILE"))
}

test("loadSettings() reads Claude Code's files of every scope, each below ours of the same scope", async () => {
  put(USER, { model: "user", effortLevel: "low", permissions: { deny: ["WebFetch"] } })
  put(PROJECT, { model: "project", fallbackModel: ["sonnet", "haiku"], env: { A: "1" } })
  put(LOCAL, { model: "local" })
  put(MANAGED, { permissions: { disableBypassPermissionsMode: "disable" } })
  put("project/.sous/settings.local.json", { effort: "high", model: "ours" })
  const { settings, files, sources } = await load()
  expect(settings).toMatchObject({ model: "ours", effort: "high", fallbackModel: "sonnet", env: { A: "1" } })
  expect(settings.permissions.barredModes).toEqual(["bypassPermissions"])
  expect(settings.permissions.rules).toMatchObject([{ text: "WebFetch", behavior: "deny", scope: "user" }])
  expect(files.map(({ file }) => file.slice(place.folder.length + 1))).toEqual([
    MANAGED,
    "project/.sous/settings.local.json",
    LOCAL,
    PROJECT,
    USER,
  ])
  expect(sources.map(({ dialect = "ours" }) => dialect)).toEqual([
    "claude-code",
    "ours",
    "claude-code",
    "claude-code",
    "claude-code",
  ])
})

test("loadSettings() keeps the place of a key that has another name here", async () => {
  const file = put(PROJECT, `{\n  "effortLevel": "high"\n}`)
  expect((await load()).settings.origins.get("effort")).toEqual({ scope: "project", file, line: 2, column: 3 })
})

test("loadSettings() takes claudeMdExcludes of all scopes as memory.exclude, each entry with its place", async () => {
  const file = put(PROJECT, `{\n  "claudeMdExcludes": ["**/old/CLAUDE.md", 7,\n    "a.md"]\n}`)
  put(USER, { claudeMdExcludes: ["b.md"] })
  put("project/.sous/settings.json", { memory: { exclude: ["c.md"] } })
  const { settings, warnings } = await load()
  expect(settings.memory.exclude.map(({ value }) => value)).toEqual(["c.md", "**/old/CLAUDE.md", "a.md", "b.md"])
  expect(settings.memory.exclude[2]).toMatchObject({ origin: { scope: "project", file, line: 3, column: 5 } })
  expect(warnings).toEqual([`"claudeMdExcludes.1" at ${file}:2:44 is left out: expected a text`])
})

test("loadSettings() takes switches of compaction and memory, and the days of sessions", async () => {
  const file = put(USER, {
    autoCompactEnabled: false,
    autoMemoryEnabled: false,
    claudeMdExcludes: ["a.md"],
    cleanupPeriodDays: 90,
  })
  const { settings, warnings } = await load()
  expect(settings).toMatchObject({ compact: { auto: false }, memory: { auto: false }, cleanup: { days: 90 } })
  expect(settings.memory.exclude.map(({ value }) => value)).toEqual(["a.md"])
  expect(settings.origins.get("cleanup.days")).toMatchObject({ scope: "user", file })
  expect(warnings).toEqual([])
  put(USER, { autoCompactEnabled: "no", cleanupPeriodDays: 0 })
  const wrong = await load()
  expect(wrong.settings).toMatchObject({ compact: {}, cleanup: { days: 30 } })
  expect(wrong.warnings).toHaveLength(2)
})

test("loadSettings() reads the organisation's parts after its file, the last in the alphabet first", async () => {
  put(MANAGED, { model: "base", effortLevel: "low" })
  put("etc-claude/managed-settings.d/10-a.json", { model: "a" })
  put("etc-claude/managed-settings.d/20-b.json", { model: "b", permissions: { deny: ["WebFetch"] } })
  put("etc-claude/managed-settings.d/.30-c.json", { model: "hidden" })
  put("etc-claude/managed-settings.d/note.txt", "x")
  const { settings, files } = await load()
  expect(settings).toMatchObject({ model: "b", effort: "low" })
  expect(files).toHaveLength(3)
})

test("loadSettings() finds the person's file in CLAUDE_CONFIG_DIR", async () => {
  put("config/settings.json", { model: "elsewhere" })
  expect((await load({ env: { CLAUDE_CONFIG_DIR: join(place.folder, "config") } })).settings.model).toBe("elsewhere")
})

test("loadSettings() takes from an untrusted project's file only what tightens", async () => {
  put(PROJECT, { model: "x", env: { A: "1" }, permissions: { allow: ["Bash"], deny: ["WebFetch"] } })
  const { settings, warnings, sources } = await load({ trust: undefined })
  expect(settings.model).toBeUndefined()
  expect(settings.permissions.rules).toMatchObject([{ text: "WebFetch", behavior: "deny" }])
  expect(warnings).toEqual([expect.stringContaining("model, permissions.allow, env")])
  const reason = "nobody has trusted this project"
  expect(sources[0]?.ignored).toEqual([
    { path: "model", value: "x", reason },
    { path: "permissions.allow", value: ["Bash"], reason },
    { path: "env", value: { A: "1" }, reason },
  ])
})

test("loadSettings() lists keys that mean nothing here, and tells of those that guard something there", async () => {
  put(PROJECT, {
    statusLine: { type: "command", command: "x" },
    sandbox: { enabled: true },
    disabledMcpjsonServers: [],
    deniedModels: ["opus"],
  })
  const { sources, warnings } = await load()
  expect(sources[0]?.ignored).toEqual([
    {
      path: "statusLine",
      value: { type: "command", command: "x" },
      reason: "it means nothing here: a command that draws its status line",
    },
    expect.objectContaining({ path: "sandbox" }),
    expect.objectContaining({ path: "disabledMcpjsonServers" }),
    expect.objectContaining({ path: "deniedModels" }),
  ])
  expect(warnings.map((warning) => warning.split('"')[1])).toEqual(["sandbox", "deniedModels"])
})

test("loadSettings() tells of keys that nobody knows, with place and nearest name", async () => {
  expect(await warningsOf(`{\n  "basicMemory": {},\n  "instructions": "be brief",\n  "outputStile": "x"\n}`)).toEqual([
    '"basicMemory" at FILE:2:3 is left out: no key has that name',
    '"instructions" at FILE:3:3 is left out: no key has that name',
    '"outputStile" at FILE:4:3 is left out: no key has that name; write "outputStyle"',
  ])
})

test("loadSettings() tells of keys at the wrong place, and of ours", async () => {
  expect(
    await warningsOf(`{\n  "additionalDirectories": ["/x"],\n  "allow": ["Read"],\n  "maxTurns": 3,\n  "usd": 1\n}`),
  ).toEqual([
    '"additionalDirectories" at FILE:2:3 is left out: it belongs in "permissions": write "permissions.additionalDirectories"',
    '"allow" at FILE:3:3 is left out: it belongs in "permissions": write "permissions.allow"',
    '"maxTurns" at FILE:4:3 is left out: it is a key of sous: write it into .sous/settings.json',
    '"usd" at FILE:5:3 is left out: it is a key of sous: write "budget.usd" into .sous/settings.json',
  ])
})

test.each<[object, string]>([
  [{ deny: ["Bash"] }, 'Unknown setting "deny" at FILE:1:2'],
  [{ ask: ["Bash"] }, 'Unknown setting "ask" at FILE:1:2'],
  [{ denny: ["Bash"] }, 'Unknown setting "denny" at FILE:1:2'],
  [{ permisions: {} }, 'Unknown setting "permisions" at FILE:1:2'],
  [{ disallowedTools: ["Bash"] }, 'Unknown setting "disallowedTools" at FILE:1:2'],
  [{ rights: { deny: ["Bash"] } }, 'Unknown setting "rights" at FILE:1:2'],
  [{ hookz: {} }, 'Unknown setting "hookz" at FILE:1:2'],
  [{ PreToolUse: [] }, 'Unknown setting "PreToolUse" at FILE:1:2'],
  [{ guards: { PreToolUse: [] } }, 'Unknown setting "guards" at FILE:1:2'],
  [{ disableAutoMode: "disable" }, 'Unknown setting "disableAutoMode" at FILE:1:2'],
  [{ permissions: { Deny: ["Bash"] } }, 'Unknown setting "permissions.Deny" at FILE:1:17'],
  [{ permissions: { forbid: ["Bash(rm *)"] } }, 'Unknown setting "permissions.forbid" at FILE:1:17'],
  [{ permissions: { disableBypassPermissionMode: "disable" } }, "permissions.disableBypassPermissionMode"],
  [{ permissions: { defaultmode: "plan" } }, 'Unknown setting "permissions.defaultmode" at FILE:1:17'],
  [{ defaultMode: "dontAsk" }, 'Unknown setting "defaultMode" at FILE:1:2'],
  [{ hooks: { Stop: [{ onFailure: "block", hooks: [] }] } }, "hooks.Stop.0.onFailure"],
  [
    { hooks: { Stop: [{ hooks: [{ type: "command", command: "x", onfailures: "block" }] }] } },
    "hooks.Stop.0.hooks.0.onfailures",
  ],
  [{ hooks: { PreTolUse: [] } }, 'Unknown setting "hooks.PreTolUse" at FILE:1:11'],
])("loadSettings() refuses the guard that is misspelt or misplaced in %j", async (content, sentence) => {
  const fault = await faultOf(content)
  expect(fault).toContain("SETTINGS_KEY_UNKNOWN")
  expect(fault).toContain(sentence)
})

test.each<[object]>([
  [{ permissions: [] }],
  [{ permissions: { deny: "Bash" } }],
  [{ permissions: { deny: ["Bash", 3] } }],
  [{ permissions: { ask: [""] } }],
  [{ permissions: { deny: null } }],
  [{ permissions: { defaultMode: 3 } }],
  [{ permissions: { defaultMode: "plann" } }],
  [{ hooks: { PreToolUse: [{ dialect: "nativ", hooks: [] }] } }],
  [{ hooks: [] }],
  [{ hooks: { PreToolUse: {} } }],
  [{ hooks: { PreToolUse: ["x"] } }],
  [{ hooks: { PreToolUse: [{ matcher: "Bash" }] } }],
  [{ hooks: { PreToolUse: [{ matcher: ["Bash"], hooks: [] }] } }],
  [{ hooks: { PreToolUse: [{ hooks: [{ command: "x" }] }] } }],
  [{ hooks: { PreToolUse: [{ hooks: [{ type: "command", comand: "x" }] }] } }],
  [{ hooks: { Stop: [{ hooks: [{ type: "command", command: "x", timeout: "soon" }] }] } }],
  [{ hooks: { PermissionRequest: [{ hooks: [{ type: "comand", command: "x" }] }] } }],
  [{ hooks: { PreToolUse: [{ hooks: [{ type: "command", command: "x", if: "Bash(" }] }] } }],
  [[]],
])("loadSettings() refuses the guard that is no guard in %j", async (content) => {
  expect(await faultOf(content)).toContain("SETTINGS_VALUE_INVALID")
})

test("loadSettings() refuses a matcher that is misspelt", async () => {
  expect(await faultOf({ hooks: { PostToolUse: [{ macher: "Bash", hooks: [] }] } })).toContain("SETTINGS_KEY_UNKNOWN")
})

test("loadSettings() leaves out single entries that guard nothing, and keeps the places of the others", async () => {
  const file = put(
    PROJECT,
    `{
  "model": 3, "fallbackModel": [], "effortLevel": "vast", "disableAllHooks": "yes",
  "env": { "A": "a", "N": 1, "T": true, "1B": "x" },
  "permissions": { "allow": [4,
    "Read"], "additionalDirectories": "x" },
  "allowedHttpHookUrls": "https://x"
}`,
  )
  const { settings, warnings, sources } = await load()
  expect(settings.env).toEqual({ A: "a" })
  expect(settings.permissions.rules).toEqual([
    { text: "Read", behavior: "allow", scope: "project", file, line: 5, column: 5 },
  ])
  expect(sources[0]?.values.allowedHttpHookUrls).toEqual([])
  expect(warnings.map((warning) => warning.replace(file, "FILE"))).toEqual([
    '"model" at FILE:2:3 is left out: expected the name of a model',
    '"effortLevel" at FILE:2:36 is left out: expected one of low, medium, high, xhigh, max',
    '"disableAllHooks" at FILE:2:59 is left out: expected true or false',
    '"env.N" at FILE:3:22 is left out: expected a text',
    '"env.T" at FILE:3:30 is left out: expected a text',
    '"env.1B" at FILE:3:41 is left out: expected the name of a variable',
    '"permissions.allow.0" at FILE:4:30 is left out: expected a text',
    '"permissions.additionalDirectories" at FILE:5:14 is left out: expected a list of texts',
    '"allowedHttpHookUrls" at FILE:6:3 is left out: expected a list of texts',
  ])
})

test("loadSettings() takes a mode that does not exist for the mode default, and not for that of a weaker scope", async () => {
  put(USER, { permissions: { defaultMode: "acceptEdits" } })
  const [warning] = await warningsOf({ permissions: { defaultMode: "allowEdits" } })
  expect(warning).toContain("there is no such mode, so this is the mode default; choose one of default, manual")
  expect((await load()).settings.permissions.defaultMode).toBe("default")
})

test.each([
  [PROJECT, "auto", "default"],
  [LOCAL, "auto", "default"],
  [USER, "auto", "auto"],
  [PROJECT, "bypassPermissions", "default"],
  [USER, "bypassPermissions", "default"],
  [LOCAL, "acceptEdits", "acceptEdits"],
])("loadSettings() reads from %s the mode %s as %s", async (file, defaultMode, mode) => {
  put(file, { permissions: { defaultMode } })
  const { settings, warnings } = await load()
  expect(settings.permissions.defaultMode).toBe(mode)
  expect(warnings).toHaveLength(mode === defaultMode ? 0 : 1)
})

test("loadSettings() takes whatever stands at a lock for a lock", async () => {
  put(PROJECT, { permissions: { disableBypassPermissionsMode: true, disableAutoMode: "disable" } })
  const { settings, warnings } = await load({ trust: undefined })
  expect(settings.permissions.barredModes).toEqual(["bypassPermissions", "auto"])
  expect(warnings).toEqual([expect.stringContaining('is taken as "disable"')])
})

test("loadSettings() reads hooks as Claude Code does, and leaves out what could never have run there", async () => {
  const file = put(PROJECT, {
    hooks: {
      PreToolUse: [
        { command: "flat.sh", matcher: "Bash" },
        { matcher: "Write|Edit(*.py)", hooks: [{ type: "command", command: "black" }] },
        { matcher: null, hooks: [{ type: "command", command: "good", rewakeMessage: "x" }] },
      ],
      PostToolUse: [
        { hooks: [{ type: "lsp" }, { type: "command", command: "after", timeout: 100_000 }], name: "mine" },
        3,
      ],
      UserPromptSubmit: [{ matcher: "(", hooks: [{ type: "command", command: "prompt" }] }],
      TeammateIdle: [{ hooks: [{ type: "command", command: "never" }] }],
      beforeShellExecution: [{ command: "x" }],
    },
  })
  const { hooks, warnings } = await load()
  expect(hooks.sources.map(({ event, form, dialect, timeoutMs }) => ({ event, form, dialect, timeoutMs }))).toEqual([
    { event: "PreToolUse", dialect: "claude-code", form: { type: "command", command: "good" } },
    {
      event: "PostToolUse",
      dialect: "claude-code",
      form: { type: "command", command: "after" },
      timeoutMs: 86_400_000,
    },
    { event: "UserPromptSubmit", dialect: "claude-code", form: { type: "command", command: "prompt" } },
  ])
  expect(hooks.notRaised.map(({ event }) => event)).toEqual(["TeammateIdle"])
  const told = warnings.map((warning) => warning.replace(/ at \S+/, "").replace(file, "FILE"))
  expect(told).toEqual([
    '"hooks.PreToolUse.0" is left out: it stands in no group; write { "hooks": [ … ] } around it',
    '"hooks.PreToolUse.1.matcher" is left out: "Write|Edit(*.py)" is neither names nor a regular expression, and has never matched anything; write "Write|Edit", and the rest as "if"',
    expect.stringContaining('"hooks.PreToolUse.2.hooks.0.rewakeMessage" is left out: no key of a hook has that name'),
    '"hooks.PostToolUse.0.name" is left out: no key of a group has that name; choose one of matcher, hooks',
    expect.stringContaining('"hooks.PostToolUse.0.hooks.0.type" is left out: expected a type'),
    expect.stringContaining('"hooks.PostToolUse.0.hooks.1.timeout" is taken as 86400 seconds'),
    '"hooks.PostToolUse.1" is left out: expected an object with hooks',
    '"hooks.beforeShellExecution" is left out: no event has that name',
  ])
})

test("loadSettings() keeps the place of a hook whose neighbours were left out", async () => {
  put(
    PROJECT,
    `{ "hooks": { "PostToolUse": [ 3,\n { "hooks": [ {},\n { "type": "command", "command": "good" } ] } ] } }`,
  )
  expect((await load()).hooks.sources).toMatchObject([{ origin: { line: 3, column: 2 } }])
})

test.each([
  ["comments", `{\n  // note\n  "model": "x",\n}`, 1],
  ["a byte order mark", `\uFEFF{ "model": "x" }`, 0],
  ["CRLF", `{\r\n  "model": "x"\r\n}\r\n`, 0],
])("loadSettings() reads %s", async (_, text, notes) => {
  put(PROJECT, text)
  const loaded = await load()
  expect(loaded.settings.model).toBe("x")
  expect(loaded.notes).toHaveLength(notes)
})

test("loadSettings() takes an empty file for no settings, and a broken one for a fault", async () => {
  expect(await warningsOf("\n")).toEqual([])
  expect(await faultOf(`{ "model": `)).toContain("SETTINGS_FILE_BROKEN")
})

test("loadSettings() names files that Claude Code does not read under their name", async () => {
  const file = put("project/.claude/settings.local.jsonc", "{}")
  expect((await load()).warnings).toEqual([`"${file}" is not read: write "settings.local.json"`])
})

test("loadSettings() notes what both files of a scope set", async () => {
  const theirs = put(USER, { model: "a", env: { A: "1", B: "2" }, permissions: { deny: ["Read"] } })
  const ours = put("home/.config/sous/settings.json", { model: "b", env: { A: "3" }, permissions: { deny: ["Read"] } })
  const { notes, settings } = await load()
  expect(settings).toMatchObject({ model: "b", env: { A: "3", B: "2" } })
  expect(notes).toEqual([
    `"model" of "${theirs}" does not count: "${ours}" sets it too`,
    `"env.A" of "${theirs}" does not count: "${ours}" sets it too`,
  ])
})

const OFF = { compat: { claude: false } }

test("compat.claude: false of the person or the command line switches the files off, but not the organisation's", async () => {
  put(USER, "broken")
  put(PROJECT, { model: "theirs" })
  put(MANAGED, { permissions: { deny: ["WebFetch"] } })
  for (const options of [{ settings: JSON.stringify(OFF) }, {}]) {
    const { settings, files } = await load(options)
    expect(settings.model).toBeUndefined()
    expect(settings.permissions.rules).toHaveLength(1)
    expect(files.map(({ file }) => file)).toContain(join(place.folder, MANAGED))
    put("home/.config/sous/settings.json", OFF)
  }
  put("etc/settings.json", OFF)
  expect((await load()).settings.permissions.rules).toEqual([])
})

test("compat.claude: false of a project counts once it is trusted", async () => {
  const hooks = { Stop: [{ hooks: [{ type: "command", command: "x" }] }] }
  put(PROJECT, { permissions: { deny: ["WebFetch"] }, hooks })
  put("project/.sous/settings.json", OFF)
  const untrusted = await load({ trust: undefined })
  expect(untrusted.settings.permissions.rules).toHaveLength(1)
  expect(untrusted.hooks.sources).toHaveLength(1)
  const trusted = await load()
  expect(trusted.settings.permissions.rules).toEqual([])
  expect(trusted.hooks.sources).toEqual([])
  put(PROJECT, "broken")
  await expect(load({ trust: undefined })).rejects.toMatchObject({ code: "SETTINGS_FILE_BROKEN" })
  expect((await load()).settings.permissions.rules).toEqual([])
})

test("the organisation's file fails closed", async () => {
  put(MANAGED, { allowManagedHooksOnly: "no", allowManagedPermissionRulesOnly: 0 })
  put(PROJECT, {
    permissions: { allow: ["Read"], deny: ["WebFetch"] },
    hooks: { Stop: [{ hooks: [{ type: "command", command: "x" }] }] },
  })
  const { settings, hooks, warnings } = await load()
  expect(settings.permissions.managedRulesOnly).toBe(true)
  expect(settings.permissions.rules).toMatchObject([{ text: "WebFetch" }])
  expect(hooks.sources[0]?.suppressed).toContain("lets only managed hooks run")
  expect(warnings.filter((warning) => warning.includes("is taken as true"))).toHaveLength(2)
  put(MANAGED, "{")
  await expect(load()).rejects.toMatchObject({ code: "SETTINGS_FILE_BROKEN" })
})
