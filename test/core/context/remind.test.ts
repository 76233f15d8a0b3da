import { join } from "node:path"
import { type Compaction, type ContextSource, definePlugin, type RunEvent } from "sous"
import { describe, expect, test } from "vitest"
import { runPrompt, type TestOptions } from "../../harness.ts"
import { bare, look, MODEL, server } from "../../small-window.ts"

const all: Compaction = {
  name: "all",
  propose: async ({ messages }) => ({ keepFrom: messages.length, summary: "All of it was looked at" }),
}

/** Runs with a window of 20,000 tokens, one strategy, and these sources. */
function run(turns: Parameters<typeof runPrompt>[0], context: ContextSource[], options: TestOptions = {}) {
  const own = definePlugin({ name: "own", tools: [look], compaction: [all], context })
  return runPrompt(turns, { model: MODEL, server, ...options, kit: { plugins: [...bare, own] } })
}

const looks = (count: number, words = 10) => Array.from({ length: count }, () => ({ tool: { Look: { words } } }))
const done = { text: "done" }
const textOf = (value: unknown) => JSON.stringify(value)
const countOf = (text: string, value: unknown) => textOf(value).split(text).length - 1
const warnings = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "notice" && event.level === "warning" ? [event.message] : []))

describe("reminders", () => {
  test("takeReminders() tells each key once, behind the results of its turn", async () => {
    const source: ContextSource = {
      name: "ticker",
      remind: ({ turn }) => [
        { key: "always", text: "SAID ONCE" },
        { key: `turn ${turn}`, text: `TURN ${turn} ENDED` },
      ],
    }
    const { bodies } = await run([...looks(3), done], [source])
    const last = bodies.at(-1).messages
    expect(countOf("SAID ONCE", last)).toBe(1)
    expect(last[2].content.map(({ type }: { type: string }) => type)).toEqual(["tool_result", "text", "text"])
    expect(last[4].content.map((block: { text?: string }) => block.text)).toEqual([undefined, "TURN 2 ENDED"])
  })

  test("takeReminders() keeps the keys of two sources apart", async () => {
    const say = (name: string): ContextSource => ({ name, remind: () => [{ key: "k", text: `FROM ${name}` }] })
    const { bodies } = await run([...looks(2), done], [say("one"), say("two")])
    expect(countOf("FROM one", bodies.at(-1))).toBe(1)
    expect(countOf("FROM two", bodies.at(-1))).toBe(1)
  })

  test("takeReminders() tells it again once it no longer stands in the conversation; what is pinned stands in it always", async () => {
    const source: ContextSource = {
      name: "rules",
      remind: () => [
        { key: "loose", text: "LOOSE WORDS" },
        { key: "fast", text: "FAST WORDS", pinned: true },
      ],
    }
    const { bodies } = await run([...looks(24, 2000), done], [source], { rewrites: true })
    for (const body of bodies.slice(1)) expect(countOf("FAST WORDS", body)).toBe(1)
    for (const body of bodies.slice(1)) expect(countOf("LOOSE WORDS", body)).toBeLessThanOrEqual(1)
    const again = bodies
      .slice(1)
      .filter(({ messages }, index) => messages.length > 1 && bodies[index].messages.length === 1)
    expect(again.length).toBeGreaterThan(2)
    for (const body of again) expect(countOf("LOOSE WORDS", body)).toBe(1)
  })

  test("takeReminders() leaves out a source that fails, or says what is no reminder, and the run goes on", async () => {
    const sources: ContextSource[] = [
      { name: "broken", remind: () => Promise.reject(new Error("out of ink")) },
      { name: "wild", remind: () => [{ key: 7, text: "WILD" }, { key: "k" }, null] as never },
      { name: "text", remind: () => "WILD" as never },
      { name: "thing", remind: () => ({ key: "k", text: "WILD" }) as never },
      {
        name: "trap",
        remind: () => [
          {
            key: "k",
            get text(): string {
              throw new Error("out of paper")
            },
          },
        ],
      },
      { name: "sound", remind: () => [{ key: "k", text: "SOUND" }] },
    ]
    const { bodies, result, events } = await run([...looks(2), done], sources)
    expect(result.status).toBe("ok")
    expect(countOf("SOUND", bodies.at(-1))).toBe(1)
    expect(countOf("WILD", bodies.at(-1))).toBe(0)
    expect(warnings(events).join("\n")).toContain("out of ink")
    expect(warnings(events).join("\n")).toContain("out of paper")
    expect(warnings(events).join("\n")).toContain('"thing" of plugin "own" failed: what it reminds of is no list')
  })

  test("what a source says at a start is a text, or it is left out with a warning", async () => {
    const sources: ContextSource[] = [
      { name: "thing", start: () => ({ text: "WILD" }) as never },
      { name: "text", start: () => "SOUND" },
    ]
    const { bodies, events } = await run([done], sources)
    expect(countOf("SOUND", bodies[0])).toBe(1)
    expect(countOf("WILD", bodies[0])).toBe(0)
    expect(warnings(events).join("\n")).toContain(
      '"thing" of plugin "own" failed: it said something of the type object',
    )
  })

  test("takeReminders() says nothing of a source that fails because the run is stopped", async () => {
    const stop = new AbortController()
    const source: ContextSource = {
      name: "slow",
      remind: ({ signal }) => {
        stop.abort()
        signal.throwIfAborted()
        return []
      },
    }
    const { result, events } = await run(looks(1), [source], { signal: stop.signal })
    expect([result.status, warnings(events)]).toEqual(["cancelled", []])
  })

  test("a source hears which files calls have touched since it was last asked", async () => {
    const heard: unknown[] = []
    const source: ContextSource = { name: "ear", remind: ({ touched }) => void heard.push(touched) }
    const { cwd } = await run(
      [
        { tool: { Read: { file_path: "a.txt" } } },
        { tool: { Read: { file_path: "missing.txt" } } },
        { tool: { Edit: { file_path: "a.txt", old_string: "x", new_string: "y" } } },
        done,
      ],
      [source],
      { files: { "a.txt": "x" }, mode: "acceptEdits" },
    )
    const path = join(cwd, "a.txt")
    expect(heard).toEqual([[{ path, access: "read" }], [], [expect.objectContaining({ path, access: "write" })]])
  })
})

describe("after a compaction", () => {
  const shortened = ({ messages }: any) => textOf(messages).includes("All of it was looked at")

  test("the scene is set again, and what a source keeps in its notes is there", async () => {
    const source: ContextSource = {
      name: "counter",
      remind({ notes }) {
        const set = notes<number>("counter")
        set.set("n", (set.get("n") ?? 0) + 1)
        return undefined
      },
      scene: ({ notes }) => `COUNTED ${notes<number>("counter").get("n")}`,
    }
    const { bodies } = await run([...looks(9, 2000), done], [source], { rewrites: true })
    const first = bodies.findIndex(shortened)
    expect(countOf(`COUNTED ${first}`, bodies[first])).toBe(1)
  })

  test("a scene that does not fit is left out, and the next one is told", async () => {
    const sources: ContextSource[] = [
      { name: "long", scene: () => "LONG ".repeat(20_000) },
      { name: "short", scene: () => "SHORT" },
      { name: "broken", scene: () => Promise.reject(new Error("no scene")) },
    ]
    const { bodies, events } = await run([...looks(9, 2000), done], sources, { rewrites: true })
    const body = bodies.find(shortened)
    expect(countOf("LONG", body)).toBe(0)
    expect(countOf("SHORT", body)).toBe(1)
    expect(warnings(events).join("\n")).toContain("no scene")
  })

  test("what a pinned source says at a start takes the place of what it said before", async () => {
    let asked = 0
    const changing: ContextSource = { name: "changing", pinned: true, start: () => `VERSION ${++asked}` }
    const silent: ContextSource = { name: "silent", pinned: true, start: once("SAID BY SILENT") }
    const { bodies } = await run([...looks(9, 2000), done], [changing, silent], { rewrites: true })
    const body = bodies.find(shortened)
    expect(countOf("VERSION 1", body)).toBe(0)
    expect(countOf("VERSION 2", body)).toBe(1)
    expect(countOf("SAID BY SILENT", body)).toBe(1)
  })
})

/** Says it when it is first asked. */
function once(text: string): () => string | undefined {
  let said = false
  return () => {
    const before = said
    said = true
    return before ? undefined : text
  }
}
