/**
 * `sous test` from outside: tables and test files, what is printed about them, and the exit code.
 */
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const RIGHT = `- { command: git push, expect: ask, because: no rule names it }
- { tool: Write, path: src/a.ts, expect: ask, because: nobody allowed it }
- { url: "https://example.com/x", expect: ask, because: no host is allowed }
- about: a cleaner
  settings: { permissions: { deny: ["Bash(rm *)"] } }
  scopes: { managed: { permissions: { ask: ["Read(./b)"] } } }
  flags: [--allow-run=git]
  mode: acceptEdits
  cases:
    - { command: "ls; rm x", expect: deny, source: deny, because: one of the two is denied }
    - { command: git push, expect: allow, because: the flag names git }
    - { tool: Write, path: "{{CWD}}/a", expect: allow, source: mode, because: edits are accepted }
    - { path: "{{CWD}}/b", expect: ask, source: ask, because: the organisation asks }
    - { tool: mcp__a__b, input: { x: 1 }, expect: not-allow, because: no rule names it }
- about: nobody there
  settings: {}
  headless: true
  tools: ["Bash(ls *)"]
  cases:
    - { command: make, expect: deny, source: deny, because: the step narrows it }
`

describe("sous test with tables", () => {
  it("finds them below the folder and counts the cases", async () => {
    place.put("project/rules/own.permissions.yaml", RIGHT)
    place.put("project/node_modules/x/other.permissions.yaml", "broken: [")
    expect(await place.run(["test"])).toEqual({
      code: 0,
      stdout: "ok    rules/own.permissions.yaml: 9 cases\n",
      stderr: "",
    })
  })

  it("says of a wrong case where it stands, what was expected, and by which rule it was decided", async () => {
    const settings = place.put("project/.sous/settings.json", '{\n  "permissions": { "deny": ["Bash(git *)"] }\n}\n')
    place.put(
      "project/a.permissions.yaml",
      "- { command: ls, expect: allow, because: it reads }\n- { command: git push, expect: ask, because: x }\n",
    )
    const { code, stdout } = await place.run(["test", "a.permissions.yaml"])
    expect(code).toBe(1)
    expect(stdout).toBe(
      `FAIL  a.permissions.yaml: 1 of 2 cases\n  line 2: expected ask, got deny: Bash git push — x; decided by "deny Bash(git *)" (project, ${settings}:2:29)\n`,
    )
    const { stdout: json } = await place.run(["test", "--json"])
    expect(JSON.parse(json)).toMatchObject({
      file: "a.permissions.yaml",
      ok: false,
      failures: [{ line: 2, input: { command: "git push" }, expect: "ask", behavior: "deny", rule: { line: 2 } }],
    })
  })

  it("goes by no settings of the user or the machine", async () => {
    place.put("home/.config/sous/settings.json", '{"permissions":{"allow":["Bash"]}}')
    place.put("project/a.permissions.yaml", "- { command: make, expect: ask, because: the project has no rule }\n")
    expect((await place.run(["test"])).code).toBe(0)
  })

  it.each([
    ["cases: 1", "1:1: it is no list of cases"],
    ["- { command: ls, expect: maybe, because: x }", "1:18: expect: "],
    ["- command: ls\n  expext: ask\n  because: x", '2:3: the key "expext" is unknown\n    mend  write "expect"'],
    [
      "- settings: { permissions: { dney: [] } }\n  cases: [{ command: x, expect: ask, because: x }]",
      '1:30: the key "dney" is unknown\n    mend  write "deny"',
    ],
    ["- { command: x, path: y, expect: ask, because: x }", "1:3: the case: give exactly one of"],
    ["- { tool: Bash, input: { command: 5 }, expect: ask, because: x }", "1:1: The input does not fit"],
    ["- [", "2:1: "],
  ])("CLI_TABLE_INVALID names the place of what no table has: %j", async (text, problem) => {
    place.put("project/a.permissions.yaml", `${text}\n`)
    place.put("project/b.permissions.yaml", "- { command: ls, expect: allow, because: it reads }\n")
    const { code, stdout } = await place.run(["test"])
    expect(code).toBe(1)
    expect(stdout).toContain(`Cannot use the table "a.permissions.yaml" at ${problem}`)
    expect(stdout).toContain("ok    b.permissions.yaml: 1 case\n")
    const json = (await place.run(["test", "--json"])).stdout.split("\n")[0]!
    expect(JSON.parse(json)).toMatchObject({ ok: false, failures: [{ code: "CLI_TABLE_INVALID" }] })
  })
})

describe("sous test with shipped recipes", () => {
  it("holds a recipe to its table, and runs its test as anybody's", async () => {
    const recipes = fileURLToPath(new URL("../../recipes/", import.meta.url))
    const files = ["green.permissions.yaml", "green.test.ts"].map((name) => `${recipes}${name}`)
    const { code, stdout } = await place.run(["test", ...files])
    expect(stdout.replaceAll(/\S*recipes\//g, "")).toMatch(
      /^ok {4}green\.permissions\.yaml: \d+ cases\nok {4}green\.test\.ts: \d+ tests\n$/,
    )
    expect(code).toBe(0)
  })
})

describe("sous test with test files", () => {
  const CODE = `import assert from "node:assert"
import { test } from "node:test"
import { z } from "sous"
import { scriptModel } from "sous/testing"

const wanted: number = 1
test("imports what runs", () => assert.ok(z.string() && scriptModel))
test("counts", () => assert.equal(1, wanted))
`

  it("runs those of ours, without a package beside them", async () => {
    place.put("project/recipes/own.test.ts", CODE)
    place.put("project/other.test.ts", 'import { test } from "another-runner"\n')
    expect(await place.run(["test"])).toEqual({ code: 0, stdout: "ok    recipes/own.test.ts: 2 tests\n", stderr: "" })
  })

  it("shows what a failing one printed, and goes on", async () => {
    place.put("project/a.test.ts", CODE.replace("= 1", "= 2"))
    place.put("project/b.test.ts", CODE)
    const { code, stdout } = await place.run(["test"])
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^FAIL {2}a\.test\.ts: 1 of 2 tests\n[\s\S]*AssertionError[\s\S]*\nok {4}b\.test\.ts: 2 tests\n$/,
    )
  })
})

it.each([
  [["test"], "CLI_TEST_NONE"],
  [["test", "src"], "CLI_TEST_NONE"],
  [["test", "nowhere"], "CLI_TEST_UNREADABLE"],
  [["test", "--batch"], "CLI_FLAG_UNKNOWN"],
])("%j ends with %s", async (args, code) => {
  place.put("project/src/a.ts", "")
  const ended = await place.run(args)
  expect(ended).toMatchObject({ code: 2, stdout: "" })
  expect(ended.stderr).toContain(`code  ${code}`)
})

it.each([
  ["permissions", "revoke", "1"],
  ["run", "./any.ts"],
])("CLI_INSIDE_RUN: an agent cannot approve itself with %s", async (...args) => {
  const ended = await place.run(args, { more: { SOUS_SESSION_ID: "a" } })
  expect(ended).toMatchObject({ code: 2, stdout: "" })
  expect(ended.stderr).toContain("code  CLI_INSIDE_RUN")
})
