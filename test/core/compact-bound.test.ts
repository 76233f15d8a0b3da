import { block, type Compaction, definePlugin, inject, type RunEvent } from "sous"
import { describe, expect, test } from "vitest"
import { mergeSettings } from "../../core/settings/merge.ts"
import { runPrompt, type TestOptions } from "../harness.ts"
import { bare, look, MODEL, server, WINDOW } from "../small-window.ts"

const all: Compaction = {
  name: "all",
  propose: async ({ messages }) => ({ keepFrom: messages.length, summary: "All of it was looked at" }),
}

/** Runs with a window of 20,000 tokens and these strategies only. */
function run(turns: Parameters<typeof runPrompt>[0], strategies: Compaction[], options: TestOptions = {}) {
  const { plugins = [], kit = {}, ...rest } = options
  const own = definePlugin({ name: "own", tools: [look], compaction: strategies })
  return runPrompt(turns, {
    ...{ model: MODEL, server, rewrites: true },
    ...rest,
    kit: { ...kit, plugins: [...bare, own, ...plugins] },
  })
}

const looks = (count: number, words = 2000) => Array.from({ length: count }, () => ({ tool: { Look: { words } } }))
const done = { text: "done" }
const tooLong = { kind: "status" as const, status: 400, message: "prompt is too long: 21000 tokens > 20000 maximum" }
const compactions = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "compaction" ? [event] : []))
const warnings = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "notice" && event.level === "warning" ? [event.message] : []))

describe("before the window is full", () => {
  test("runLoop() shortens, and every request stays within the window with what is pinned in it", async () => {
    const rules = definePlugin({ name: "rules", context: [{ name: "rules", pinned: true, start: () => "NEVER PUSH" }] })
    const { result, bodies, events } = await run([...looks(20), done], [all], { plugins: [rules] })
    expect(result).toMatchObject({ status: "ok", output: "done", turns: 21 })
    expect(compactions(events).length).toBeGreaterThan(1)
    expect(compactions(events).every(({ ok, trigger }) => ok && trigger === "auto")).toBe(true)
    for (const body of bodies) {
      expect(JSON.stringify(body).length / 4).toBeLessThan(WINDOW)
      expect(JSON.stringify(body.messages[0])).toContain("NEVER PUSH")
      expect(JSON.stringify(body.messages[0])).toContain("Go")
    }
    const [first] = compactions(events)
    expect(first!.after!).toBeLessThan(first!.before! * 0.8)
  })

  test("runLoop() gives up after three failures in a row, says so once, and goes on while it fits", async () => {
    let asked = 0
    const broken: Compaction = {
      name: "broken",
      async propose() {
        asked++
        throw new Error("out of order")
      },
    }
    const { result, events } = await run([...looks(6), ...looks(6, 20), done], [broken])
    expect(result).toMatchObject({ status: "ok", turns: 13 })
    expect(asked).toBe(3)
    expect(compactions(events)).toHaveLength(3)
    expect(warnings(events)).toEqual([expect.stringContaining("out of order")])
  })

  test("runLoop() counts failures in a row: one success begins anew", async () => {
    let asked = 0
    const moody: Compaction = {
      name: "moody",
      async propose(request) {
        asked++
        if (asked % 3 !== 0) throw new Error("not now")
        return await all.propose(request)
      },
    }
    const { result, events } = await run([...looks(6), ...looks(4, 20), ...looks(6), ...looks(4, 20), done], [moody])
    expect(result.status).toBe("ok")
    expect(compactions(events).filter(({ ok }) => ok).length).toBeGreaterThan(1)
    expect(compactions(events).filter(({ ok }) => !ok).length).toBeGreaterThan(3)
    expect(warnings(events)).toEqual([])
  })

  test("runLoop() gives up when it is full again at once, three times in a row", async () => {
    const lazy: Compaction = {
      name: "lazy",
      async propose({ messages, sizes }) {
        const total = sizes.reduce((sum, size) => sum + size, 0)
        let gone = 0
        const keepFrom = messages.findIndex((message, index) => {
          if (index > 0 && message.role === "assistant" && gone > total * 0.5) return true
          gone += sizes[index]!
          return false
        })
        return { keepFrom, summary: "Half of it" }
      },
    }
    const { events } = await run({ unused: "ignore", turns: [...looks(60, 2600), done] }, [lazy])
    expect(warnings(events).length).toBeLessThanOrEqual(1)
    expect(compactions(events).length).toBeLessThan(60)
  })

  test("runLoop() ends at once when it is interrupted while a strategy takes its time", async () => {
    let asked = 0
    const slow: Compaction = {
      name: "slow",
      propose() {
        asked++
        return new Promise(() => {})
      },
    }
    const { result } = await run({ unused: "ignore", turns: [...looks(9), done] }, [slow], {
      async during(started) {
        await expect.poll(() => asked).toBe(1)
        started.abort("enough")
      },
    })
    expect(result.status).toBe("cancelled")
  })

  test("runLoop() asks for no more output than the window holds beside the conversation", async () => {
    const { bodies } = await run([...looks(6), done], [], {
      server: { models: { [MODEL]: { contextWindow: WINDOW, maxOutput: 16_000 } } },
    })
    expect(bodies[0].max_tokens).toBe(16_000)
    for (const body of bodies.slice(1)) {
      expect(body.max_tokens).toBeLessThanOrEqual(Math.max(1024, WINDOW - JSON.stringify(body.messages).length / 5))
    }
    expect(bodies.at(-1).max_tokens).toBeLessThan(10_000)
  })
})

describe("when the model says that it is too long", () => {
  const overflows = [
    ["prompt_too_long", { text: "after", fault: tooLong }, 1],
    ["a 413", { text: "after", fault: { kind: "status" as const, status: 413 } }, 1],
    ["model_context_window_exceeded", { text: "cut", stop_reason: "model_context_window_exceeded" }, 2],
  ] as const

  test.each(overflows)("runLoop() recovers once from %s", async (_, turn, answers) => {
    const { result, bodies, events } = await run([...looks(3), turn, ...(answers === 2 ? [done] : [])], [all])
    expect(result.status).toBe("ok")
    expect(bodies).toHaveLength(5)
    expect(bodies[4].messages).toHaveLength(1)
    expect(compactions(events)).toMatchObject([{ trigger: "reactive", ok: true, strategy: "all" }])
  })

  test.each(overflows)("runLoop() ends honestly when %s cannot be recovered from", async (_, turn) => {
    const { result, bodies, events } = await run({ unused: "ignore", turns: [...looks(3), turn] }, [])
    expect(result).toMatchObject({ status: "failed", exit: 1, failure: { cause: "model" } })
    expect(result.failure?.error).toContain("too long")
    expect(bodies).toHaveLength(4)
    expect(compactions(events)).toMatchObject([{ trigger: "reactive", ok: false }])
  })

  test("runLoop() sends nothing a third time for the same overflow", async () => {
    const { result, bodies } = await run(
      { unused: "ignore", turns: [...looks(3), { text: "x", fault: { ...tooLong, times: 9 } }] },
      [all],
    )
    expect(result.failure?.cause).toBe("model")
    expect(bodies).toHaveLength(5)
  })

  test("runLoop() is bounded when every turn overflows once", async () => {
    const turns = Array.from({ length: 30 }, () => ({ tool: { Look: { words: 900 } }, fault: tooLong }))
    const { result, bodies } = await run({ unused: "ignore", turns: [...looks(3), ...turns] }, [all])
    expect(result.failure?.cause).toBe("model")
    expect(bodies.length).toBeLessThan(15)
  })

  test("runLoop() leaves it to the model to refuse when it is not to be shortened by itself", async () => {
    const { result, events } = await run([...looks(8, 2600), { text: "after", fault: tooLong }], [all], {
      kit: { settings: mergeSettings([{ scope: "user", base: "/", values: { compact: { auto: false } } }]) },
    })
    expect(result).toMatchObject({ status: "ok", output: "after" })
    expect(compactions(events)).toMatchObject([{ trigger: "reactive", ok: true }])
  })
})

describe("around it", () => {
  test("PreCompact may block it, or say what matters; SessionStart and PostCompact follow", async () => {
    const order: string[] = []
    const focuses: (string | undefined)[] = []
    const attentive: Compaction = {
      name: "attentive",
      async propose(request) {
        focuses.push(request.focus)
        return await all.propose(request)
      },
    }
    const hooks = definePlugin({
      name: "hooks",
      hooks: {
        PreCompact: ({ trigger }) => {
          order.push(`pre ${trigger}`)
          return order.length === 1 ? block("not yet") : inject("the tests")
        },
        PostCompact: ({ trigger }) => void order.push(`post ${trigger}`),
        SessionStart: ({ source }) => (source === "compact" ? inject("Said again at the start") : undefined),
      },
    })
    const { result, bodies } = await run([...looks(9), done], [attentive], { plugins: [hooks] })
    expect(result.status).toBe("ok")
    expect(order.slice(0, 3)).toEqual(["pre auto", "pre auto", "post auto"])
    expect(focuses[0]).toBe("the tests")
    const after = bodies.find(({ messages }) => JSON.stringify(messages).includes("All of it was looked at"))
    expect(JSON.stringify(after.messages)).toContain("Said again at the start")
  })

  test("a strategy may ask the model behind the conversation; what that costs is counted", async () => {
    const asking: Compaction = {
      name: "asking",
      propose: async ({ messages, ask }) => ({
        keepFrom: messages.length,
        summary: await ask({ text: "SUM IT UP", maxTokens: 900 }),
      }),
    }
    const turns = [...looks(8), done].map((turn) => ({ ...turn }))
    let at = 0
    const { bodies, result, events } = await run(
      (body) => (JSON.stringify(body.messages.at(-1)).includes("SUM IT UP") ? { text: "SUMMED UP" } : turns[at++]!),
      [asking],
    )
    expect(result.status).toBe("ok")
    const index = bodies.findIndex((body) => JSON.stringify(body.messages.at(-1)).includes("SUM IT UP"))
    const question = bodies[index]
    expect(question.max_tokens).toBeLessThanOrEqual(900)
    const plain = (messages: any[]) =>
      JSON.stringify(messages, (key, value) => (key === "cache_control" ? undefined : value))
    const sent = bodies[index - 1].messages
    expect(plain(question.messages.slice(0, sent.length))).toBe(plain(sent))
    expect(plain(question.tools)).toBe(plain(bodies[index - 1].tools))
    expect(JSON.stringify(bodies[index + 1].messages[0])).toContain("SUMMED UP")
    const used = events.flatMap((event) => (event.type === "usage" ? [event.usage.output] : []))
    expect(used).toHaveLength(bodies.length)
    expect(result.usage.output).toBe(used.reduce((sum, tokens) => sum + tokens, 0))
  })

  test("what a person queues as /compact shortens before the next request, with what matters", async () => {
    const focuses: (string | undefined)[] = []
    const attentive: Compaction = {
      name: "attentive",
      async propose(request) {
        focuses.push(`${request.trigger}: ${request.focus}`)
        return await all.propose(request)
      },
    }
    const { result, bodies } = await run([...looks(2, 300), done], [attentive], {
      during: (started) => started.queue("/compact the parser"),
    })
    expect(result.status).toBe("ok")
    expect(focuses).toEqual(["manual: the parser"])
    expect(JSON.stringify(bodies)).not.toContain("/compact")
    expect(bodies.at(-1).messages[0].content).toEqual(
      expect.arrayContaining([expect.objectContaining({ text: expect.stringContaining("looked at") })]),
    )
  })

  test("the person's last words outlive it, not those of hooks that spoke with them", async () => {
    const hooks = definePlugin({
      name: "hooks",
      hooks: { UserPromptSubmit: ({ prompt }) => (prompt === "And quickly" ? inject("A hook's words") : undefined) },
    })
    const { bodies } = await run([...looks(9), done], [all], {
      plugins: [hooks],
      during: (started) => started.queue("And quickly"),
    })
    const after = bodies.find(({ messages }) => JSON.stringify(messages).includes("All of it was looked at"))
    expect(JSON.stringify(after.messages[0])).toContain("And quickly")
    expect(JSON.stringify(after.messages[0])).not.toContain("A hook's words")
  })
})
