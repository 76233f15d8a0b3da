import { existsSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { parseCommandLine } from "../../core/cli/command-line.ts"
import { setConfig } from "../../core/cli/config-set.ts"
import type { Host } from "../../core/cli/host.ts"
import { formatError } from "../../core/error.ts"
import { type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const USER = "home/.config/sous/settings.json"
const PROJECT = "project/.sous/settings.json"
const read = (path: string) => readFileSync(join(place.folder, path), "utf8")
const config = (...args: string[]) => place.run(["config", ...args])

test("sous config set writes into the user's file, which is theirs alone, and keeps what is there", async () => {
  const file = join(place.folder, USER)
  expect(await config("set", "model", "sonnet")).toEqual({ code: 0, stdout: `Set model in ${file}\n`, stderr: "" })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  place.put(USER, '{\n  // mine\n  "model": "sonnet", // fast\n}\n')
  expect((await config("set", "budget.usd", "2.5")).code).toBe(0)
  expect((await config("set", "env.CI", "1")).code).toBe(0)
  expect((await config("add", "permissions.deny", "Read(.env)")).code).toBe(0)
  expect((await config("unset", "model")).stdout).toBe(`Took out model in ${file}\n`)
  expect(read(USER)).toBe(
    [
      "{",
      "  // mine",
      "  // fast",
      '  "budget": {',
      '    "usd": 2.5',
      "  },",
      '  "env": {',
      '    "CI": "1"',
      "  },",
      '  "permissions": {',
      '    "deny": [',
      '      "Read(.env)"',
      "    ]",
      "  },",
      "}",
      "",
    ].join("\n"),
  )
})

test("sous config add and remove change one entry, and say when there is nothing to do", async () => {
  place.put(USER, '{ "permissions": { "deny": ["Edit", "Read(.env)"] } }')
  expect((await config("add", "permissions.deny", "Edit")).stdout).toMatch(/^Nothing to do: it is there already, /)
  expect((await config("remove", "permissions.deny", "Edit")).stdout).toMatch(/^Removed from permissions\.deny in /)
  expect((await config("remove", "permissions.deny", "Edit")).stdout).toMatch(/^Nothing to do: it is not there, /)
  expect(read(USER)).toBe('{ "permissions": { "deny": ["Read(.env)"] } }')
  await config("add", "plugins", '{ "plugin": "./guard.ts", "required": true }')
  expect(JSON.parse(read(USER)).plugins).toEqual([{ plugin: "./guard.ts", required: true }])
})

test.each([
  [["set", "permissions.deni", "x"], "SETTINGS_NAME_UNKNOWN", 'write "permissions.deny"'],
  [["set", "deny", "x"], "SETTINGS_NAME_UNKNOWN", 'write "permissions.deny"'],
  [["set", "permissions", "{}"], "SETTINGS_NAME_UNKNOWN", "name one of its keys: permissions.allow, "],
  [["set", "model.x", "1"], "SETTINGS_NAME_UNKNOWN", 'write "model"'],
  [["set", "maxTurns", "many"], "CLI_VALUE_INVALID", "it takes a whole number above 0"],
  [["set", "compact.threshold", "3"], "CLI_VALUE_INVALID", "it takes a number from 0.1 to 1"],
  [["set", "effort", "huge"], "CLI_VALUE_INVALID", "it takes one of low, medium, high"],
  [["set", "disableAllHooks", "yes"], "CLI_VALUE_INVALID", "it takes true or false"],
  [["set", "permissions.deny", "Read"], "CLI_VALUE_INVALID", "it takes a list as JSON"],
  [["set", "permissions.deny", "Read"], "CLI_VALUE_INVALID", 'write "sous config add permissions.deny …"'],
  [["set", "permissions.disableAutoMode", "true"], "CLI_VALUE_INVALID", 'it takes the word "disable"'],
  [["set", "env.A B", "1"], "SETTINGS_VALUE_INVALID", "env.A B"],
  [["add", "permissions.deny", "Bash(rm"], "PERMISSION_RULE_INVALID", "Bash(rm"],
  [["add", "permissions.rules", "Bash(rm)"], "CLI_VALUE_INVALID", 'it takes "allow RULE", "ask RULE" or "deny RULE"'],
  [["add", "model", "x"], "CLI_ARGUMENT_UNEXPECTED", 'write "sous config set model VALUE": it is no list'],
  [["set", "hooks.PreToolUse", '[{ "comand": "x" }]'], "SETTINGS_KEY_UNKNOWN", 'write "command"'],
  [["set", "allowManagedHooksOnly", "true"], "SETTINGS_KEY_MANAGED", "have the organisation set it"],
  [["set", "model"], "CLI_ARGUMENT_MISSING", "No value for model was given"],
  [["unset"], "CLI_ARGUMENT_MISSING", "No key was given"],
  [["unset", "model", "x"], "CLI_ARGUMENT_UNEXPECTED", '"sous config unset model"'],
  [["set", "model", "x", "--scope", "projct"], "CLI_VALUE_INVALID", "write --scope project"],
  [["set", "model", "x", "--scope", "managed"], "CLI_VALUE_INVALID", "one of user, project, local"],
  [["set", "model", "x", "--max-turns", "3"], "CLI_ARGUMENT_UNEXPECTED", '"--max-turns"'],
])("setConfig() refuses %j with %s", async (args, code, text) => {
  // In this process: there is much to refuse, and a child takes its time.
  const host = { env: place.env, cwd: async () => place.project } as unknown as Host
  const line = await parseCommandLine(["config", ...args])
  const fault = await setConfig(line, host).then(String, formatError)
  expect(fault).toContain(text)
  expect(fault).toContain(`code  ${code}`)
  expect(existsSync(join(place.folder, USER))).toBe(false)
})

test("sous config set says what beats the value that it wrote, and what does not count", async () => {
  place.put("project/.sous/settings.local.json", '{\n  "permissions": { "denialLimit": 2 },\n  "env": { "A": "1" } }')
  await place.run(["trust", "--yes"])
  const local = join(place.project, ".sous/settings.local.json")
  const tight = await config("set", "permissions.denialLimit", "9", "--scope", "project")
  expect(tight.stderr).toContain(`! Written, but permissions.denialLimit of the local settings beats it: ${local}:2:20`)
  expect((await config("set", "permissions.denialLimit", "1")).stderr).toBe("")
  const { stdout } = await config("set", "env.A", "2", "--json")
  expect(JSON.parse(stdout)).toMatchObject({
    key: "env.A",
    how: "set",
    scope: "user",
    file: join(place.folder, USER),
    changed: true,
    beatenBy: { scope: "local", file: local, line: 3 },
  })
  expect((await config("unset", "env.A")).stderr).toContain("env.A is still set in the local settings")
})

test("sous config set in a project that nobody trusts says that the value does not count", async () => {
  place.put("project/.sous/plugins/theirs.ts", "throw new Error()")
  const { code, stderr } = await config("set", "model", "x", "--scope", "project")
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("It does not count: nobody has") })
  expect((await config("add", "permissions.deny", "Edit", "--scope", "project")).stderr).toBe("")
})

test("sous config set leaves a project trusted that was, and no other", async () => {
  place.put(PROJECT, '{ "model": "x" }')
  await place.run(["trust", "--yes"])
  expect((await config("set", "model", "y", "--scope", "project")).stderr).toBe("")
  expect(JSON.parse((await place.run(["trust", "status", "--json"])).stdout)).toMatchObject({ state: "trusted" })
  place.put("project/.sous/plugins/theirs.ts", "throw new Error()")
  await config("set", "model", "z", "--scope", "project")
  expect(JSON.parse((await place.run(["trust", "status", "--json"])).stdout).state).toBe("changed")
})

test("sous config set without a project has no project's file to write", async () => {
  const { code, stderr } = await place.run(["config", "set", "model", "x", "--scope", "local"], {
    node: ["--import", `data:text/javascript,process.chdir("../home")`],
  })
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("SETTINGS_SCOPE_MISSING") })
})

test("sous config set refuses settings that are code, and changes nothing inside of a run", async () => {
  place.put("home/.config/sous/settings.ts", "export default {}")
  const { stderr } = await config("set", "model", "x")
  expect(stderr).toContain("SETTINGS_WRITE_CODE")
  for (const how of ["set", "add", "remove", "unset"]) {
    const inside = await place.run(["config", how, "permissions.deny", "x"], { more: { SOUS_SESSION_ID: "x" } })
    expect({ ...inside }).toMatchObject({ code: 2, stderr: expect.stringContaining("CLI_INSIDE_RUN") })
  }
  expect(existsSync(join(place.folder, USER))).toBe(false)
})

test("sous config add loses nothing of what ten processes write into two files of a trusted project at once, and no trust", async () => {
  place.put("project/.sous/settings.json", '{ "permissions": { "allow": ["Bash(first)"] } }')
  await place.run(["trust", "--yes"])
  const rules = Array.from({ length: 10 }, (_, index) => `Bash(p${index})`)
  const add = (rule: string, index: number) =>
    config("add", "permissions.allow", rule, "--scope", index % 2 === 0 ? "project" : "local")
  const ended = await Promise.all(rules.map(add))
  expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual(rules.map(() => [0, ""]))
  const { settings } = JSON.parse((await config("explain", "permissions.allow", "--json")).stdout)
  const values = settings[0].entries.map(({ value }: { value: string }) => value)
  expect(values.sort()).toEqual(["Bash(first)", ...rules])
  expect(JSON.parse((await place.run(["trust", "status", "--json"])).stdout)).toMatchObject({ state: "trusted" })
}, 60_000)
