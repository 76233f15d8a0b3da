import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, expect, test } from "vitest"
import { type ConfigAnswer, explainHere } from "../../../core/cli/config.ts"
import { loadModule } from "../../../core/recipe/load.ts"
import { addGrants } from "../../../core/session/grants.ts"
import { settingsOfFlags } from "../../../core/settings/flag.ts"
import { type LoadSettingsOptions, loadSettings } from "../../../core/settings/load.ts"

let folder: string

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-config-")))
  mkdirSync(join(folder, "project/.git"), { recursive: true })
  mkdirSync(join(folder, "home"))
})

afterEach(() => rmSync(folder, { recursive: true }))

function put(path: string, text: string): void {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

async function answer(key?: string, options: Partial<LoadSettingsOptions> = {}): Promise<ConfigAnswer> {
  const cwd = join(folder, "project")
  const env = { HOME: join(folder, "home"), GH_TOKEN: "gh-very-secret" }
  const loaded = await loadSettings({
    cwd,
    env,
    managed: join(folder, "etc/sous"),
    managedClaude: join(folder, "etc/claude-code"),
    load: (file) => loadModule(file, { modules: {} }),
    ...options,
  })
  const found = await explainHere(loaded, { env, cwd: async () => cwd }, key)
  return JSON.parse(JSON.stringify(found).replaceAll(folder, "")) as ConfigAnswer
}

/** Six scopes at once, each with all of its files. */
async function sixScopes(): Promise<Partial<LoadSettingsOptions>> {
  const world = JSON.parse(readFileSync(GOLDEN("world.json"), "utf8")) as Record<string, string | object>
  for (const [path, content] of Object.entries(world))
    put(path, typeof content === "string" ? content : `${JSON.stringify(content, undefined, 2)}\n`)
  const state = join(folder, "home/.local/state/sous")
  const now = Date.UTC(2026, 0, 2)
  await addGrants(state, join(folder, "project"), { rules: ["Bash(npm test)"], now })
  return {
    flags: settingsOfFlags({ maxTurns: 5, allowedTools: ["Bash(make *)"], mode: "plan" }),
    settings: `{ "effort": "max", "env": { "CI": "cli" } }`,
  }
}

const GOLDEN = (name: string) => fileURLToPath(new URL(`golden/${name}`, import.meta.url))

/** One fact a line, so that a difference is easy to read. */
async function expectGolden(found: unknown, name: string): Promise<void> {
  const text = `${JSON.stringify(found, undefined, 2)}\n`.replaceAll(/project-[0-9a-f]{12}/g, "project-HASH")
  await expect(text).toMatchFileSnapshot(GOLDEN(name))
}

test("explainHere() explains every key over six scopes, of a project that is trusted", async () => {
  await expectGolden(await answer(undefined, { ...(await sixScopes()), trust: true }), "trusted.json")
})

test("explainHere() explains every key over six scopes, of a project that nobody trusts", async () => {
  await expectGolden(await answer(undefined, await sixScopes()), "untrusted.json")
})

test("explainHere() explains what the organisation keeps for itself", async () => {
  const options = await sixScopes()
  put("etc/sous/settings.json", `{ "allowManagedPermissionRulesOnly": true, "permissions": { "allow": ["Read"] } }`)
  await expectGolden(await answer("permissions.allow", { ...options, trust: true }), "managed-only.json")
})

test("explainHere() explains a section, a name of a record, and a foreign key", async () => {
  put("home/.claude/settings.json", `{ "statusLine": "x", "env": { "A": "1", "B": "2" } }`)
  put(
    "home/.config/sous/settings.json",
    `{ "env": { "A": "3" }, "pluginSettings": { "guard": { "deep": { "a": 1 } } } }`,
  )
  const keysOf = async (key: string) => (await answer(key)).settings.map((one) => one.key)
  expect(await keysOf("budget")).toEqual(["budget.usd", "budget.tokens", "budget.turns", "budget.minutes"])
  expect((await answer("env.A")).settings).toMatchObject([
    {
      key: "env.A",
      value: "3",
      entries: [{ name: "A", value: "3" }],
      beaten: [{ name: "A", value: "1" }],
      ignored: [],
    },
  ])
  expect((await answer("pluginSettings.guard")).settings).toMatchObject([
    { entries: [{ name: "guard.deep.a", value: 1 }] },
  ])
  expect((await answer("statusLine")).settings).toMatchObject([{ key: "statusLine", ignored: [{ value: "x" }] }])
  expect((await answer("maxTurns")).settings).toMatchObject([{ key: "maxTurns", beaten: [], ignored: [] }])
})

test("explainHere() refuses a key that there is not, with the nearest", async () => {
  await expect(answer("permisions.deny")).rejects.toMatchObject({
    code: "SETTINGS_NAME_UNKNOWN",
    mend: 'write "permissions.deny"',
  })
})

test("explainHere() shows nothing that is secret", async () => {
  put(
    "home/.config/sous/settings.json",
    JSON.stringify({
      env: { MY_API_KEY: "short", PLAIN: "has gh-very-secret in it", ANTHROPIC_CUSTOM_HEADERS: "X-Auth: hush-hush" },
      packs: { team: "git+https://me:sesame-open@example.com/team.git" },
      pluginSettings: { guard: { apiKey: "hush-hush", headers: { "x-any": "hush-hush" } } },
      permissions: { allow: ["Bash(curl -H 'Authorization: Bearer hush-hush')"] },
      hooks: { Stop: [{ url: "http://127.0.0.1/", headers: { "X-Any": "hush-hush" } }] },
    }),
  )
  put("home/.claude/settings.json", JSON.stringify({ mcpServers: { a: { env: { TOKEN: "hush-hush" } } } }))
  put("project/.sous/settings.json", JSON.stringify({ env: { MY_API_KEY: "other-hush" } }))
  const text = JSON.stringify(await answer())
  for (const secret of ["hush", "short", "gh-very-secret", "sesame"]) expect(text).not.toContain(secret)
  expect(text).toContain("has [masked GH_TOKEN] in it")
  expect(text).toContain("[masked MY_API_KEY]")
})

test("explainHere() says which mode a start would be in, and why", async () => {
  put("project/.sous/settings.json", `{ "permissions": { "defaultMode": "auto" } }`)
  expect((await answer("permissions.defaultMode", { trust: true })).settings).toMatchObject([
    { value: "default", note: expect.stringContaining("a project cannot") },
  ])
  put("home/.config/sous/settings.json", `{ "permissions": { "defaultMode": "bypassPermissions" } }`)
  expect((await answer("permissions.defaultMode")).settings).toMatchObject([
    { value: "bypassPermissions", note: expect.stringContaining("a file cannot") },
  ])
})
