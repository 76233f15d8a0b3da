import { expect, test } from "vitest"
import { mergeSettings, type SettingsScope, type SettingsSource } from "../../../core/settings/merge.ts"
import type { Settings } from "../../../core/settings/schema.ts"

function source(scope: SettingsScope, values: Settings): SettingsSource {
  return { scope, file: `/${scope}.json`, base: `/${scope}`, values, at: () => ({ line: 3, column: 5 }) }
}

test("mergeSettings() takes a scalar from the strongest scope and says which", () => {
  const merged = mergeSettings([
    source("user", { model: "u", effort: "low", maxTurns: 3 }),
    source("project", { model: "p", effort: "high" }),
    source("local", { model: "l" }),
    source("cli", { model: "c" }),
    source("managed", { model: "m" }),
  ])
  expect(merged).toMatchObject({ model: "m", effort: "high", maxTurns: 3 })
  expect(merged.origins.get("effort")).toEqual({ scope: "project", file: "/project.json", line: 3, column: 5 })
})

test("mergeSettings() keeps every rule with its origin, strongest scope first", () => {
  const { permissions } = mergeSettings([
    source("user", { permissions: { allow: ["Read"], deny: ["Bash(rm *)"] } }),
    source("managed", { permissions: { deny: ["WebFetch"] } }),
  ])
  expect(permissions.rules.map(({ behavior, text, scope }) => `${scope} ${behavior} ${text}`)).toEqual([
    "managed deny WebFetch",
    "user deny Bash(rm *)",
    "user allow Read",
  ])
  expect(permissions.rules[1]).toMatchObject({ file: "/user.json", line: 3, column: 5 })
})

test("mergeSettings() reads ordered rules scope by scope from managed down", () => {
  const { permissions } = mergeSettings([
    source("project", { permissions: { rules: ["deny Bash(rm *)", "allow  Bash(*)"] } }),
    source("managed", { permissions: { rules: ["ask Edit(src/**)"] } }),
  ])
  expect(permissions.rules).toMatchObject([
    { behavior: "ask", text: "Edit(src/**)", ordered: true, scope: "managed" },
    { behavior: "deny", text: "Bash(rm *)", ordered: true, scope: "project" },
    { behavior: "allow", text: "Bash(*)", ordered: true, scope: "project" },
  ])
})

test("mergeSettings() takes the strictest denialLimit, whoever set it", () => {
  const merged = mergeSettings([
    source("cli", { permissions: { denialLimit: 50 } }),
    source("project", { permissions: { denialLimit: 4 } }),
  ])
  expect(merged.permissions.denialLimit).toBe(4)
  expect(merged.origins.get("permissions.denialLimit")?.scope).toBe("project")
})

test("mergeSettings() unites records name by name, the stronger scope's value standing", () => {
  const merged = mergeSettings([
    source("user", { env: { A: "user", B: "user" }, pluginSettings: { guard: { level: 1, on: true } } }),
    source("cli", { env: { A: "cli" }, pluginSettings: { guard: { level: 2 } } }),
  ])
  expect(merged.env).toEqual({ A: "cli", B: "user" })
  expect(merged.pluginSettings).toEqual({ guard: { level: 2, on: true } })
})

test("mergeSettings() sets each limit of a budget by itself", () => {
  const merged = mergeSettings([
    source("user", { budget: { usd: 5, turns: 10 } }),
    source("cli", { budget: { usd: 1 } }),
  ])
  expect(merged.budget).toEqual({ usd: 1, turns: 10 })
})

test("mergeSettings() of nothing gives the defaults", () => {
  expect(mergeSettings([])).toEqual({
    permissions: { rules: [], defaultMode: "default", additionalDirectories: [], denialLimit: 10, barredModes: [] },
    env: {},
    plugins: [],
    packs: [],
    pluginSettings: {},
    budget: {},
    prices: {},
    compact: { auto: true },
    memory: { files: true, auto: true, exclude: [] },
    cleanup: { days: 30 },
    compat: { claude: true },
    origins: new Map(),
  })
})

test("mergeSettings() reads the mode manual as default", () => {
  expect(mergeSettings([source("cli", { permissions: { defaultMode: "manual" } })]).permissions.defaultMode).toBe(
    "default",
  )
})
