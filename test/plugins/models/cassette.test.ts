/** Recording and replaying: what is kept, what does not count, what is loud. */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Model, ModelRequest } from "sous"
import { createModelServer, type TurnInput } from "sous/testing"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { anthropicProvider } from "../../../plugins/models/anthropic.ts"
import cassettePlugin, { cassetteProvider } from "../../../plugins/models/cassette.ts"
import { createFolders, createNormalizer, keyOf } from "../../../plugins/models/cassette-key.ts"
import { scriptProvider } from "../../../plugins/models/script.ts"
import { argumentsOf, collect, describeModel, request, textOf } from "../../contract/model.ts"

let folder = ""
let count = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sous-cassette-"))
})
afterAll(() => rm(folder, { recursive: true }))

interface Place {
  cwd: string
  file: string
}

async function place(): Promise<Place> {
  count += 1
  const cwd = join(folder, `work-${count}`)
  await mkdir(cwd)
  return { cwd, file: join(folder, `${count}.cassette.json`) }
}

/** Opens a scripted model that is recorded. */
async function recording(
  turns: TurnInput[],
  { cwd, file }: Place,
  signal = new AbortController().signal,
): Promise<Model> {
  await writeFile(join(cwd, "turns.json"), JSON.stringify({ unused: "ignore", turns }))
  return scriptProvider.open("script:turns.json", { cwd, env: {}, record: file, signal })
}

function replaying({ cwd, file }: Place, signal = new AbortController().signal): Promise<Model> {
  return Promise.resolve(cassetteProvider.open(`cassette:${file}`, { cwd, env: {}, signal }))
}

/** Records the answers to some requests. */
async function record(turns: TurnInput[], requests: readonly ModelRequest[], where: Place): Promise<void> {
  const model = await recording(turns, where)
  for (const asked of requests) await collect(model, asked)
  await model.close?.()
}

const conversation = (...texts: string[]): ModelRequest =>
  request("", { messages: texts.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content })) })

describeModel("cassette in replay", {
  async open(turns, requests) {
    const where = await place()
    await record(turns, requests, where)
    const model = await replaying(where)
    return { model, close: async () => {} }
  },
})

describeModel("a model that is recorded", {
  async open(turns) {
    const model = await recording(turns, await place())
    return { model, close: async () => model.close?.() }
  },
})

describe("cassette:FILE", () => {
  it("is what its plugin adds, and takes its own scheme alone", () => {
    expect(cassettePlugin.models).toEqual([cassetteProvider])
    expect(cassetteProvider.handles("cassette:a.json", { env: {} })).toBe(true)
    expect(cassetteProvider.handles("script:a.json", { env: {} })).toBe(false)
  })

  it("replays what an API said, its faults included, and is the model that was recorded", async () => {
    const where = await place()
    const server = await createModelServer([
      {
        content: [
          { thinking: "hm", signature: "c2ln" },
          { text: "long ".repeat(50) },
          { tool: { Read: { file_path: "x" } } },
        ],
      },
      { text: "broken off", fault: { kind: "error_event", type: "overloaded_error", message: "busy", after: 3 } },
    ])
    const options = { cwd: where.cwd, env: server.env, signal: new AbortController().signal }
    const live = await anthropicProvider.open("opus", { ...options, record: where.file })
    const requests = [request("one"), request("two"), request("two")]
    const said = []
    for (const asked of requests) said.push(await collect(live, asked))
    await live.close?.()
    await server.close()

    const model = await replaying(where)
    expect(model).toMatchObject({ price: live.price, knownLimits: live.knownLimits })
    for (const [at, asked] of requests.entries()) {
      const { events, error } = await collect(model, asked)
      expect(textOf(events)).toBe(textOf(said[at]!.events))
      expect(argumentsOf(events, 2)).toBe(argumentsOf(said[at]!.events, 2))
      expect(events.at(-1)).toEqual(said[at]!.events.at(-1))
      const { message, fault } = (said[at]!.error ?? {}) as { message?: string; fault?: string }
      if (message === undefined) expect(error).toBeUndefined()
      else expect(error).toMatchObject({ message, fault })
    }
    await model.close?.()
  })

  it("is a private file that is replaced whole", async () => {
    const where = await place()
    await writeFile(where.file, "what was there before")
    await record([{ text: "x" }], [request("a")], where)
    expect((await stat(where.file)).mode & 0o777).toBe(0o600)
    expect(JSON.parse(await readFile(where.file, "utf8"))).toMatchObject({
      cassette: 1,
      entries: [{ events: expect.any(Array) }],
    })
    expect((await readdir(folder)).filter((name) => name.endsWith(".tmp"))).toEqual([])
  })

  it("keeps a conversation as what each turn adds to it", async () => {
    const where = await place()
    const requests = [conversation("a"), conversation("a", "b", "c"), conversation("a", "b", "c", "d", "e")]
    await record([{ text: "1" }, { text: "2" }, { text: "3" }], requests, where)
    const { entries } = JSON.parse(await readFile(where.file, "utf8"))
    expect(
      entries.map(({ like, keep, then }: { like?: number; keep?: number; then: unknown[] }) => [
        like,
        keep,
        then.length,
      ]),
    ).toEqual([
      [undefined, undefined, 4],
      [0, 4, 2],
      [1, 6, 2],
    ])
    const model = await replaying(where)
    for (const [at, asked] of requests.entries()) expect(textOf((await collect(model, asked)).events)).toBe(`${at + 1}`)
    await model.close?.()
  })

  it("holds all models of a run, and is written when the last is closed", async () => {
    const where = await place()
    const { signal } = new AbortController()
    const first = await recording([{ text: "1" }], where, signal)
    const second = await recording([{ text: "2" }], where, signal)
    await collect(first, request("a"))
    await collect(second, request("b"))
    await first.close?.()
    await expect(stat(where.file)).rejects.toMatchObject({ code: "ENOENT" })
    await second.close?.()
    const { entries, models } = JSON.parse(await readFile(where.file, "utf8"))
    expect([entries.length, models.length]).toEqual([2, 2])
  })

  it("finds folders in answers and puts today's in their place", async () => {
    const there = await place()
    const asked = request(`The project is in ${there.cwd}`)
    await record([{ tool: { Read: { file_path: join(there.cwd, "a.txt") } }, chunk: 3 }], [asked], there)
    expect(await readFile(there.file, "utf8")).not.toContain(there.cwd)
    const here = { ...(await place()), file: there.file }
    const model = await replaying(here)
    const { events } = await collect(model, request(`The project is in ${here.cwd}`))
    expect(JSON.parse(argumentsOf(events, 0))).toEqual({ file_path: join(here.cwd, "a.txt") })
  })

  it("gives each answer once, in order, and says when it was asked once more", async () => {
    const where = await place()
    await record([{ text: "1" }, { text: "2" }], [request("same"), request("same")], where)
    const model = await replaying(where)
    expect(textOf((await collect(model, request("same"))).events)).toBe("1")
    expect(textOf((await collect(model, request("same"))).events)).toBe("2")
    const { error } = await collect(model, request("same"))
    expect(error).toMatchObject({
      fault: "no_answer",
      message: expect.stringContaining("has 2 answers to this request"),
    })
  })

  it("fails a request that was not recorded, and shows how it differs from the nearest", async () => {
    const where = await place()
    await record([{ text: "1" }, { text: "2" }], [request("other"), conversation("fix\nthe bug", "sure", "now")], where)
    const model = await replaying(where)
    const { events, error } = await collect(model, conversation("fix\nthe fault", "sure", "now"))
    expect(events).toEqual([])
    expect(error).toMatchObject({ fault: "no_answer", mend: expect.stringContaining("--record") })
    const { message } = error as Error
    expect(message).toContain("Nearest is entry 2")
    expect(message).toMatch(/^-the bug/m)
    expect(message).toMatch(/^\+the fault/m)
    expect(message).not.toContain("sure now")
    await model.close?.()
  })

  it("bounds the difference it shows", async () => {
    const where = await place()
    await record([{ text: "1" }], [request("line\n".repeat(500))], where)
    const { error } = await collect(await replaying(where), request("other\n".repeat(500)))
    expect((error as Error).message.split("\n").length).toBeLessThan(70)
    expect((error as Error).message).toMatch(/… \d+ lines more$/)
  })

  it("fails at its close when answers were not asked for", async () => {
    const where = await place()
    await record([{ text: "1" }, { text: "2" }], [request("a"), request("b")], where)
    const model = await replaying(where)
    await collect(model, request("a"))
    expect(() => model.close?.()).toThrow(
      expect.objectContaining({
        code: "MODEL_CASSETTE_UNUSED",
        details: expect.objectContaining({ unused: 1, entries: 2 }),
      }),
    )
    const controller = new AbortController()
    const aborted = await replaying(where, controller.signal)
    controller.abort()
    await aborted.close?.()
  })

  it("does not keep an answer that was aborted", async () => {
    const where = await place()
    const model = await recording([{ text: "word ".repeat(99) }, { text: "whole" }], where)
    const controller = new AbortController()
    for await (const event of model.stream(request("a"), { signal: controller.signal })) {
      if (event.type === "content_block_delta") break
    }
    await collect(model, request("b"))
    await model.close?.()
    expect(JSON.parse(await readFile(where.file, "utf8")).entries).toHaveLength(1)
  })

  it("remembers which schemas the model took", async () => {
    const where = await place()
    const taken = { type: "object", properties: { a: { type: "string" } } }
    const open = { type: "object", additionalProperties: { type: "string" } }
    const server = await createModelServer([])
    const options = { cwd: where.cwd, env: server.env, signal: new AbortController().signal, record: where.file }
    const live = await anthropicProvider.open("opus", options)
    const ask = (model: Model, schema: object) => (model.structuredOutput as (schema: object) => boolean)(schema)
    expect([ask(live, taken), ask(live, open)]).toEqual([true, false])
    await live.close?.()
    await server.close()
    const model = await replaying(where)
    expect([ask(model, taken), ask(model, open), ask(model, { type: "object" })]).toEqual([true, false, false])
  })

  it.each([
    ["", "ENOENT"],
    ["not json", "it is not JSON"],
    ['{"cassette":9}', "it is no cassette of version 1"],
    [
      '{"cassette":1,"models":[],"entries":[{"key":"k","model":"m","like":4,"keep":1,"then":[],"events":[]}]}',
      "entry 1 begins like one that is not there",
    ],
  ])("refuses %j", async (text, reason) => {
    const where = await place()
    if (text !== "") await writeFile(where.file, text)
    await expect(replaying(where)).rejects.toMatchObject({
      code: "MODEL_CASSETTE_UNREADABLE",
      details: { file: where.file, reason },
    })
  })

  it("says at once when it cannot be written", async () => {
    const where = await place()
    const nowhere = { ...where, file: join(folder, "absent", "x.json") }
    await expect(recording([], nowhere)).rejects.toMatchObject({
      code: "MODEL_CASSETTE_UNWRITABLE",
      details: { reason: "ENOENT" },
    })
    const model = await recording([], where)
    await mkdir(where.file)
    await expect(model.close?.()).rejects.toMatchObject({ code: "MODEL_CASSETTE_UNWRITABLE" })
    await chmod(where.file, 0o700)
  })
})

describe("the key of a request", () => {
  const folders = createFolders({ cwd: "/home/ann/project", env: { HOME: "/home/ann" } })
  const key = (asked: ModelRequest) => keyOf(createNormalizer(folders)(asked))
  const keyOfText = (text: string) => key(request(text))

  it.each([
    ["in /home/ann/project/src/a.ts", "in <cwd>/src/a.ts"],
    ["in /home/ann/notes", "in <home>/notes"],
    [`in ${tmpdir()}/x`, "in <tmp>/x"],
    [
      "<environment>\nDate: 2026-11-29\nPlatform: linux\n</environment>",
      "<environment>\nPlatform: darwin\n</environment>",
    ],
    ["on 2026-11-29", "on 2027-01-02"],
    ["\n2026-11-29\n10:11:12", "\n2027-01-02\n03:04:05"],
    ["at 2026-11-29T10:11:12.345Z", "at 2027-01-02 03:04:05"],
    ["at 10:11:12", "at 7:08:09.5"],
    ["Sun Nov 29 23:18:30 UTC 2026", "Mon Dec  1 03:04:05 CET 2027"],
    ["-rw-r--r-- 1 me me 5 Nov 29 23:18 a.txt", "-rw-r--r-- 1 me me 5 Jan  2 03:04 a.txt"],
    ["id 6f9619ff-8b86-d011-b42d-00c04fc964ff", "id 00000000-8b86-d011-b42d-00c04fc964ff"],
    ["took 1.24s", "took 892 ms"],
    ["listening on http://127.0.0.1:41233", "listening on http://127.0.0.1:5000"],
    ["run 20261129-223402123-a1b2c3", "run 20270102-000000000-ffffff"],
    ["commit 0123456789abcdef0123456789abcdef01234567", "commit ffffffffffffffffffffffffffffffffffffffff"],
  ])("does not tell %j from %j", (one, other) => {
    expect(keyOfText(one)).toBe(keyOfText(other))
  })

  it.each([
    ["fix a", "fix b"],
    ["in /home/ann/project-two", "in /home/ann/project"],
    ["line 12", "line 13"],
    ["exit 1", "exit 0"],
    ["on 127.0.0.1:80 and 8.8.8.8:53", "on 127.0.0.1:80 and 8.8.8.8:54"],
  ])("tells %j from %j", (one, other) => {
    expect(keyOfText(one)).not.toBe(keyOfText(other))
  })

  it("does not count cache breakpoints and the output limit, but all else", () => {
    const text = { type: "text" as const, text: "x" }
    const marked = { ...text, cache_control: { type: "ephemeral" as const } }
    const base = request("", { system: [text], messages: [{ role: "user", content: [text] }], effort: "low" })
    const same = { ...base, maxTokens: 7, system: [marked], messages: [{ role: "user" as const, content: [marked] }] }
    expect(key(same)).toBe(key(base))
    const tool = { name: "Read", description: "", input_schema: {} }
    const others: ModelRequest[] = [
      { ...base, effort: "high" },
      { ...base, system: [] },
      { ...base, tools: [tool] },
      { ...base, outputSchema: { type: "object" } },
      { ...base, messages: [...base.messages, ...base.messages] },
    ]
    expect(new Set([base, ...others].map(key)).size).toBe(6)
  })
})
