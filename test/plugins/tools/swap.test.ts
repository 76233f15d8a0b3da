/**
 * The file tools while another process exchanges a folder of the project for a link that leads out of it, and back.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { editTool } from "../../../plugins/tools/edit.ts"
import { globTool } from "../../../plugins/tools/glob.ts"
import { grepTool } from "../../../plugins/tools/grep.ts"
import { readTool } from "../../../plugins/tools/read.ts"
import { writeTool } from "../../../plugins/tools/write.ts"
import { createToolContext, runTool, type TestContext } from "../../contract/tool.ts"

/** Four renames for each round: the folder goes, the link comes, and back. What a tool made in between is put aside. */
const SWAP = `
const { renameSync } = require("node:fs")
const [folder, link] = process.argv.slice(1)
let aside = 0
const put = (from) => {
  for (;;) {
    try { return renameSync(from, folder) } catch { renameSync(folder, folder + ".aside-" + aside++) }
  }
}
process.stdout.write("ready")
for (;;) {
  renameSync(folder, folder + ".away")
  put(link)
  renameSync(folder, link)
  put(folder + ".away")
}`

let outside: string
let context: TestContext
let swapper: ChildProcess
beforeAll(async () => {
  outside = realpathSync(mkdtempSync(join(tmpdir(), "sous-outside-")))
  context = createToolContext()
  const folder = join(context.cwd, "folder")
  mkdirSync(folder)
  symlinkSync(outside, join(context.cwd, "link"))
  writeFileSync(join(folder, "a.txt"), "inside\n")
  writeFileSync(join(outside, "a.txt"), "outside\n")
  // As the permission layer has judged them, before anything moved.
  const judged = (path: string) => ({ real: join(context.cwd, path) })
  context.judged = { get: (path: string) => judged(path) } as unknown as NonNullable<TestContext["judged"]>
  swapper = spawn(process.execPath, ["-e", SWAP, folder, join(context.cwd, "link")])
  await once(swapper.stdout!, "data")
})
afterAll(async () => {
  expect(swapper.exitCode).toBe(null)
  swapper.kill("SIGKILL")
  await once(swapper, "close")
  await context.release()
  rmSync(outside, { recursive: true, force: true })
})

it("Read never shows what lies outside", async () => {
  const seen = new Set<string>()
  const until = performance.now() + 1500
  while (performance.now() < until) {
    const { text, isError } = await runTool(readTool, { file_path: "folder/a.txt" }, context)
    if (!isError) seen.add(text.trim())
  }
  expect([...seen].filter((text) => text.includes("outside"))).toEqual([])
  expect(seen.size).toBe(1)
})

it("Write and Edit leave nothing outside", async () => {
  let created = 0
  const until = performance.now() + 1500
  for (let n = 0; performance.now() < until; n++) {
    const { isError } = await runTool(writeTool, { file_path: `folder/new-${n}.txt`, content: "x" }, context)
    if (!isError) created++
    await runTool(editTool, { file_path: "folder/a.txt", old_string: "side", new_string: "side" + n }, context)
  }
  expect(readdirSync(outside)).toEqual(["a.txt"])
  expect(created).toBeGreaterThan(0)
})

it("Grep and Glob search the folder that was judged", async () => {
  writeFileSync(join(outside, "b.txt"), "outside\n")
  const seen = new Set<string>()
  const until = performance.now() + 2000
  while (performance.now() < until) {
    const found = await Promise.all([
      runTool(grepTool, { pattern: "side", path: "folder", output_mode: "content" }, context),
      runTool(globTool, { pattern: "*.txt", path: "folder" }, context),
    ])
    for (const { text, isError } of found) if (!isError) seen.add(text)
  }
  expect([...seen].filter((text) => /outside|b\.txt/.test(text))).toEqual([])
  expect(seen.size).toBeGreaterThan(0)
})
