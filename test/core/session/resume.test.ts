/**
 * A conversation that goes on: what the model is sent then, over the real wire.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Compaction, definePlugin, defineTool, type PromptOptions, type RunEvent, z } from "sous"
import { checkAppendOnly, checkConversation, type ModelServer } from "sous/testing"
import { describe, expect, it } from "vitest"
import { createClock } from "../../../core/clock.ts"
import { openRunSession } from "../../../core/session/session.ts"
import { readSession } from "../../../core/session/session-open.ts"
import { sessionsFolder } from "../../../core/session/session-place.ts"
import { defaultPlugins } from "../../../plugins/default.ts"
import { after, folder, serve, testKit } from "../../harness.ts"

const TURNS = () => [
  { text: "I look", tool: { Read: { file_path: "a.txt" } } },
  { text: "It says one" },
  { text: "I change it", tool: { Edit: { file_path: "a.txt", old_string: "one", new_string: "two" } } },
  { text: "Changed" },
  { text: "Nothing to add" },
]
const PROMPTS = ["What does a.txt say?", "Change it", "Anything else?"]

/** Each kit is a process of its own, as far as a conversation can tell. */
async function prompts(server: ModelServer, cwd: string, state: string) {
  const events: RunEvent[] = []
  const ask = async (text: string, options: PromptOptions = {}) => {
    const kit = await testKit(server, { cwd, kit: { state } })
    const run = kit.prompt(text, { ...OPTIONS, ...options, onEvent: (event) => events.push(event) })
    const result = await run.result
    await kit.close()
    return { ...result, id: (await run.started).id }
  }
  const bodies = () => server.asked().map(({ body }) => body)
  return { ask, bodies, events }
}
const OPTIONS: PromptOptions = { model: "claude-opus-5-5", flags: { allow: { write: true } } }

describe("a session that goes on", () => {
  it("sends what it would have sent in one process, byte for byte", async () => {
    const cwd = folder({ "a.txt": "one\n" })
    const one = await serve(TURNS())
    const kit = await testKit(one, { cwd })
    const run = kit.prompt(PROMPTS[0]!, { ...OPTIONS, onEvent: say })
    let left = PROMPTS.slice(1)
    // Said while the last answer of a prompt is on its way.
    function say(event: RunEvent) {
      if (event.type === "turn_started" && [2, 4].includes(event.turn)) {
        run.queue(left[0]!)
        left = left.slice(1)
      }
    }
    expect((await run.result).status).toBe("ok")
    writeFileSync(join(cwd, "a.txt"), "one\n")

    const server = await serve(TURNS())
    const { ask, bodies } = await prompts(server, cwd, folder())
    const first = await ask(PROMPTS[0]!)
    await ask(PROMPTS[1]!, { session: { resume: first.id } })
    await ask(PROMPTS[2]!, { session: { continue: true } })

    expect(bodies()).toHaveLength(5)
    for (const [index, { body }] of one.asked().entries())
      expect(JSON.stringify(bodies()[index]), `request ${index + 1}`).toBe(JSON.stringify(body))
    checkAppendOnly(bodies())
  })

  it("sends the same behind a compaction", async () => {
    const look = defineTool({
      name: "Look",
      description: "Looks",
      input: z.strictObject({}),
      readOnly: true,
      execute: async () => "word ".repeat(2000),
    })
    const propose: Compaction["propose"] = async ({ messages }) => ({ keepFrom: messages.length, summary: "Looked" })
    const own = definePlugin({ name: "own", tools: [look], compaction: [{ name: "all", propose }] })
    const plugins = [...defaultPlugins.filter((plugin) => plugin.compaction === undefined), own]
    const models = { "claude-tiny-1": { contextWindow: 20_000, maxOutput: 4000 } }
    const looks = (count: number) => Array.from({ length: count }, () => ({ tool: { Look: {} } }))
    const turns = () => [...looks(9), { text: "looked" }, ...looks(6), { text: "done" }]
    const cwd = folder()
    const options: PromptOptions = { model: "claude-tiny-1" }

    const one = await serve(turns(), { models })
    const kit = await testKit(one, { cwd, kit: { plugins } })
    const onEvent = (event: RunEvent) => {
      if (event.type === "turn_started" && event.turn === 10) run.queue("More")
    }
    const run = kit.prompt("Look", { ...options, onEvent })
    expect((await run.result).status).toBe("ok")

    const server = await serve(turns(), { models })
    const again = await testKit(server, { cwd, kit: { plugins } })
    const compactions: RunEvent[] = []
    const count = (event: RunEvent) => void (event.type === "compaction" && compactions.push(event))
    await again.prompt("Look", { ...options, onEvent: count }).result
    expect(compactions.length).toBeGreaterThan(0)
    const { status } = await again.prompt("More", { ...options, session: { continue: true } }).result
    expect(status).toBe("ok")
    expect(server.asked().map(({ raw }) => `${raw}`)).toEqual(one.asked().map(({ raw }) => `${raw}`))
  })

  it("writes down a system text that is another now, and says so in no other way", async () => {
    const server = await serve([{ text: "a" }, { text: "b" }, { text: "c" }])
    const cwd = folder()
    const state = folder()
    const { ask, bodies } = await prompts(server, cwd, state)
    const { id } = await ask("one", { system: "First" })
    await ask("two", { session: { resume: id } })
    await ask("three", { session: { resume: id }, system: "Other" })
    expect(bodies().map(({ system }) => system[0].text)).toEqual(["First", "First", "Other"])
    const { entries } = await readSession(join(sessionsFolder(state, cwd), `${id}.jsonl`))
    expect(entries.filter(({ type }) => type === "frame")).toHaveLength(2)
    expect(entries.filter(({ type }) => type === "run")).toHaveLength(3)
  })

  it("leaves thinking to the model that thought it", async () => {
    const server = await serve([{ thinking: "hm", text: "a" }, { text: "b" }, { text: "c" }])
    const { ask, bodies } = await prompts(server, folder(), folder())
    await ask("one")
    await ask("two", { session: { continue: true } })
    await ask("three", { session: { continue: true }, model: "claude-sonnet-5" })
    const thoughts = bodies().map(({ messages }) => JSON.stringify(messages).includes('"thinking"'))
    expect(thoughts).toEqual([false, true, false])
  })

  it("forks: two go their own ways from one beginning", async () => {
    const server = await serve([{ text: "a" }, { text: "b" }, { text: "c" }])
    const { ask, bodies, events } = await prompts(server, folder(), folder())
    const { id } = await ask("one")
    const fork = await ask("two", { session: { resume: id, fork: true } })
    await ask("three", { session: { resume: id } })
    const words = bodies().map(({ messages }) => JSON.stringify(messages))
    expect(fork.id).not.toBe(id)
    expect(words[1]).toContain("two")
    expect(words[2]).not.toContain("two")
    const started = events.flatMap((event) => (event.type === "run_started" ? [event.session] : []))
    expect(started).toEqual([
      { id, resumed: false },
      { id: fork.id, resumed: true },
      { id, resumed: true },
    ])
  })

  it("keeps a second run out of a conversation that is being written", async () => {
    const server = await serve([{ text: "a" }])
    const cwd = folder()
    const state = folder()
    const { ask } = await prompts(server, cwd, state)
    const { id } = await ask("one")
    const held = await openRunSession({ state, cwd, home: undefined, id: "x", clock: createClock() }, { resume: id })
    after(held.close)
    await expect(ask("two", { session: { continue: true } })).rejects.toMatchObject({ code: "SESSION_LOCKED" })
  })

  it("opens wherever its file was cut off, minus the torn entry, and goes on", async () => {
    const server = await serve(TURNS())
    const cwd = folder({ "a.txt": "one\n" })
    const state = folder()
    const tools = ["Read", "Edit"]
    const { ask } = await prompts(server, cwd, state)
    const { id } = await ask(PROMPTS[0]!, { tools })
    await ask(PROMPTS[1]!, { tools, session: { resume: id } })
    await ask(PROMPTS[2]!, { tools, session: { resume: id } })
    const file = join(sessionsFolder(state, cwd), `${id}.jsonl`)
    const bytes = readFileSync(file)
    const ends = [...bytes.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at)
    const place = { state, cwd, home: undefined, id: "x", clock: createClock() }
    const isNear = (length: number) => ends.some((end) => Math.abs(end - length) < 2) || length % 101 === 0
    for (let length = 0; length <= bytes.length; length++) {
      writeFileSync(file, bytes.subarray(0, length))
      const whole = ends.filter((end) => end <= length).length
      const { entries } = await readSession(file)
      expect(entries, `${length} bytes`).toHaveLength(whole)
      if (!process.env["SOUS_TEST_FULL"] && !isNear(length)) continue
      const session = await openRunSession(place, { resume: id })
      await session.close()
      const messages = session.entries.flatMap(({ message }) => (message ? [message as any] : []))
      if (messages.length > 0) checkConversation(messages)
      expect(session.entries.slice(0, whole), `${length} bytes`).toEqual(entries)
      if (session.entries.length > 0) expect(statSync(file).size).toBe(session.size)
    }
    expect(readdirSync(sessionsFolder(state, cwd)).filter((name) => name.endsWith(".holder"))).toEqual([])
  }, 60_000)
})
