/**
 * The package as a stranger gets it: packed, installed into a prefix of its own, run in an otherwise empty folder.
 *
 * Invariant: nothing of the checkout is within reach of what runs here; HOME is empty and there is no key.
 */
import { execFileSync, spawnSync } from "node:child_process"
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { buildStage, type Stage } from "./stage.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const RECIPE = `import { agent, recipe, sh, z } from "sous"
import { z as other } from "zod"

const Sum = z.object({ sum: other.number() })

export default recipe({ name: "one", description: "Adds two numbers", params: z.object({ a: other.coerce.number() }) })
  .step("count", ({ params }) => sh\`printf %s \${params.a}\`)
  .step("add", ({ count }) => agent({ prompt: \`Add 1 to \${count.stdout}\`, output: Sum }))
  .output(({ add }) => add.sum)
`
const SCRIPT = `structured_output: true
turns:
  - expect: { last_user_contains: "Add 1 to 41" }
    json: { sum: 42 }
`

let stage: Stage
let scratch: string
let packed: { filename: string; size: number; files: { path: string }[] }

beforeAll(() => {
  stage = buildStage({ types: "with" })
  scratch = mkdtempSync(join(tmpdir(), "sous-install-"))
  rmSync(join(stage.folder, "node_modules"))
  const flags = ["--ignore-scripts", "--json", "--pack-destination", scratch]
  packed = (JSON.parse(execFileSync("npm", ["pack", ...flags], { cwd: stage.folder, encoding: "utf8" })) as never)[0]
  const tarball = join(scratch, packed.filename)
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
  execFileSync("npm", ["install", "--global", "--prefix", join(scratch, "prefix"), ...quiet, tarball], {
    stdio: "pipe",
  })
}, 120_000)

afterAll(() => {
  stage?.remove()
  if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true })
})

describe("the packed tarball", () => {
  it("holds what the package promises, and no source or test", () => {
    const paths = packed.files.map((file) => file.path)
    const wanted = [
      "dist/cli.js",
      "dist/index.js",
      "dist/plugins.js",
      "dist/testing.js",
      "dist/THIRD-PARTY.txt",
      "dist/types/core/index.d.ts",
    ]
    const beside = ["settings.schema.json", "package.json", "README.md", "LICENSE", "CHANGELOG.md"]
    const recipes = ["recipes/green.ts", "recipes/review.ts", "recipes/migrate.ts"]
    expect([...wanted, ...beside, ...recipes].filter((path) => !paths.includes(path))).toEqual([])
    expect(paths.filter((path) => /^(?:core|plugins|test|bench|node_modules)\//.test(path))).toEqual([])
  })

  it("names the license of every package that is bundled", () => {
    const notices = readFileSync(join(stage.folder, "dist/THIRD-PARTY.txt"), "utf8")
    for (const name of ["@anthropic-ai/sdk", "zod", "yaml", "commander"]) expect(notices).toContain(`\n${name} `)
  })
})

describe("the installed package", () => {
  it("runs a recipe that imports sous and zod in an empty folder, with an empty HOME and no key", () => {
    const folder = emptyFolder({ "one.ts": RECIPE, "turns.yaml": SCRIPT })
    const args = ["run", "./one.ts", "--a", "41", "--model", "script:turns.yaml", "--allow-run=printf", "--json"]
    const { status, stdout, stderr } = sous(args, folder)
    const last = JSON.parse(stdout.trim().split("\n").at(-1) || "null") as { result?: unknown } | null
    expect({ status, stderr, result: last?.result }).toMatchObject({ status: 0, result: { status: "ok", output: 42 } })
    expect(readdirSync(folder).sort()).toEqual(["one.ts", "turns.yaml"])
  })

  it("brings its types: a recipe checks, and a wrong one does not", () => {
    const wrong = RECIPE.replace("add.sum", "add.total")
    const folder = emptyFolder({ "one.ts": RECIPE, "wrong.ts": wrong, "package.json": '{ "type": "module" }' })
    // As a local install lays them out.
    const installed = join(scratch, "prefix/lib/node_modules/sous")
    mkdirSync(join(folder, "node_modules"))
    symlinkSync(installed, join(folder, "node_modules/sous"))
    symlinkSync(join(installed, "node_modules/zod"), join(folder, "node_modules/zod"))
    const tsc = join(root, "node_modules/typescript/bin/tsc")
    const flags = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2023"]
    const types = ["--types", "node", "--typeRoots", join(root, "node_modules/@types")]
    const paths = ["one.ts", "wrong.ts"]
    const { stdout } = spawnSync(process.execPath, [tsc, ...flags, ...types, ...paths], {
      cwd: folder,
      encoding: "utf8",
    })
    const errors = stdout.split("\n").filter((line) => line.includes("error"))
    expect(errors).toEqual([expect.stringMatching(/^wrong\.ts\(.*Property 'total' does not exist/)])
  })

  it("says its version", () => {
    const { version } = JSON.parse(readFileSync(join(stage.folder, "package.json"), "utf8")) as { version: string }
    expect(sous(["--version"], emptyFolder({})).stdout.trim()).toBe(version)
  })

  it("weighs less than the bar: 60 packages and 60 MB", () => {
    const { packages, bytes } = weigh(join(scratch, "prefix/lib/node_modules"))
    expect(packages).toBeLessThanOrEqual(60)
    expect(bytes).toBeLessThanOrEqual(60e6)
  })
})

function emptyFolder(files: Record<string, string>): string {
  const folder = mkdtempSync(join(scratch, "folder-"))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

function sous(args: readonly string[], cwd: string) {
  const home = mkdtempSync(join(scratch, "home-"))
  const node = dirname(process.execPath)
  const env = { HOME: home, PATH: `${node}:/usr/bin:/bin` }
  return spawnSync(join(scratch, "prefix/bin/sous"), args, { cwd, env, encoding: "utf8", timeout: 60_000 })
}

function weigh(folder: string): { packages: number; bytes: number } {
  const sum = { packages: 0, bytes: 0 }
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) sum.bytes += statSync(path).size
    if (entry.name === "package.json" && /node_modules\/(?:@[^/]+\/)?[^/]+$/.test(entry.parentPath)) sum.packages++
  }
  return sum
}
