import { type Compaction, definePlugin, type Plugin, type RunEvent } from "sous"
import { describe, expect, test } from "vitest"
import { runPrompt, type TestOptions } from "../harness.ts"
import { checkBody } from "../messages-api.ts"
import { bare, LIMITS, look, MODEL } from "../small-window.ts"

const server = { models: { [MODEL]: LIMITS, "claude-aside-1": LIMITS } }
const all: Compaction = {
  name: "all",
  propose: async ({ messages }) => ({ keepFrom: messages.length, summary: "SUMMED UP" }),
}

/** Looks until the conversation was summed up; a question that begins with "Q" is answered with "A". */
async function run(strategies: Compaction[], options: TestOptions & { thinking?: boolean; beside?: Plugin[] } = {}) {
  const { thinking, beside = bare, ...rest } = options
  const work = [...(thinking ? [{ thinking: "Hm", signature: "signed" }] : []), { tool: { Look: { words: 2000 } } }]
  const turns = ({ messages }: any) => {
    if (String(messages.at(-1).content.at(-1).text).startsWith("Q"))
      return { text: "A", usage: { input_tokens: 100, output_tokens: 100 } }
    return /SUMMED UP|became too long/.test(JSON.stringify(messages)) ? { text: "done" } : { content: work }
  }
  const own = definePlugin({ name: "own", tools: [look], compaction: strategies })
  const ran = await runPrompt(turns, {
    ...{ model: MODEL, server, rewrites: true, prompt: "Go" },
    ...rest,
    kit: { plugins: [...beside, own, ...(rest.plugins ?? [])] },
  })
  for (const body of ran.bodies) checkBody(body)
  return ran
}

const compactions = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "compaction" ? [event] : []))

describe("a strategy that breaks", () => {
  const unreadable = () => Object.defineProperty(new Error(), "message", { get: () => JSON.parse("{") })
  const breaking: [string, () => unknown][] = [
    ["throws an object without a prototype", () => Promise.reject(Object.create(null))],
    ["throws an error that breaks when it is read", () => Promise.reject(unreadable())],
    ["throws at once, and nothing", () => throwing(undefined)],
    ["throws 20 MB", () => throwing(new Error("x".repeat(20_000_000)))],
    [
      "proposes a getter that throws",
      async () => Object.defineProperty({}, "keepFrom", { get: unreadable, enumerable: true }),
    ],
    ["proposes a proxy", async () => new Proxy({}, { get: () => throwing(1) })],
    [
      "is a thenable that throws",
      () => new Proxy({}, { get: (_, key) => (key === "then" ? () => throwing(Object.create(null)) : undefined) }),
    ],
    ["proposes 50 MB", async () => ({ keepFrom: 2, summary: "x".repeat(50_000_000) })],
    ["proposes holes", async () => ({ keepFrom: 0, summary: "", dropped: new Array(5) })],
  ]

  test.each(breaking)("shorten() passes over one that %s, and asks the next", async (_, propose) => {
    const { result, events } = await run([{ name: "broken", propose: propose as never }, all])
    expect(result.status).toBe("ok")
    expect(compactions(events)).toMatchObject([{ strategy: "all", ok: true }])
  })

  test("shorten() tells what was thrown, as much as can be read of it", async () => {
    const propose = () => throwing(Object.create(null))
    const { events } = await run([{ name: "broken", propose }], { maxTurns: 7 })
    expect(compactions(events)[0]).toMatchObject({ ok: false, reason: "broken: it threw what cannot be read" })
    const long = await run([{ name: "long", propose: () => throwing(new Error("x".repeat(9000))) }], { maxTurns: 7 })
    expect((compactions(long.events)[0] as { reason: string }).reason).toHaveLength("long: ".length + 4001)
  })

  test("shorten() gives each strategy a request of its own", async () => {
    let files: unknown
    const greedy: Compaction = {
      name: "greedy",
      async propose(request: any) {
        request.files.read.push("/made/up")
        request.files.changed = "nothing"
        request.messages.length = 0
        return undefined
      },
    }
    const honest: Compaction = {
      ...all,
      propose: (request) => {
        files = request.files
        return all.propose(request)
      },
    }
    const { events } = await run([greedy, honest])
    expect(compactions(events)).toMatchObject([{ strategy: "all", ok: true }])
    expect(files).toEqual({ read: [], changed: [] })
  })

  test("shorten() lets no half of a character reach the API", async () => {
    const half = "cut 😀".slice(0, -1)
    const { bodies } = await run([
      { name: "half", propose: async ({ messages }) => ({ keepFrom: messages.length, summary: `SUMMED UP ${half}` }) },
    ])
    expect(JSON.stringify(bodies.at(-1))).toContain("SUMMED UP cut \ufffd")
  })
})

describe("a strategy's question", () => {
  /** What came of asking that. */
  async function ask(question: unknown, options: Parameters<typeof run>[1] = {}) {
    let answer = ""
    const asking: Compaction = {
      name: "asking",
      async propose(request) {
        answer = await request.ask(question as never).catch(String)
        return await all.propose(request)
      },
    }
    const ran = await run([asking], options)
    const asked = ran.bodies.find(({ messages }) => JSON.stringify(messages.at(-1)).includes('"text":"Q'))
    return { ...ran, answer, asked }
  }

  test.each([
    [null, "its text says nothing"],
    [{ text: " \n" }, "its text says nothing"],
    [{ text: 5 }, "its text says nothing"],
    [{ text: "Q", messages: "all" }, "its messages are no list"],
    [{ text: "Q", model: 5 }, "its model is no id"],
    [{ text: "Q", maxTokens: Number.NaN }, "its maxTokens is no number from 1 on"],
    [{ text: "Q", maxTokens: -1e9 }, "its maxTokens is no number from 1 on"],
    [{ text: "Q", maxTokens: 0 }, "its maxTokens is no number from 1 on"],
    [{ text: "Q", maxTokens: "12" }, "its maxTokens is no number from 1 on"],
  ])("createAsk() sends nothing for %j, and reserves nothing", async (question, why) => {
    const { answer, asked, result } = await ask(question, { budget: { tokens: 500_000 } })
    expect(answer).toBe(`Error: The question of the strategy cannot be asked: ${why}`)
    expect(asked).toBeUndefined()
    expect(result.status).toBe("ok")
  })

  test.each([
    [12.5, 12],
    [Number.POSITIVE_INFINITY, 2000],
  ])("createAsk() asks for whole tokens: %d become %d", async (maxTokens, sent) => {
    expect((await ask({ text: "Q", maxTokens })).asked.max_tokens).toBe(sent)
  })

  test("createAsk() shows no model the thinking of another", async () => {
    const same = await ask({ text: "Q" }, { thinking: true })
    expect(JSON.stringify(same.asked.messages)).toContain('"thinking"')
    const other = await ask({ text: "Q", model: "claude-aside-1" }, { thinking: true })
    expect(other.asked.model).toBe("claude-aside-1")
    expect(JSON.stringify(other.asked.messages)).not.toContain('"thinking"')
    expect(other.answer).toBe("A")
  })

  test("createAsk() reserves what was counted, not each byte of a long conversation", async () => {
    const { answer, result } = await ask({ text: "Q" }, { budget: { tokens: 100_000 } })
    expect(answer).toBe("A")
    expect(result.status).toBe("ok")
  })

  test("createAsk() is bounded by the budget, however often it is asked at once", async () => {
    let answered = 0
    const greedy: Compaction = {
      name: "greedy",
      async propose(request) {
        const question = { text: "Q", messages: [], maxTokens: 100 }
        const answers = await Promise.allSettled(Array.from({ length: 300 }, () => request.ask(question)))
        answered = answers.filter(({ status }) => status === "fulfilled").length
        return await all.propose(request)
      },
    }
    const { result } = await run([greedy], { budget: { tokens: 70_000 } })
    expect(result.status).toBe("budget")
    expect(answered).toBeLessThan(300)
    expect(result.usage.input + result.usage.output).toBeLessThanOrEqual(70_000)
  })
})

function throwing(what: unknown): never {
  throw what
}
