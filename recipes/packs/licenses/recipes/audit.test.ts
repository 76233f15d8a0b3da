import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { runRecipe } from "sous/testing"
import licenses from "../plugin.ts"
import audit from "./audit.ts"

const folders: string[] = []
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** A project with these packages installed, each with its license. */
function project(packages: Record<string, unknown>): string {
  const cwd = mkdtempSync(join(tmpdir(), "sous-licenses-"))
  folders.push(cwd)
  for (const [name, license] of Object.entries(packages)) {
    mkdirSync(join(cwd, "node_modules", name), { recursive: true })
    writeFileSync(join(cwd, "node_modules", name, "package.json"), JSON.stringify({ name, version: "1.0.0", license }))
  }
  return cwd
}

test("audit asks no model when every license is agreed to", async () => {
  const cwd = project({ a: "MIT", "@b/c": "(MIT OR GPL-3.0)", d: { type: "ISC" } })
  const run = await runRecipe(audit, { cwd, plugins: [licenses], model: [] })
  assert.equal(run.status, "ok", run.failure?.error)
  assert.deepEqual(run.output, { packages: 3, problems: [], notes: [] })
})

test("audit has each other license explained", async () => {
  const cwd = project({ a: "MIT AND GPL-3.0", b: undefined })
  const notes = [{ name: "a", note: "ships its source" }]
  const run = await runRecipe(audit, {
    cwd,
    plugins: [licenses],
    model: { turns: [{ expect: { last_user_contains: "GPL-3.0" }, json: { notes } }] },
  })
  assert.equal(run.status, "ok", run.failure?.error)
  const { problems, ...rest } = run.output as { problems: { license: string }[] }
  assert.deepEqual(rest, { packages: 2, notes })
  assert.deepEqual(
    problems.map(({ license }) => license),
    ["MIT AND GPL-3.0", "none"],
  )
})
