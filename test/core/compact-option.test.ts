import { agent, type Compaction, definePlugin, defineTool, isSousError, type RunEvent, z } from "sous"
import { checkConversation } from "sous/testing"
import { describe, expect, test } from "vitest"
import { applyDefinition } from "../../core/agent-setup.ts"
import type { Clock } from "../../core/clock.ts"
import { parseRecipe } from "../../core/recipe/yaml.ts"
import { mergeSettings } from "../../core/settings/merge.ts"
import { folder, runPrompt, serve, type TestOptions, testKit } from "../harness.ts"
import { bare, look, MODEL, server } from "../small-window.ts"

const named = (name: string, more: Partial<Compaction> = {}): Compaction => ({
  name,
  propose: async ({ messages }) => ({ keepFrom: messages.length, summary: `Summed up by ${name}` }),
  ...more,
})

function run(turns: Parameters<typeof runPrompt>[0], compaction: Compaction[], options: TestOptions = {}) {
  const { kit, plugins = bare, ...rest } = options
  const own = definePlugin({ name: "own", tools: [look], compaction })
  return runPrompt(turns, {
    model: MODEL,
    server,
    rewrites: true,
    ...rest,
    kit: { ...kit, plugins: [...plugins, own] },
  })
}

const looks = (count: number, words = 2000) => Array.from({ length: count }, () => ({ tool: { Look: { words } } }))
const done = { text: "done" }
const compactions = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "compaction" ? [event] : []))
const warnings = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "notice" && event.level === "warning" ? [event.message] : []))
const set = (values: object) => mergeSettings([{ scope: "user", base: "/", values: { compact: values } }])

describe("settings", () => {
  test("the strategy that they name is tried first, at the share of the window that they name", async () => {
    const kit = { settings: set({ strategy: "second", threshold: 0.4 }) }
    const { events } = await run([...looks(4), done], [named("first"), named("second")], { kit })
    expect(compactions(events)).toMatchObject([{ strategy: "second", ok: true }])
    expect(compactions(events)[0]!.before).toBeLessThan(12_000)
  })

  test("a strategy that nobody brings is told of, and the others are tried", async () => {
    const kit = { settings: set({ strategy: "sumary", threshold: 0.4 }) }
    const { events } = await run([...looks(4), done], [named("summary")], { kit })
    expect(warnings(events)).toEqual([expect.stringMatching(/"sumary".*"summary"/)])
    expect(compactions(events)).toMatchObject([{ strategy: "summary", ok: true }])
  })
})

describe("a step and an agent", () => {
  test("agent() takes how its conversation is kept, and refuses what that cannot be", () => {
    expect(agent({ prompt: "Go", compact: { keep: 500 } })).toMatchObject({ compact: { keep: 500 } })
    for (const compact of [{ threshold: 2 }, { kep: 1 }, { keep: 0 }, "yes"]) {
      const code = codeOf(() => agent({ prompt: "Go", compact: compact as never }))
      expect(code).toBe("STEP_OPTION_INVALID")
    }
  })

  test("a recipe in YAML takes it for steps and for its agents", async () => {
    const { agents, steps } = (await parseRecipe(
      `name: r
agents:
  - { name: scout, description: Looks, prompt: Look, compact: { auto: false } }
steps:
  - { id: a, agent: { prompt: Go, compact: { strategy: cut, threshold: 0.5 } } }
`,
      { file: "r.yaml" },
    )) as unknown as { agents: { compact: unknown }[]; steps: unknown[] }
    expect(agents[0]!.compact).toEqual({ auto: false })
    expect(steps).toHaveLength(1)
    const wrong = parseRecipe("name: r\nsteps:\n  - { id: a, agent: { prompt: Go, compact: { trigger: 1 } } }\n", {
      file: "r.yaml",
    })
    await expect(wrong).rejects.toThrow(/trigger/)
  })

  test("applyDefinition() takes it from the definition unless the step says otherwise", () => {
    const definition = { name: "scout", description: "d", prompt: "p", compact: { keep: 100 } }
    expect(applyDefinition(agent({ prompt: "Go" }), definition).compact).toEqual({ keep: 100 })
    expect(applyDefinition(agent({ prompt: "Go", compact: { keep: 5 } }), definition).compact).toEqual({ keep: 5 })
  })

  test("a subagent goes by its definition", async () => {
    const scout = { name: "scout", description: "Looks", prompt: "You are a scout", compact: { threshold: 0.4 } }
    const plugins = [...bare, definePlugin({ name: "team", agents: [scout] })]
    const words = 2000
    let at = 0
    const { events } = await run(
      (body) => {
        if (!JSON.stringify(body.system).includes("You are a scout"))
          return at === 0 ? { tool: { Agent: { subagent_type: "scout", description: "d", prompt: "Look" } } } : done
        return at++ < 4 ? { tool: { Look: { words } } } : { text: "seen" }
      },
      [named("all")],
      { plugins },
    )
    expect(compactions(events)).toMatchObject([{ ok: true, trigger: "auto" }])
    expect(compactions(events)[0]!.before).toBeLessThan(12_000)
  })
})

describe("a cache that has gone cold", () => {
  test("only cheap strategies are tried, once for each answer, and what they do not propose is no news", async () => {
    let now = 1_000_000
    const clock: Clock = { now: () => now, sleep: async () => {} }
    const asked: string[] = []
    const cheap = named("cheap", { cheap: true, propose: async () => void asked.push("cheap") as undefined })
    const dear = named("dear", { propose: async () => void asked.push("dear") as undefined })
    let turn = 0
    const { events, result } = await run(
      () => {
        now += ++turn === 4 ? 6 * 60_000 : 1000
        return turn <= 5 ? { tool: { Look: { words: 2000 } } } : done
      },
      [dear, cheap],
      { kit: { clock } },
    )
    expect(result.status).toBe("ok")
    expect(asked).toEqual([])
    expect(compactions(events)).toEqual([])
  })

  test("results that can be had again become one line each", async () => {
    let now = 1_000_000
    const clock: Clock = { now: () => now, sleep: async () => {} }
    const slow = definePlugin({
      name: "slow",
      tools: [
        defineTool({
          name: "Wait",
          description: "Waits",
          input: z.strictObject({}),
          execute: async () => {
            now += 6 * 60_000
            return "waited"
          },
        }),
      ],
      permissions: { allow: ["Wait"] },
    })
    const cheap = named("cheap", {
      cheap: true,
      propose: async ({ messages }) => ({ keepFrom: 0, summary: "", dropped: idsOf(messages).slice(0, 2) }),
    })
    const { events, bodies } = await run([...looks(3), { tool: { Wait: {} } }, done], [cheap], {
      plugins: [...bare, slow],
      kit: { clock },
    })
    expect(compactions(events)).toMatchObject([{ ok: true, strategy: "cheap", trigger: "auto" }])
    const results = bodies
      .at(-1)
      .messages.flatMap(({ content }: any) => content.filter((block: any) => block.type === "tool_result"))
    expect(results.map(({ content }: any) => content.length < 300)).toEqual([true, true, false, true])
    expect(results[0].content).toMatch(/Look \{"words":2000\}/)
  })
})

describe("strategies that follow", () => {
  test("they look after each turn, one look at a time, beside the loop, and end with it", async () => {
    const looked: { messages: number; said: string[] }[] = []
    let aborted = 0
    const follower = named("follower", {
      async follow({ messages, said, signal }) {
        looked.push({ messages: messages.length, said: said.map(({ text }) => text) })
        if (looked.length === 1) return
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()))
        aborted++
      },
    })
    const pause = defineTool({
      name: "Pause",
      description: "Waits for a look",
      input: z.strictObject({ looks: z.int() }),
      readOnly: true,
      async execute({ looks }) {
        await expect.poll(() => looked.length).toBe(looks)
        return "paused"
      },
    })
    const pauses = [1, 2, 2, 2].map((count) => ({ tool: { Pause: { looks: count } } }))
    const { result, events } = await run([...looks(1, 10), ...pauses, done], [follower], {
      plugins: [...bare, definePlugin({ name: "pause", tools: [pause] })],
    })
    expect(result.status).toBe("ok")
    expect(looked.length).toBe(2)
    expect(looked[0]).toEqual({ messages: 3, said: ["Go"] })
    await expect.poll(() => aborted).toBe(1)
    expect(warnings(events)).toEqual([])
  })

  test("one that fails is told of, and the run goes on", async () => {
    const follower = named("follower", { follow: () => Promise.reject(new Error("out of ink")) })
    const { result, events } = await run([...looks(1, 10), done], [follower])
    expect(result.status).toBe("ok")
    expect(warnings(events)).toEqual([expect.stringContaining("out of ink")])
  })
})

describe("/compact", () => {
  const summary = ["Goal", "Constraints", "Files", "Decisions", "Errors", "Open tasks", "Next step"]
    .map((name) => `## ${name}\nnone`)
    .join("\n")

  test("with the shipped strategies a short conversation becomes shorter too", async () => {
    let queue: ((message: string) => void) | undefined
    const { events, bodies, result } = await runPrompt(
      (body, request) => {
        if (JSON.stringify(body.messages.at(-1)).includes("## Goal")) return { text: summary }
        if (request === 5) queue?.("/compact")
        return request <= 5 ? { tool: { Look: { words: 900 } } } : done
      },
      {
        ...{ model: MODEL, server, rewrites: true },
        plugins: [definePlugin({ name: "own", tools: [look] })],
        during(started) {
          queue = (message) => started.queue(message)
        },
      },
    )
    expect(result.status).toBe("ok")
    expect(compactions(events)).toMatchObject([{ trigger: "manual", ok: true, strategy: "summary" }])
    expect(JSON.stringify(bodies.at(-1).messages[0])).toContain("## Goal")
  })
})

describe("/compact as the prompt of a conversation that goes on", () => {
  async function open(strategy: Compaction) {
    const turns = await serve({ unused: "ignore", turns: [...looks(5, 400), done, { text: "more" }] }, server)
    const own = definePlugin({ name: "own", tools: [look], compaction: [strategy] })
    const kit = await testKit(turns, { cwd: folder(), kit: { plugins: [...bare, own] } })
    const events: RunEvent[] = []
    const ask = (prompt: string) =>
      kit.prompt(prompt, { model: MODEL, session: { continue: true }, onEvent: (event) => events.push(event) }).result
    await kit.prompt("Go", { model: MODEL }).result
    return { ask, events, turns }
  }

  test("it is shortened, nothing is sent, and the next prompt goes on from there", async () => {
    const focuses: unknown[] = []
    const { ask, events, turns } = await open(
      named("all", {
        async propose({ messages, focus, trigger }) {
          focuses.push(trigger, focus)
          return { keepFrom: messages.length, summary: "Summed up" }
        },
      }),
    )
    const result = await ask("/compact the parser")
    expect(result).toMatchObject({ status: "ok", output: expect.stringMatching(/from about \d+ to \d+ tokens/) })
    expect(focuses).toEqual(["manual", "the parser"])
    expect(turns.asked()).toHaveLength(6)
    expect(await ask("Go on")).toMatchObject({ status: "ok", output: "more" })
    const { messages } = turns.asked().at(-1)!.body
    checkConversation(messages)
    expect(JSON.stringify(messages)).toMatch(/Summed up.*Go on/)
    expect(JSON.stringify(messages)).not.toContain("/compact")
    expect(compactions(events)).toHaveLength(1)
  })

  test("in a conversation that has not begun it says that there is nothing to do, and sends nothing", async () => {
    const { result, bodies } = await runPrompt([], { prompt: "/compact" })
    expect(result).toMatchObject({ status: "ok", output: expect.stringContaining("nothing to compact") })
    expect(bodies).toEqual([])
  })

  test("what cannot be shortened stays as it is, and that is the answer", async () => {
    const { ask, turns } = await open(named("none", { propose: async () => undefined }))
    expect(await ask("/compact")).toMatchObject({
      status: "failed",
      failure: { error: expect.stringContaining("as it was") },
    })
    expect(await ask("Go on")).toMatchObject({ status: "ok", output: "more" })
    expect(turns.asked().at(-1)!.body.messages).toHaveLength(13)
  })
})

function codeOf(work: () => unknown): string | undefined {
  try {
    work()
  } catch (error) {
    return isSousError(error) ? error.code : String(error)
  }
  return undefined
}

function idsOf(messages: readonly { content: unknown }[]): string[] {
  return messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.flatMap((block) => (block.type === "tool_use" ? [block.id] : [])) : [],
  )
}
