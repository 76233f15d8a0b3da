/**
 * The built command fetches a page of HTML: its worker is a file that only a build puts where it is looked for.
 *
 * Invariant: the page comes from a server on loopback, the model from a script.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { createSite, page, type Site } from "../plugins/tools/web-site.ts"
import { createStage, type Stage } from "./stage.ts"

let stage: Stage
let scratch: string
let site: Site
beforeAll(async () => {
  stage = createStage()
  scratch = mkdtempSync(join(tmpdir(), "sous-web-"))
  site = await createSite({ "/": page("text/html", '<title>Built</title><p>It <b>works</b>, <a href="x">here</a>') })
}, 60_000)
afterAll(async () => {
  await site?.close()
  stage?.remove()
  rmSync(scratch, { recursive: true, force: true })
})

it("WebFetch makes markdown in the built package", async () => {
  const call = { url: `${site.origin}/`, prompt: "what?" }
  const turns = join(scratch, "turns.json")
  writeFileSync(turns, JSON.stringify({ turns: [{ tool: { WebFetch: call } }, { text: "done" }] }))
  const { status, stdout, stderr } = await sous([
    "-p",
    "Go",
    "--model",
    `script:${turns}`,
    "--allow-net=127.0.0.1",
    "--json",
  ])
  expect(status, stderr).toBe(0)
  const events = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; preview?: string })
  const { preview } = events.find(({ type }) => type === "tool_result") ?? {}
  expect(preview).toContain('"Built"')
  expect(preview).not.toContain("The bare words")
  expect(preview).toMatch(new RegExp(`It \\*\\*works\\*\\*, \\[here\\]\\(${site.origin}/x\\)$`))
})

function sous(args: readonly string[]) {
  const env = { PATH: process.env["PATH"] ?? "", HOME: scratch }
  return new Promise<{ status: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = spawn(process.execPath, [join(stage.folder, "dist/cli.js"), ...args], { cwd: scratch, env })
    const said = { stdout: "", stderr: "" }
    child.stdin.end()
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said.stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said.stderr += text))
    child.on("close", (status) => resolve({ status, ...said }))
  })
}
