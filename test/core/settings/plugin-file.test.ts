import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
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
  const folders = { managed: join(folder, "etc"), user: join(folder, "user"), project: join(base, ".sous"), root: base }
  return findPlugins(settings, folders, {
    home: join(folder, "home"),
    trust: { isTrusted: trusted, copyOf: (file) => file },
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
  expect(find(["@team/guard"])).toEqual([{ file, origin: { scope: "cli" } }])
})

test("findPlugins() takes a project's plugins only when the project is trusted", () => {
  const file = put("project/.sous/plugins/e.ts")
  expect(find([])).toEqual([])
  expect(find([], true)).toEqual([{ file, origin: { scope: "project" } }])
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
  const { loaded, failed } = await loadPlugins([...files, ...missing], async (file) => modules[file]!(), {
    budgetMs: 20,
  })
  expect(loaded.map(({ plugin, from }) => [plugin.name, from])).toEqual([["good", "/good.ts"]])
  expect(failed.map(({ name, ok, fault }) => [name, ok, fault.code])).toEqual([
    ["throws", false, "PLUGIN_LOAD_FAILED"],
    ["hangs", false, "PLUGIN_LOAD_TIMEOUT"],
    ["empty", false, "PLUGIN_EXPORT_INVALID"],
    ["null", false, "PLUGIN_EXPORT_INVALID"],
    ["missing", false, "PLUGIN_NOT_FOUND"],
  ])
  expect(failed[0]!.error).toBe('Cannot load plugin "/throws.ts": boom')
})
