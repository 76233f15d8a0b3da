import { spawnSync } from "node:child_process"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"
import * as zod from "zod"
import * as sous from "../../../core/index.ts"
import { loadModule } from "../../../core/recipe/load.ts"
import { mergeSettings } from "../../../core/settings/merge.ts"
import { findPlugins, loadPlugins } from "../../../core/settings/plugin-file.ts"
import { folder } from "../../harness.ts"
import { FAULTS, SHAPES, type Shape } from "./zoo.ts"

/** Lays the shapes out, each in a folder of its own, and names all their plugins. */
function layOut(shapes: readonly Shape[]) {
  const root = folder()
  const sources = shapes.map(({ name, files, plugin }) => {
    const base = join(root, name)
    for (const [path, text] of Object.entries(files)) {
      const file = join(base, path)
      mkdirSync(dirname(file), { recursive: true })
      if (text.startsWith("-> ")) symlinkSync(text.slice(3), file)
      else writeFileSync(file, text)
    }
    return { scope: "user" as const, base, values: { plugins: [plugin] } }
  })
  const folders = { managed: join(root, "etc"), claude: { managed: join(root, "etc") } }
  return { root, files: findPlugins(mergeSettings(sources), folders) }
}

const modules = { sous: async () => sous, zod: async () => zod, "sous/testing": async () => ({}) }

test("loadPlugins() loads a module of every shape, anew and from its cache", async () => {
  const { files } = layOut(SHAPES)
  const options = { modules, cache: folder() }
  for (const way of ["anew", "kept"]) {
    const entries = await loadPlugins(files, (file) => loadModule(file, options))
    const wrong = entries.flatMap(({ fault, plugin }, index) => {
      const { name } = SHAPES[index]!
      const found = fault ? `${fault.code} ${fault.message}` : `${plugin?.name} ${plugin?.tools?.[0]?.name}`
      return found === `${name} T_${name.replaceAll("-", "_")}` ? [] : [`${name}: ${found}`]
    })
    expect([way, ...wrong]).toEqual([way])
  }
})

/** Loads in a process of its own, where no test runner stands between Node and the files. */
function loadElsewhere(files: readonly { file: string }[], cache: string): unknown {
  const root = join(import.meta.dirname, "../../..")
  const script = `
    const sous = await import(${JSON.stringify(join(root, "core/index.ts"))})
    const { loadModule } = await import(${JSON.stringify(join(root, "core/recipe/load.ts"))})
    const { loadPlugins } = await import(${JSON.stringify(join(root, "core/settings/plugin-file.ts"))})
    const options = { modules: { sous: async () => sous, zod: () => import("zod") }, cache: ${JSON.stringify(cache)} }
    const entries = await loadPlugins(${JSON.stringify(files)}, (file) => loadModule(file, options))
    process.stdout.write(JSON.stringify(entries.map(({ fault, plugin }) => fault ? fault.code + " " + fault.message : plugin.name)))`
  const args = ["--conditions=sous-source", "--import", "tsx", "--input-type=module", "-e", script]
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" })
  expect(stderr).toBe("")
  return JSON.parse(stdout)
}

test("loadPlugins() loads them in a process of its own, anew and from its cache, without a warning", () => {
  const { files } = layOut(SHAPES)
  const cache = folder()
  const names = SHAPES.map(({ name }) => name)
  expect(loadElsewhere(files, cache)).toEqual(names)
  expect(loadElsewhere(files, cache)).toEqual(names)
})

test("loadPlugins() says of each that does not load which file it is and why, and the others load", async () => {
  const good = SHAPES.filter(({ name }) => ["ts", "cjs", "pnpm", "json"].includes(name))
  const { files } = layOut([...FAULTS, ...good])
  const entries = await loadPlugins(files, (file) => loadModule(file, { modules, cache: folder() }))
  for (const [index, { name, code, says }] of FAULTS.entries()) {
    const { fault } = entries[index]!
    expect([name, fault?.code]).toEqual([name, code])
    expect(fault?.message).toMatch(says)
    expect(fault?.mend).not.toBe("")
  }
  expect(entries.slice(FAULTS.length).map(({ plugin }) => plugin?.name)).toEqual(good.map(({ name }) => name))
})
