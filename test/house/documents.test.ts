/**
 * Executes the code blocks of the documents that a newcomer reads, as document.ts says.
 *
 * Invariant: a block that claims to work and names no test fails; a document that is not there yet is no failure.
 */
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createStage, type Stage } from "../package/stage.ts"
import { type Block, commandsOf, parseBlocks } from "./document.ts"
import { listFiles, readSource, root } from "./source.ts"

const documents = listFiles(
  [
    "README.md",
    "core/README.md",
    "core/PERMISSIONS.md",
    "core/HOOKS.md",
    "core/SETTINGS.md",
    "core/CONTEXT.md",
    "plugins/README.md",
    "recipes/README.md",
  ],
  ".md",
)
const parsed = documents.map((name) => ({ name, blocks: parseBlocks(readSource(name)) }))

let stage: Stage
const scratch = mkdtempSync(join(tmpdir(), "sous-documents-"))
beforeAll(() => {
  if (parsed.some(({ blocks }) => blocks.some((block) => block.test?.verb === "run"))) stage = createStage()
})
afterAll(() => {
  stage?.remove()
  rmSync(scratch, { recursive: true, force: true })
})

describe.each(parsed)("$name", ({ name, blocks }) => {
  it("names a test for every block that claims to work", () => {
    const wrong = blocks.filter((block) => !["save", "run", "repository"].includes(block.test?.verb ?? ""))
    expect(wrong.map((block) => `${name}:${block.line}`)).toEqual([])
  })

  const folder = join(scratch, name.replaceAll("/", "-"))
  for (const block of blocks) it(`line ${block.line} works`, () => perform(block, folder), 60_000)
})

describe("parseBlocks()", () => {
  it("reads the marker above a fence, with its file and options, and leaves out what claims nothing", () => {
    const text =
      "a\n\n<!-- test: run exit=2 turns=a=b.yaml -->\n\n```sh\n$ x \\\n  y\n# z\n```\n```text\nno\n```\n```ts\nbare\n```\n"
    const [first, second, ...rest] = parseBlocks(text)
    expect(first).toMatchObject({
      line: 5,
      test: { verb: "run", file: undefined, options: { exit: "2", turns: "a=b.yaml" } },
    })
    expect(commandsOf(first!.code)).toEqual(["x y"])
    expect(second).toMatchObject({ language: "ts", code: "bare\n", test: undefined })
    expect(rest).toEqual([])
  })
})

function perform({ code, test }: Block, folder: string): void {
  if (test?.verb === "save") save(join(folder, test.file ?? ""), code)
  if (test?.verb === "run") for (const command of commandsOf(code)) runThere(command, folder, test.options)
  if (test?.verb === "repository") for (const command of commandsOf(code)) runHere(command)
}

function save(file: string, code: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, code)
}

/** `turns`: the script, among test/house/turns/, that the model speaks; `exit`: the code that the command must end with. */
function runThere(command: string, folder: string, options: Readonly<Record<string, string>>): void {
  const { bin, home } = prepare(folder)
  const model =
    options["turns"] === undefined ? {} : { model: `script:${join(root, "test/house/turns", options["turns"])}` }
  save(join(home, ".config/sous/settings.json"), JSON.stringify(model))
  const env = { HOME: home, PATH: `${bin}:${join(folder, "node_modules/.bin")}:${process.env["PATH"]}` }
  const { status, stdout, stderr } = spawnSync(command, { shell: true, cwd: folder, env, encoding: "utf8", input: "" })
  expect(status, `${command}\n${stdout}${stderr}`).toBe(Number(options["exit"] ?? 0))
}

function prepare(folder: string): { bin: string; home: string } {
  const [bin, home] = [join(folder, "../bin"), join(folder, "../home")]
  mkdirSync(folder, { recursive: true })
  mkdirSync(bin, { recursive: true })
  rmSync(join(bin, "sous"), { force: true })
  symlinkSync(join(stage.folder, "dist/cli.js"), join(bin, "sous"))
  install(folder)
  return { bin, home }
}

/** The packages of a reader's own project, as after an install; what `npm pack` makes is tested elsewhere. */
function install(folder: string): void {
  const modules = join(folder, "node_modules")
  if (existsSync(modules)) return
  for (const part of ["dist", "package.json"]) {
    cpSync(join(stage.folder, part), join(modules, "sous", part), { recursive: true })
  }
  for (const name of [".bin", "tsx", "jiti", "@vscode"])
    symlinkSync(join(root, "node_modules", name), join(modules, name))
}

/** What the suite itself runs in, it does not run again: installing was before, and a test of tests has no end. */
function runHere(command: string): void {
  const own = command.replace(/^npm ci && /, "")
  if (own === "npm ci" || own === "npm test") return
  const env = { HOME: mkdtempSync(join(scratch, "home-")), PATH: process.env["PATH"] ?? "" }
  const { status, stdout, stderr } = spawnSync(own, { shell: true, cwd: root, env, encoding: "utf8", input: "" })
  expect(status, `${command}\n${stdout}${stderr}`).toBe(0)
}
