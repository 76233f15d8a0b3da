import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync, realpathSync } from "node:fs"
import { mkdir, stat, writeFile } from "node:fs/promises"
import nodeModule from "node:module"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import * as zod from "zod"
import * as sous from "../../../core/index.ts"
import { type LoadOptions, loadModule, loadRecipe } from "../../../core/recipe/load.ts"
import { tempFolder } from "./engine.ts"

const modules: LoadOptions["modules"] = {
  sous: async () => sous,
  zod: async () => zod,
  "sous/testing": async () => ({ testing: true }),
}

/** A folder with one file in it, and what is needed to load it. */
async function fileWith(text: string, name = "one.ts") {
  const folder = realpathSync(tempFolder())
  const file = join(folder, name)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
  const options: LoadOptions = { modules, cache: join(realpathSync(tempFolder()), "cache") }
  return { folder, file, options, load: () => loadRecipe(file, options), module: () => loadModule(file, options) }
}
const HEAD = 'name: "one", description: "One"'
const ONE = `import { recipe, value } from "sous"
interface Shape { n: number }
const n: Shape["n"] = 2
export default recipe({ ${HEAD} }).step("a", () => value(n as number))
`

describe("loadRecipe()", () => {
  it("loads a TypeScript file of an otherwise empty folder, with the running toolkit behind its imports", async () => {
    const { file, folder, load } = await fileWith(`import { recipe, SousError, value, type Recipe } from "sous"
import { z } from "zod"
enum Kind { A = 1 }
const made: Recipe = recipe({ ${HEAD}, params: z.object({ n: z.number() }) }).step("a", () => value([SousError, z.object, Kind.A]))
export default made
`)
    const loaded = await load()
    expect(loaded).toMatchObject({ kind: "recipe", name: "one", file })
    expect(loaded.steps[0]!.make({ params: {} })).toEqual({ kind: "value", value: [sous.SousError, zod.z.object, 1] })
    expect(readdirSync(folder)).toEqual(["one.ts"])
  })

  it.each(["one.ts", "one.mts", "one.mjs", "one.js"])("loads %s", async (name) => {
    const text = name.includes("ts")
      ? ONE
      : ONE.replace(/interface.*\n/, "")
          .replace(': Shape["n"]', "")
          .replace(" as number", "")
    expect((await (await fileWith(text, name)).load()).steps).toHaveLength(1)
  })

  it("loads YAML, and says where it is wrong", async () => {
    const { file, load } = await fileWith("name: one\nsteps: [{ id: a, value: 1 }]", "one.yaml")
    expect(await load()).toMatchObject({ kind: "recipe", name: "one", file })
    const wrong = await fileWith("name: one\nsteps: [{ id: a, valu: 1 }]", "two.yml")
    await expect(wrong.load()).rejects.toMatchObject({
      code: "RECIPE_YAML_KEY_UNKNOWN",
      details: { file: wrong.file, line: 2 },
    })
  })

  it("loads a file with files beside it, default imports, top-level await and import.meta", async () => {
    const { folder, load } = await fileWith(`import { recipe, value } from "sous"
import z from "zod"
import EventEmitter from "node:events"
import * as path from "node:path"
import { helper } from "./lib/helper"
import data from "./data.json" with { type: "json" }
const late = await Promise.resolve("late")
export default recipe({ ${HEAD} }).step("a", () =>
  value([helper(), typeof z.object, new EventEmitter().listenerCount("x"), path.basename(import.meta.url), late, data.x]))
`)
    await mkdir(join(folder, "lib"))
    await writeFile(join(folder, "data.json"), '{"x":5}')
    await writeFile(
      join(folder, "lib/helper.ts"),
      'import { quote } from "sous"\nexport const helper = (): string => quote("h")',
    )
    expect((await load()).steps[0]!.make({ params: {} })).toEqual({
      kind: "value",
      value: ["'h'", "function", 0, "one.ts", "late", 5],
    })
  })

  it("loads the same way from its cache, and anew when the file has changed", async () => {
    const { file, load, options } = await fileWith(
      `import EventEmitter from "node:events"\nimport z from "zod"\n${ONE.replace("value(n as number)", "value([n as number, new EventEmitter().listenerCount('x'), typeof z.object])")}`,
    )
    const first = (await load()).steps[0]!.make({ params: {} })
    expect(first).toEqual({ kind: "value", value: [2, 0, "function"] })
    const kept = readdirSync(options.cache!)
    expect(kept).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.json$/)])
    expect((await stat(join(options.cache!, kept[0]!))).mode & 0o777).toBe(0o600)
    expect((await load()).steps[0]!.make({ params: {} })).toEqual(first)
    await writeFile(file, ONE.replace("= 2", "= 3"))
    expect((await load()).steps[0]!.make({ params: {} })).toEqual({ kind: "value", value: 3 })
  })

  it("makes a module of the toolkit only when it is imported", async () => {
    const { file, load } = await fileWith(ONE)
    const refuse = async (): Promise<object> => {
      throw new Error("made")
    }
    await expect(loadRecipe(file, { modules: { ...modules, "sous/testing": refuse } })).resolves.toBeTruthy()
    await load()
    const other = await fileWith(`import { testing } from "sous/testing"\n${ONE.replace("n as number", "testing")}`)
    expect((await other.load()).steps[0]!.make({ params: {} })).toEqual({ kind: "value", value: true })
  })

  it("takes a builder without output, and one made by another copy of the library", async () => {
    const { load } = await fileWith(
      `export default { kind: "recipe", ${HEAD}, steps: [{ id: "a", onFail: "stop", make: () => ({ kind: "value", value: 1 }) }] }`,
      "one.mjs",
    )
    expect((await load()).steps).toHaveLength(1)
  })

  it.each([
    ["nothing", "export {}", "missing"],
    ["other names", "export const review = 1", 'missing; it exports "review"'],
    ["null", "export default null", "null"],
    ["a function", "export default () => 1", "a function"],
    ["a plugin", 'export default { name: "x", tools: [] }', "a plugin"],
    ["an object", "export default { steps: 1 }", "an object, not a recipe"],
  ])("refuses a file that exports %s, and says so", async (_what, text, found) => {
    const { file, load } = await fileWith(text)
    await expect(load()).rejects.toMatchObject({
      code: "RECIPE_EXPORT_INVALID",
      message: `Cannot load the recipe "${file}": its default export is ${found}`,
    })
  })

  it("refuses a recipe without steps, with two steps of one name, with a bad head", async () => {
    const withSteps = (steps: string, head = HEAD) =>
      fileWith(`import { recipe, value } from "sous"\nexport default recipe({ ${head} })${steps}`)
    await expect((await withSteps("")).load()).rejects.toMatchObject({ code: "RECIPE_EMPTY" })
    const twice = await withSteps('.step("a", () => value(1)).step("a", () => value(2))')
    await expect(twice.load()).rejects.toMatchObject({ code: "STEP_ID_DUPLICATE", details: { id: "a", recipe: "one" } })
    await expect((await withSteps("", `${HEAD}, parms: 1`)).load()).rejects.toMatchObject({
      code: "RECIPE_KEY_UNKNOWN",
      mend: 'write "params"',
    })
    await expect((await withSteps("", 'name: "One Two", description: "x"')).load()).rejects.toMatchObject({
      code: "RECIPE_HEAD_INVALID",
    })
  })

  it.each([
    ["TypeScript", "one.ts", 'const a: number = 1\nexport default recipe({ name "x" })\n', 2],
    ["JavaScript", "one.mjs", "const a = 1\n\nexport default = 2\n", 3],
    ["a file with others beside it", "one.ts", 'import "./a.ts"\nconst a: = 1\n', 2],
  ])("refuses %s that does not compile, with its line", async (_what, name, text, line) => {
    const { file, load } = await fileWith(text, name)
    await expect(load()).rejects.toMatchObject({ code: "MODULE_SYNTAX_INVALID", details: { file, line } })
  })

  it("names the file that does not compile, when it is another one", async () => {
    const { folder, load } = await fileWith(`import "./beside.ts"\n${ONE}`)
    await writeFile(join(folder, "beside.ts"), "const = 1\n")
    await expect(load()).rejects.toMatchObject({
      code: "MODULE_SYNTAX_INVALID",
      details: { file: join(folder, "beside.ts"), line: 1 },
    })
  })

  it("says what a file throws while it loads, and on which line, cached or not", async () => {
    const { file, load, options } = await fileWith(
      `const a: number = 1\n\nfunction fail(): never {\n  throw new TypeError("broken")\n}\nfail()\n`,
    )
    const fault = { code: "MODULE_THREW", message: `Cannot load "${file}" (line 4): TypeError: broken` }
    await expect(load()).rejects.toMatchObject(fault)
    expect(() => readdirSync(options.cache!)).toThrow()
    const ok = await fileWith(`${ONE}if ((globalThis as any).sousTestThrows) JSON.parse("{")\n`)
    await ok.load()
    Object.assign(globalThis, { sousTestThrows: true })
    try {
      await expect(ok.load()).rejects.toMatchObject({ code: "MODULE_THREW", details: { line: 5 } })
    } finally {
      Object.assign(globalThis, { sousTestThrows: undefined })
    }
  })

  it("names the module that an import does not find", async () => {
    const missing = await fileWith(`import "left-pad-of-nobody"\n${ONE}`)
    await expect(missing.load()).rejects.toMatchObject({
      code: "MODULE_IMPORT_MISSING",
      details: { specifier: "left-pad-of-nobody" },
    })
    const beside = await fileWith(`import "./nowhere.ts"\n${ONE}`)
    await expect(beside.load()).rejects.toMatchObject({
      code: "MODULE_IMPORT_MISSING",
      details: { specifier: expect.stringContaining("nowhere.ts") },
    })
  })

  it("finds packages beside the file", async () => {
    const { folder, load } = await fileWith(
      `import { five } from "local-package"\n${ONE.replace("n as number", "five")}`,
    )
    const home = join(folder, "node_modules/local-package")
    await mkdir(home, { recursive: true })
    await writeFile(join(home, "package.json"), '{"name":"local-package","type":"module","exports":"./index.js"}')
    await writeFile(join(home, "index.js"), "export const five = 5")
    expect((await load()).steps[0]!.make({ params: {} })).toEqual({ kind: "value", value: 5 })
  })

  it("names the nearest file when there is none, and the endings that it takes", async () => {
    const { folder, options } = await fileWith(ONE, "review.ts")
    await expect(loadRecipe(join(folder, "reviw.ts"), options)).rejects.toMatchObject({
      code: "RECIPE_FILE_MISSING",
      mend: `write "${join(folder, "review.ts")}"`,
    })
    await expect(loadRecipe(join(folder, "other.txt"), options)).rejects.toMatchObject({ code: "RECIPE_FILE_MISSING" })
    await writeFile(join(folder, "other.txt"), "")
    await expect(loadRecipe(join(folder, "other.txt"), options)).rejects.toMatchObject({
      code: "RECIPE_ENDING_UNKNOWN",
    })
    await mkdir(join(folder, "dir.ts"))
    await expect(loadRecipe(join(folder, "dir.ts"), options)).rejects.toMatchObject({ code: "MODULE_FILE_UNREADABLE" })
  })

  it("works with a cache that cannot be written, or is broken", async () => {
    const { folder, file } = await fileWith(ONE)
    await writeFile(join(folder, "taken"), "")
    expect(await loadRecipe(file, { modules, cache: join(folder, "taken") })).toMatchObject({ name: "one" })
    const second = await fileWith(ONE)
    await second.load()
    await writeFile(join(second.options.cache!, readdirSync(second.options.cache!)[0]!), "{")
    expect(await second.load()).toMatchObject({ name: "one" })
  })
})

describe("loadModule()", () => {
  it("gives what a file exports, by name", async () => {
    const { module } = await fileWith(
      'import { definePlugin } from "sous"\nexport const a: number = 1\nexport default definePlugin({ name: "x" })',
    )
    expect(await module()).toMatchObject({ a: 1, default: { name: "x" } })
  })

  it("says that a file cannot be read", async () => {
    const { folder, options } = await fileWith("")
    await expect(loadModule(join(folder, "none.ts"), options)).rejects.toMatchObject({ code: "MODULE_FILE_UNREADABLE" })
  })
})

/** Loads files in a process of its own, where no test runner stands between Node and them. */
function loadElsewhere(
  files: readonly string[],
  cache: string,
): { results: unknown[]; compilers: string[]; stderr: string } {
  const root = join(import.meta.dirname, "../../..")
  const script = `
    const { createRequire } = await import("node:module")
    const sous = await import(${JSON.stringify(join(root, "core/index.ts"))})
    const { loadRecipe } = await import(${JSON.stringify(join(root, "core/recipe/load.ts"))})
    const options = { modules: { sous: async () => sous, zod: async () => sous.z }, cache: ${JSON.stringify(cache)} }
    const results = []
    for (const file of ${JSON.stringify(files)}) {
      results.push(await loadRecipe(file, options).then(({ steps }) => steps[0].make({}).value, ({ code, details }) => ({ code, line: details.line })))
    }
    const compilers = Object.keys(createRequire(import.meta.url).cache).filter((name) => /jiti|babel/.test(name))
    process.stdout.write(JSON.stringify({ results, compilers }))`
  const args = ["--conditions=sous-source", "--import", "tsx", "--input-type=module", "-e", script]
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" })
  return { ...JSON.parse(stdout), stderr }
}

describe("a process of its own", () => {
  it("loads by the quickest way it has, warns of nothing, and from the cache without any compiler", async () => {
    const { folder, file, options } = await fileWith(ONE)
    const write = async (name: string, text: string) => {
      await writeFile(join(folder, name), text)
      return join(folder, name)
    }
    const files = [
      file,
      await write("enum.ts", `enum Kind { A = 7 }\n${ONE.replace("n as number", "Kind.A")}`),
      await write("beside.ts", `import { b } from "./b.ts"\n${ONE.replace("n as number", "b")}`),
      await write("types.ts", `import { Recipe } from "sous"\n${ONE}export type Mine = Recipe\n`),
      await write(
        "plain.mjs",
        'export default { kind: "recipe", name: "p", description: "P", steps: [{ id: "a", make: () => ({ value: 9 }) }] }',
      ),
      await write("throws.ts", `${ONE}interface More { x: 1 }\nthrow new Error("no")\n`),
      await write("broken.ts", `${ONE}const = 1\n`),
    ]
    await write("b.ts", "export const b: number = 8\n")
    const expected = [2, 7, 8, 2, 9, { code: "MODULE_THREW", line: 6 }, { code: "MODULE_SYNTAX_INVALID", line: 5 }]
    const cold = loadElsewhere(files, options.cache!)
    expect(cold).toMatchObject({ results: expected, stderr: "" })
    const quick = [file, join(folder, "enum.ts"), join(folder, "types.ts"), join(folder, "plain.mjs")]
    expect(loadElsewhere(quick, options.cache!)).toEqual({ results: [2, 7, 2, 9], compilers: [], stderr: "" })
    const ways = readdirSync(options.cache!, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => JSON.parse(readFileSync(join(options.cache!, name), "utf8")).way)
    const canStrip = "registerHooks" in nodeModule
    expect(ways.sort()).toEqual(
      canStrip ? ["jiti", "native", "native", "single", "single"] : ["jiti", "single", "single", "single", "single"],
    )
  })
})
