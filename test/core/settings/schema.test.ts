import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { z } from "zod"
import { settingsJsonSchema } from "../../../core/settings/json-schema.ts"
import { type LoadedSettings, loadSettings } from "../../../core/settings/load.ts"
import { type SettingsKey, settingsKeys } from "../../../core/settings/schema.ts"
import { schemaProblems } from "./json-schema-check.ts"

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

test("settings.schema.json lets no object at any level have a key that it does not name", () => {
  const open: string[] = []
  const walk = (schema: any, at: string) => {
    if (typeof schema !== "object" || schema === null) return
    if (schema.type === "object" && schema.additionalProperties === undefined) open.push(at)
    // A record, whose keys are names that people choose, says what its values are.
    if (schema.properties !== undefined && schema.additionalProperties !== false) open.push(at)
    for (const [name, below] of Object.entries(schema)) walk(below, `${at}.${name}`)
  }
  const schema = settingsJsonSchema()
  walk(schema, "$")
  expect(open).toEqual([])
})

test.each(settingsKeys().map((key) => [key.path, key] as const))(
  "settings.schema.json accepts %s, and refuses it misspelt or with a value of another type",
  (path, { schema }) => {
    const whole = settingsJsonSchema()
    for (const value of samplesFor(path, schema)) {
      expect(schemaProblems(whole, nest(path.split("."), value)), JSON.stringify(value)).toEqual([])
      expect(
        schemaProblems(whole, nest([...path.split(".").slice(0, -1), `${path.split(".").at(-1)}x`], value)),
      ).not.toEqual([])
    }
    expect(schemaProblems(whole, nest(path.split("."), null))).not.toEqual([])
  },
)

describe("a key of the schema in a project", () => {
  let folder: string
  let before: LoadedSettings
  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-schema-")))
    mkdirSync(join(folder, "project/.git"), { recursive: true })
    before = await load({})
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  async function load(
    values: object,
    { trust = false, file = "project/.sous/settings.json" } = {},
  ): Promise<LoadedSettings> {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), JSON.stringify(values))
    try {
      const place = { cwd: join(folder, "project"), home: join(folder, "home") }
      return await loadSettings({
        ...place,
        managed: join(folder, "etc"),
        managedClaude: join(folder, "none"),
        env: {},
        trust,
      })
    } finally {
      rmSync(join(folder, file))
    }
  }

  const cases = settingsKeys().flatMap((key) =>
    samplesFor(key.path, key.schema).map((value) => [key.path, value, key] as const),
  )

  test.each(cases)(
    "%s: %j counts untrusted only if it is marked as restricting or harmless",
    async (path, value, key) => {
      const loaded = await load(nest(path.split("."), value))
      const [source] = loaded.sources
      const kept = partOf(key, value, "kept")
      const lost = partOf(key, value, "lost")
      expect(at(source!.values, path)).toEqual(kept)
      expect(source!.ignored ?? []).toEqual(lost.map((one) => ({ ...one, reason: expect.any(String) })))
      const isNamed = loaded.warnings.some((warning) => warning.includes(path) && warning.includes(source!.file!))
      expect(isNamed, loaded.warnings.join()).toBe(lost.length > 0)
      expect(loaded.hooks.sources.filter(({ suppressed }) => suppressed === undefined)).toEqual([])
      if (kept === undefined) expect(effectOf(loaded)).toEqual(effectOf(before))
    },
  )

  test.each(cases)("%s: %j counts once the project is trusted", async (path, value, { mark }) => {
    const values = nest(path.split("."), value)
    const loaded = mark?.managedOnly
      ? await load(values, { file: "etc/settings.json" })
      : await load(values, { trust: true })
    const [source] = loaded.sources
    expect(at(source!.values, path)).toEqual(value)
    expect(source!.ignored ?? []).toEqual([])
    expect(loaded.warnings).toEqual([])
    if (path === "hooks") expect(loaded.hooks.sources.every(({ suppressed }) => suppressed === undefined)).toBe(true)
    else if (!WITHOUT_EFFECT.includes(path)) expect(effectOf(loaded)).not.toEqual(effectOf(before))
  })

  test.each(cases.filter(([, , { mark }]) => mark?.managedOnly))(
    "%s: %j never counts outside of the managed settings",
    async (path, value) => {
      const loaded = await load(nest(path.split("."), value), { trust: true })
      expect(at(loaded.sources[0]!.values, path)).toBeUndefined()
      expect(loaded.warnings.join()).toContain(path)
    },
  )
})

/** What they change shows elsewhere: in an editor, in which files are read, in hooks that are there. */
const WITHOUT_EFFECT = ["$schema", "allowedHttpHookUrls", "httpHookAllowedEnvVars"]

function effectOf({ settings }: LoadedSettings): unknown {
  const { origins, ...values } = settings
  return JSON.parse(JSON.stringify({ ...values, origins: [...origins.keys()] }))
}

/** What of a value counts untrusted, or does not: of a list whose entries differ, entry by entry. */
function partOf(key: SettingsKey, value: unknown, part: "kept"): unknown
function partOf(key: SettingsKey, value: unknown, part: "lost"): { path: string; value: unknown }[]
function partOf({ path, mark }: SettingsKey, value: unknown, part: "kept" | "lost"): unknown {
  const trust = mark?.trust ?? "widens"
  if (typeof trust === "string") {
    if (part === "kept") return trust === "widens" ? undefined : value
    return trust === "widens" ? [{ path, value }] : []
  }
  const entries = value as unknown[]
  if (part === "kept") return entries.map((entry) => (trust(entry) === "widens" ? undefined : entry))
  return entries.flatMap((entry, index) =>
    trust(entry) === "widens" ? [{ path: `${path}.${index}`, value: entry }] : [],
  )
}

function at(values: unknown, path: string): unknown {
  return path.split(".").reduce((fields: any, name) => fields?.[name], values)
}

function nest(path: readonly string[], value: unknown): object {
  return path.reduceRight((below: unknown, name) => ({ [name]: below }), value) as object
}

/** Texts for what a pattern or a parser narrows further than its type says. */
const TEXTS = ["text", "disable", "deny Bash(rm *)", "NAME", "https://example.com/*"]

/** Valid values of a key, made from its schema: one for each form that it may have. */
function samplesFor(path: string, schema: z.ZodType): unknown[] {
  if (path === "hooks")
    return [{ PreToolUse: [{ command: "x" }] }, { Stop: [{ hooks: [{ type: "command", command: "x" }] }] }]
  if (path === "permissions.rules") return [["deny Bash(rm *)", "allow Bash(ls)", "ask Edit"], ["allow Bash(ls)"]]
  const found = samplesOf(schema)
  if (found.length === 0) throw new Error(`no sample of ${path} is valid`)
  return found
}

function samplesOf(schema: z.ZodType): unknown[] {
  return candidatesOf(schema).filter((value) => schema.safeParse(value).success)
}

function candidatesOf(schema: z.ZodType): unknown[] {
  if (schema instanceof z.ZodOptional) return samplesOf(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodBoolean) return [true, false]
  if (schema instanceof z.ZodNumber) return [3, 0.5]
  if (schema instanceof z.ZodEnum) return schema.options
  if (schema instanceof z.ZodLiteral) return [...schema.values]
  if (schema instanceof z.ZodString) return TEXTS.filter((text) => schema.safeParse(text).success).slice(0, 1)
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((one) => samplesOf(one as z.ZodType))
  if (schema instanceof z.ZodArray) return samplesOf(schema.element as z.ZodType).map((entry) => [entry])
  if (schema instanceof z.ZodRecord)
    return samplesOf(schema.valueType as z.ZodType)
      .flatMap((value) => TEXTS.map((name) => ({ [name]: value })))
      .slice(0, 5)
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries(schema.shape).map(([name, field]) => [name, samplesOf(field as z.ZodType)[0]])
    return [Object.fromEntries(fields)]
  }
  return ["text"]
}
