import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { agent, block, createKit, definePlugin, defineTool, type Plugin, type RunEvent, recipe, z } from "sous"
import { scriptModel } from "sous/testing"
import { describe, expect, test } from "vitest"
import { createRegistry } from "../../core/registry.ts"
import { readTranscript } from "../../core/session/transcript.ts"
import { mergeSettings } from "../../core/settings/merge.ts"
import { after, folder } from "../harness.ts"

const tool = (name: string) =>
  defineTool({ name, description: "A tool", input: z.strictObject({}), readOnly: true, execute: async () => "ok" })

async function kit(plugins: unknown[], options: { strict?: boolean; settings?: object } = {}) {
  const cwd = folder()
  const made = await createKit({
    plugins: plugins as Plugin[],
    cwd,
    env: { HOME: cwd },
    home: cwd,
    ...(options.strict ? { strict: true } : {}),
    ...(options.settings
      ? { settings: mergeSettings([{ scope: "user", base: cwd, values: options.settings as never }]) }
      : {}),
  })
  after(() => made.close())
  return made
}

describe("createKit()", () => {
  test.each([
    ["PLUGIN_EXPORT_INVALID", [null]],
    ["PLUGIN_NAME_INVALID", [{ name: "Not Kebab" }]],
    ["PLUGIN_KEY_UNKNOWN", [{ name: "a", tool: [] }]],
    ["PLUGIN_DUPLICATE", [{ name: "a" }, { name: "a" }]],
    ["PLUGIN_REQUIRES", [{ name: "a", requires: ["b"] }]],
    [
      "PLUGIN_CLASH",
      [
        { name: "a", tools: [tool("T")] },
        { name: "b", tools: [tool("T")] },
      ],
    ],
    ["PLUGIN_SETUP_FAILED", [{ name: "a", setup: () => Promise.reject(new Error("no socket")) }]],
    ["PLUGIN_SETTINGS_INVALID", [{ name: "a", settings: z.object({ port: z.number() }) }]],
    ["HOOK_EVENT_UNKNOWN", [{ name: "a", hooks: { PreToolUze: () => undefined } }]],
    ["HOOK_HANDLER_INVALID", [{ name: "a", hooks: { Stop: { handler: "x" } } }]],
  ])("refuses with %s when it is strict, and otherwise reports it and goes on", async (code, plugins) => {
    await expect(kit(plugins, { strict: true })).rejects.toMatchObject({ code })
    if (code === "HOOK_HANDLER_INVALID") return
    const lenient = await kit([...plugins, { name: "good", tools: [tool("Good")] }])
    const { plugins: reports, tools } = lenient.describe()
    expect(reports.filter(({ ok }) => !ok)).toHaveLength(1)
    expect(tools).toContain("Good")
  })

  test("says which further folder is not there, and takes the home folder from the environment", async () => {
    const home = folder()
    const settings = mergeSettings([
      { scope: "user", base: home, values: { permissions: { additionalDirectories: ["~/more"] } } },
    ])
    const plugins = [{ name: "m", models: [scriptModel([{ text: "ok" }, { text: "ok" }])] }]
    const opened = await createKit({ plugins, settings, cwd: folder(), env: { HOME: home } })
    after(() => opened.close())
    const warnings = async () => {
      for await (const event of opened.prompt("Go", { model: "any" }))
        if (event.type === "run_started") return event.warnings
    }
    expect(await warnings()).toEqual(['The further folder "~/more" is left out: there is no such folder'])
    mkdirSync(join(home, "more"))
    expect(await warnings()).toEqual([])
  })

  test("never leaves out a plugin that guards something", async () => {
    const guard = definePlugin({
      name: "guard",
      hooks: { PreToolUse: () => block("no") },
      setup: () => {
        throw new Error("no policy file")
      },
    })
    await expect(kit([guard])).rejects.toMatchObject({ code: "PLUGIN_SETUP_FAILED" })
  })

  test("adds a plugin whole or not at all", async () => {
    const { tools } = (
      await kit([
        { name: "a", tools: [tool("One")] },
        { name: "b", tools: [tool("Two"), tool("One")] },
      ])
    ).describe()
    expect(tools).toEqual(["One"])
  })

  test("gives a plugin its own settings, and disposes of the last one first", async () => {
    const log: string[] = []
    const plugin = (name: string): Plugin => ({
      name,
      settings: z.object({ port: z.number().default(1) }),
      setup: ({ settings }) => {
        log.push(`${name} ${(settings as { port: number }).port}`)
        return { dispose: () => void log.push(`${name} gone`) }
      },
    })
    const made = await kit([plugin("a"), plugin("b")], { settings: { pluginSettings: { b: { port: 7 } } } })
    await made.close()
    expect(log).toEqual(["a 1", "b 7", "b gone", "a gone"])
  })

  test("gives up a setup that hangs, and keeps the order of hooks from object and setup", async () => {
    const both = definePlugin({
      name: "both",
      tools: [tool("One")],
      hooks: { Notification: () => undefined },
      setup: () => ({ tools: [tool("Two")], hooks: { Notification: () => undefined, Stop: () => undefined } }),
    })
    const { plugins } = (await kit([both])).describe()
    expect(plugins[0]?.adds).toEqual(["tool One", "tool Two", "hook Notification", "hook Stop"])
  })
})

describe("createRegistry()", () => {
  test("takes nothing after the freeze", () => {
    const registry = createRegistry()
    registry.add("a", {})
    const frozen = registry.freeze()
    expect(Object.isFrozen(frozen)).toBe(true)
    expect(() => registry.add("late", {})).toThrow(expect.objectContaining({ code: "PLUGIN_TOO_LATE" }))
  })
})

describe("kit.run()", () => {
  const talk = recipe({ name: "talk", description: "Talks" }).step("say", () => agent({ prompt: "hello" }))
  const plugins = (turns: Parameters<typeof scriptModel>[0], more: Plugin[] = []) => [
    { name: "model", models: [scriptModel(turns)] },
    { name: "tools", tools: [tool("One")] },
    ...more,
  ]

  test("tells callback and iterator the same, from run_started to run_finished", async () => {
    const made = await kit(plugins([{ tool: { One: {} } }, { text: "bye" }]))
    const told: RunEvent[] = []
    const run = made.run(talk, { model: "any", onEvent: (event) => told.push(event) })
    const seen: RunEvent[] = []
    for await (const event of run) seen.push(event)
    expect(seen).toEqual(told)
    expect(seen[0]?.type).toBe("run_started")
    expect(seen.at(-1)).toMatchObject({ type: "run_finished", result: { status: "ok", output: "bye" } })
    expect(seen.every(({ v, run: id, ts }) => v === 1 && id !== "" && !Number.isNaN(Date.parse(ts)))).toBe(true)
  })

  test("is not changed by a watcher that throws or stops to watch", async () => {
    const made = await kit(plugins([{ text: "bye" }]))
    const run = made.run(talk, {
      model: "any",
      onEvent: () => {
        throw new Error("renderer broke")
      },
    })
    for await (const _ of run) break
    expect(await run.result).toMatchObject({ status: "ok" })
  })

  test("writes journal and transcript to the state folder, for their owner alone", async () => {
    const made = await kit(plugins([{ tool: { One: {} } }, { text: "bye" }]))
    const run = made.run(talk, { model: "any" })
    const { folder: at } = await run.result
    expect((await run.started).folder).toBe(at)
    const agents = readFileSync(join(at, "journal.jsonl"), "utf8")
    expect(agents).toContain('"type":"step_end"')
    const { readdirSync, statSync } = await import("node:fs")
    const [file = ""] = readdirSync(join(at, "agents"))
    const { entries, tornBytes } = await readTranscript(join(at, "agents", file))
    expect(tornBytes).toBe(0)
    expect(entries.map(({ type }) => type).filter((type) => type !== "usage")).toEqual([
      "session",
      "frame",
      "user",
      "assistant",
      "user",
      "assistant",
    ])
    expect(statSync(join(at, "agents", file)).mode & 0o077).toBe(0)
    expect(existsSync(join(at, "agents"))).toBe(true)
  })

  test("refuses, before anything ran, a model that nobody takes, and a run that has none", async () => {
    const made = await kit([{ name: "tools", tools: [tool("One")] }])
    await expect(made.run(talk, { model: "nobody" }).result).rejects.toMatchObject({ code: "MODEL_UNKNOWN" })
    await expect(made.run(talk).result).rejects.toMatchObject({ code: "MODEL_NOT_CONFIGURED" })
  })

  test.each([
    ["TOOL_UNKNOWN", { tools: ["Onne"] }],
    ["AGENT_UNKNOWN", { agentType: "nobody" }],
  ])("fails a step with %s for a name that is not there", async (code, options) => {
    const made = await kit(plugins({ unused: "ignore", turns: [] }))
    const wrong = recipe({ name: "wrong", description: "Wrong" }).step("a", () => agent({ prompt: "x", ...options }))
    expect(await made.run(wrong, { model: "any" }).result).toMatchObject({ status: "failed", failure: { code } })
  })

  test("lets a recipe allow itself nothing that was not granted, and takes its denials in any case", async () => {
    let acted = 0
    const execute = async () => `acted ${++acted}`
    const spy = defineTool({ name: "Spy", description: "Acts", input: z.strictObject({}), execute })
    const asking = (permissions: object) =>
      recipe({ name: "asking", description: "Asks", permissions }).step("say", () => agent({ prompt: "hello" }))
    const outcome = async (permissions: object, options: object) => {
      const turns = [{ tool: { Spy: {} } }, { text: "bye" }]
      const made = await kit([
        { name: "model", models: [scriptModel(turns)] },
        { name: "spy", tools: [spy] },
      ])
      const before = acted
      await made.run(asking(permissions), { model: "any", ...options }).result
      return acted > before ? "ran" : "denied"
    }
    expect(await outcome({ allow: ["Spy"] }, {})).toBe("denied")
    expect(await outcome({ allow: ["Spy"] }, { grant: true })).toBe("ran")
    const all = { flags: { allow: { all: true }, deny: {} } }
    expect(await outcome({ deny: ["Other"] }, all)).toBe("ran")
    expect(await outcome({ deny: ["Spy"] }, all)).toBe("denied")
    expect(await outcome({}, { ...all, rules: [{ text: "Spy(*)", behavior: "deny", scope: "cli" }] })).toBe("denied")
  })

  test("stops what is spent by the smaller of the user's and the recipe's budget", async () => {
    const thrifty = (turns: number) =>
      recipe({ name: "thrifty", description: "Thrifty", budget: { turns } }).step("a", () => agent({ prompt: "x" }))
    const turns = { unused: "ignore" as const, turns: [{ tool: { One: {} }, times: "always" as const }] }
    const taken = async (own: number, user: number, flag?: number) => {
      const made = await kit(plugins(turns), { settings: { budget: { turns: user } } })
      const budget = flag === undefined ? {} : { budget: { turns: flag } }
      return (await made.run(thrifty(own), { model: "any", ...budget }).result).turns
    }
    expect([await taken(2, 5), await taken(5, 2), await taken(2, 3, 4)]).toEqual([2, 2, 4])
  })
})

describe("the run's own places", () => {
  test("no call may change the state folder or managed settings, whatever was allowed; the run's own results can be read", async () => {
    const { runPrompt, lastResults } = await import("../harness.ts")
    const state = folder()
    const all = { flags: { allow: { all: true }, deny: {} }, kit: { state } }
    const write = (path: string) => ({ tool: { Bash: { command: `echo x > ${path}` } } })
    const { bodies } = await runPrompt(
      [
        write(join(state, "trust.json")),
        write("/etc/sous/settings.json"),
        write(join(folder(), "free")),
        { text: "ok" },
      ],
      all,
    )
    const outcomes = [1, 2, 3].map((turn) => lastResults(bodies[turn])[0]?.isError)
    expect(outcomes).toEqual([true, true, false])
    expect(existsSync(join(state, "trust.json"))).toBe(false)
  })

  test("a rule with ~ means the home folder that the kit was given", async () => {
    const { runPrompt, lastResults } = await import("../harness.ts")
    const home = folder({ "secret.txt": "x" })
    const rules = [{ text: "Read(~/secret.txt)", behavior: "deny" as const, scope: "cli" as const }]
    const { bodies } = await runPrompt([{ tool: { Read: { file_path: join(home, "secret.txt") } } }, { text: "ok" }], {
      rules,
      flags: { allow: { all: true }, deny: {} },
      kit: { home },
    })
    expect(lastResults(bodies[1])[0]).toMatchObject({ isError: true, text: expect.stringContaining("~/secret.txt") })
  })
})
