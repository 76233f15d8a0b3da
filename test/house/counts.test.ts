/**
 * What a start and a run may cost, in counts that no busy machine blurs: requests, bytes, files loaded.
 *
 * Invariant: a bound here is raised only by a line in a diff, and what was counted is in the failure's message.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect, it } from "vitest"
import { createModelServer, type ModelServer } from "../../plugins/testing/index.ts"
import { createStage, type Stage } from "../package/stage.ts"
import { root } from "./source.ts"

/**
 * Recorded; the bars of a release are 8,000 bytes for the first request's system and tools. A prompt's kilobytes hold
 * the analyser of shell commands with its tables of programs (120 of them): the guards of a run are compiled before its
 * first request, and decided without awaiting anything. 60 of them read memory files and keep the session.
 */
const BOUNDS = {
  requestBytes: 8_000,
  version: { files: 1, kilobytes: 12 },
  prompt: { files: 14, kilobytes: 1_250 },
}

let stage: Stage
let scratch: string
let server: ModelServer
beforeAll(async () => {
  stage = createStage()
  scratch = mkdtempSync(join(tmpdir(), "sous-counts-"))
  server = await createModelServer()
}, 60_000)
afterAll(async () => {
  await server?.close({ abandon: true })
  stage?.remove()
  rmSync(scratch, { recursive: true, force: true })
})

it("a run of three turns makes three requests and no other", async () => {
  const file = join(scratch, "a.txt")
  writeFileSync(file, "one line\n")
  const read = { tool: { Read: { file_path: file } } }
  server.use([read, read, { text: "done" }])
  const { status, stdout, stderr } = await sous(["-p", "Read a.txt twice"])
  expect({ status, stdout, stderr }).toMatchObject({ status: 0, stdout: "done\n" })
  const paths = server.requests.map(({ method, path }) => `${method} ${path}`)
  expect(paths.filter((path) => path === "POST /v1/messages")).toHaveLength(3)
  expect(paths.filter((path) => path !== "POST /v1/messages")).toEqual([])
})

it("system and tools of the first request stay within their bound", () => {
  const { system, tools } = server.asked()[0]!.body as { system: unknown; tools: unknown[] }
  const bytes = Buffer.byteLength(JSON.stringify(system)) + Buffer.byteLength(JSON.stringify(tools))
  expect(bytes).toBeLessThanOrEqual(BOUNDS.requestBytes)
})

it("--version loads next to nothing", async () => {
  await expectLoaded(["--version"], BOUNDS.version)
})

it("a prompt loads what it needs", async () => {
  server.use([{ text: "done" }])
  await expectLoaded(["-p", "Say done"], BOUNDS.prompt)
})

it("a prompt loads no package that it does not use", async () => {
  server.use([{ text: "done" }])
  const web = ["linkedom", "turndown", "@mozilla/readability"]
  const unused = ["unbash", "pacote", "jsonc-parser", "yaml", "cel-js", "diff", "jiti", "@vscode/ripgrep", ...web]
  const inputs = inputsOf(await loadedBy(["-p", "Say done"]))
  expect(unused.filter((name) => inputs.some((input) => input.includes(`node_modules/${name}/`)))).toEqual([])
})

async function expectLoaded(args: readonly string[], bound: { files: number; kilobytes: number }): Promise<void> {
  const files = await loadedBy(args)
  const sizes = files.map((file) => ({ file, bytes: statSync(file).size }))
  const list = sizes.map(({ file, bytes }) => `${bytes} ${file.slice(stage.folder.length)}`).join("\n")
  expect(files.length, list).toBeLessThanOrEqual(bound.files)
  expect(sizes.reduce((sum, { bytes }) => sum + bytes, 0) / 1000, list).toBeLessThanOrEqual(bound.kilobytes)
}

/** The files that a command loads as modules, Node's own left out. */
async function loadedBy(args: readonly string[]): Promise<string[]> {
  const list = join(scratch, "loaded.txt")
  writeFileSync(list, "")
  const counter = join(root, "test/house/fixture/count-modules.mjs")
  const { status, stderr } = await sous(args, { NODE_OPTIONS: `--import=${counter}`, COUNT_FILE: list })
  expect(status, stderr).toBe(0)
  const addresses = readFileSync(list, "utf8")
    .split("\n")
    .filter((address) => address.startsWith("file:"))
  return addresses.map((address) => fileURLToPath(address))
}

/** The sources that have bytes in the given outputs of the bundle. */
function inputsOf(files: readonly string[]): string[] {
  const outputs = Object.entries(stage.metafile.outputs)
  return files.flatMap((file) => {
    const [, output] = outputs.find(([path]) => file.endsWith(path.slice(path.indexOf("/dist/")))) ?? []
    return output === undefined ? [file] : Object.keys(output.inputs)
  })
}

/** Runs the built command with an empty HOME against the server. */
function sous(args: readonly string[], env: Record<string, string> = {}) {
  const home = mkdtempSync(join(scratch, "home-"))
  const whole = { PATH: process.env["PATH"] ?? "", HOME: home, ...server.env, ...env }
  return new Promise<{ status: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = spawn(process.execPath, [join(stage.folder, "dist/cli.js"), ...args], { cwd: scratch, env: whole })
    const said = { stdout: "", stderr: "" }
    child.stdin.end()
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said.stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said.stderr += text))
    child.on("close", (status) => resolve({ status, ...said }))
  })
}
