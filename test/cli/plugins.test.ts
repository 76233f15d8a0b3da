import { rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { beforeEach, describe, expect, test } from "vitest"
import { type Place, useCommand } from "./command.ts"

let place: Place
useCommand((fresh) => {
  place = fresh
})

const OWN = "home/.config/sous"
const tool = (name: string, says = "ok") =>
  `{ name: "${name}", description: "d", input: { type: "object" }, execute: async () => "${says}" }`
const plugin = (name: string, more = "") => `export default { name: "${name}", ${more} }\n`
const GUARD = plugin("guard", 'permissions: { deny: ["Bash(touch *)"] }')

beforeEach(() => {
  place.put("script.yaml", "turns: [{ tool: { Bash: { command: sleep 0.2 } } }, { text: done }]\n")
})

const prompt = (...args: string[]) =>
  place.run(["-p", "Go", "--model", `script:${join(place.folder, "script.yaml")}`, "-A", ...args])

async function events(...args: string[]) {
  const ended = await prompt("--json", ...args)
  const told = ended.stdout.split("\n").filter((line) => line.startsWith("{"))
  return { ended, events: told.map((line) => JSON.parse(line) as { type: string; [field: string]: any }) }
}

async function listed(): Promise<Record<string, any>[]> {
  const { code, stdout } = await place.run(["plugins", "--json"])
  expect(code).toBe(0)
  return JSON.parse(stdout).plugins.filter(({ tier, from, name }: any) => tier !== "shipped" || from !== name)
}

describe("a start with all sorts of plugins", () => {
  test("runs with the four good ones, and says of each other one what is wrong and how to mend it", async () => {
    const put = (name: string, text: string) => place.put(`${OWN}/plugins/${name}`, text)
    put(
      "a-good.ts",
      `import { definePlugin } from "sous"\nexport default definePlugin({ name: "good", tools: [${tool("Good")}] })\n`,
    )
    put("b-cjs.cjs", `module.exports = { name: "cjs", tools: [${tool("Cjs")}] }\n`)
    put("c-folder/package.json", '{ "exports": "./src/main.mts" }')
    put("c-folder/src/main.mts", `import { made } from "./made.ts"\nexport default made\n`)
    put("c-folder/src/made.ts", `export const made: object = { name: "folder", tools: [${tool("Folder")}] }\n`)
    put(
      "d-leaky.mjs",
      `setInterval(() => {}, 1000)\nsetTimeout(() => Promise.reject(new Error("late")), 20)\nsetTimeout(() => { throw new Error("thrown") }, 30)\nPromise.reject(new Error("early"))\n${plugin("leaky", `tools: [${tool("Leaky")}]`)}`,
    )
    put("e-throws.ts", 'throw new Error("boom")\n')
    put("f-null.ts", "export default null\n")
    put("g-exits.mjs", "process.exit(0)\n")
    put("h-clash.ts", plugin("clash", `tools: [${tool("Read")}]`))
    put("i-version.ts", plugin("version", "apiVersion: 7, later: true"))
    put("j-late.ts", plugin("late", `setup({ add }) { setTimeout(() => add({ tools: [${tool("Late")}] }), 20) }`))
    put("k-exits-later.ts", plugin("exits-later", "setup() { process.exit(0) }"))
    const { ended, events: told } = await events()
    expect(ended.code).toBe(0)
    const started = told.find(({ type }) => type === "run_started")!
    expect(started.tools).toEqual(expect.arrayContaining(["Good", "Cjs", "Folder", "Leaky"]))
    const codes = started.plugins
      .filter(({ ok }: any) => !ok)
      .map(({ name, code, mend }: any) => [name, code, mend !== ""])
    expect(codes).toEqual([
      ["e-throws", "MODULE_THREW", true],
      ["f-null", "PLUGIN_EXPORT_INVALID", true],
      ["g-exits", "MODULE_THREW", true],
      ["clash", "PLUGIN_CLASH", true],
      ["i-version", "PLUGIN_API_VERSION", true],
      ["exits-later", "PLUGIN_SETUP_FAILED", true],
    ])
    const notices = told.filter(({ type }) => type === "notice").map(({ message }) => message)
    const file = join(place.folder, OWN, "plugins/d-leaky.mjs")
    for (const what of [
      "promise to fail that nobody caught, and the run goes on: Error: early",
      "Error: late",
      "threw an error that nobody caught, and the run goes on: Error: thrown",
    ])
      expect(notices).toContainEqual(expect.stringMatching(new RegExp(`"leaky" \\(${file}\\).*${what}`)))
    expect(notices).toContainEqual(expect.stringContaining('Cannot add to plugin "late"'))
    expect(told.at(-1)).toMatchObject({ type: "run_finished", result: { status: "ok" } })
    const strict = await prompt("--strict")
    expect(strict).toMatchObject({ code: 2, stderr: expect.stringContaining("code  MODULE_THREW") })
    const { stdout } = await place.run(["plugins"])
    expect(stdout).toMatch(/^good +ok +in-process +\S+ ms +user · .*a-good\.ts\n {4}adds tool Good$/m)
    expect(stdout).toMatch(/^clash +left out .*\n {4}! Cannot register .*h-clash\.ts.*\n {6}rename/m)
    expect(stdout).toMatch(/^Shipped: script, .*tools.* \(--verbose shows more\)$/m)
    expect((await place.run(["plugins", "--verbose"])).stdout).toMatch(/^tools +ok +shipped/m)
  })

  test("one that is reached by two paths, or lies there twice, is one plugin", async () => {
    const file = place.put("project/tools/a.ts", plugin("one", `tools: [${tool("One")}]`))
    place.put(`${OWN}/settings.json`, JSON.stringify({ plugins: [file, "./plugins/link.ts"] }))
    place.put(`${OWN}/plugins/copy.ts`, plugin("one", `tools: [${tool("One")}]`))
    symlinkSync(file, join(place.folder, OWN, "plugins/link.ts"))
    const { code, stderr } = await prompt("--plugin", "./tools/a.ts")
    expect([code, stderr]).toEqual([0, expect.not.stringContaining("left out")])
    expect(await listed()).toMatchObject([{ name: "one", ok: true, from: file }])
  })

  test("renames a tool whose name is taken where settings say so", async () => {
    place.put(`${OWN}/mine.ts`, plugin("mine", `tools: [${tool("Read", "mine")}]`))
    const settings = { plugins: [{ plugin: "./mine.ts", collision: "prefix" }] }
    place.put(`${OWN}/settings.json`, JSON.stringify(settings))
    place.put("script.yaml", "turns: [{ tool: { mine__Read: {} } }, { text: done }]\n")
    const { events: told } = await events()
    expect(told.find(({ type }) => type === "tool_result")).toMatchObject({ name: "mine__Read", preview: "mine" })
    expect(await listed()).toMatchObject([{ adds: ["tool mine__Read"] }])
  })
})

describe("a guard that does not load", () => {
  test.each([
    ["throws", (file: string) => writeFileSync(file, 'throw new Error("boom")\n'), "boom"],
    ["exports nothing", (file: string) => writeFileSync(file, "export {}\n"), "missing"],
    ["is gone", (file: string) => rmSync(file), "there is no such file"],
  ])("stops the run when it %s, until a person says that it is meant", async (_what, spoil, reason) => {
    const file = place.put(`${OWN}/guard.ts`, GUARD)
    place.put(`${OWN}/settings.json`, '{ "plugins": ["./guard.ts"] }')
    expect((await prompt()).code).toBe(0)
    spoil(file)
    const stopped = await prompt()
    expect(stopped.code).toBe(2)
    expect(stopped.stdout).toBe("")
    for (const part of [
      '"guard"',
      file,
      "deny Bash(touch *)",
      reason,
      'run "sous plugins forget guard"',
      "code  PLUGIN_GUARD_MISSING",
    ])
      expect(stopped.stderr).toContain(part)
    expect(await place.run(["plugins", "forget", "guard"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Forgotten: guard"),
    })
    expect((await prompt()).code).toBe(0)
  })

  test.each([
    ["this person", `${OWN}/plugins/guard.ts`],
    ["the project", "project/.sous/plugins/guard.ts"],
    ["this person, as a folder", `${OWN}/plugins/guard/index.ts`],
  ])("stops the run when it is gone from the plugins folder of %s", async (_whose, path) => {
    const file = place.put(path, GUARD)
    expect((await prompt("--trust")).code).toBe(0)
    rmSync(file)
    for (const args of [[], ["--trust"]]) {
      const { code, stdout, stderr } = await prompt(...args)
      expect([code, stdout]).toEqual([2, ""])
      expect(stderr).toContain(`The plugin file "${file}" is gone\n  mend  put ${file} back as it was; or, `)
    }
    expect(await listed()).toMatchObject([{ name: "guard", ok: false, fatal: true, code: "PLUGIN_GUARD_MISSING" }])
    place.put(path, GUARD)
    expect((await prompt("--trust")).code).toBe(0)
    rmSync(file)
    expect((await place.run(["plugins", "forget", "guard"])).code).toBe(0)
    expect((await prompt()).code).toBe(0)
  })

  test("may get another file", async () => {
    const file = place.put(`${OWN}/plugins/guard.ts`, GUARD)
    await prompt()
    rmSync(file)
    place.put(`${OWN}/plugins/house.ts`, GUARD)
    expect((await prompt()).code).toBe(0)
  })

  test("is shown by sous plugins, and no run can make it forgotten", async () => {
    const file = place.put(`${OWN}/plugins/guard.ts`, GUARD)
    await prompt()
    writeFileSync(file, "export default null\n")
    expect(await listed()).toMatchObject([{ ok: false, fatal: true, guards: true, code: "PLUGIN_GUARD_MISSING" }])
    const inside = await place.run(["plugins", "forget", "guard"], { more: { SOUS_SESSION_ID: "x" } })
    expect(inside).toMatchObject({ code: 2, stderr: expect.stringContaining("CLI_INSIDE_RUN") })
    expect((await prompt()).code).toBe(2)
  })

  test.each([
    [
      "settings say that it is required",
      '{ "plugins": [{ "plugin": "./guard.ts", "required": true }] }',
      'throw new Error("boom")\n',
    ],
    [
      "it declares what it guards",
      '{ "plugins": ["./guard.ts"] }',
      GUARD.replace("permissions", "setup: () => Promise.reject(new Error('boom')), permissions"),
    ],
    [
      "it says so itself",
      '{ "plugins": ["./guard.ts"] }',
      plugin("guard", "required: true, setup() { throw new Error('boom') }"),
    ],
  ])("stops the very first run when %s", async (_what, settings, text) => {
    place.put(`${OWN}/guard.ts`, text)
    place.put(`${OWN}/settings.json`, settings)
    expect(await prompt()).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(/guard\.ts[\s\S]*boom/) })
  })
})

describe("sous plugins", () => {
  test.each([
    [["lst"], "CLI_ARGUMENT_UNEXPECTED", 'write "sous plugins list"'],
    [["list", "x"], "CLI_ARGUMENT_UNEXPECTED", 'write "sous plugins" alone'],
    [["forget"], "CLI_ARGUMENT_MISSING", "sous plugins forget guard"],
    [["forget", "nobody"], "PLUGIN_NOT_REMEMBERED", "none that guards is remembered"],
  ])("refuses %j with %s", async (words, code, mend) => {
    const ended = await place.run(["plugins", ...words])
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain(`code  ${code}`)
    expect(ended.stderr).toContain(mend)
  })

  test("says that there are none", async () => {
    expect((await place.run(["plugins"])).stdout).toMatch(/^No plugins but those that are shipped\nShipped: /)
  })
})
