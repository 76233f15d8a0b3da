import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import {
  grantsOfFlags,
  optionsOfFlags,
  parseBudget,
  readObject,
  settingsOfFlags,
  splitRules,
} from "../../../core/settings/flag.ts"
import { checkBypass } from "../../../core/settings/flag-bypass.ts"
import { mergeSettings } from "../../../core/settings/merge.ts"

test.each([
  ["2.5", { usd: 2.5 }],
  ["usd=1,tokens=200000, turns=40,minutes=1.5", { usd: 1, tokens: 200000, turns: 40, minutes: 1.5 }],
])("parseBudget() reads %s", (text, budget) => {
  expect(parseBudget(text)).toEqual(budget)
})

test.each(["", "much", "-1", "0", "usd", "usd=", "euro=1", "turns=1.5", "usd=1,,turns=2"])(
  "parseBudget() refuses %j",
  (text) => {
    expect(() => parseBudget(text)).toThrow(expect.objectContaining({ code: "CLI_VALUE_INVALID" }))
  },
)

test("splitRules() cuts at commas and spaces outside of parentheses", () => {
  expect(splitRules("Read, Bash(git log *),Edit(a, b)  Grep")).toEqual([
    "Read",
    "Bash(git log *)",
    "Edit(a, b)",
    "Grep",
  ])
  expect(splitRules("")).toEqual([])
})

test("settingsOfFlags() makes settings of the flags that are given, and no more", () => {
  expect(settingsOfFlags({})).toEqual({ permissions: {} })
  expect(
    settingsOfFlags({
      replay: "c.yaml",
      mode: "plan",
      allowedTools: ["Read"],
      disallowedTools: ["Bash"],
      addDir: ["../x"],
      plugin: ["a.ts", "./b.ts"],
      budget: { usd: 1 },
    }),
  ).toEqual({
    model: "cassette:c.yaml",
    budget: { usd: 1 },
    plugins: ["./a.ts", "./b.ts"],
    permissions: { allow: ["Read"], deny: ["Bash"], defaultMode: "plan", additionalDirectories: ["../x"] },
  })
})

test("grantsOfFlags() makes paths absolute, and keeps the rest as it is", () => {
  const from = { cwd: "/work/here", home: "/home/me" }
  const flags = {
    allowRead: ["a", "~/b"],
    allowWrite: true as const,
    allowRun: ["git"],
    denyRead: ["/c"],
    allowAll: true,
  }
  expect(grantsOfFlags(flags, from)).toEqual({
    allow: { read: ["/work/here/a", "/home/me/b"], write: true, run: ["git"], all: true },
    deny: { read: ["/c"] },
  })
})

test("optionsOfFlags() lets flags and the organisation beat the recipe, and nobody else", () => {
  const at = { base: "/", cwd: "/work" }
  const user = mergeSettings([{ scope: "user", ...at, values: { model: "u", budget: { usd: 1 } } }])
  expect(optionsOfFlags({}, user, at)).toMatchObject({ budget: {} })
  expect(optionsOfFlags({}, user, at).model).toBeUndefined()
  const managed = mergeSettings([{ scope: "managed", ...at, values: { model: "m", budget: { turns: 2 } } }])
  expect(optionsOfFlags({ record: "c.yaml" }, managed, at)).toMatchObject({
    model: "m",
    budget: { turns: 2 },
    record: "/work/c.yaml",
  })
})

test("checkBypass() wants the flag, and no root outside of a sandbox", () => {
  const flag = { dangerouslySkipPermissions: true }
  const [me, root] = [
    { isRoot: false, isSandbox: false },
    { isRoot: true, isSandbox: false },
  ]
  const refused = expect.objectContaining({ code: "CLI_BYPASS_REFUSED" })
  expect(() => checkBypass("bypassPermissions", {}, me)).toThrow(refused)
  expect(() => checkBypass("bypassPermissions", flag, root)).toThrow(refused)
  expect(() => checkBypass("bypassPermissions", flag, me)).not.toThrow()
  expect(() => checkBypass("bypassPermissions", flag, { ...root, isSandbox: true })).not.toThrow()
  expect(() => checkBypass("plan", {}, root)).not.toThrow()
})

test("readObject() reads JSON itself, and files of JSON and YAML", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "sous-flag-"))
  writeFileSync(join(cwd, "a.json"), `{ "a": 1 } // one`)
  writeFileSync(join(cwd, "b.yaml"), "b: 2")
  writeFileSync(join(cwd, "c.json"), "[1]")
  try {
    expect(await readObject("--output-schema", ' {"c": 3}', { cwd })).toEqual({ c: 3 })
    expect(await readObject("--output-schema", "a.json", { cwd })).toEqual({ a: 1 })
    expect(await readObject("--output-schema", "b.yaml", { cwd })).toEqual({ b: 2 })
    for (const value of ["c.json", "none.json", "{"]) {
      await expect(readObject("--output-schema", value, { cwd })).rejects.toMatchObject({ code: "CLI_VALUE_INVALID" })
    }
  } finally {
    rmSync(cwd, { recursive: true })
  }
})
