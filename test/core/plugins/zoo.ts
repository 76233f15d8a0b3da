/**
 * Every shape that a module of a plugin comes in, as folders of files: what settings name, and which tool it adds.
 *
 * Invariant: data only; no shape needs the network, and each has a name of its own.
 */

/** One plugin as somebody might have written it. */
export interface Shape {
  name: string
  /** Path → text; a text that starts with `-> ` is a link to what follows. */
  files: Readonly<Record<string, string>>
  /** What settings name. */
  plugin: string
}

const tool = (name: string, extra = "") =>
  `{ name: "${name}", tools: [{ name: "T_${name.replaceAll("-", "_")}", description: "d"${extra}, input: { type: "object" }, execute: async () => "ok" }] }`

const esm = (name: string) => `export default ${tool(name)}\n`
const cjs = (name: string) => `module.exports = ${tool(name)}\n`
const typed = (name: string) =>
  `import { definePlugin, z, type Plugin } from "sous"\nconst plugin: Plugin = definePlugin({ name: "${name}", tools: [{ name: "T_${name.replaceAll("-", "_")}", description: "d", input: z.strictObject({}), async execute(): Promise<string> { return "ok" } }] })\nexport default plugin\n`
const pkg = (fields: object) => JSON.stringify({ name: "p", version: "1.0.0", ...fields })

/** Files by themselves. */
const FILES: Shape[] = [
  { name: "ts", files: { "a.ts": typed("ts") }, plugin: "./a.ts" },
  { name: "mts", files: { "a.mts": typed("mts") }, plugin: "./a.mts" },
  { name: "js", files: { "a.js": esm("js") }, plugin: "./a.js" },
  { name: "mjs", files: { "a.mjs": esm("mjs") }, plugin: "./a.mjs" },
  { name: "cjs", files: { "a.cjs": cjs("cjs") }, plugin: "./a.cjs" },
  {
    name: "cts",
    files: { "a.cts": `const plugin: object = ${tool("cts")}\nmodule.exports = plugin\n` },
    plugin: "./a.cts",
  },
  {
    name: "cts-export",
    files: { "a.cts": `const plugin: object = ${tool("cts-export")}\nexport = plugin\n` },
    plugin: "./a.cts",
  },
  {
    name: "js-of-cjs",
    files: { "a.js": cjs("js-of-cjs"), "package.json": pkg({ type: "commonjs" }) },
    plugin: "./a.js",
  },
  {
    name: "js-unmarked-cjs",
    files: { "a.js": `const path = require("node:path")\n${cjs("js-unmarked-cjs")}` },
    plugin: "./a.js",
  },
  {
    name: "cjs-requires-sous",
    files: {
      "a.cjs": `const { definePlugin } = require("sous")\nmodule.exports = definePlugin(${tool("cjs-requires-sous")})\n`,
    },
    plugin: "./a.cjs",
  },
  {
    name: "cjs-helper",
    files: {
      "a.cjs": `const { tools } = require("./b.cjs")\nmodule.exports = { name: "cjs-helper", tools }\n`,
      "b.cjs": `exports.tools = ${tool("cjs-helper")}.tools\n`,
    },
    plugin: "./a.cjs",
  },
  {
    name: "wrapped-twice",
    files: {
      "a.cjs": `Object.defineProperty(exports, "__esModule", { value: true })\nexports.default = { default: ${tool("wrapped-twice")} }\n`,
    },
    plugin: "./a.cjs",
  },
  {
    name: "wrapped-esm",
    files: { "a.mjs": `export default { default: { default: ${tool("wrapped-esm")} } }\n` },
    plugin: "./a.mjs",
  },
  {
    name: "helpers-beside",
    files: {
      "a.ts": `${typed("helpers-beside")}export function boom(): never { throw new Error("called") }\nexport const name = () => boom()\n`,
    },
    plugin: "./a.ts",
  },
  {
    name: "with-enum",
    files: {
      "a.ts": `enum Kind { A = "a" }\nnamespace N { export const x = Kind.A }\n${typed("with-enum").replace('"d"', "N.x")}`,
    },
    plugin: "./a.ts",
  },
  {
    name: "json",
    files: {
      "a.ts": `import data from "./data.json" with { type: "json" }\nexport default { ...data, tools: ${tool("json")}.tools }\n`,
      "data.json": '{"name":"json"}',
    },
    plugin: "./a.ts",
  },
  {
    name: "json-bare",
    files: {
      "a.ts": `import data from "./data.json"\nexport default { ...data, tools: ${tool("json-bare")}.tools }\n`,
      "data.json": '{"name":"json-bare"}',
    },
    plugin: "./a.ts",
  },
  {
    name: "top-level-await",
    files: { "a.mts": `const late = await Promise.resolve(${tool("top-level-await")})\nexport default late\n` },
    plugin: "./a.mts",
  },
  {
    name: "sibling",
    files: {
      "a.ts": 'import { made } from "./lib/b"\nexport default made\n',
      "lib/b.ts": `export const made: object = ${tool("sibling")}\n`,
    },
    plugin: "./a.ts",
  },
  {
    name: "sibling-as-js",
    files: {
      "a.ts": 'import { made } from "./b.js"\nexport default made\n',
      "b.ts": `export const made: object = ${tool("sibling-as-js")}\n`,
    },
    plugin: "./a.ts",
  },
  {
    name: "reexport",
    files: { "a.ts": 'export { default } from "./b.ts"\n', "b.ts": typed("reexport") },
    plugin: "./a.ts",
  },
  {
    name: "import-meta",
    files: {
      "a.mjs": `import { readFileSync } from "node:fs"\nconst text = readFileSync(new URL("./name.txt", import.meta.url), "utf8")\nconst also = readFileSync(import.meta.dirname + "/name.txt", "utf8")\nconst made = ${tool("import-meta")}\nexport default { ...made, name: text === also ? text : "unlike" }\n`,
      "name.txt": "import-meta",
    },
    plugin: "./a.mjs",
  },
  {
    name: "dynamic-import",
    files: {
      "a.mjs": `const { made } = await import("./b.mjs")\nexport default made\n`,
      "b.mjs": `export const made = ${tool("dynamic-import")}\n`,
    },
    plugin: "./a.mjs",
  },
  {
    name: "bom-and-hashbang",
    files: { "a.mjs": `#!/usr/bin/env node\n${esm("bom-and-hashbang")}` },
    plugin: "./a.mjs",
  },
  {
    name: "linked-file",
    files: {
      "real/a.ts": 'import { made } from "./b.ts"\nexport default made\n',
      "real/b.ts": `export const made = ${tool("linked-file")}\n`,
      "a.ts": "-> real/a.ts",
    },
    plugin: "./a.ts",
  },
]

const ODD = "o d#d%41?q ü'\"[x]"

const MADE = (name: string) => `export const made: any = ${tool(name)}\n`

/** Graphs of files. */
const GRAPHS: Shape[] = [
  {
    name: "diamond",
    files: {
      "a.ts": `import { one } from "./b.ts"\nimport { two } from "./c.ts"\nimport { made } from "./d.ts"\nexport default { ...made, name: one === two ? "diamond" : "twice" }\n`,
      "b.ts": 'import { made } from "./d.ts"\nexport const one = made\n',
      "c.ts": 'import { made } from "./d.ts"\nexport const two = made\n',
      "d.ts": MADE("diamond"),
    },
    plugin: "./a.ts",
  },
  {
    name: "circle",
    files: {
      "a.ts": `import { late } from "./b.ts"\nexport const made = ${tool("circle")}\nexport default { ...made, name: late() }\n`,
      "b.ts": 'import { made } from "./a.ts"\nexport const late = (): string => made.name\n',
    },
    plugin: "./a.ts",
  },
  {
    name: "circle-cjs",
    files: {
      "a.cjs": `exports.name = "circle-cjs"\nexports.tools = require("./b.cjs").tools\n`,
      "b.cjs": `const a = require("./a.cjs")\nexports.tools = a.name === "circle-cjs" ? ${tool("circle-cjs")}.tools : []\n`,
    },
    plugin: "./a.cjs",
  },
  {
    name: "esm-imports-cjs",
    files: {
      "a.mjs": 'import { made } from "./b.cjs"\nexport default made\n',
      "b.cjs": `exports.made = ${tool("esm-imports-cjs")}\n`,
    },
    plugin: "./a.mjs",
  },
  {
    name: "cjs-imports-esm",
    files: {
      "a.cjs": `module.exports = { name: "cjs-imports-esm", async setup() { const { made } = await import("./b.mjs"); return { tools: made.tools } }, tools: ${tool("cjs-imports-esm")}.tools }\n`,
      "b.mjs": `export const made = ${tool("cjs-imports-esm")}\n`,
    },
    plugin: "./a.cjs",
  },
  {
    name: "one-zod",
    files: {
      "a.ts": `import { z } from "zod"\nimport { schema } from "./b.ts"\nconst made = ${tool("one-zod")}\nexport default { ...made, name: schema instanceof z.ZodObject ? "one-zod" : "two-zods" }\n`,
      "b.ts": 'import { z } from "zod"\nexport const schema = z.strictObject({})\n',
    },
    plugin: "./a.ts",
  },
]

/** Names that are trouble in URLs. */
const NAMES: Shape[] = [
  { name: "odd-ts", files: { [`${ODD}/${ODD}.ts`]: typed("odd-ts") }, plugin: `./${ODD}/${ODD}.ts` },
  { name: "odd-mjs", files: { [`${ODD}/${ODD}.mjs`]: esm("odd-mjs") }, plugin: `./${ODD}/${ODD}.mjs` },
  { name: "odd-cjs", files: { [`${ODD}/${ODD}.cjs`]: cjs("odd-cjs") }, plugin: `./${ODD}/${ODD}.cjs` },
  {
    name: "odd-sibling",
    files: {
      [`${ODD}/a.ts`]: 'import { made } from "./b ü.ts"\nexport default made\n',
      [`${ODD}/b ü.ts`]: `export const made: object = ${tool("odd-sibling")}\n`,
    },
    plugin: `./${ODD}/a.ts`,
  },
]

/** Packages, and plugins that import from packages. */
const PACKAGES: Shape[] = [
  {
    name: "esm-only",
    files: {
      "node_modules/p/package.json": pkg({ type: "module", exports: { ".": { import: "./main.js" } } }),
      "node_modules/p/main.js": esm("esm-only"),
    },
    plugin: "p",
  },
  {
    name: "cjs-only",
    files: { "node_modules/p/package.json": pkg({ main: "main.js" }), "node_modules/p/main.js": cjs("cjs-only") },
    plugin: "p",
  },
  {
    name: "dual",
    files: {
      "node_modules/p/package.json": pkg({ exports: { import: "./main.mjs", require: "./main.cjs" } }),
      "node_modules/p/main.mjs": esm("dual"),
      "node_modules/p/main.cjs": "module.exports = null\n",
    },
    plugin: "p",
  },
  {
    name: "subpath",
    files: {
      "node_modules/p/package.json": pkg({ type: "module", exports: { "./sub": "./sub.js" } }),
      "node_modules/p/sub.js": esm("subpath"),
    },
    plugin: "p/sub",
  },
  {
    name: "ts-in-modules",
    files: {
      "node_modules/p/package.json": pkg({ exports: "./main.ts" }),
      "node_modules/p/main.ts": typed("ts-in-modules"),
    },
    plugin: "p",
  },
  {
    name: "scoped",
    files: {
      "node_modules/@s/p/package.json": pkg({ name: "@s/p", exports: "./main.ts" }),
      "node_modules/@s/p/main.ts": 'import { made } from "./b.ts"\nexport default made\n',
      "node_modules/@s/p/b.ts": `export const made: object = ${tool("scoped")}\n`,
    },
    plugin: "@s/p",
  },
  {
    name: "linked-package",
    files: {
      "elsewhere/p/package.json": pkg({ type: "module", exports: "./main.js" }),
      "elsewhere/p/main.js": 'import { made } from "./b.js"\nexport default made\n',
      "elsewhere/p/b.js": `export const made = ${tool("linked-package")}\n`,
      "node_modules/p": "-> ../elsewhere/p",
    },
    plugin: "p",
  },
  {
    name: "pnpm",
    files: {
      "node_modules/.pnpm/p@1.0.0/node_modules/p/package.json": pkg({ type: "module", exports: "./main.js" }),
      "node_modules/.pnpm/p@1.0.0/node_modules/p/main.js": 'import { made } from "dep"\nexport default made\n',
      "node_modules/.pnpm/dep@1.0.0/node_modules/dep/package.json": pkg({
        name: "dep",
        type: "module",
        exports: { import: "./index.js" },
      }),
      "node_modules/.pnpm/dep@1.0.0/node_modules/dep/index.js": `export const made = ${tool("pnpm")}\n`,
      "node_modules/.pnpm/p@1.0.0/node_modules/dep": "-> ../../dep@1.0.0/node_modules/dep",
      "node_modules/p": "-> .pnpm/p@1.0.0/node_modules/p",
    },
    plugin: "p",
  },
  {
    name: "imports-esm",
    files: {
      "a.ts": 'import { made } from "dep"\nexport default made\n',
      "node_modules/dep/package.json": pkg({ name: "dep", type: "module", exports: { import: "./index.js" } }),
      "node_modules/dep/index.js": `export const made = ${tool("imports-esm")}\n`,
    },
    plugin: "./a.ts",
  },
  {
    name: "imports-cjs",
    files: {
      "a.ts": 'import dep, { made } from "dep"\nexport default dep.made === made ? made : {}\n',
      "node_modules/dep/package.json": pkg({ name: "dep" }),
      "node_modules/dep/index.js": `exports.made = ${tool("imports-cjs")}\n`,
    },
    plugin: "./a.ts",
  },
  {
    name: "imports-sub",
    files: {
      "a.mjs": 'import made from "dep/deep/one"\nexport default made\n',
      "node_modules/dep/package.json": pkg({ name: "dep", type: "module", exports: { "./deep/*": "./lib/*.js" } }),
      "node_modules/dep/lib/one.js": esm("imports-sub"),
    },
    plugin: "./a.mjs",
  },
  {
    name: "imports-ts",
    files: {
      "a.ts": 'import { made } from "dep"\nexport default made\n',
      "node_modules/dep/package.json": pkg({ name: "dep", exports: "./index.ts" }),
      "node_modules/dep/index.ts": `export const made: object = ${tool("imports-ts")}\n`,
    },
    plugin: "./a.ts",
  },
  {
    name: "imports-field",
    files: {
      "package.json": pkg({ type: "module", imports: { "#made": "./src/made.ts" } }),
      "a.ts": 'import { made } from "#made"\nexport default made\n',
      "src/made.ts": `export const made: object = ${tool("imports-field")}\n`,
    },
    plugin: "./a.ts",
  },
  {
    name: "self-reference",
    files: {
      "package.json": pkg({ name: "own", type: "module", exports: { "./made": "./src/made.ts" } }),
      "a.ts": 'import { made } from "own/made"\nexport default made\n',
      "src/made.ts": `export const made: object = ${tool("self-reference")}\n`,
    },
    plugin: "./a.ts",
  },
  {
    name: "folder",
    files: { "p/package.json": pkg({ exports: "./src/main.ts" }), "p/src/main.ts": typed("folder") },
    plugin: "./p",
  },
  {
    name: "own-zod",
    files: {
      "a.ts": `import { z } from "zod"\nexport default { name: "own-zod", tools: [{ name: "T_own_zod", description: "d", input: z.strictObject({}), execute: async () => "ok" }] }\n`,
    },
    plugin: "./a.ts",
  },
]

/** All of them. */
export const SHAPES: readonly Shape[] = [...FILES, ...GRAPHS, ...NAMES, ...PACKAGES]

/** A plugin that is wrong, with what is said about it. */
export interface Fault extends Shape {
  code: string
  says: RegExp
}

/** What does not load. */
export const FAULTS: readonly Fault[] = [
  {
    name: "throws",
    files: { "a.ts": 'throw new TypeError("boom")\n' },
    plugin: "./a.ts",
    code: "MODULE_THREW",
    says: /a\.ts.*boom/,
  },
  {
    name: "throws-beside",
    files: {
      "src/a.ts": 'import "../lib/b.ts"\nexport default {}\n',
      "lib/b.ts": 'const a = 1\nthrow new Error("boom")\n',
    },
    plugin: "./src/a.ts",
    code: "MODULE_THREW",
    says: /src\/a\.ts.*boom \(in .*lib\/b\.ts:2\)/,
  },
  {
    name: "throws-nothing",
    files: { "a.mjs": "throw undefined\n" },
    plugin: "./a.mjs",
    code: "MODULE_THREW",
    says: /a\.mjs/,
  },
  {
    name: "null",
    files: { "a.ts": "export default null\n" },
    plugin: "./a.ts",
    code: "PLUGIN_EXPORT_INVALID",
    says: /a\.ts.*null/,
  },
  {
    name: "nothing",
    files: { "a.ts": "export {}\n" },
    plugin: "./a.ts",
    code: "PLUGIN_EXPORT_INVALID",
    says: /a\.ts.*missing/,
  },
  { name: "empty", files: { "a.mjs": "" }, plugin: "./a.mjs", code: "PLUGIN_EXPORT_INVALID", says: /a\.mjs.*missing/ },
  {
    name: "empty-cjs",
    files: { "a.cjs": "" },
    plugin: "./a.cjs",
    code: "PLUGIN_EXPORT_INVALID",
    says: /a\.cjs.*missing/,
  },
  {
    name: "syntax-cjs",
    files: { "a.cjs": "const a = 1\nconst = 2\n" },
    plugin: "./a.cjs",
    code: "MODULE_SYNTAX_INVALID",
    says: /a\.cjs" at 2:/,
  },
  {
    name: "throws-cjs",
    files: { "a.cjs": 'const a = 1\nthrow new TypeError("boom")\n' },
    plugin: "./a.cjs",
    code: "MODULE_THREW",
    says: /a\.cjs" \(line 2\).*boom/,
  },
  {
    name: "other-names",
    files: { "a.ts": "export const plugin = 1\n" },
    plugin: "./a.ts",
    code: "PLUGIN_EXPORT_INVALID",
    says: /exports "plugin"/,
  },
  {
    name: "function",
    files: { "a.ts": "export default () => ({})\n" },
    plugin: "./a.ts",
    code: "PLUGIN_EXPORT_INVALID",
    says: /a function/,
  },
  {
    name: "list",
    files: { "a.ts": "export default []\n" },
    plugin: "./a.ts",
    code: "PLUGIN_EXPORT_INVALID",
    says: /a list/,
  },
  {
    name: "syntax",
    files: { "a.ts": "export default {\n" },
    plugin: "./a.ts",
    code: "MODULE_SYNTAX_INVALID",
    says: /a\.ts/,
  },
  {
    name: "missing-import",
    files: { "a.ts": 'import "left-pad-of-nobody"\nexport default {}\n' },
    plugin: "./a.ts",
    code: "MODULE_IMPORT_MISSING",
    says: /left-pad-of-nobody/,
  },
  {
    name: "version",
    files: { "a.ts": `export default { ...${tool("version")}, apiVersion: 2, later: 1 }\n` },
    plugin: "./a.ts",
    code: "PLUGIN_API_VERSION",
    says: /a\.ts.*version 2/,
  },
  {
    name: "version-word",
    files: { "a.ts": `export default { name: "version-word", apiVersion: "1" }\n` },
    plugin: "./a.ts",
    code: "PLUGIN_API_VERSION",
    says: /version "1"/,
  },
  {
    name: "unknown-key",
    files: { "a.ts": 'export default { name: "unknown-key", toolz: [] }\n' },
    plugin: "./a.ts",
    code: "PLUGIN_KEY_UNKNOWN",
    says: /a\.ts.*toolz/,
  },
  {
    name: "no-name",
    files: { "a.ts": "export default { tools: [] }\n" },
    plugin: "./a.ts",
    code: "PLUGIN_NAME_INVALID",
    says: /a\.ts/,
  },
  { name: "gone", files: {}, plugin: "./gone.ts", code: "PLUGIN_NOT_FOUND", says: /gone\.ts/ },
]
