import { appendFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs"
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

  it("lists a thousand sessions", async () => {
    const place = folder()
    const bytes = readFileSync(await plant(place, "first"))
    for (let i = 0; i < 999; i++) writeFileSync(join(place, `s${i}.jsonl`), bytes)
    expect(await listSessions([place])).toHaveLength(1000)
  })

  it("looks at the beginning and the end of one, however long it is", async () => {
    const place = folder()
    const file = await plant(place, "long")
    // Longer than what can be read at once; no disk is used for what lies between.
    truncateSync(file, 3 * 2 ** 30)
    expect(await listSessions([place])).toMatchObject([{ id: "long", words: expect.stringMatching(/./) }])
  })
})

describe("removeSession()", () => {
  it("says what it could not delete", async () => {
    const place = folder()
    await plant(place, "a")
    // A name that is too long for the disk: nobody can delete it, whoever they are.
    const file = join(place, `${"a".repeat(300)}.jsonl`)
    await expect(removeSession({ id: "a", file })).rejects.toMatchObject({ code: "SESSION_UNDELETABLE" })
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
