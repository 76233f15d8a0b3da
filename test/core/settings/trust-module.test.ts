import { describe, expect, it } from "vitest"
import {
  candidatesOf,
  dependenciesOf,
  literalsIn,
  loadingPartOf,
  packageFoldersOf,
  reachOf,
} from "../../../core/settings/trust-module.ts"

describe("reachOf()", () => {
  it("finds what is imported in every form, and neither Node's nor the toolkit's own modules", () => {
    const { paths, packages } = reachOf(`
import "./a.ts"
import type { B } from '../b.js'
export * from "./c"
export { d } from "@scope/d/deep"
const e = await import(\`./e.mjs\`), f = require("f"), g = require.resolve ( 'g/package.json' )
import(/* why */ "h")
import fs from "node:fs"
import { join } from "path"
import { definePlugin } from "sous"
import { z } from "zod"
const data = new URL("./data.json", import.meta.url)
`)
    expect(paths).toEqual(["./a.ts", "../b.js", "./c", "./e.mjs", "./data.json"])
    expect(packages).toEqual(["@scope/d", "f", "g", "h"])
  })
})

describe("candidatesOf()", () => {
  it("is every file that a loader may take, and none outside of the project", () => {
    const found = candidatesOf("../lib/a.js?x", ".sous/plugins/p.ts")
    expect(found).toEqual(expect.arrayContaining([".sous/lib/a.js", ".sous/lib/a.ts", ".sous/lib/a.js/index.ts"]))
    expect(candidatesOf("../../../../etc/passwd", ".sous/plugins/p.ts")).toEqual([])
  })
})

describe("packageFoldersOf()", () => {
  it("goes upwards, nearest first", () => {
    expect(packageFoldersOf("x", "node_modules/.pnpm/a@1/node_modules/a/package.json")).toEqual([
      "node_modules/.pnpm/a@1/node_modules/a/node_modules/x",
      "node_modules/.pnpm/a@1/node_modules/x",
      "node_modules/.pnpm/node_modules/x",
      "node_modules/x",
    ])
  })
})

describe("dependenciesOf()", () => {
  it("is what a package needs to run; nothing for a broken manifest", () => {
    const manifest = { dependencies: { a: "1" }, peerDependencies: { b: "1" }, optionalDependencies: { c: "1" } }
    expect(dependenciesOf(JSON.stringify({ ...manifest, devDependencies: { d: "1" } }))).toEqual(["a", "c", "b"])
    for (const broken of ["{", "null", '{"dependencies":3}']) expect(dependenciesOf(broken)).toEqual([])
  })
})

describe("loadingPartOf()", () => {
  it("says how files are loaded, and nothing about versions and scripts", () => {
    const part = loadingPartOf(
      '{"name":"a","version":"2","type":"module","scripts":{"x":"y"},"imports":{"#a":"./a.js"}}',
    )
    expect(JSON.parse(part)).toEqual({ name: "a", type: "module", imports: { "#a": "./a.js" } })
    expect(loadingPartOf("{")).toBe("{}")
  })
})

describe("literalsIn()", () => {
  it("is every text of a module, each once", () => {
    expect(literalsIn(`a("x", 'y "z"', \`t\${u}\`, "x", "")`)).toEqual(["x", 'y "z"', "t${u}"])
  })
})
