import { readdirSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { readFound } from "../../core/session/session-open.ts"
import { sessionsFolder } from "../../core/session/session-place.ts"
import { folder, runPrompt, serve, testKit } from "../harness.ts"

const files = { "CLAUDE.md": "Always say please.\n", "a.txt": "line\n".repeat(2_000) }
const kinds = (parts: readonly { kind: string; tokens: number }[]) =>
  Object.fromEntries(parts.map(({ kind, tokens }) => [kind, tokens]))

test("context() of a new conversation is what a first request holds before its prompt", async () => {
  const { bodies, cwd } = await runPrompt([{ text: "ok" }], { files, prompt: "P".repeat(32_000) })
  const kit = await testKit(await serve([]), { cwd })
  const survey = await kit.context({ model: "claude-opus-5-5" })
  const [{ system, tools, messages }] = bodies
  const chars = JSON.stringify(system).length + JSON.stringify(tools).length + JSON.stringify(messages).length - 32_000
  expect(survey.tokens * 3.2).toBeGreaterThan(chars * 0.9)
  expect(survey.tokens * 3.2).toBeLessThan(chars * 1.1)
  const parts = kinds(survey.parts)
  expect(Object.keys(parts)).toEqual(expect.arrayContaining(["system", "tools", "context"]))
  expect(survey.parts.find(({ kind }) => kind === "tools")!.count).toBe(tools.length)
  expect(survey).toMatchObject({ model: "claude-opus-5-5", counted: 0, isGuess: false })
  expect(survey.free + survey.reserve + survey.tokens).toBe(survey.window)
})

test("context() takes the flags that change a first request, and a usual window where there is no model", async () => {
  const cwd = folder(files)
  const kit = await testKit(await serve([]), { cwd, env: { ANTHROPIC_API_KEY: "" } })
  const survey = await kit.context({ tools: ["Read"], system: "Be brief.", model: "nobody:knows" })
  expect(survey).toMatchObject({ isGuess: true, window: 200_000, reserve: 33_000 })
  expect(survey.parts.find(({ kind }) => kind === "tools")).toMatchObject({ count: 1, items: [{ name: "Read" }] })
  await expect(kit.context({ tools: ["Raed"] })).rejects.toMatchObject({ code: "TOOL_UNKNOWN" })
})

async function stored() {
  const state = folder()
  const read = (file_path: string) => ({ tool: { Read: { file_path } } })
  const turns = [read("a.txt"), read("a.txt"), read("CLAUDE.md"), { text: "x".repeat(100) }]
  const cwd = folder(files)
  const { events } = await runPrompt(turns, { cwd, kit: { state }, prompt: "Look at the files" })
  const sessions = sessionsFolder(state, cwd)
  const [name] = readdirSync(sessions).filter((one) => one.endsWith(".jsonl"))
  const { entries } = await readFound({ file: join(sessions, name!), id: name!, from: "own" })
  const counted = events.findLast(({ type }) => type === "usage") as { contextTokens: number }
  const kit = await testKit(await serve([]), { cwd, kit: { state } })
  return { kit, entries, counted: counted.contextTokens, file: join(sessions, name!) }
}

test("context() of a stored session has what the API counted, by kinds", async () => {
  const { kit, entries, counted } = await stored()
  const survey = await kit.context({ entries })
  expect(survey).toMatchObject({ tokens: counted, counted, model: "claude-opus-5-5" })
  const parts = kinds(survey.parts)
  expect(Object.keys(parts)).toEqual(expect.arrayContaining(["system", "tools", "person", "answers", "results"]))
  expect(parts.results).toBeGreaterThan(parts.answers!)
})

test("tryCompaction() says what a strategy would keep, drop and save, and changes nothing", async () => {
  const { kit, entries, file } = await stored()
  const before = JSON.stringify(entries)
  const trial = await kit.tryCompaction("cut", { entries, focus: "the files" })
  expect(trial).toMatchObject({ strategy: "cut", usage: { output: 0 } })
  if (!trial.ok) throw new Error(trial.reason)
  expect(trial.kept + trial.gone).toBe(trial.before.messages)
  expect(trial.gone).toBeGreaterThan(0)
  expect(trial.after).toMatchObject({ messages: trial.kept + 1, counted: 0 })
  expect(trial.after.tokens).toBeLessThan(trial.before.tokens * 0.8)
  expect(trial.after.parts.map(({ kind }) => kind)).toContain("summary")
  expect(JSON.stringify(entries)).toBe(before)
  expect((await readFound({ file, id: "", from: "own" })).entries).toEqual(entries)
  const whole = await kit.tryCompaction("cut", { entries: entries.slice(0, 4) })
  expect(whole).toMatchObject({ ok: false, reason: expect.stringMatching(/^cut: /), after: whole.before })
  await expect(kit.tryCompaction("cutt", { entries })).rejects.toMatchObject({
    code: "COMPACTION_UNKNOWN",
    mend: 'write "cut"',
  })
})

test("tryCompaction() passes a strategy's own question on, and counts what it cost", async () => {
  const { entries } = await stored()
  const server = await serve([{ text: "Goal: look at the files" }])
  const asking = {
    name: "asking",
    async propose({ ask, messages, focus }: any) {
      return { keepFrom: messages.length, summary: `${await ask({ text: `Sum up. ${focus}` })}` }
    },
  }
  const kit = await testKit(server, { cwd: folder(files), plugins: [{ name: "mine", compaction: [asking] }] })
  const trial = await kit.tryCompaction("asking", { entries, focus: "the end" })
  expect(trial).toMatchObject({ ok: true, kept: 0, usage: { output: expect.any(Number) } })
  expect(trial.usage.output).toBeGreaterThan(0)
  expect(trial.after.tokens).toBeLessThan(trial.before.tokens * 0.8)
  expect(JSON.stringify(trial.ok && trial.opening)).toContain("Goal: look at the files")
  const { body } = server.asked()[0]!
  expect(body.messages.at(-1).content.at(-1).text).toContain("Sum up. the end")
  expect(body.messages).toHaveLength(trial.before.messages + 1)
})
