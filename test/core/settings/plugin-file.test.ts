import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { SousError } from "../../../core/error.ts"
import { mergeSettings } from "../../../core/settings/merge.ts"
import { findPlugins, loadPlugins } from "../../../core/settings/plugin-file.ts"

let folder: string

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-plugins-")))
})
afterEach(() => rmSync(folder, { recursive: true }))

function put(path: string, text = ""): string {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

function find(plugins: string[], trusted = false) {
  const base = join(folder, "project")
  const settings = mergeSettings([{ scope: "cli", base, values: { plugins } }])
  const claude = { managed: join(folder, "etc") }
  const folders = {
    managed: join(folder, "etc"),
    user: join(folder, "user"),
    project: join(base, ".sous"),
    root: base,
    claude,
  }
  return findPlugins(settings, folders, {
    home: join(folder, "home"),
    trust: { isTrusted: trusted, state: trusted ? "start" : "untrusted", copyOf: (file) => file },
  })
}

test("findPlugins() finds what settings name, then what lies in the folders of managed and user scope", () => {
  const files = [
    put("project/a.ts"),
    put("home/b.js"),
    put("project/node_modules/guard/index.js"),
    put("etc/plugins/c.mts"),
    put("user/plugins/d.ts"),
  ]
  put("project/node_modules/guard/package.json", `{ "name": "guard", "main": "index.js" }`)
  put("user/plugins/d.test.ts")
  put("user/plugins/README.md")
  put("project/.sous/plugins/e.ts")
  expect(find(["./a.ts", "~/b.js", "guard"]).map(({ file }) => file)).toEqual(files)
})

test.each([
  [`{ "type": "module", "exports": { ".": { "types": "./x.d.ts", "import": "./main.mjs" } } }`, "main.mjs"],
  [`{ "exports": "./main.mjs" }`, "main.mjs"],
  [`{ "exports": { "node": { "default": "./main.mjs" } } }`, "main.mjs"],
  [`{ "main": "lib/main.js" }`, "lib/main.js"],
])("findPlugins() finds the entry of a package with %s", (manifest, entry) => {
  put("project/node_modules/@team/guard/package.json", manifest)
  const file = put(`project/node_modules/@team/guard/${entry}`)
  expect(find(["@team/guard"])).toMatchObject([{ file, origin: { scope: "cli" } }])
})

test("findPlugins() takes a project's plugins only when the project is trusted", () => {
  const file = put("project/.sous/plugins/e.ts")
  expect(find([])).toEqual([])
  expect(find([], true)).toEqual([{ file, origin: { scope: "project" } }])
})

test("findPlugins() loads nothing that trust in the project does not cover", () => {
  const file = put("outside/x.ts")
  const base = join(folder, "project")
  const settings = mergeSettings([{ scope: "project", base, values: { plugins: [file] } }])
  const trust = { isTrusted: true, state: "trusted", copyOf: (path: string) => path } as const
  const [found] = findPlugins(settings, { managed: join(folder, "etc"), claude: { managed: "" } }, { trust })
  expect(found?.fault).toMatchObject({ code: "PLUGIN_OUTSIDE" })
})

test("findPlugins() takes a file that two paths reach once", () => {
  const file = put("user/plugins/a.ts")
  symlinkSync(file, join(folder, "user/plugins/b.ts"))
  expect(find([file]).map((found) => found.file)).toEqual([file])
})

test("loadPlugins() loads the good ones and reports the others, each with its code", async () => {
  const files = ["good", "throws", "hangs", "empty", "null"].map((name) => ({
    file: `/${name}.ts`,
    origin: { scope: "user" as const },
  }))
  const missing = find(["./missing.ts"])
  const modules: Record<string, () => unknown> = {
    "/good.ts": async () => ({ default: { name: "good" } }),
    "/throws.ts": async () => Promise.reject(new TypeError("boom")),
    "/hangs.ts": () => new Promise(() => {}),
    "/empty.ts": async () => ({}),
    "/null.ts": async () => ({ default: null }),
  }
  const entries = await loadPlugins([...files, ...missing], async (file) => modules[file]!(), { budgetMs: 20 })
  expect(entries.map(({ name, from, plugin, fault }) => [name, from, plugin?.name ?? fault?.code])).toEqual([
    ["good", "/good.ts", "good"],
    ["throws", "/throws.ts", "PLUGIN_LOAD_FAILED"],
    ["hangs", "/hangs.ts", "PLUGIN_LOAD_TIMEOUT"],
    ["empty", "/empty.ts", "PLUGIN_EXPORT_INVALID"],
    ["null", "/null.ts", "PLUGIN_EXPORT_INVALID"],
    ["missing", "./missing.ts", "PLUGIN_NOT_FOUND"],
  ])
  expect(entries[1]!.fault!.message).toBe('Cannot load plugin "/throws.ts": boom')
  expect(entries[5]).toMatchObject({ isNamed: true, identity: join(folder, "project/missing.ts") })
})

test("loadPlugins() loads several at once, and keeps the order of the files", async () => {
  const files = Array.from({ length: 20 }, (_, index) => ({
    file: `/p${index}.ts`,
    origin: { scope: "user" as const },
  }))
  const waiting: (() => void)[] = []
  let most = 0
  const load = async (file: string) => {
    await new Promise<void>((resolve) => {
      most = Math.max(most, waiting.push(resolve))
    })
    return { default: { name: file.slice(1, -3) } }
  }
  const loading = loadPlugins(files, load)
  while (waiting.length > 0) {
    waiting.pop()!()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect((await loading).map(({ name }) => name)).toEqual(files.map(({ file }) => file.slice(1, -3)))
  expect(most).toBe(6)
})

test("findPlugins() takes a folder with a package.json or an index as one plugin, and nothing else of it", () => {
  const files = [put("user/plugins/a/src/main.ts"), put("user/plugins/b/index.ts"), put("user/plugins/c.ts")]
  put("user/plugins/a/package.json", `{ "exports": "./src/main.ts" }`)
  put("user/plugins/a/other.ts")
  put("user/plugins/b/helper.ts")
  put("user/plugins/nothing/helper.ts")
  put("user/plugins/node_modules/index.ts")
  put("user/plugins/.hidden.ts")
  expect(find([]).map(({ file }) => file)).toEqual(files)
})

test.each([
  [
    "guard/sub",
    `{ "exports": { ".": "./a.js", "./sub": { "require": "./no.cjs", "import": "./sub.mjs" } } }`,
    "sub.mjs",
  ],
  ["guard/deep/one", `{ "exports": { "./deep/*": "./lib/*.js" } }`, "lib/one.js"],
  ["guard/lib/two.ts", `{}`, "lib/two.ts"],
  ["guard/lib/three", `{}`, "lib/three.js"],
  ["guard", `{ "exports": { "require": "./only.cjs" } }`, "only.cjs"],
])("findPlugins() finds %s of a package with %s", (name, manifest, entry) => {
  put("project/node_modules/guard/package.json", manifest)
  const file = put(`project/node_modules/guard/${entry}`)
  expect(find([name])).toMatchObject([{ file }])
})

test("findPlugins() takes a package once that is named, and reached by its path and by a link", () => {
  put("project/node_modules/guard/package.json", `{ "main": "index.js" }`)
  const file = put("project/node_modules/guard/index.js")
  symlinkSync(join(folder, "project/node_modules/guard"), join(folder, "project/linked"))
  const found = find(["guard", "./node_modules/guard", "./linked/index.js", "./linked", `file://${file}`])
  expect(found.map((one) => one.file)).toEqual([file])
})

test("findPlugins() finds what the package around the settings calls itself and its imports", () => {
  put(
    "project/package.json",
    `{ "name": "mine", "exports": { "./guard": "./src/guard.ts" }, "imports": { "#own": "./src/own.ts" } }`,
  )
  const files = [put("project/src/guard.ts"), put("project/src/own.ts")]
  expect(find(["mine/guard", "#own"]).map(({ file }) => file)).toEqual(files)
})

test.each([
  ["nobody", 'there is no package "nobody"'],
  ["closed/inner", 'the package "closed" does not export "./inner"'],
  ["./gone.ts", "there is no such file"],
  ["./empty", "has no package.json that names a file, and no index"],
])("findPlugins() says why it does not find %s", (name, reason) => {
  put("project/node_modules/closed/package.json", `{ "exports": "./main.js" }`)
  put("project/node_modules/closed/inner.js")
  put("project/empty/readme.md")
  const [found] = find([name])
  expect(found!.fault).toMatchObject({ code: "PLUGIN_NOT_FOUND", message: expect.stringContaining(reason) })
})

test("findPlugins() takes a file named twice once, under the stricter wishes", () => {
  const file = put("project/a.ts")
  symlinkSync(folder, join(folder, "project/way"))
  const settings = mergeSettings([
    {
      scope: "user",
      base: join(folder, "project"),
      values: {
        plugins: [
          "./a.ts",
          { plugin: "./way/project/a.ts", isolation: "process", required: true },
          { plugin: file, isolation: "none" },
        ],
      },
    },
  ])
  const folders = { managed: folder, claude: { managed: folder } }
  expect(findPlugins(settings, folders)).toEqual([
    { file, origin: { scope: "user" }, identity: file, isolation: "process", required: true },
  ])
})

test("loadPlugins() takes the same bytes under one name once, and two plugins of one name as two", async () => {
  const [one, same, other] = ["one", "same", "other"].map((name) => ({
    file: put(`${name}.ts`, name === "other" ? "2" : "1"),
    origin: { scope: "user" as const },
  }))
  const load = async () => ({ default: { name: "guard" } })
  const entries = await loadPlugins([one!, { ...same!, required: true }, other!], load)
  expect(entries.map(({ from, required }) => [from, required])).toEqual([
    [one!.file, true],
    [other!.file, undefined],
  ])
})

test("loadPlugins() tells a fault of a copy as one of the file that it is a copy of", async () => {
  const file = {
    file: "/project/.sous/plugins/a.ts",
    loadFrom: "/data/content/0ab/.sous/plugins/a.ts",
    origin: { scope: "project" as const },
  }
  const load = async (from: string) => {
    expect(from).toBe(file.loadFrom)
    throw new SousError("MODULE_IMPORT_MISSING", { file: from, specifier: "/data/content/0ab/.sous/lib/b.ts" })
  }
  const [entry] = await loadPlugins([file], load)
  expect(entry!.fault).toMatchObject({
    code: "MODULE_IMPORT_MISSING",
    details: { file: file.file, specifier: "/project/.sous/lib/b.ts" },
  })
})
