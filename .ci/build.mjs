/**
 * `node .ci/build.mjs [OUTDIR] [--no-types] [--metafile FILE]`: bundles the command line and the public surface into
 * dist/, code-split so that a command loads only its part, and emits types. Run by `npm ci` through `prepare`.
 *
 * Invariant: what is bundled is named with its license in dist/THIRD-PARTY.txt; a bundled package without one stops
 * the build.
 */
import { execFileSync } from "node:child_process"
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { build } from "esbuild"
import { loadedBefore } from "./loaded-before.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Bundles into `outdir` (absolute), which is emptied first; returns esbuild's account of what went where. */
async function bundle(outdir) {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  rmSync(outdir, { recursive: true, force: true })
  const options = { ...bundling(version), outdir }
  const first = await build({ ...options, write: false })
  const before = loadedBefore(first.metafile, { root, entries: Object.values(ENTRIES) })
  const { metafile } = await build({ ...options, plugins: [before, ...options.plugins] })
  checkLazyImports(metafile)
  chmodSync(join(outdir, "cli.js"), 0o755)
  writeFileSync(join(outdir, "THIRD-PARTY.txt"), thirdParty(metafile))
  return metafile
}

const ENTRIES = {
  cli: "cli.ts",
  index: "core/index.ts",
  plugins: "plugins/default.ts",
  testing: "plugins/testing/index.ts",
  // Started as a process, with less.
  isolate: "core/isolated/main.ts",
  // Started as a worker, so it has to be a file that can be named.
  "web-markdown": "plugins/tools/web-markdown.mjs",
}

function bundling(version) {
  return {
    absWorkingDir: root,
    entryPoints: ENTRIES,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    conditions: ["sous-source"],
    mainFields: ["module", "main"],
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    chunkNames: "chunks/[name]-[hash]",
    define: { SOUS_VERSION: JSON.stringify(version) },
    alias: {
      // Its main file is UMD, whose inner requires cannot be bundled.
      "jsonc-parser": "jsonc-parser/lib/esm/main.js",
      // Without a second HTML parser: it is handed nodes, never text.
      turndown: "turndown/lib/turndown.browser.es.js",
    },
    // The ripgrep package finds its binary beside its own files and jiti its own transpiler, so they stay packages.
    external: ["@vscode/ripgrep", "jiti"],
    // Bundled CommonJS packages call require for node's own modules.
    banner: {
      js: 'import { createRequire as __sousRequire } from "node:module"; const require = __sousRequire(import.meta.url);',
    },
    plugins: [englishOnly, withoutScripts, yamlAsModule, dataOnly, together],
    metafile: true,
    logLevel: "warning",
  }
}

/** Leaves zod's messages in fifty other languages out: half of its size, and an eighth of the time it takes to load. */
const englishOnly = {
  name: "english-only",
  setup(build) {
    build.onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js"',
    }))
  },
}

/** The code that would run the scripts of a fetched package stays out: nothing asks for it, and nothing should. */
const withoutScripts = {
  name: "without-scripts",
  setup(build) {
    build.onLoad({ filter: /@npmcli[\\/]run-script[\\/]lib[\\/]run-script\.js$/ }, () => ({
      contents: 'module.exports = async () => { throw new Error("no script of a package is run") }',
    }))
  },
}

/** What every run of an agent needs; see `together`. */
const EVERY_RUN = [
  "./core/cli/command-line.ts",
  "./core/cli/run.ts",
  "./core/cli/work.ts",
  "./core/error.ts",
  "./plugins/default.ts",
  "./plugins/render/display.ts",
  "./plugins/render/input.ts",
  "./plugins/render/screen.ts",
  "./plugins/render/show.ts",
]

/**
 * cli.ts loads its parts one by one, where they are needed. Those that every run needs become one part here: finding and
 * reading a file takes Node a millisecond, and there would be dozens.
 */
const together = {
  name: "together",
  setup(build) {
    build.onResolve({ filter: /^every-run$/ }, () => ({ path: "every-run", namespace: "together" }))
    build.onLoad({ filter: /.*/, namespace: "together" }, () => ({
      contents: EVERY_RUN.map((path) => `export * as "${path}" from "${path}"`).join("\n"),
      resolveDir: root,
    }))
    build.onLoad({ filter: /[\\/]cli\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(/\bimport\("([^"]+)"\)/g, (lazy, name) =>
        EVERY_RUN.includes(name) ? `import("every-run").then((all) => all["${name}"])` : lazy,
      ),
      loader: "ts",
    }))
  },
}

/** Takes the form of the yaml package that is made of ES modules, and so can be loaded lazily by name. */
const yamlAsModule = {
  name: "yaml-as-module",
  setup(build) {
    build.onResolve({ filter: /^yaml$/ }, () => ({ path: join(root, "node_modules/yaml/browser/index.js") }))
  },
}

/** Leaves out what cosmiconfig would run or parse files with (a compiler among it): it gets our loaders, which do neither. */
const dataOnly = {
  name: "data-only",
  setup(build) {
    build.onLoad({ filter: /cosmiconfig[\\/]dist[\\/]loaders\.js$/ }, () => ({ contents: "module.exports = {}" }))
  },
}

/** A CommonJS package that is loaded lazily keeps only its default export in a split bundle: named ones vanish. */
function checkLazyImports({ inputs }) {
  for (const [importer, { imports }] of Object.entries(inputs)) {
    for (const { path, kind } of imports) {
      if (kind !== "dynamic-import" || inputs[path]?.format !== "cjs") continue
      throw new Error(
        `${importer} loads ${path} lazily, which is CommonJS: import it in a module of its own, and load that`,
      )
    }
  }
}

/** Name, version and license text of every package that has bytes in a bundle. */
function thirdParty(metafile) {
  const folders = new Set()
  for (const output of Object.values(metafile.outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0]
      if (folder !== undefined && bytesInOutput > 0) folders.add(folder)
    }
  }
  const notices = [...folders].sort().map((folder) => notice(join(root, folder)))
  return `sous contains code of these packages.\n\n${notices.join("\n")}`
}

function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)(\.|$)/i.test(entry))
  if (license === undefined && file === undefined) throw new Error(`${name} is bundled and names no license`)
  const text = file === undefined ? "" : `\n${readFileSync(join(folder, file), "utf8").trim()}\n`
  return `${"-".repeat(40)}\n${name} ${version} (${license ?? "see below"})\n${text}`
}

/** Writes the declarations that `exports` points at. */
function emitTypes(outdir) {
  const tsc = join(root, "node_modules/typescript/bin/tsc")
  const flags = ["-p", join(root, ".ci/tsconfig.types.json"), "--outDir", join(outdir, "types")]
  // The compiler's complaints belong to stderr, where those of the bundler are.
  execFileSync(process.execPath, [tsc, ...flags], { cwd: root, stdio: ["ignore", 2, 2] })
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { "no-types": { type: "boolean", default: false }, metafile: { type: "string" } },
})
const outdir = resolve(positionals[0] ?? join(root, "dist"))
const metafile = await bundle(outdir)
if (values.metafile !== undefined) writeFileSync(values.metafile, JSON.stringify(metafile))
if (!values["no-types"]) emitTypes(outdir)
