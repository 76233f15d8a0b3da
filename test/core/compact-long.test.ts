import { createKit, mergeSettings, type RunEvent, type Settings } from "sous"
import { expect, test } from "vitest"
import { defaultPlugins, optionalPlugins } from "../../plugins/default.ts"
import { after, folder, serve } from "../harness.ts"
import { createWorker, GOAL, type Work, workPlugins, writeParts } from "./long-work.ts"

const isFull = process.env["SOUS_TEST_FULL"] === "1"
/** The stated size, or the same shape a tenth as large. */
const size = isFull ? { window: 200_000, results: 3_000_000 } : { window: 20_000, results: 300_000 }

/** Does all of the work: how it ended, what the model saw, how often it was shortened by what. */
async function doWork(work: Work, settings: Settings = {}) {
  const cwd = folder()
  writeParts(cwd, work)
  const { make, seen } = createWorker(work, (text) => run.queue(text))
  const limits = { contextWindow: work.window, maxOutput: work.window * 0.16 }
  const server = await serve(make, { keep: "none", models: { "claude-narrow": limits, "claude-small": limits } })
  const { default: memory } = await optionalPlugins["sous/session-memory"]()
  const kit = await createKit({
    plugins: [...defaultPlugins, ...(settings.pluginSettings === undefined ? [] : [memory]), ...workPlugins(work)],
    settings: mergeSettings([{ scope: "user", base: "/", values: settings }]),
    cwd,
    env: { PATH: process.env["PATH"], ...server.env },
    home: folder(),
    strict: true,
  })
  after(() => kit.close())
  const events: RunEvent[] = []
  const run = kit.prompt(GOAL, {
    model: "claude-narrow",
    mode: "acceptEdits",
    tools: ["Probe", "Read", "Write"],
    maxTurns: 2000,
    onEvent: (event) => events.push(event),
  })
  const result = await run.result
  const counts: Record<string, number> = {}
  for (const event of events) {
    if (event.type !== "compaction") continue
    const name = `${event.trigger} ${event.strategy}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  const notices = events.flatMap((event) => (event.type === "notice" ? [event.message] : []))
  expect(notices).toEqual([])
  expect(result).toMatchObject({ status: "ok", output: "All is moved." })
  expect(seen.results).toBeGreaterThanOrEqual(work.results)
  if (isFull) console.log({ ...seen, faults: seen.faults.length, counts, rss: process.memoryUsage().rss })
  return { seen, counts }
}

const through = `lets results of ${size.results} tokens through a window of ${size.window}`
const patience = { timeout: 600_000 }

test(`shorten() ${through}, and nothing that matters is lost`, patience, async () => {
  const { counts, seen } = await doWork({ ...size, forgets: true })
  expect(seen.faults).toEqual([])
  expect(Object.keys(counts).sort()).toEqual(["auto micro", "auto summary"])
  // The first one lacked a section, and was asked for again.
  expect(seen.questions).toEqual({ "claude-narrow": counts["auto summary"]! + 1 })
})

test(`session-memory ${through}, and no compaction waits for a model`, patience, async () => {
  const { counts, seen } = await doWork(size, {
    compact: { strategy: "session-memory" },
    pluginSettings: { "session-memory": { model: "claude-small" } },
  })
  expect(seen.faults).toEqual([])
  expect(Object.keys(counts)).toEqual(["auto session-memory"])
  expect(Object.keys(seen.questions)).toEqual(["claude-small"])
})

test("cut lets them through as well, and the model of these tests notices what it leaves out", patience, async () => {
  const work = { window: 20_000, results: 60_000 }
  const { counts, seen } = await doWork(work, { compact: { strategy: "cut" } })
  expect(Object.keys(counts)).toEqual(["auto cut"])
  expect(seen.questions).toEqual({})
  const lost = seen.faults.filter((fault) => fault.includes("these are not there any more: "))
  expect(lost.length).toBeGreaterThan(0)
  // The window, the pairs, what is pinned and what the person said hold whatever the strategy.
  expect(seen.faults).toEqual(lost)
})
