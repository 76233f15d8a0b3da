import { createKit, definePlugin, defineTool, type Kit, type Plugin, type PluginEntry, type RunEvent, z } from "sous"
import { createModelServer, type ModelServer } from "sous/testing"
import { beforeEach, describe, expect, test } from "vitest"
import { defaultPlugins } from "../../../plugins/default.ts"
import { after, folder } from "../../harness.ts"

const tool = (name: string, says = "old", more: object = {}) =>
  defineTool({
    name,
    description: "A tool",
    input: z.strictObject({}),
    readOnly: true,
    execute: async () => says,
    ...more,
  })

/** A plugin that writes down how it lives. */
const living = (name: string, log: string[], parts: Partial<Plugin> = {}): Plugin => ({
  name,
  ...parts,
  setup({ signal }) {
    log.push(`${name} set up`)
    signal.addEventListener("abort", () => log.push(`${name} signal`))
    return { dispose: () => void log.push(`${name} disposed`) }
  },
})

let server: ModelServer
const use = async (turns: Parameters<typeof createModelServer>[0]) => {
  server = await createModelServer(turns)
  after(() => server.close())
}

async function kit(plugins: (Plugin | PluginEntry)[], options: object = {}): Promise<Kit> {
  const cwd = folder()
  const env = { HOME: cwd, PATH: process.env["PATH"], ...server.env }
  const made = await createKit({ plugins: [...defaultPlugins, ...plugins], cwd, env, home: cwd, ...options })
  after(() => made.close())
  return made
}

const all = { model: "claude-opus-5-5", flags: { allow: { all: true }, deny: {} } }

/** Runs one prompt; `at` is called with each event. */
async function follow(made: Kit, at: (event: RunEvent) => unknown = () => {}, options: object = all) {
  const events: RunEvent[] = []
  const run = made.prompt("Go", options)
  for await (const event of run) {
    events.push(event)
    await at(event)
  }
  const of = (type: string) => events.filter((event) => event.type === type) as any[]
  return {
    result: await run.result,
    results: of("tool_result").map(({ preview }) => preview),
    notices: of("notice").map(({ message }) => message as string),
    bodies: server.asked().map(({ body }) => body),
  }
}

describe("kit.reload()", () => {
  beforeEach(async () => await use({ unused: "ignore", turns: [{ text: "done" }] }))

  test("gives new runs the new plugins, carries over what did not change, and ends what is no longer used", async () => {
    const log: string[] = []
    const same = living("same", log, { tools: [tool("Same")] })
    const old = living("changing", log, { tools: [tool("Old")] })
    const made = await kit([same, old])
    const next = living("changing", log, { tools: [tool("New")] })
    expect(await made.reload({ plugins: [...defaultPlugins, same, next] })).toMatchObject({ ok: true })
    expect(made.describe().tools).toEqual(expect.arrayContaining(["Same", "New"]))
    expect(made.describe().tools).not.toContain("Old")
    await expect
      .poll(() => log)
      .toEqual(["same set up", "changing set up", "changing set up", "changing signal", "changing disposed"])
    await made.close()
    expect(log.slice(5)).toEqual(["changing signal", "changing disposed", "same signal", "same disposed"])
  })

  test("sets a plugin up anew when its settings changed", async () => {
    const seen: unknown[] = []
    const plugin: Plugin = { name: "one", setup: ({ settings }) => void seen.push(settings) }
    const made = await kit([plugin])
    const { mergeSettings } = await import("../../../core/settings/merge.ts")
    const settings = mergeSettings([{ scope: "user", base: "/", values: { pluginSettings: { one: { port: 2 } } } }])
    await made.reload({ plugins: [plugin] })
    await made.reload({ plugins: [plugin], settings })
    await made.reload({ plugins: [plugin] })
    expect(seen).toEqual([{}, { port: 2 }])
  })

  test.each<[string, Plugin]>([
    ["throws", { name: "one", setup: () => Promise.reject(new Error("no")) }],
    ["clashes", { name: "one", tools: [tool("Read")] }],
    [
      "has a matcher that is no pattern",
      { name: "one", hooks: { PostToolUse: { matcher: "(", handler: () => undefined } } },
    ],
    ["has a rule that is none", { name: "one", permissions: { deny: ["Bash(x"] } }],
    ["is no plugin any more", { name: "one", toolz: [] } as unknown as Plugin],
  ])("keeps the old ones when the new one %s, and says why", async (_what, broken) => {
    const log: string[] = []
    const made = await kit([living("one", log, { tools: [tool("One")] })])
    const fresh = living("two", log)
    const reloaded = await made.reload({ plugins: [...defaultPlugins, fresh, broken] })
    expect(reloaded).toMatchObject({ ok: false, fault: { code: expect.stringMatching(/^(PLUGIN|HOOK|PERMISSION)_/) } })
    expect(made.describe().tools).toContain("One")
    expect(log).toEqual(["one set up", "two set up", "two signal", "two disposed"])
    const { notices } = await follow(made)
    expect(notices[0]).toContain("The plugins stay as they were: Cannot")
  })

  test.each<[string, Partial<Plugin>]>([
    ["a deny rule", { permissions: { deny: ["Bash(rm *)"] } }],
    ["an ask rule", { permissions: { ask: ["Bash(git push *)"] } }],
    ["a gate", { hooks: { PreToolUse: { matcher: "Bash", handler: () => undefined } } }],
  ])("does not take away %s without a person, whether its plugin changed or is gone", async (_what, parts) => {
    const guard: Plugin = { name: "guard", ...parts }
    const made = await kit([guard])
    const weaker = { name: "guard", tools: [tool("T")] }
    for (const plugins of [[weaker], []]) {
      expect(await made.reload({ plugins: [...defaultPlugins, ...plugins] })).toMatchObject({
        ok: false,
        fault: { code: "PLUGIN_RELOAD_WEAKENS", details: { plugin: "guard" } },
      })
    }
    expect(await made.reload({ plugins: defaultPlugins, mayWeaken: true })).toMatchObject({ ok: true })
  })

  test("is refused once the kit is closed", async () => {
    const log: string[] = []
    const made = await kit([])
    await made.close()
    await expect(made.reload({ plugins: [living("late", log)] })).rejects.toThrow("The kit was closed")
    expect(log).toEqual([])
  })

  test("ends the life of the old one: its signal fired, its builder refuses", async () => {
    let add: ((more: object) => void) | undefined
    let signal: AbortSignal | undefined
    const old = definePlugin({
      name: "one",
      setup(context) {
        add = context.add
        signal = context.signal
      },
    })
    const made = await kit([old])
    await made.reload({ plugins: [...defaultPlugins, { name: "one" }] })
    await expect.poll(() => signal?.aborted).toBe(true)
    expect(() => add?.({ tools: [tool("Late")] })).toThrow(expect.objectContaining({ code: "PLUGIN_TOO_LATE" }))
    expect(made.describe().tools).not.toContain("Late")
  })
})

describe("a run at work", () => {
  /** Reloads when the first result of a tool is there: before the second turn. */
  const onFirstResult = (work: () => Promise<unknown>) => {
    let isDone = false
    return async (event: RunEvent) => {
      if (event.type !== "tool_use" || isDone) return
      isDone = true
      await work()
    }
  }

  test("takes the new tool at its next turn, says the break of the cache, and keeps the prefix where it can", async () => {
    await use([{ tool: { One: {} } }, { tool: { Two: {} } }, { text: "done" }])
    let reloaded: Promise<unknown> | undefined
    const swapping = tool("One", "old", {
      execute: async () => {
        reloaded ??= made.reload({ plugins: [...defaultPlugins, { name: "one", tools: [tool("Two", "new")] }] })
        await reloaded
        return "old"
      },
    })
    const made = await kit([{ name: "one", tools: [swapping] }])
    const { results, notices, bodies, result } = await follow(made)
    expect(result.status).toBe("ok")
    expect(results).toEqual(["old", "new"])
    expect(notices).toEqual([
      "The tools of this agent changed (added Two; removed One), so its next request is read without the cache",
    ])
    const names = bodies.map(({ tools }) => tools.map(({ name }: { name: string }) => name))
    expect(names[0]).toContain("One")
    expect(names[1]).toEqual(names[2])
    expect(names[1].slice(0, -1)).toEqual(names[0].filter((name: string) => name !== "One"))
    expect(JSON.stringify(bodies[1].system)).toBe(JSON.stringify(bodies[0].system))
  })

  test("sends the very same prefix when a tool changed inside only", async () => {
    await use([{ tool: { One: {} } }, { tool: { One: {} } }, { text: "done" }])
    const next = { name: "one", tools: [tool("One", "new")] }
    const swapping = tool("One", "old", {
      execute: async () => {
        await made.reload({ plugins: [...defaultPlugins, next] })
        return "old"
      },
    })
    const made = await kit([{ name: "one", tools: [swapping] }])
    const { results, notices, bodies } = await follow(made)
    expect(results).toEqual(["old", "new"])
    expect(notices).toEqual([])
    expect(JSON.stringify(bodies[1].tools)).toBe(JSON.stringify(bodies[0].tools))
  })

  test("goes by the rules and the gates of the new ones, and the old one is ended only when its call is over", async () => {
    await use([{ tool: { One: {} } }, { tool: { One: {} } }, { tool: { Two: {} } }, { text: "done" }])
    const log: string[] = []
    const blocked: string[] = []
    const next: Plugin = {
      name: "one",
      tools: [tool("One", "new"), tool("Two", "two")],
      permissions: { deny: ["One"] },
      hooks: {
        PreToolUse: ({ tool_name }) => {
          blocked.push(tool_name)
          return { decision: "block", reason: "no" } as never
        },
      },
    }
    const swapping = tool("One", "old", {
      execute: async () => {
        await made.reload({ plugins: [...defaultPlugins, next] })
        log.push("still at work")
        return "old"
      },
    })
    const made = await kit([living("one", log, { tools: [swapping] })])
    const { results, result } = await follow(made)
    expect(results[0]).toBe("old")
    expect(results[1]).not.toBe("new")
    expect(results[2]).not.toBe("two")
    expect(blocked).toEqual(["Two"])
    expect(result.status).toBe("ok")
    expect(log).toEqual(["one set up", "still at work", "one signal", "one disposed"])
  })

  test("keeps its own step's narrowing, and goes on when a tool that the step names is gone", async () => {
    await use([{ tool: { One: {} } }, { text: "done" }])
    const swapping = tool("One", "old", {
      execute: async () => {
        await made.reload({ plugins: [...defaultPlugins, { name: "one", tools: [tool("Two"), tool("Three")] }] })
        return "old"
      },
    })
    const made = await kit([{ name: "one", tools: [swapping, tool("Two")] }])
    const { bodies, result } = await follow(made, () => {}, { ...all, tools: ["One", "Two", "Read"] })
    expect(result.status).toBe("ok")
    expect(bodies[0].tools.map(({ name }: any) => name)).toEqual(["One", "Read", "Two"])
    expect(bodies[1].tools.map(({ name }: any) => name)).toEqual(["Read", "Two"])
  })

  test("is told when plugins are not taken over", async () => {
    await use([{ tool: { One: {} } }, { text: "done" }])
    const made = await kit([{ name: "one", tools: [tool("One")] }])
    const bad = { name: "one", setup: () => Promise.reject(new Error("typo")) }
    const { notices } = await follow(
      made,
      onFirstResult(() => made.reload({ plugins: [...defaultPlugins, bad] })),
    )
    expect(notices).toEqual([expect.stringContaining("The plugins stay as they were")])
  })
})
