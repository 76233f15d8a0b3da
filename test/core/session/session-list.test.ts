import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { oldSessions, removeSession } from "../../../core/session/session-clean.ts"
import { listSessions } from "../../../core/session/session-list.ts"
import { holdSession } from "../../../core/session/session-lock.ts"
import { createTranscript } from "../../../core/session/transcript.ts"
import { after, folder } from "../../harness.ts"

async function plant(place: string, id: string, { words = "First words", ended = true, filler = 10 } = {}) {
  const file = join(place, `${id}.jsonl`)
  const transcript = createTranscript(file, { cwd: "/p" })
  transcript.append("run", { run: id, folder: "/f", words })
  transcript.append("frame", { system: [], tools: [{ description: "x".repeat(filler) }] })
  transcript.append("user", { message: { role: "user", content: [{ type: "text", text: "said" }] } })
  transcript.append("assistant", {
    message: { role: "assistant", content: [{ type: "text", text: "y".repeat(filler) }] },
  })
  if (ended) transcript.append("ended", { turns: 7 })
  await transcript.close()
  return file
}

describe("listSessions()", () => {
  it("takes the first words from the beginning, the turns from the end, and counts them where there is no end", async () => {
    const place = folder()
    await plant(place, "a", { filler: 50_000 })
    await plant(place, "b", { ended: false, words: "zwölf 🙂", filler: 50_000 })
    const found = await listSessions([place, join(place, "none")])
    expect(found.map(({ id, words, turns, folder }) => ({ id, words, turns, folder }))).toEqual([
      { id: "b", words: "zwölf 🙂", turns: 1, folder: "/p" },
      { id: "a", words: "First words", turns: 7, folder: "/p" },
    ])
    expect(found[0]!.bytes).toBeGreaterThan(100_000)
  })

  it("lists what it cannot read with what it knows, and passes over what is no session", async () => {
    const place = folder({ "torn.jsonl": '{"uuid":"a', "broken.jsonl": "x\n{}\n", "notes.txt": "", "s.holder": "" })
    mkdirSync(join(place, "a.jsonl"))
    const found = await listSessions([place])
    expect(found.map(({ id, turns, words }) => [id, turns, words]).sort()).toEqual([
      ["broken", undefined, ""],
      ["torn", 0, ""],
    ])
  })

  it("lists a thousand sessions of any length in a moment", async () => {
    const place = folder()
    const file = await plant(place, "first", { filler: 200_000 })
    const bytes = readFileSync(file)
    for (let i = 0; i < 999; i++) writeFileSync(join(place, `s${i}.jsonl`), bytes)
    const begun = performance.now()
    expect(await listSessions([place])).toHaveLength(1000)
    const took = performance.now() - begun
    console.info(`1,000 sessions of ${Math.round(bytes.length / 1024)} KiB listed in ${Math.round(took)} ms`)
    expect(took).toBeLessThan(2000)
  })
})

describe("removeSession()", () => {
  it.skipIf(process.getuid?.() === 0)("says what it could not delete, and leaves the rest as it is", async () => {
    const place = folder()
    const file = await plant(place, "a")
    mkdirSync(join(place, "a", "content"), { recursive: true })
    writeFileSync(join(place, "a", "content", "kept"), "")
    chmodSync(join(place, "a", "content"), 0o500)
    after(() => chmodSync(join(place, "a", "content"), 0o700))
    await expect(removeSession({ id: "a", file })).rejects.toMatchObject({ code: "SESSION_UNDELETABLE" })
    expect(existsSync(file)).toBe(true)
  })
})

describe("oldSessions()", () => {
  it("leaves out what is young, and what is being written", async () => {
    const place = folder()
    for (const id of ["old", "held", "young"]) await plant(place, id)
    after(await holdSession(place, "held"))
    const now = Date.now() + 31 * 86_400_000
    appendFileSync(join(place, "young.jsonl"), "")
    const listed = (await listSessions([place])).map((one) => (one.id === "young" ? { ...one, changedAt: now } : one))
    expect((await oldSessions(listed, { days: 30, now })).map(({ id }) => id)).toEqual(["old"])
    expect(await oldSessions(listed, { days: 32, now })).toEqual([])
  })
})
