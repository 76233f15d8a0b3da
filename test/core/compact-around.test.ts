import { block, type Compaction, type ContextSource, definePlugin, defineTool, inject, type Plugin, z } from "sous"
import { describe, expect, test } from "vitest"
import { followStrategies } from "../../core/compact-follow.ts"
import { folder, runPrompt, type TestOptions } from "../harness.ts"
import { checkBody } from "../messages-api.ts"
import { bare, look, MODEL, server } from "../small-window.ts"

const all: Compaction = {
  name: "all",
  propose: async ({ messages }) => ({ keepFrom: messages.length, summary: "SUMMED UP" }),
}
const looks = (count: number, words = 2000) => Array.from({ length: count }, () => ({ tool: { Look: { words } } }))
const done = { text: "done" }
const countOf = (text: string, value: unknown) => JSON.stringify(value).split(text).length - 1

async function run(
  turns: Parameters<typeof runPrompt>[0],
  compaction: Compaction[],
  { plugins = [], kit = {}, ...rest }: TestOptions = {},
) {
  const own = definePlugin({ name: "own", tools: [look], compaction })
  const options = { model: MODEL, server, rewrites: true, ...rest }
  const ran = await runPrompt(turns, { ...options, kit: { ...kit, plugins: [...bare, own, ...plugins] } })
  for (const body of ran.bodies) checkBody(body)
  const { events } = ran
  return {
    ...ran,
    compactions: events.flatMap((event) => (event.type === "compaction" ? [event] : [])),
    warnings: events.flatMap((event) => (event.type === "notice" && event.level === "warning" ? [event.message] : [])),
  }
}

describe("breakers", () => {
  const blocking = (from: number, to: number) => {
    let asked = 0
    const PreCompact = () => (++asked >= from && asked <= to ? block("not yet") : undefined)
    return definePlugin({ name: "hooks", hooks: { PreCompact } })
  }

  test("a hook that blocks is no failure: it is asked again before each request, and compaction stays on", async () => {
    const { result, compactions, warnings } = await run([...looks(6), ...looks(6, 20), done], [all], {
      plugins: [blocking(1, 5)],
    })
    expect(result.status).toBe("ok")
    expect(compactions).toMatchObject([{ ok: true, trigger: "auto" }])
    expect(warnings).toEqual([])
  })

  test("a hook that blocks after a compaction leaves the next one to come", async () => {
    const tail: Compaction = {
      name: "tail",
      propose: async ({ messages }) => ({ keepFrom: messages.length - 6, summary: "S" }),
    }
    const { result, compactions, warnings } = await run([...looks(9), ...looks(8, 20), done], [tail], {
      plugins: [blocking(2, 6)],
    })
    expect(result.status).toBe("ok")
    expect(compactions.length).toBeGreaterThan(1)
    expect(compactions.every(({ ok }) => ok)).toBe(true)
    expect(warnings).toEqual([])
  })

  test("an interruption is no failure, and nothing is said of it", async () => {
    let asked = 0
    const slow: Compaction = { name: "slow", propose: () => new Promise(() => asked++) }
    const { result, compactions, warnings } = await run({ unused: "ignore", turns: [...looks(9), done] }, [slow], {
      async during(started) {
        await expect.poll(() => asked).toBe(1)
        started.abort()
      },
    })
    expect(result.status).toBe("cancelled")
    expect([compactions, warnings]).toEqual([[], []])
  })
})

describe("a person's /compact", () => {
  test("is done also when the run ends with that turn", async () => {
    const { result, compactions } = await run(looks(1), [all], {
      maxTurns: 1,
      during: (started) => started.queue("/compact at the end"),
    })
    expect(result.status).not.toBe("ok")
    expect(compactions).toMatchObject([{ trigger: "manual", ok: true }])
  })

  test("said twice at once is done once, with all that matters", async () => {
    const focuses: unknown[] = []
    const attentive: Compaction = {
      ...all,
      propose: (request) => {
        focuses.push(request.focus)
        return all.propose(request)
      },
    }
    await run([...looks(2, 300), done], [attentive], {
      during(started) {
        started.queue("/compact the parser")
        started.queue("/compact")
        started.queue("/compact the tests")
      },
    })
    expect(focuses).toEqual(["the parser\nthe tests"])
  })
})

describe("what the API would refuse", () => {
  test("blank texts of hooks, sources, tools, people and the model itself are never sent", async () => {
    const blank = definePlugin({
      name: "blank",
      hooks: { SessionStart: () => inject(" "), UserPromptSubmit: () => inject("\n") },
      context: [
        { name: "blank", start: () => " ", remind: () => [{ key: "k", text: "\n" }], scene: () => ["  "] },
        { name: "rules", pinned: true, start: () => "NEVER PUSH" },
      ],
      tools: [
        defineTool({
          ...{ name: "Blank", description: "Says nothing", input: z.strictObject({}), readOnly: true },
          execute: async () => ({
            content: [
              { type: "text", text: " " },
              { type: "text", text: "" },
            ],
          }),
        }),
      ],
    })
    const turns = [
      { content: [{ text: "" }, { tool: { Blank: {} } }] },
      { content: [{ text: " " }], stop_reason: "max_tokens" as const },
      { content: [{ text: " " }], stop_reason: "max_tokens" as const },
      ...looks(6),
      done,
    ]
    const { result, bodies, compactions } = await run(turns, [all], {
      plugins: [blank],
      prompt: "Go",
      during: (started) => started.queue(" \n "),
    })
    expect(result.status).toBe("ok")
    expect(compactions).toMatchObject([{ ok: true }])
    const opening = JSON.stringify(bodies.at(-1).messages[0])
    expect(opening).toContain("NEVER PUSH")
    expect(opening).toContain('"text":"Go"')
  })
})

describe("context sources", () => {
  const telling = (source: Omit<ContextSource, "name">): Plugin =>
    definePlugin({ name: "telling", context: [{ name: "telling", ...source }] })

  test("a reminder that stands in what a compaction keeps is not told again; one that went is", async () => {
    const remind = ({ turn }: { turn: number }) => [
      { key: "first", text: "AN OLD WORD" },
      ...(turn >= 4 ? [{ key: "later", text: "A NEW WORD" }] : []),
    ]
    const tail: Compaction = {
      name: "tail",
      propose: async ({ messages }) => ({ keepFrom: messages.length - 6, summary: "S" }),
    }
    const cwd = folder()
    const { bodies, compactions } = await run([...looks(6), ...looks(3, 20), done], [tail], {
      plugins: [telling({ remind })],
      cwd,
    })
    expect(compactions).toMatchObject([{ ok: true }])
    expect(countOf("AN OLD WORD", bodies.at(-1))).toBe(1)
    expect(countOf("A NEW WORD", bodies.at(-1))).toBe(1)
  })

  test.each<[string, Omit<ContextSource, "name">]>([
    ["throws nothing", { start: () => throwing(null), remind: () => throwing(undefined), scene: () => throwing(null) }],
    [
      "throws what cannot be read",
      { start: () => throwing(Object.create(null)), remind: () => throwing(Object.create(null)) },
    ],
    ["tells what is no list", { start: () => 5 as never, remind: () => 5 as never, scene: () => ({}) as never }],
    ["tells what breaks", { remind: () => [Object.defineProperty({}, "key", { get: () => throwing(1) })] as never }],
  ])("one that %s ends no run", async (_, source) => {
    const { result, compactions } = await run([...looks(6), done], [all], { plugins: [telling(source)] })
    expect(result.status).toBe("ok")
    expect(compactions).toMatchObject([{ ok: true }])
  })
})

describe("strategies that take notes", () => {
  const following = (name: string, follow: Compaction["follow"] & object): Compaction => ({ ...all, name, follow })
  // Otherwise a run of a few milliseconds ends before the module is there.
  const isLoaded = typeof followStrategies === "function"

  test("one that fails is told of once, and the others look as well", async () => {
    let looked = 0
    const broken = following("broken", () => throwing(Object.create(null)))
    const { warnings } = await run([...looks(6, 10), done], [broken, following("sound", async () => void looked++)])
    expect(isLoaded).toBe(true)
    expect(looked).toBeGreaterThan(1)
    expect(warnings).toEqual(["The notes for a compaction were not taken: it threw what cannot be read"])
  })

  test("one that hangs is left alone when the run ends, and can ask nothing more", async () => {
    let late: Promise<string> | undefined
    const hanging = following("hanging", (request) => {
      late = new Promise((resolve) => {
        request.signal.addEventListener("abort", () => resolve(request.ask({ text: "Q" }).then(String, String)))
      })
      return new Promise(() => {})
    })
    const { result, bodies } = await run([...looks(3, 10), done], [hanging])
    expect(result.status).toBe("ok")
    expect(await late).toContain("AbortError")
    expect(bodies).toHaveLength(4)
  })

  test("a question without messages is asked behind what was looked at", async () => {
    const answers: string[] = []
    const asking = following("asking", async (request) => {
      answers.push(await request.ask({ text: "Q", messages: undefined } as never))
    })
    const turns = ({ messages }: any) => {
      if (messages.at(-1).content.at(-1).text === "Q") return { text: "A" }
      return messages.length > 8 ? done : looks(1, 10)[0]!
    }
    await run(turns, [asking])
    expect(answers).toContain("A")
  })
})

function throwing(what: unknown): never {
  throw what
}
