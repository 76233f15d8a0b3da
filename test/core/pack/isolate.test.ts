import { existsSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { isSousError } from "../../../core/error.ts"
import type { HookHandler } from "../../../core/hook.ts"
import type { Contribution } from "../../../core/plugin.ts"
import { checkInput } from "../../../core/tool-input.ts"
import { contextOf, toolPlugin, usePlace } from "./isolate-place.ts"

const place = usePlace()

async function codeOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => "none",
    (error) => (isSousError(error) ? `${error.code}: ${error.message}` : `uncoded: ${error}`),
  )
}

describe("loadIsolated()", () => {
  it("gives back an ordinary plugin whose tool runs elsewhere", async () => {
    const loaded = await place.load({
      "plugin.ts": `
        import { definePlugin, defineTool, z } from "sous"
        import { add } from "./sum.ts"
        const T = defineTool({
          name: "T", description: "adds", input: z.object({ a: z.number(), b: z.number().default(2) }),
          ruleName: "Sum", role: "memory", maxResultChars: 50, sideEffects: "external", readOnly: true,
          async execute({ a, b }) { return { content: [{ type: "text", text: String(add(a, b)) }], data: { pid: process.pid } } },
        })
        export default definePlugin({ name: "guest", requires: ["other"], required: true, tools: [T],
          permissions: { deny: ["Bash(rm *)"], ask: ["Read"] },
          agents: [{ name: "helper", description: "helps", prompt: "Help." }] })`,
      "sum.ts": "export const add = (a: number, b: number): number => a + b",
    })
    const { name, requires, required, permissions, agents } = loaded.plugin
    expect({ name, requires, required, permissions, agents }).toEqual({
      name: "guest",
      requires: ["other"],
      required: true,
      permissions: { deny: ["Bash(rm *)"], ask: ["Read"] },
      agents: [{ name: "helper", description: "helps", prompt: "Help." }],
    })
    expect(loaded.tool()).toMatchObject({
      ruleName: "Sum",
      role: "memory",
      maxResultChars: 50,
      sideEffects: "external",
    })
    expect(loaded.tool()).toMatchObject({ readOnly: true, input: { type: "object", required: ["a"] } })
    const output = await loaded.call({ a: 1 })
    expect(output).toMatchObject({ content: [{ type: "text", text: "3" }] })
    const { pid } = (output as { data: { pid: number } }).data
    expect(pid).not.toBe(process.pid)
    await loaded.close()
    expect(() => process.kill(pid, 0)).toThrow()
  })

  it("asks the plugin what a call touches", async () => {
    const loaded = await place.load(`
      import { z } from "sous"
      export default { name: "guest", tools: [{
        name: "T", description: "reads", input: z.object({ file: z.string().transform((file) => file + ".txt") }),
        readOnly: ({ file }) => file.startsWith("r"), concurrencySafe: () => false,
        targets: ({ file }, { cwd }) => [{ kind: "path", access: "read", path: cwd + "/" + file }],
        async execute({ file }) { return file },
      }] }`)
    expect(await loaded.tool().facts?.({ file: "r" }, { cwd: "/w" })).toEqual({
      readOnly: true,
      concurrencySafe: false,
      targets: [{ kind: "path", access: "read", path: "/w/r.txt" }],
    })
    expect(await loaded.call({ file: "x" })).toBe("x.txt")
    await expect(loaded.tool().facts?.({ file: 1 }, { cwd: "/w" })).rejects.toThrow("does not fit its schema")
  })

  it("hands a call its context, and takes what it tells on its way", async () => {
    const files = { "plugin.mjs": toolPlugin(CONTEXT_BODY), "sub/x": "" }
    const other = await place.load(files, { capabilities: { tools: ["T"], env: ["NAMED"] } })
    const told: string[] = []
    const cleanups: (() => unknown)[] = []
    const context = {
      mayRead: (path: string) => path === "/a",
      web: { names: () => false, guards: () => true },
      progress: (text: string) => void told.push(text),
      setCwd: (path: string) => void told.push(`cwd ${path}`),
      defer: (cleanup: () => unknown) => void cleanups.push(cleanup),
      env: { NAMED: "1", OTHER: "2" },
      judged: new Map([["a", { lexical: "/l", real: "/r" }]]),
    }
    const output = (await other.call({}, context)) as { data: object }
    expect(output.data).toEqual({
      mayRead: [true, false],
      web: true,
      n: 1,
      roots: [other.folder],
      agent: { id: "main", type: "main", depth: 0 },
      env: { NAMED: "1" },
      judged: [["a", { lexical: "/l", real: "/r" }]],
      cwd: other.folder,
    })
    expect(told).toEqual(["half way", `cwd ${other.folder}/sub`])
    expect(((await other.call({}, context)) as { data: { n: number } }).data.n).toBe(2)
    await cleanups[0]!()
    await expect.poll(() => other.notices.join()).toContain("cleaned")
  })

  it("lets a tool move the agent nowhere that the run does not work in", async () => {
    const loaded = await place.load(toolPlugin(`context.setCwd("/usr"); return "moved"`))
    const moved: string[] = []
    await expect(loaded.call({}, { setCwd: (path) => void moved.push(path) })).rejects.toThrow("cannot move to /usr")
    expect(moved).toEqual([])
  })

  it("takes progress of a tool that yields", async () => {
    const loaded = await place.load(`export default { name: "guest", tools: [{
      name: "T", description: "d", input: { type: "object" },
      async *execute() { yield { progress: "one" }; yield "last" } }] }`)
    const told: string[] = []
    expect(await loaded.call({}, { progress: (text) => void told.push(text) })).toBe("last")
    expect(told).toEqual(["one"])
  })

  it("runs the setup with the settings that the plugin's own schema makes, and adds what it returns", async () => {
    const source = `
      import { z, definePlugin } from "sous"
      const tool = (name, text) => ({ name, description: "d", input: { type: "object" }, execute: async () => text })
      export default definePlugin({ name: "guest", settings: z.object({ word: z.string().default("hi") }),
        hooks: { PreToolUse: () => ({ kind: "block", reason: "first" }) },
        setup({ settings, add }) {
          add({ tools: [tool("U", "added")] })
          return { tools: [tool("T", settings.word)], hooks: { PreToolUse: () => ({ kind: "block", reason: "second" }) } }
        } })`
    const loaded = await place.load(source, { capabilities: { tools: ["T", "U"] } })
    expect(loaded.plugin.tools).toEqual([])
    const more = await setUp(loaded.plugin, {})
    expect(more.tools?.map(({ name }) => name)).toEqual(["U", "T"])
    const T = more.tools!.find(({ name }) => name === "T")!
    expect(await T.execute({}, contextOf(loaded.folder))).toBe("hi")
    expect(await fire(more, {})).toEqual({ kind: "block", reason: "second" })
    expect(await fire(loaded.plugin, {})).toEqual({ kind: "block", reason: "first" })
    const wrong = await place.load(source, { capabilities: { tools: ["T", "U"] } })
    expect(await codeOf(setUp(wrong.plugin, { word: 1 }))).toMatch(/^PLUGIN_SETTINGS_INVALID: .*word/)
  })

  it("answers a hook, and takes no answer that grants", async () => {
    const loaded =
      await place.load(`export default { name: "guest", hooks: { PreToolUse: { matcher: "Bash", timeoutMs: 900,
      handler: ({ answer }) => answer === "nothing" ? undefined : answer } } }`)
    const [hook] = loaded.plugin.hooks!.PreToolUse as unknown as [object]
    expect(hook).toMatchObject({ matcher: "Bash", timeoutMs: 900 })
    expect(await fire(loaded.plugin, { answer: "nothing" })).toBeUndefined()
    const block = { kind: "block", reason: "no" }
    expect(await fire(loaded.plugin, { answer: block })).toEqual(block)
    expect(await fire(loaded.plugin, { answer: { kind: "rewrite", input: { a: 1 } } })).toMatchObject({
      kind: "rewrite",
    })
    for (const answer of [
      { kind: "allow" },
      { kind: "env", set: { PATH: "/x" } },
      { exit: 0, stdout: ' {"decision":"allow"}' },
      { kind: "block", reason: "x".repeat(100_001) },
    ])
      await expect(fire(loaded.plugin, { answer })).rejects.toThrow('plugin "guest"')
  })

  it("starts a plugin without a manifest with what it declares itself", async () => {
    const { HOME: _, ...env } = process.env
    const source = `
      export default { name: "guest", capabilities: { tools: ["T"], env: ["NAMED"] }, tools: [{
        name: "T", description: "d", input: { type: "object" }, execute: async () => process.env.NAMED ?? "none" }] }`
    const file = place.folder({ "plugin.mjs": source })
    const { loadIsolated } = await import("../../../core/pack/isolate.ts")
    const options = { parts: place.parts, folder: file, cwd: file, env: { ...env, NAMED: "1" } }
    const isolated = await loadIsolated(`${file}/plugin.mjs`, options)
    expect(await isolated.plugin.tools![0]!.execute({}, contextOf(file))).toBe("1")
    expect(isolated.plugin.capabilities).toEqual({ tools: ["T"], env: ["NAMED"] })
    await isolated.close()
  })

  it("keeps patterns of a schema out of this process, and the plugin holds them", async () => {
    const loaded = await place.load(`
      import { z } from "sous"
      export default { name: "guest", tools: [{ name: "T", description: "d",
        input: z.object({ word: z.string().regex(/^(a+)+$/).describe("A word.") }), execute: async ({ word }) => word }] }`)
    const { input } = loaded.tool()
    expect(JSON.stringify(input)).not.toContain('"pattern"')
    expect(input).toMatchObject({ properties: { word: { description: "A word. (matches /^(a+)+$/)" } } })
    const given = { word: `${"a".repeat(40)}!` }
    await expect(checkInput(loaded.tool(), { id: "1", name: "T", input: given })).resolves.toEqual(given)
    await expect(loaded.call({ word: "b" })).rejects.toThrow("does not fit its schema")
  })

  it("refuses what cannot be called from another process, and names it", async () => {
    const refused = await codeOf(
      place.load(`export default { name: "guest", models: [{ name: "m" }], recipes: [{ name: "r" }],
        compaction: [{ name: "c" }], context: [{ name: "x" }], permissions: { classify: () => "safe", safety: () => {} } }`),
    )
    expect(refused).toMatch(
      /^ISOLATION_PART_UNSUPPORTED: .*models, compaction, context, recipes, a classifier, a safety/,
    )
    const costly = `export default { name: "guest", hooks: { PreToolUse: { matcher: "(a+)+b", handler() {} } } }`
    expect(await codeOf(place.load(costly))).toContain('ISOLATION_PART_UNSUPPORTED: Cannot run plugin "guest"')
  })

  it("refuses what goes beyond its capabilities, at load and in its setup", async () => {
    const more = `{ tools: [{ name: "Other", description: "d", input: { type: "object" }, execute: async () => "" }] }`
    expect(await codeOf(place.load(`export default { name: "guest", ...${more} }`))).toMatch(
      /^ISOLATION_UNDERSTATED: .*the tool "Other"/,
    )
    const allow = `export default { name: "guest", permissions: { allow: ["Bash"] } }`
    expect(await codeOf(place.load(allow))).toMatch(/^ISOLATION_UNDERSTATED: .*the rule "allow Bash"/)
    const late = await place.load(`export default { name: "guest", setup: () => (${more}) }`)
    expect(await codeOf(setUp(late.plugin, {}))).toMatch(/^ISOLATION_UNDERSTATED: .*the tool "Other"/)
    const held = await place.load(allow, { isHeld: true })
    expect(held.plugin.permissions).toEqual({ allow: ["Bash"] })
  })

  it("says what is wrong with a file that is no plugin, and leaves no process behind", async () => {
    const cases: [string, RegExp][] = [
      ["export default null", /^PLUGIN_EXPORT_INVALID/],
      ["export default { name: 'Not Kebab' }", /^PLUGIN_NAME_INVALID/],
      ["export default { name: 'guest', extra: 1 }", /^PLUGIN_KEY_UNKNOWN/],
      ["throw new Error('on purpose')", /^MODULE_THREW: .*on purpose/],
      ["import 'not-there'", /^MODULE_IMPORT_MISSING/],
      ["const a = ;", /^MODULE_(SYNTAX_INVALID|THREW)/],
      ["throw null", /^(MODULE_THREW|PLUGIN_LOAD_FAILED)/],
      ["process.exit(0)", /^PLUGIN_LOAD_FAILED: .*exit 0/],
      [
        "process.stderr.write('the last word\\n', () => process.exit(7)); await new Promise(() => {})",
        /exit 7: the last word/,
      ],
      [
        "import fs from 'node:fs'; fs.readFileSync('/etc/passwd')",
        /reading "\/etc\/passwd" is none of its capabilities/,
      ],
      ["export default { name: 'guest', hooks: { Nope() {} } }", /^HOOK_EVENT_UNKNOWN/],
    ]
    for (const [source, wanted] of cases) expect(await codeOf(place.load(source))).toMatch(wanted)
  }, 40_000)

  it("gives up a file that never loads", async () => {
    expect(await codeOf(place.load("while (true);", { loadMs: 1500 }))).toMatch(/^PLUGIN_LOAD_TIMEOUT/)
    expect(await codeOf(place.load("await new Promise(() => {})", { loadMs: 1500 }))).toMatch(/^PLUGIN_LOAD_TIMEOUT/)
  })

  it("says how to get the file that it starts", async () => {
    const parts = { ...place.parts, entry: "/nowhere/isolate.js" }
    expect(existsSync(parts.entry)).toBe(false)
    expect(await codeOf(place.load("", { parts }))).toMatch(/^ISOLATION_UNAVAILABLE/)
  })
})

const CONTEXT_BODY = `
  const seen = { mayRead: [context.mayRead("/a"), context.mayRead("/b")], web: context.web.guards("http://x/") }
  const count = context.state(Symbol.for("n"), () => ({ n: 0 })); count.n++
  context.progress("half way"); context.setCwd(context.cwd + "/sub"); context.defer(() => { console.log("cleaned") })
  const { roots, agent, env, judged } = context
  return { content: "done", data: { ...seen, n: count.n, roots, agent, env, judged: [...judged], cwd: process.cwd() } }`

async function setUp(plugin: { setup?: unknown }, settings: unknown): Promise<Contribution> {
  return await (plugin.setup as (context: object) => Promise<Contribution>)({ settings })
}

/** What the plugin's first PreToolUse hook answers. */
async function fire(plugin: Contribution, payload: object): Promise<unknown> {
  const [{ handler }] = plugin.hooks!.PreToolUse as unknown as [{ handler: HookHandler<"PreToolUse"> }]
  return await handler(payload as never, { signal: new AbortController().signal })
}
