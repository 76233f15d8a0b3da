import { API_VERSION, createKit, definePlugin, defineTool, inject, type Plugin, type PluginEntry, z } from "sous"
import { scriptModel } from "sous/testing"
import { describe, expect, test } from "vitest"
import { prefixTools } from "../../../core/registry-prefix.ts"
import { after, folder } from "../../harness.ts"

const tool = (name: string, more: object = {}) =>
  defineTool({ name, description: "A tool", input: z.strictObject({}), execute: async () => `from ${name}`, ...more })

const from = (plugin: Plugin, more: Partial<PluginEntry> = {}): PluginEntry => ({
  plugin,
  name: plugin.name,
  from: `/plugins/${plugin.name}.ts`,
  tier: "in-process",
  ...more,
})

async function kit(plugins: (Plugin | PluginEntry)[], options: object = {}) {
  const cwd = folder()
  const made = await createKit({ plugins, cwd, env: { HOME: cwd }, home: cwd, ...options })
  after(() => made.close())
  return made
}

const faultOf = async (plugins: unknown[]) => {
  const { plugins: reports } = (await kit(plugins as Plugin[])).describe()
  return reports.find(({ ok }) => !ok)
}

describe("registerPlugin()", () => {
  test.each([
    ["PLUGIN_VALUE_INVALID", { name: "a", tools: "x" }, /"a" .*"tools" is not a list/],
    ["PLUGIN_VALUE_INVALID", { name: "a", tools: [null] }, /"tools" has an entry without a name/],
    ["PLUGIN_VALUE_INVALID", { name: "a", tools: [{ ...tool("x"), name: "with space" }] }, /"with space"/],
    ["PLUGIN_VALUE_INVALID", { name: "a", tools: [{ ...tool("T"), execute: 1 }] }, /"T" without a function "execute"/],
    [
      "PLUGIN_VALUE_INVALID",
      { name: "a", permissions: { allow: "Bash" } },
      /"permissions.allow" is not a list of rules/,
    ],
    ["PLUGIN_KEY_UNKNOWN", { name: "a", permissions: { denied: [] } }, /unknown key "denied"/],
    ["PLUGIN_VALUE_INVALID", { name: "a", setup: 1 }, /"setup" is not a function/],
    ["PLUGIN_VALUE_INVALID", { name: "a", setup: () => 1 }, /"setup" returned a number/],
    ["PLUGIN_API_VERSION", { name: "a", apiVersion: API_VERSION + 1 }, /written for version 2/],
    ["PLUGIN_TOOL_RESERVED", { name: "a", tools: [tool("mcp__a__b")] }, /"mcp__a__b"/],
  ])("refuses with %s, naming the file: %j", async (code, plugin, message) => {
    const entry = from(plugin as Plugin)
    const report = await faultOf([entry])
    expect(report).toMatchObject({ code, from: "/plugins/a.ts", mend: expect.stringMatching(/./) })
    expect(report?.error).toMatch(message)
    expect(report?.error).toContain("/plugins/a.ts")
  })

  test.each([
    { permissions: { deny: "Bash" } },
    { permissions: { ask: ["Bash"] }, toolz: 1 },
    { hooks: { PreToolUse: () => undefined }, apiVersion: 9 },
  ])("lets nothing start without one that meant to guard: %j", async (wrong) => {
    await expect(kit([from({ name: "a", ...wrong } as unknown as Plugin)])).rejects.toMatchObject({
      code: expect.stringMatching(/^PLUGIN_/),
    })
  })

  test("lets nothing start without one of which nobody can say what it guards", async () => {
    const plugin = {
      name: "a",
      get hooks(): never {
        throw new Error("no hooks")
      },
    }
    await expect(kit([from(plugin)])).rejects.toMatchObject({ code: "PLUGIN_SETUP_FAILED" })
  })

  test("names both files in a clash, the first one stays", async () => {
    const one = from({ name: "one", tools: [tool("T")] })
    const two = from({ name: "two", tools: [tool("T"), tool("U")] })
    const made = await kit([one, two])
    expect(made.describe().plugins[1]).toMatchObject({
      ok: false,
      code: "PLUGIN_CLASH",
      error: 'Cannot register plugin "two" (/plugins/two.ts): the tool "T" was added by "one" (/plugins/one.ts) before',
    })
    expect(made.describe().tools).toEqual(["T"])
  })

  test("keeps what it learns about a plugin in its report", async () => {
    const guard = from(
      { name: "guard", permissions: { deny: ["Bash(rm *)"] } },
      { scope: "user", pack: "p", loadMs: 5 },
    )
    const shipped = from({ name: "shipped", tools: [tool("mcp__a__b")] }, { tier: "shipped", from: "shipped" })
    const { plugins } = (await kit([guard, shipped])).describe()
    expect(plugins).toMatchObject([
      {
        name: "guard",
        from: "/plugins/guard.ts",
        ok: true,
        tier: "in-process",
        scope: "user",
        pack: "p",
        guards: true,
        adds: ["rule deny Bash(rm *)"],
      },
      { name: "shipped", tier: "shipped", ok: true },
    ])
    expect(plugins[0]!.durationMs).toBeGreaterThanOrEqual(5)
  })

  test("takes what a plugin adds while its setup is at work, and tells of what it adds later", async () => {
    let late = () => {}
    const plugin = definePlugin({
      name: "late",
      tools: [tool("One")],
      setup({ add }) {
        add({ tools: [tool("Two")] })
        late = () => add({ tools: [tool("Late")] })
        return { tools: [tool("Three")] }
      },
    })
    const made = await kit([from(plugin), { name: "model", models: [scriptModel([{ text: "ok" }])] }])
    expect(made.describe().tools).toEqual(["One", "Two", "Three"])
    expect(late).toThrow(
      expect.objectContaining({ code: "PLUGIN_TOO_LATE", message: expect.stringContaining("/plugins/late.ts") }),
    )
    const notices: unknown[] = []
    for await (const event of made.prompt("Go", { model: "any" })) if (event.type === "notice") notices.push(event.code)
    expect(notices).toEqual(["PLUGIN_TOO_LATE"])
    expect(made.describe().tools).toEqual(["One", "Two", "Three"])
  })

  test("gives up a setup that hangs, fires its signal, and disposes of what comes too late", async () => {
    let [aborted, disposed] = [false, 0]
    let finish = (_: object) => {}
    const hangs = definePlugin({
      name: "hangs",
      setup: ({ signal }) => {
        signal.addEventListener("abort", () => (aborted = true))
        return new Promise<object>((resolve) => (finish = resolve))
      },
    })
    const made = await kit([from(hangs), { name: "good", tools: [tool("Good")] }], { setupBudgetMs: 30 })
    expect(made.describe().plugins).toMatchObject([
      { ok: false, code: "PLUGIN_SETUP_FAILED", error: expect.stringContaining("within 0.03 s") },
      { ok: true },
    ])
    expect(aborted).toBe(true)
    finish({ tools: [tool("Late")], dispose: () => disposed++ })
    await expect.poll(() => disposed).toBe(1)
    expect(made.describe().tools).toEqual(["Good"])
  })

  test("gives back what a plugin had acquired that is refused after its setup", async () => {
    const log: string[] = []
    const clash = definePlugin({
      name: "clash",
      setup: ({ signal }) => {
        signal.addEventListener("abort", () => log.push("signal"))
        return { tools: [tool("T")], dispose: () => void log.push("disposed") }
      },
    })
    await kit([{ name: "one", tools: [tool("T")] }, clash])
    expect(log).toEqual(["signal", "disposed"])
  })

  test("ends the process of a plugin that is left out before it was set up", async () => {
    let ended = 0
    const isolated = from({ name: "one", requires: ["nobody"], dispose: () => void ended++ }, { tier: "process" })
    const inProcess = from({ name: "two", requires: ["nobody"], dispose: () => void ended++ })
    await kit([isolated, inProcess])
    expect(ended).toBe(1)
    await expect(kit([isolated], { strict: true })).rejects.toMatchObject({ code: "PLUGIN_REQUIRES" })
    expect(ended).toBe(2)
  })

  test.each([
    ["its entry", { required: true }],
    ["the command line", { isNamed: true }],
  ])("lets nothing start without a plugin that %s asks for, but for looking at it", async (_what, more) => {
    const entry = from({ name: "needed", requires: ["nobody"] }, more)
    await expect(kit([entry])).rejects.toMatchObject({ code: "PLUGIN_REQUIRES" })
    const { plugins } = (await kit([entry], { isSurvey: true })).describe()
    expect(plugins).toMatchObject([{ ok: false, fatal: true, code: "PLUGIN_REQUIRES" }])
  })

  test("closes whatever a dispose throws, ends all others, and says the first fault", async () => {
    const log: string[] = []
    const plugin = (name: string, dispose: () => void) => definePlugin({ name, setup: () => ({ dispose }) })
    const made = await createKit({
      plugins: [
        plugin("first", () => void log.push("first")),
        plugin("broken", () => {
          throw new Error("no")
        }),
        plugin("last", () => void log.push("last")),
      ],
      cwd: folder(),
      env: {},
      home: folder(),
    })
    await expect(made.close()).rejects.toThrow("no")
    expect(log).toEqual(["last", "first"])
  })
})

describe("collision: prefix", () => {
  const taken = { name: "base", tools: [tool("Fetch"), tool("Other")] }
  const run = async (plugin: Plugin, options: object, calls: string[]) => {
    const turns = [...calls.map((name) => ({ tool: { [name]: {} } })), { text: "done" }]
    const entry = from(plugin, { collision: "prefix" })
    const made = await kit([{ name: "model", models: [scriptModel(turns)] }, taken, entry])
    const results: string[] = []
    for await (const event of made.prompt("Go", { model: "any", ...options }))
      if (event.type === "tool_result") results.push(`${event.name}: ${event.preview}`)
    return { results, tools: made.describe().tools }
  }
  const all = { flags: { allow: { all: true }, deny: {} } }

  test("renames the tool for the model, and rules match it by that name", async () => {
    const plugin = { name: "web", tools: [tool("Fetch"), tool("Mine")] }
    const { results, tools } = await run(plugin, all, ["web__Fetch", "Fetch"])
    expect(tools).toEqual(["Fetch", "Other", "web__Fetch", "Mine"])
    expect(results).toEqual(["web__Fetch: from Fetch", "Fetch: from Fetch"])
    const rules = [{ text: "web__Fetch", behavior: "deny" as const, scope: "cli" as const }]
    const denied = await run(plugin, { ...all, rules }, ["web__Fetch", "Fetch"])
    expect(denied.results[0]).not.toContain("from Fetch")
    expect(denied.results[1]).toContain("from Fetch")
  })

  test("keeps the plugin's own hooks and rules on its own tool, and its allowances off the other one", async () => {
    const guard = {
      name: "web",
      tools: [tool("Fetch")],
      permissions: { allow: ["Fetch"], deny: ["Other"] },
      hooks: { PreToolUse: { matcher: "Fetch", handler: () => inject("seen") } },
    }
    const { results } = await run(guard, {}, ["web__Fetch", "Fetch", "Other"])
    expect(results[0]).toContain("from Fetch")
    expect(results[1]).not.toContain("from Fetch")
    expect(results[2]).not.toContain("from Other")
  })

  test("prefixTools() renames in matchers, rules and rule names, and nothing when no name is taken", () => {
    const contribution = {
      tools: [tool("Fetch"), tool("Many", { ruleName: "Fetch" }), tool("Edits", { ruleName: "Edit" })],
      hooks: {
        PreToolUse: [
          { matcher: "Fetch|Bash", handler: () => undefined },
          { matcher: "^Fe.*$", handler: () => undefined },
          { matcher: "Bash", handler: () => undefined },
          () => undefined,
        ],
        Stop: () => undefined,
      },
      permissions: { allow: ["Fetch(x)"], ask: ["Fetch"], deny: ["Bash(Fetch *)"] },
    }
    expect(prefixTools("web", contribution, () => false)).toBe(contribution)
    const { tools, hooks, permissions } = prefixTools("web", contribution, (name) => name === "Fetch")
    expect(tools!.map(({ name, ruleName }) => [name, ruleName])).toEqual([
      ["web__Fetch", undefined],
      ["Many", "web__Fetch"],
      ["Edits", "Edit"],
    ])
    const matchers = (hooks!.PreToolUse as { matcher?: string }[]).map(({ matcher }) => matcher)
    expect(matchers).toEqual(["Fetch|Bash|web__Fetch", "(?:^Fe.*$)|^web__Fetch$", "Bash", undefined])
    expect(permissions).toEqual({ allow: ["web__Fetch(x)"], ask: ["Fetch", "web__Fetch"], deny: ["Bash(Fetch *)"] })
  })
})

describe("kit.tellStray()", () => {
  test("tells the run at work, with the plugin whose file it came from", async () => {
    const stray = Object.assign(new Error("late"), { stack: "Error: late\n    at /plugins/a.ts:3:1" })
    const made = await kit([from({ name: "a" }), { name: "model", models: [scriptModel([{ text: "ok" }])] }])
    expect(made.tellStray(new Error("kernel"), { isException: true })).toBe(false)
    const notices: string[] = []
    const run = made.prompt("Go", { model: "any" })
    for await (const event of run) {
      if (event.type === "run_started") {
        expect(made.tellStray(stray, { isException: true })).toBe(true)
        expect(made.tellStray("a word")).toBe(true)
      }
      if (event.type === "notice") notices.push(event.message)
    }
    expect(await run.result).toMatchObject({ status: "ok" })
    expect(notices).toEqual([
      'Plugin "a" (/plugins/a.ts) threw an error that nobody caught, and the run goes on: Error: late',
      "Something left a promise to fail that nobody caught, and the run goes on: a word",
    ])
  })
})
