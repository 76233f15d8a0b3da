import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { settingsJsonSchema } from "../../../core/settings/json-schema.ts"
import { settingsKeys } from "../../../core/settings/schema.ts"

test.each(settingsKeys().map((key) => [key.path, key] as const))(
  "settingsKeys() describes %s: a sentence, a merge rule, a trust mark",
  (_, { sentence, mark }) => {
    expect(sentence).toMatch(/^[A-Z].*\.$/)
    expect(["replace", "union", "tighten"]).toContain(mark?.merge)
    const trust = mark?.trust
    if (typeof trust !== "function") expect(["tightens", "harmless", "widens"]).toContain(trust)
  },
)

test("settingsKeys() names the keys of sections one by one", () => {
  const paths = settingsKeys().map(({ path }) => path)
  expect(paths).toContain("permissions.deny")
  expect(paths).toContain("budget.usd")
  expect(paths).not.toContain("permissions")
})

test("settingsKeys() marks what a stranger may use to restrict, and nothing else", () => {
  const safe = settingsKeys().filter(({ mark }) => mark?.trust === "tightens" || mark?.trust === "harmless")
  expect(safe.map(({ path }) => path)).toEqual([
    "$schema",
    "permissions.ask",
    "permissions.deny",
    "permissions.disableBypassPermissionsMode",
    "permissions.disableAutoMode",
    "permissions.denialLimit",
  ])
})

test("settings.schema.json is what npm run schema writes", () => {
  const written = readFileSync(new URL("../../../settings.schema.json", import.meta.url), "utf8")
  expect(written).toBe(JSON.stringify(settingsJsonSchema(), null, 2) + "\n")
})
