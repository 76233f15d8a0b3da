// Bundles the command line and the public surface into dist/, code-split so that a command loads only its part,
// and emits types. Run by `npm ci` through `prepare`; needs nothing but the packages in package.json.
import { execFileSync } from "node:child_process"
import { chmodSync, readFileSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
rmSync(join(root, "dist"), { recursive: true, force: true })

await build({
  absWorkingDir: root,
  entryPoints: { cli: "cli.ts", index: "core/index.ts", testing: "plugins/testing/index.ts" },
  outdir: "dist",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  conditions: ["sous-source"],
  minifySyntax: true,
  minifyWhitespace: true,
  chunkNames: "chunks/[name]-[hash]",
  define: { SOUS_VERSION: JSON.stringify(version) },
  // The ripgrep package finds its binary beside its own files, so it stays a package.
  external: ["@vscode/ripgrep", "jiti"],
  // Bundled CommonJS packages call require for node's own modules.
  banner: {
    js: 'import { createRequire as __sousRequire } from "node:module"; const require = __sousRequire(import.meta.url);',
  },
  logLevel: "warning",
})
chmodSync(join(root, "dist/cli.js"), 0o755)
execFileSync(
  process.execPath,
  [join(root, "node_modules/typescript/bin/tsc"), "-p", join(root, ".ci/tsconfig.types.json")],
  {
    cwd: root,
    stdio: "inherit",
  },
)
