import { spawn } from "node:child_process"
import { once } from "node:events"
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { createInterface } from "node:readline"
import { build } from "esbuild"
import { afterEach, beforeEach, expect, test } from "vitest"
import { parseDocument } from "../../../core/settings/document.ts"
import { writePlace, writeSetting } from "../../../core/settings/write.ts"

let folder: string
let project: string

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-write-")))
  project = join(folder, "project")
  mkdirSync(join(project, ".sous"), { recursive: true })
  mkdirSync(join(folder, "home/.config/sous"), { recursive: true })
})

afterEach(() => rmSync(folder, { recursive: true }))

function put(path: string, text: string | Buffer): string {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

function placeOf(scope: "user" | "project" | "local" = "project") {
  const folders = {
    user: join(folder, "home/.config/sous"),
    project: join(project, ".sous"),
    root: project,
  }
  return writePlace(scope, folders, { home: join(folder, "home") })!
}

const deny = ["permissions", "deny"]

test.each([
  [
    "set",
    ["model"],
    "new",
    '{\n  // which\n  "model": "old", // here\n  "maxTurns": 3, // more\n}\n',
    '{\n  // which\n  "model": "new", // here\n  "maxTurns": 3, // more\n}\n',
  ],
  ["set", ["model"], "new", '{"maxTurns":3}', '{"maxTurns":3, "model": "new"}'],
  [
    "set",
    ["budget", "usd"],
    2,
    '{\r\n\t"model": "x" // here\r\n}',
    '{\r\n\t"model": "x", // here\r\n\t"budget": {\r\n\t\t"usd": 2\r\n\t}\r\n}',
  ],
  ["set", ["model"], "x", "\uFEFF{}\n", '\uFEFF{\n  "model": "x"\n}\n'],
  [
    "unset",
    ["model"],
    undefined,
    '{\n  "model": "x", // of model\n  // of turns\n  "maxTurns": 3\n}\n',
    '{\n  // of model\n  // of turns\n  "maxTurns": 3\n}\n',
  ],
  [
    "unset",
    ["maxTurns"],
    undefined,
    '{\n  "model": "x", // of model\n  "maxTurns": 3 // of turns\n}\n',
    '{\n  "model": "x" // of model\n  // of turns\n}\n',
  ],
  [
    "add",
    deny,
    "Read",
    '{ "permissions": { "deny": [\n    "Edit" // why\n    // last\n] } }\n',
    '{ "permissions": { "deny": [\n    "Edit", // why\n    // last\n    "Read"\n] } }\n',
  ],
  ["add", deny, "Read", '{ "permissions": { "deny": [] } }', '{ "permissions": { "deny": ["Read"] } }'],
  [
    "remove",
    deny,
    "Read",
    '{ "permissions": { "deny": ["Edit", "Read" /* why */, "Bash"] } }',
    '{ "permissions": { "deny": ["Edit", /* why */ "Bash"] } }',
  ],
  [
    "remove",
    deny,
    "Read",
    '{ "permissions": { "deny": [\n  "Edit",\n  "Read",\n] } }',
    '{ "permissions": { "deny": [\n  "Edit",\n] } }',
  ],
] as const)("writeSetting() changes JSON in place: %s %j %j", async (how, path, value, before, after) => {
  const file = put("project/.sous/settings.json", before)
  await writeSetting(placeOf(), { how, path, value })
  expect(readFileSync(file, "utf8")).toBe(after)
})

test.each([
  [
    "set",
    ["model"],
    "new",
    "# which\nmodel: old   # here\nmaxTurns: 3\n",
    "# which\nmodel: new   # here\nmaxTurns: 3\n",
  ],
  [
    "set",
    ["env", "A"],
    "on",
    "env:\n    B: |\n        two\n        lines\n# end\nmodel: x",
    'env:\n    B: |\n        two\n        lines\n    A: "on"\n# end\nmodel: x',
  ],
  ["set", ["model"], "x", "# nothing yet\n", "# nothing yet\nmodel: x\n"],
  ["set", ["budget", "usd"], 2, "model: x\r\n", "model: x\r\nbudget:\r\n  usd: 2\r\n"],
  ["unset", ["model"], undefined, "model: x # of model\nmaxTurns: 3\n", "# of model\nmaxTurns: 3\n"],
  ["unset", deny, undefined, "permissions: # all\n  deny:\n    - Read\n# end\n", "permissions: {} # all\n# end\n"],
  [
    "add",
    deny,
    "Bash(rm *)",
    "permissions:\n  deny:\n  - Read # why\n\n  # end\nmodel: x\n",
    'permissions:\n  deny:\n  - Read # why\n  - "Bash(rm *)"\n\n  # end\nmodel: x\n',
  ],
  ["add", deny, "Read", "permissions: {deny: [Edit]} # x\n", "permissions: {deny: [Edit, Read]} # x\n"],
  ["remove", deny, "Read", "permissions:\n  deny:\n  - Read # why\n", "permissions:\n  deny: []\n  # why\n"],
  [
    "remove",
    deny,
    "Read",
    "permissions:\n  deny: &all\n    - Read\n    - Edit # stays\n  ask: [Bash]\n",
    "permissions:\n  deny: &all\n    - Edit # stays\n  ask: [ Bash ]\n",
  ],
] as const)("writeSetting() changes YAML in place: %s %j %j", async (how, path, value, before, after) => {
  const file = put("project/.sous/settings.yaml", before)
  await writeSetting(placeOf(), { how, path, value })
  expect(readFileSync(file, "utf8")).toBe(after)
})

test("writeSetting() leaves a file alone that says so already", async () => {
  const file = put("project/.sous/settings.json", '{ "permissions": { "deny": ["Read"] } }')
  const before = statSync(file)
  for (const change of [
    { how: "add", path: deny, value: "Read" },
    { how: "remove", path: deny, value: "Edit" },
    { how: "unset", path: ["model"] },
    { how: "set", path: deny, value: ["Read"] },
  ] as const) {
    expect(await writeSetting(placeOf(), change)).toMatchObject({ file, isChanged: false })
  }
  expect(statSync(file)).toMatchObject({ ino: before.ino, mtimeMs: before.mtimeMs })
})

test.each([
  ["json", '{ "model": "x" ', "SETTINGS_FILE_BROKEN"],
  ["json", "// nothing yet", "SETTINGS_FILE_BROKEN"],
  ["json", '{ "modle": "x" }', "SETTINGS_KEY_UNKNOWN"],
  ["json", '{ "maxTurns": "x" }', "SETTINGS_VALUE_INVALID"],
  ["json", '{ "hooks": { "PreToolUse": [{ "comand": "x" }] } }', "SETTINGS_KEY_UNKNOWN"],
  ["yaml", "model: [x\n", "SETTINGS_FILE_BROKEN"],
  ["json", Buffer.from([0x7b, 0x7d, 0x2f, 0x2f, 0xff]), "SETTINGS_WRITE_FAILED"],
])("writeSetting() never writes over a broken .%s file: %s", async (ending, text, code) => {
  const file = put(`project/.sous/settings.${ending}`, text)
  await expect(writeSetting(placeOf(), { how: "set", path: ["effort"], value: "low" })).rejects.toMatchObject({ code })
  expect(readFileSync(file)).toEqual(Buffer.from(text))
  expect(readdirSync(dirname(file))).toHaveLength(1)
})

test.each([
  [["maxTurns"], 0, "SETTINGS_VALUE_INVALID"],
  [["modle"], "x", "SETTINGS_KEY_UNKNOWN"],
  [["hooks"], { PreToolUse: [{ command: "x", timeout: "never" }] }, "SETTINGS_VALUE_INVALID"],
  [["env", "__proto__"], "x", "SETTINGS_FILE_BROKEN"],
])("writeSetting() refuses what would leave a broken file: %j %j", async (path, value, code) => {
  const text = '{ "model": "x" } // end'
  const file = put("project/.sous/settings.json", text)
  await expect(writeSetting(placeOf(), { how: "set", path, value })).rejects.toMatchObject({ code })
  expect(readFileSync(file, "utf8")).toBe(text)
})

test("writeSetting() refuses YAML that it could not change alone", async () => {
  const text = "permissions:\n  deny: &all [Read]\n  ask: *all\n"
  const file = put("project/.sous/settings.yaml", text)
  await expect(writeSetting(placeOf(), { how: "add", path: deny, value: "Edit" })).rejects.toMatchObject({
    code: "SETTINGS_WRITE_UNSAFE",
    details: { file, key: "permissions.deny" },
  })
  expect(readFileSync(file, "utf8")).toBe(text)
})

test("writeSetting() refuses settings that are code", async () => {
  const file = put("project/.sous/settings.ts", "export default {}")
  await expect(writeSetting(placeOf(), { how: "set", path: ["model"], value: "x" })).rejects.toMatchObject({
    code: "SETTINGS_WRITE_CODE",
    mend: `edit ${file} by hand`,
  })
  expect(readdirSync(dirname(file))).toEqual(["settings.ts"])
})

test("writeSetting() keeps a file's mode; a new one is the user's alone, or as the mask says in a project", async () => {
  const model = { how: "set", path: ["model"], value: "x" } as const
  const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8)
  const mask = process.umask(0o027)
  try {
    rmSync(join(folder, "home/.config"), { recursive: true })
    expect(modeOf((await writeSetting(placeOf("user"), model)).file)).toBe("600")
    expect(modeOf(join(folder, "home/.config/sous"))).toBe("700")
    expect(modeOf((await writeSetting(placeOf("project"), model)).file)).toBe("640")
    const file = put("project/.sous/settings.local.json", "{}")
    chmodSync(file, 0o664)
    expect(modeOf((await writeSetting(placeOf("local"), model)).file)).toBe("664")
  } finally {
    process.umask(mask)
  }
})

test("writeSetting() writes through a link that stays within the scope's reach, and through no other", async () => {
  const model = { how: "set", path: ["model"], value: "x" } as const
  const dotfile = put("home/dotfiles/sous.json", "{}")
  symlinkSync(dotfile, join(folder, "home/.config/sous/settings.json"))
  expect(await writeSetting(placeOf("user"), model)).toMatchObject({ file: dotfile })
  expect(JSON.parse(readFileSync(dotfile, "utf8"))).toEqual({ model: "x" })
  const link = join(project, ".sous/settings.json")
  symlinkSync(dotfile, link)
  const effort = { how: "set", path: ["effort"], value: "low" } as const
  await expect(writeSetting(placeOf(), effort)).rejects.toMatchObject({
    code: "SETTINGS_WRITE_OUTSIDE",
    details: { file: link, real: dotfile },
  })
  rmSync(join(project, ".sous"), { recursive: true })
  mkdirSync(join(folder, "elsewhere"))
  symlinkSync(join(folder, "elsewhere"), join(project, ".sous"))
  await expect(writeSetting(placeOf(), effort)).rejects.toMatchObject({ code: "SETTINGS_WRITE_OUTSIDE" })
  expect(readdirSync(join(folder, "elsewhere"))).toEqual([])
  expect(JSON.parse(readFileSync(dotfile, "utf8"))).toEqual({ model: "x" })
})

test("writeSetting() takes away what a killed process left beside the file, and nothing else", async () => {
  put("project/.sous/settings.json.0123456789ab", "half")
  put("project/.sous/settings.json.orig", "mine")
  await writeSetting(placeOf(), { how: "set", path: ["model"], value: "x" })
  expect(readdirSync(join(project, ".sous")).sort()).toEqual(["settings.json", "settings.json.orig"])
})

/** The writer as one file, so that a child starts as fast as Node does. */
async function bundleWriter(): Promise<string> {
  const file = join(folder, "writer.mjs")
  const source = `
    import { writeSetting } from ${JSON.stringify(join(import.meta.dirname, "../../../core/settings/write.ts"))}
    const [place, name, count] = [JSON.parse(process.argv[2]), process.argv[3], Number(process.argv[4])]
    for (let index = 0; index < count; index++) {
      await writeSetting(place, { how: "add", path: ["permissions", "deny"], value: \`Bash(\${name} \${index})\` })
      process.stdout.write(index + "\\n")
    }
  `
  await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    outfile: file,
    bundle: true,
    format: "esm",
    platform: "node",
    alias: { "jsonc-parser": "jsonc-parser/lib/esm/main.js" },
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "error",
  })
  return file
}

test.each([
  [20, "json", '{\n  // first\n  "model": "x", // second\n  "permissions": { "deny": [ /* third */ ] },\n}\n'],
  [6, "yaml", "# first\nmodel: x # second\npermissions:\n  deny: [] # third\n"],
])(
  "writeSetting() loses nothing of what %i processes write into .%s at once",
  async (count, ending, text) => {
    const file = put(`project/.sous/settings.${ending}`, text)
    const writer = await bundleWriter()
    const children = Array.from({ length: count }, (_, index) => {
      const args = [writer, JSON.stringify(placeOf()), `p${index}`, "5"]
      return spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] })
    })
    const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0]))
    expect(codes.every((code) => code === 0)).toBe(true)
    const written = readFileSync(file, "utf8")
    const { value } = (await parseDocument(file, written)) as any
    const all = Array.from({ length: count }, (_, p) => Array.from({ length: 5 }, (_, i) => `Bash(p${p} ${i})`)).flat()
    expect([...value.permissions.deny].sort()).toEqual(all.sort())
    for (const comment of ["first", "second", "third"]) expect(written).toContain(comment)
    expect(readdirSync(dirname(file))).toEqual([`settings.${ending}`])
  },
  60_000,
)

test("writeSetting() killed in the middle leaves the old file or the new one", async () => {
  const file = put("project/.sous/settings.json", '{ "permissions": { "deny": [] } } // end\n')
  const writer = await bundleWriter()
  const acknowledged: string[] = []
  for (let round = 0; round < 5; round++) {
    const child = spawn(process.execPath, [writer, JSON.stringify(placeOf()), `r${round}`, "100000"], {
      stdio: ["ignore", "pipe", "inherit"],
    })
    const exit = once(child, "exit")
    let seen = 0
    for await (const line of createInterface({ input: child.stdout })) {
      acknowledged.push(`Bash(r${round} ${line})`)
      // At another moment of a write each time.
      if (++seen === 3 + round) setTimeout(() => child.kill("SIGKILL"), round / 4)
    }
    await exit
    const text = readFileSync(file, "utf8")
    const { value } = (await parseDocument(file, text)) as any
    expect(value.permissions.deny).toEqual(expect.arrayContaining(acknowledged))
    expect(value.permissions.deny.length - acknowledged.length).toBeLessThanOrEqual(round + 1)
    expect(text).toContain("// end")
    const lock = `${file}.lock`
    // What the dead process held is stale a little later.
    if (readdirSync(dirname(file)).includes("settings.json.lock")) utimesSync(lock, 0, 0)
  }
  await writeSetting(placeOf(), { how: "set", path: ["model"], value: "x" })
  expect(readdirSync(dirname(file))).toEqual(["settings.json"])
}, 60_000)
