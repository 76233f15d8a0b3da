/**
 * Lists the files over 300 lines and the functions over 50, and lets their number only shrink.
 *
 * Invariant: what is over the measure is always named in the output; raising a bound is a line in a diff.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { expect, it } from "vitest"
import { readSource, root, shippedFiles } from "./source.ts"

/** How many may be over the measure today; lower them when the lists get shorter. */
const BOUNDS = { files: 0, functions: 0 }
const LINES_OF_A_FILE = 300
/** Files that are one table: a row more makes them no harder to read. */
const TABLES = ["core/error-table.ts"]

it("files over 300 lines grow no more", () => {
  const long = shippedFiles()
    .filter((file) => !TABLES.includes(file))
    .map((file) => ({ file, lines: readSource(file).trimEnd().split("\n").length }))
    .filter(({ lines }) => lines > LINES_OF_A_FILE)
    .map(({ file, lines }) => `${file} ${lines}`)
  report("files over 300 lines", long, BOUNDS.files)
})

it("functions over 50 lines grow no more", () => {
  report("functions over 50 lines", longFunctions(), BOUNDS.functions)
})

function report(what: string, found: readonly string[], bound: number): void {
  if (found.length > 0) console.info(`${what}:\n  ${found.join("\n  ")}`)
  expect(found.length, `${what}:\n  ${found.join("\n  ")}`).toBeLessThanOrEqual(bound)
}

interface Diagnostic {
  message: string
  location: { path: string; start: { line: number } }
}

/** Measured by the linter, under a configuration that asks for nothing else. */
function longFunctions(): string[] {
  const biome = join(root, "node_modules/@biomejs/biome/bin/biome")
  const config = join(root, "test/house/function-size.json")
  const flags = [`--config-path=${config}`, "--reporter=json", "--max-diagnostics=none", "--no-errors-on-unmatched"]
  const { stdout } = spawnSync(process.execPath, [biome, "lint", ...flags, ...shippedFiles()], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  })
  const { diagnostics } = JSON.parse(stdout.split("\n").find((line) => line.startsWith("{")) ?? "") as {
    diagnostics: Diagnostic[]
  }
  return diagnostics.map(({ message, location: { path, start } }) => {
    const lines = /\((\d+)\)/.exec(message)?.[1] ?? message
    return `${path}:${start.line} ${lines}`
  })
}
