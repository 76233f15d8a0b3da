import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import fc from "fast-check"
import { afterAll, beforeAll, expect, test } from "vitest"
import { isSousError } from "../../../core/error.ts"
import { loadSettings } from "../../../core/settings/load.ts"
import { settingsKeys } from "../../../core/settings/schema.ts"
import { writePlace, writeSetting } from "../../../core/settings/write.ts"

const CASES = process.env["SOUS_TEST_FULL"] === "1" ? 10_000 : 300
/** Longer than any file of this size may take, ms. */
const HANGING_MS = 5_000

const FILES = [
  ".sous/settings.json",
  ".sous/settings.yaml",
  ".sous/settings.local.yml",
  ".hooks.json",
  ".claude/settings.json",
  ".claude/settings.local.json",
] as const

let folder: string
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-fuzz-")))
})
afterAll(() => rmSync(folder, { recursive: true }))

const examples = readdirSync(join(import.meta.dirname, "example")).map((name) =>
  readFileSync(join(import.meta.dirname, "example", name), "utf8"),
)

const key = fc.constantFrom(
  ...new Set(settingsKeys().flatMap(({ path }) => path.split("."))),
  ...["PreToolUse", "Stop", "matcher", "command", "type", "__proto__", "constructor", "toString", "", "<<", "$import"],
)
const rule = fc
  .tuple(fc.constantFrom("Bash", "Read", "allow Bash", "", "mcp__a__b", "*"), fc.string())
  .map(([tool, text]) => `${tool}(${text})`)
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.jsonValue({ maxDepth: 1 }),
    tie("list"),
    tie("map"),
    rule,
  ),
  list: fc.array(tie("any"), { maxLength: 4 }),
  map: fc.dictionary(key, tie("any"), { maxKeys: 5 }),
})).map
/** Text that somebody's editor, merge or script may leave behind. */
const torn = fc
  .tuple(
    fc.constantFrom(...examples),
    fc.nat(),
    fc.nat({ max: 30 }),
    fc.oneof(
      fc.string(),
      fc.constantFrom(
        "{",
        "]",
        '"',
        "\u0000",
        "<<<<<<< HEAD\n",
        "\t",
        "&a ",
        "*a",
        "- ",
        ": ",
        "#",
        "'",
        "!!js/function ",
        "---\n",
        "? ",
      ),
    ),
  )
  .map(([text, at, length, added]) => {
    const start = at % (text.length + 1)
    return text.slice(0, start) + added + text.slice(start + length)
  })

const SPECIAL = [
  "",
  "\uFEFF",
  "null",
  "[]",
  "0",
  "{".repeat(5_000),
  "[".repeat(5_000),
  `${"a:\n ".repeat(1)}${Array.from({ length: 900 }, (_, depth) => `${" ".repeat(depth)}a:\n`).join("")}`,
  `a: &a [x,x,x,x,x,x,x,x,x,x]\n${"bcdefghij"
    .split("")
    .map((name, index) => `${name}: &${name} [${Array(10).fill(`*${"abcdefghij"[index]}`).join(",")}]`)
    .join("\n")}\n`,
  "a: &a\n  b: *a\n",
  "permissions: &p { deny: [Read] }\nmodel: *p\n",
  "? [a, b]\n: c\n",
  "? { a: 1 }\n: 2\n1: x\nnull: y\n",
  "<<: { model: x }\n",
  "model: !!binary aGVsbG8=\n",
  "model: !!timestamp 2001-01-01\nenv: !!set { A }\n",
  "%YAML 1.1\n---\nmodel: yes\n",
  "model: x\n---\nmodel: y\n",
  "model: x\n...\ntrailing",
  "env: { A: .nan, B: .inf, C: 0x10, D: 1_000 }\n",
  "maxTurns: 1e400\n",
  `{ "maxTurns": 1e400 }`,
  `{ "permissions": { "deny": ["${"(".repeat(5000)}"] } }`,
  `{ "permissions": { "deny": ["Bash(${"*a".repeat(2000)}*)"] } }`,
  `{ "hooks": { "PreToolUse": [{ "matcher": "${"(a+)+".repeat(50)}$", "command": "x" }] } }`,
  `{ "allowedHttpHookUrls": ["https://${"*a".repeat(2000)}"], "hooks": { "Stop": [{ "url": "https://${"a".repeat(2000)}/" }] } }`,
]

const text = fc.oneof(
  { weight: 4, arbitrary: torn },
  { weight: 3, arbitrary: value.map((one) => JSON.stringify(one)) },
  {
    weight: 1,
    arbitrary: value.map((one) =>
      JSON.stringify(one, null, 2)
        .replaceAll(/"(\w+)":/g, "$1:")
        .replaceAll(/[{},]/g, ""),
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 60 }) },
  { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom(...'{}[]":,#&*!|>-?%@` \n\tax0'), maxLength: 40 }) },
)

async function tryLoad(file: string, content: string, options: { trust: boolean }): Promise<void> {
  const path = join(folder, "project", file)
  rmSync(join(folder, "project"), { recursive: true, force: true })
  mkdirSync(join(folder, "project/.git"), { recursive: true })
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  const place = { cwd: join(folder, "project"), home: join(folder, "home"), managed: join(folder, "etc"), env: {} }
  const started = performance.now()
  await loadSettings({ ...place, managedClaude: join(folder, "none"), trust: options.trust }).catch(expectCode)
  expect(performance.now() - started).toBeLessThan(HANGING_MS)
}

function expectCode(error: unknown): void {
  if (!isSousError(error)) throw error
  expect(error.code).toMatch(/^(?:SETTINGS|TRUST|TREE)_/)
  expect(error.message).not.toContain("undefined")
}

test(
  "loadSettings() ends with settings or a code, whatever text a settings file holds",
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...FILES), text, fc.boolean(), async (file, content, trust) => {
        await tryLoad(file, content, { trust })
      }),
      { numRuns: CASES },
    )
  },
  CASES * 100,
)

test.each(SPECIAL)("loadSettings() ends with settings or a code for %j", async (content) => {
  for (const file of FILES) await tryLoad(file, content, { trust: true })
})

test.each([
  ["pluginSettings: { p: &a { b: *a } }\n", "an alias stands for itself"],
  [SPECIAL.find((one) => one.startsWith("a: &a [x"))!, "its aliases cannot be resolved"],
])("loadSettings() refuses aliases without an end: %j", async (content, problem) => {
  mkdirSync(join(folder, "alias/.sous"), { recursive: true })
  writeFileSync(join(folder, "alias/.sous/settings.yaml"), content)
  const place = { cwd: join(folder, "alias"), home: join(folder, "home"), managed: join(folder, "etc"), env: {} }
  await expect(loadSettings(place)).rejects.toMatchObject({ code: "SETTINGS_FILE_BROKEN", details: { problem } })
})

test(
  "writeSetting() writes a file that is good, or leaves it byte for byte as it was",
  async () => {
    const changes = fc.constantFrom(
      { how: "set", path: ["model"], value: "x" },
      { how: "unset", path: ["permissions"] },
      { how: "add", path: ["permissions", "deny"], value: "Read" },
      { how: "set", path: ["env", "a b"], value: "x" },
      { how: "remove", path: ["permissions", "deny"], value: "Bash(rm *)" },
    ) as fc.Arbitrary<{ how: "set"; path: string[]; value: string }>
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("json", "yaml"),
        fc.oneof(torn, text, fc.constantFrom(...SPECIAL)),
        changes,
        async (ending, content, change) => {
          rmSync(join(folder, "write"), { recursive: true, force: true })
          mkdirSync(join(folder, "write/.sous"), { recursive: true })
          const file = join(folder, `write/.sous/settings.${ending}`)
          writeFileSync(file, content)
          const before = readFileSync(file)
          const folders = { root: join(folder, "write"), project: join(folder, "write/.sous") }
          const written = await writeSetting(writePlace("project", folders)!, change).catch(expectCode)
          if (written === undefined) expect(readFileSync(file).equals(before)).toBe(true)
          else expect((await writeSetting(writePlace("project", folders)!, change)).isChanged).toBe(false)
        },
      ),
      { numRuns: Math.ceil(CASES / 10) },
    )
  },
  CASES * 100,
)
