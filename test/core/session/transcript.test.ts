import { execFile } from "node:child_process"
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createTranscript, readTranscript, TRANSCRIPT_VERSION } from "../../../core/session/transcript.ts"

let room: string
let count = 0
const newFile = () => join(room, `${++count}`, "agent.jsonl")
beforeAll(async () => {
  room = await mkdtemp(join(tmpdir(), "sous-transcript-"))
})
afterAll(() => rm(room, { recursive: true, force: true }))

describe("createTranscript()", () => {
  it("writes one line for each entry, chained, the first with version and meta", async () => {
    const transcript = createTranscript(newFile(), { model: "m" }, { clock: { now: () => 0 } })
    const first = transcript.append("user", { message: { role: "user", content: "hi\n\u2028" } })
    const second = transcript.append("assistant", {
      type: "forged",
      uuid: "forged",
      message: { role: "assistant", content: "ho" },
    })
    await transcript.close()
    const lines = (await readFile(transcript.file, "utf8")).trimEnd().split("\n")
    const [head, user, assistant] = lines.map((line) => JSON.parse(line))
    const ts = "1970-01-01T00:00:00.000Z"
    expect(lines).toHaveLength(3)
    expect(head).toEqual({
      uuid: expect.any(String),
      parentUuid: null,
      ts,
      type: "session",
      version: TRANSCRIPT_VERSION,
      model: "m",
    })
    expect(user).toMatchObject({ uuid: first, parentUuid: head.uuid, type: "user", message: { content: "hi\n\u2028" } })
    expect(assistant).toMatchObject({ uuid: second, parentUuid: first, type: "assistant", message: { content: "ho" } })
  })

  it("makes a file and a folder that only their owner can read", async () => {
    const transcript = createTranscript(newFile(), {})
    await transcript.sync()
    expect((await stat(transcript.file)).mode & 0o777).toBe(0o600)
    expect((await stat(join(transcript.file, ".."))).mode & 0o777).toBe(0o700)
    await transcript.close()
  })

  it("touches no disk before it is flushed, and then writes only what is new", async () => {
    const transcript = createTranscript(newFile(), {})
    transcript.append("said", {})
    await expect(stat(transcript.file)).rejects.toThrow("ENOENT")
    await transcript.flush()
    const { size } = await stat(transcript.file)
    await transcript.flush()
    expect((await stat(transcript.file)).size).toBe(size)
    transcript.append("said", {})
    await transcript.sync()
    expect((await readTranscript(transcript.file)).entries).toHaveLength(3)
    await transcript.close()
  })

  it("keeps the order when flushes overlap", async () => {
    const transcript = createTranscript(newFile(), {})
    const flushes = Array.from({ length: 20 }, (_, i) => {
      transcript.append("count", { i })
      return transcript.flush()
    })
    await Promise.all([...flushes, transcript.close()])
    const { entries } = await readTranscript(transcript.file)
    expect(entries.slice(1).map(({ i }) => i)).toEqual(Array.from({ length: 20 }, (_, i) => i))
    expect(entries.slice(1).map(({ parentUuid }) => parentUuid)).toEqual(entries.slice(0, -1).map(({ uuid }) => uuid))
  })

  it("refuses a file that is there already, keeps what it holds, and loses no entry of its own", async () => {
    const { file, close } = createTranscript(newFile(), {})
    await close()
    const before = await readFile(file, "utf8")
    const second = createTranscript(file, {})
    second.append("said", {})
    await expect(second.flush()).rejects.toMatchObject({
      code: "SESSION_FILE_UNWRITABLE",
      details: { file, reason: "EEXIST" },
    })
    expect(await readFile(file, "utf8")).toBe(before)
    await rm(file)
    second.append("told_so", {})
    await second.close()
    expect((await readTranscript(file)).entries.map(({ type }) => type)).toEqual(["session", "said", "told_so"])
  })

  it("refuses entries once it is closed", async () => {
    const transcript = createTranscript(newFile(), {})
    await transcript.close()
    expect(() => transcript.append("late", {})).toThrow("is closed")
  })

  it("takes back half a line when the disk is full, and keeps the entry for the next flush", async () => {
    // A process with a limit on the size of its files meets what a full disk does: a short write, then an error.
    const script = `
      import { createTranscript, readTranscript } from "./core/session/transcript.ts"
      const transcript = createTranscript(process.env.FILE, {})
      transcript.append("small", {})
      await transcript.flush()
      transcript.append("large", { text: "x".repeat(4000) })
      const codes = []
      for (let i = 0; i < 2; i++) await transcript.flush().catch((error) => codes.push(error.code))
      const { entries, tornBytes } = await readTranscript(process.env.FILE)
      console.log(JSON.stringify({ codes, tornBytes, types: entries.map((entry) => entry.type) }))
    `
    const command = `ulimit -f 1; exec "$0" --import tsx --input-type=module -e "$1"`
    const options = { env: { ...process.env, FILE: newFile() }, cwd: join(import.meta.dirname, "../../..") }
    const { stdout } = await promisify(execFile)("bash", ["-c", command, process.execPath, script], options)
    expect(JSON.parse(stdout)).toEqual({
      codes: ["SESSION_FILE_UNWRITABLE", "SESSION_FILE_UNWRITABLE"],
      tornBytes: 0,
      types: ["session", "small"],
    })
  })
})

describe("readTranscript()", () => {
  async function sample(): Promise<Buffer> {
    const transcript = createTranscript(newFile(), { title: "zwölf €" })
    transcript.append("said", { text: "grüß 🙂" })
    transcript.append("answered", { text: 'a "quoted" {brace}\n' })
    await transcript.close()
    return readFile(transcript.file)
  }

  it("opens a transcript that was cut off at any byte, minus the torn entry", async () => {
    const bytes = await sample()
    const file = newFile()
    await createTranscript(file, {}).close()
    const ends = [...bytes.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at)
    for (let length = 0; length <= bytes.length; length++) {
      await writeFile(file, bytes.subarray(0, length))
      const { entries, tornBytes } = await readTranscript(file)
      // The newline itself is not needed: a prefix of an object is never an object.
      const whole = ends.filter((end) => end <= length)
      expect(entries, `${length} bytes`).toHaveLength(whole.length)
      expect(tornBytes).toBe(Math.max(0, length - (whole.at(-1) ?? -1) - 1))
    }
  })

  it("gives back whatever was appended", async () => {
    const fields = fc.dictionary(fc.string(), fc.jsonValue())
    await fc.assert(
      fc.asyncProperty(fc.array(fields, { maxLength: 4 }), async (list) => {
        const transcript = createTranscript(newFile(), {})
        for (const item of list) transcript.append("thing", { item })
        await transcript.close()
        const { entries } = await readTranscript(transcript.file)
        expect(entries.slice(1).map(({ item }) => item)).toEqual(JSON.parse(JSON.stringify(list)))
      }),
      { numRuns: 50 },
    )
  })

  it("takes a tail of zero bytes, as a power cut leaves it, for a torn entry", async () => {
    const file = newFile()
    await createTranscript(file, {}).close()
    await appendFile(file, Buffer.alloc(64))
    expect(await readTranscript(file)).toMatchObject({ entries: [{ type: "session" }], tornBytes: 64 })
  })

  it("reads on behind a broken line, and says which it was; without the first line there is no transcript", async () => {
    const file = newFile()
    await createTranscript(file, {}).close()
    await appendFile(file, '{"uuid": "torn\n{"uuid":"u","type":"ended"}\n')
    expect(await readTranscript(file)).toMatchObject({ entries: [{ type: "session" }, { uuid: "u" }], lost: [2] })
    await writeFile(file, '{"uuid": "torn\n{"uuid":"u","type":"ended"}\n')
    await expect(readTranscript(file)).rejects.toMatchObject({ code: "SESSION_CORRUPT", details: { line: 1 } })
  })

  it.each<[string, string, object]>([
    ["a message without content", "user", { message: { role: "user" } }],
    ["a message of another role", "assistant", { message: { role: "user", content: [] } }],
    ["a block that is none", "assistant", { message: { role: "assistant", content: [null] } }],
    ["no message", "user", {}],
    ["no usage", "usage", {}],
    ["no opening", "compaction", { keepFrom: 1 }],
    ["no results", "dropped", {}],
    ["no keys", "told", {}],
    ["a note without its set", "note", { key: "a" }],
    ["a system text that is none", "frame", { system: "You" }],
  ])("takes an entry that nobody could go by for a broken line: %s", async (_, type, fields) => {
    const file = newFile()
    const transcript = createTranscript(file, {})
    transcript.append(type, fields)
    transcript.append("ended", { turns: 0 })
    await transcript.close()
    const { entries, lost } = await readTranscript(file)
    expect([entries.map((entry) => entry.type), lost]).toEqual([["session", "ended"], [2]])
  })

  it("refuses a version it does not know", async () => {
    const file = newFile()
    await createTranscript(file, {}).close()
    await writeFile(file, '{"uuid":"u","parentUuid":null,"ts":"","type":"session","version":99}\n')
    await expect(readTranscript(file)).rejects.toMatchObject({ code: "SESSION_VERSION_UNKNOWN" })
  })

  it("says that a file cannot be read", async () => {
    await expect(readTranscript(join(room, "none"))).rejects.toMatchObject({
      code: "SESSION_FILE_UNREADABLE",
      details: { reason: "ENOENT" },
    })
  })
})
