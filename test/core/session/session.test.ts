import { execFileSync } from "node:child_process"
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { createClock } from "../../../core/clock.ts"
import { openRunSession } from "../../../core/session/session.ts"
import { findSession } from "../../../core/session/session-find.ts"
import { readSession } from "../../../core/session/session-open.ts"
import { type SessionRequest, sessionsFolder } from "../../../core/session/session-place.ts"
import { createTranscript } from "../../../core/session/transcript.ts"
import { after, folder } from "../../harness.ts"

let count = 0
function place(state = folder(), cwd = folder()) {
  const open = async (request: SessionRequest = {}, id = `20260101-00000000${count++}-aaaaaa`) => {
    const session = await openRunSession({ state, cwd, home: undefined, id, clock: createClock() }, request)
    after(session.close)
    return session
  }
  const written = async (id?: string, add: (append: (type: string, fields: object) => string) => void = talk) => {
    const { file, close, ...session } = await open({}, id)
    const transcript = createTranscript(file, { cwd })
    add(transcript.append)
    await transcript.close()
    await close()
    return { file, ...session }
  }
  return { state, cwd, open, written, sessions: sessionsFolder(state, cwd) }
}

type Append = (type: string, fields: object) => string
const said = (text: string) => ({ message: { role: "user", content: [{ type: "text", text }] } })
const answer = (...content: object[]) => ({ message: { role: "assistant", content } })
const call = (id: string) => ({ type: "tool_use", id, name: "Read", input: {} })
const result = (id: string) => ({
  message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "1" }] },
})
function talk(append: Append): void {
  append("user", said("one"))
  append("assistant", answer({ type: "text", text: "two" }))
}
const wordsOf = (entries: readonly any[]) =>
  entries.flatMap(
    ({ message }) => message?.content.map((block: any) => block.text ?? block.id ?? block.tool_use_id) ?? [],
  )

describe("openRunSession()", () => {
  it("goes on with a session by its id, the start of it, its end, and its file", async () => {
    const { open, written, sessions } = place()
    const { id, file } = await written("20260101-000000000-abcdef")
    for (const resume of [id, "20260101-0000", "abcdef", file]) {
      const { close, ...session } = await open({ resume })
      expect(session).toMatchObject({ id, file, size: statSync(file).size })
      expect(wordsOf(session.entries)).toEqual(["one", "two"])
      await close()
    }
    expect(readdirSync(sessions)).toEqual([`${id}.jsonl`])
  })

  it("continues the one that was written to last", async () => {
    const { open, written } = place()
    const older = await written("20260101-000000000-000001")
    await written("20260101-000000000-000002")
    const later = new Date(Date.now() + 5000)
    utimesSync(older.file, later, later)
    expect((await open({ continue: true })).id).toBe(older.id)
  })

  it("leaves the original of a fork as it is, and what was kept of files goes with the copy", async () => {
    const { open, written, sessions } = place()
    const { id, file } = await written()
    mkdirSync(join(sessions, id))
    writeFileSync(join(sessions, id, "checkpoints.jsonl"), "kept")
    const before = readFileSync(file, "utf8")
    const copy = await open({ resume: id, fork: true })
    expect(copy.id).not.toBe(id)
    expect(copy.entries.slice(1)).toEqual((await readSession(file)).entries.slice(1))
    expect(copy.entries[0]).toMatchObject({ forkedFrom: file })
    expect(readFileSync(file, "utf8")).toBe(before)
    expect(readFileSync(join(sessions, copy.id, "checkpoints.jsonl"), "utf8")).toBe("kept")
    expect((await readSession(copy.file)).entries).toEqual(copy.entries)
  })

  it("refuses what is unknown, ambiguous, not there, or makes no sense", async () => {
    const { open, written, cwd } = place()
    await expect(open({ continue: true })).rejects.toMatchObject({ code: "SESSION_NONE", details: { folder: cwd } })
    const { id } = await written("20260101-000000000-000001")
    await written("20260101-000000000-000002")
    await expect(open({ resume: "2027" })).rejects.toMatchObject({
      code: "SESSION_UNKNOWN",
      mend: expect.stringContaining(id),
    })
    await expect(open({ resume: "2026" })).rejects.toMatchObject({
      code: "SESSION_AMBIGUOUS",
      mend: expect.stringContaining(id),
    })
    await expect(open({ resume: "./none.jsonl" })).rejects.toMatchObject({ code: "SESSION_FILE_UNREADABLE" })
    for (const request of [{ fork: true }, { resume: "" }, { resume: id, continue: true }, { latest: true }, "newest"])
      await expect(open(request as never)).rejects.toMatchObject({ code: "SESSION_REQUEST_INVALID" })
  })

  it("writes no session of another folder, and copies it when asked to", async () => {
    const here = place()
    const there = place(here.state)
    const { id, file } = await there.written()
    await expect(here.open({ resume: id })).rejects.toMatchObject({
      code: "SESSION_ELSEWHERE",
      details: { id, folder: there.cwd },
    })
    await expect(here.open({ resume: file })).rejects.toMatchObject({ code: "SESSION_ELSEWHERE" })
    const copy = await here.open({ resume: id, fork: true })
    expect(dirname(copy.file)).toBe(here.sessions)
    expect(copy).toMatchObject({ needsOpening: true, entries: [{ cwd: here.cwd }, {}, {}] })
  })

  it("copies a transcript that lies outside of the state folder, and lets it open no folder", async () => {
    const { open, written, state } = place()
    const { file } = await written(undefined, (append) => {
      append("run", { run: "r", folder: join(state, "projects/p/runs/r") })
      talk(append)
    })
    const outside = join(folder(), "talk.jsonl")
    writeFileSync(outside, readFileSync(file))
    const copy = await open({ resume: outside })
    expect(copy.file).not.toBe(outside)
    expect(copy.readRoots).toEqual([])
    expect(wordsOf(copy.entries)).toEqual(["one", "two"])
  })

  it("opens the folders of earlier runs, and no other folder that an entry names", async () => {
    const { open, written, state } = place()
    const good = join(state, "projects", "p-1", "runs", "r")
    const named = [good, "/etc", join(state, "projects", "p-1"), `${state}/projects/p/runs/../../../x/y/runs/r`, good]
    const { id } = await written(undefined, (append) => {
      for (const folder of named) append("run", { run: "r", folder })
    })
    expect((await open({ resume: id })).readRoots).toEqual([good])
  })

  it("refuses a version that it does not know, and a file that is no transcript", async () => {
    const { open, written } = place()
    const { id, file } = await written()
    writeFileSync(file, readFileSync(file, "utf8").replace('"version":1', '"version":2'))
    await expect(open({ resume: id })).rejects.toMatchObject({ code: "SESSION_VERSION_UNKNOWN", details: { found: 2 } })
    writeFileSync(file, `garbage\n${readFileSync(file, "utf8")}`)
    await expect(open({ resume: id })).rejects.toMatchObject({ code: "SESSION_CORRUPT", details: { line: 1 } })
    const other = join(folder({ "a.jsonl": '{"a":1}\n' }), "a.jsonl")
    await expect(open({ resume: other })).rejects.toMatchObject({ code: "SESSION_FILE_FOREIGN" })
    expect(await open()).toMatchObject({ entries: [] })
  })

  it("refuses a transcript that others may have written, and takes one that is named by its path", async () => {
    const { open, written } = place()
    const { id, file } = await written()
    chmodSync(file, 0o666)
    const refused = { code: "SESSION_FILE_UNREADABLE", details: { file, reason: "others may write it" } }
    await expect(open({ resume: id })).rejects.toMatchObject(refused)
    await expect(open({ resume: id, fork: true })).rejects.toMatchObject(refused)
    const outside = join(folder({ "a.jsonl": readFileSync(file, "utf8") }), "a.jsonl")
    chmodSync(outside, 0o666)
    expect(wordsOf((await open({ resume: outside })).entries)).toEqual(["one", "two"])
  })

  it("refuses a state folder that is a link where everybody may write", async () => {
    const [open, real] = [folder(), folder()]
    const { written } = place(real)
    await written()
    chmodSync(open, 0o777)
    const state = join(open, "sous")
    symlinkSync(real, state)
    const clock = createClock()
    const found = findSession({ state, cwd: folder(), home: undefined, id: "", clock }, { resume: "2026" })
    await expect(found).rejects.toMatchObject({ code: "SESSION_FOLDER_UNSAFE" })
  })

  it.runIf(process.platform !== "win32")("waits for no pipe", async () => {
    const pipe = join(folder(), "a.jsonl")
    execFileSync("mkfifo", [pipe])
    const { open } = place()
    await expect(open({ resume: pipe })).rejects.toMatchObject({
      code: "SESSION_FILE_UNREADABLE",
      details: { reason: "it is no file" },
    })
  })

  it("makes files and folders that only their owner can read", async () => {
    const { open, written, sessions } = place()
    const { id } = await written()
    mkdirSync(join(sessions, id), { mode: 0o700 })
    writeFileSync(join(sessions, id, "kept"), "", { mode: 0o600 })
    const copy = await open({ resume: id, fork: true })
    const modeOf = (name: string) => (statSync(join(sessions, name)).mode & 0o777).toString(8)
    const files = [`${id}.jsonl`, `${copy.id}.jsonl`, `${copy.id}.holder`, join(copy.id, "kept")]
    expect(files.map(modeOf)).toEqual(["600", "600", "600", "600"])
    expect([modeOf(""), modeOf(copy.id)]).toEqual(["700", "700"])
  })
})

describe("what is read back", () => {
  it("gives calls without a result one that says so, as an entry, once", async () => {
    const { open, written } = place()
    const { id, file } = await written(undefined, (append) => {
      append("user", said("one"))
      append("assistant", answer(call("a"), call("b")))
    })
    const { entries, size, close } = await open({ resume: id })
    await close()
    expect(size).toBe(statSync(file).size)
    expect(entries.at(-1)).toMatchObject({
      parentUuid: entries.at(-2)!.uuid,
      type: "user",
      message: {
        content: [
          { type: "tool_result", tool_use_id: "a", is_error: true, content: expect.stringMatching(/^Interrupted/) },
          { type: "tool_result", tool_use_id: "b", is_error: true },
        ],
      },
    })
    expect((await open({ resume: id })).entries).toEqual(entries)
  })

  it("ends a last line that lacks its newline, and cuts half an entry off", async () => {
    const { open, written } = place()
    const { id, file } = await written()
    const text = readFileSync(file, "utf8")
    for (const [left, kept] of [
      [text.trimEnd(), text],
      [`${text}{"uuid":"ha`, text],
    ] as const) {
      writeFileSync(file, left)
      const { size, close } = await open({ resume: id })
      await close()
      expect(readFileSync(file, "utf8")).toBe(kept)
      expect(size).toBe(Buffer.byteLength(kept))
    }
  })

  it("begins a file anew that holds no whole entry", async () => {
    const { open, written } = place()
    const { id, file } = await written()
    writeFileSync(file, '{"uuid":"ha')
    expect(await open({ resume: id })).toMatchObject({ id, file, entries: [], size: 0 })
    expect(readdirSync(dirname(file))).toEqual([`${id}.holder`])
  })

  it("follows the chain: what was undone is not read", async () => {
    const { open, written } = place()
    const { id, file } = await written()
    const { entries } = await readSession(file)
    const head = entries.at(-1)!.uuid
    const line = (entry: object) => `${JSON.stringify({ ts: "", ...entry })}\n`
    appendFileSync(
      file,
      line({ uuid: "r", type: "rewind", parentUuid: entries[1]!.uuid, undone: head }) +
        line({ uuid: "x", type: "assistant", parentUuid: "r", ...answer({ type: "text", text: "other" }) }),
    )
    const { entries: read, warnings } = await open({ resume: id })
    expect(wordsOf(read)).toEqual(["one", "other"])
    expect(warnings).toEqual([])
  })

  it("goes on across a lost line that nothing needs, and says which", async () => {
    const { open, written } = place()
    const { id, file } = await written(undefined, (append) => {
      append("user", said("one"))
      append("usage", {})
      append("assistant", answer(call("a")))
      append("user", result("a"))
    })
    loseLine(file, 3)
    const { entries, warnings } = await open({ resume: id })
    expect(wordsOf(entries)).toEqual(["one", "a", "a"])
    expect(warnings).toEqual([expect.stringMatching(/^Line 3 of .* goes on without/)])
  })

  it("keeps what stands before a lost line when what stands behind does not fit, and appends behind that", async () => {
    const { open, written } = place()
    const { id, file } = await written(undefined, (append) => {
      append("user", said("one"))
      append("assistant", answer(call("a")))
      append("user", result("a"))
      append("assistant", answer({ type: "text", text: "end" }))
    })
    loseLine(file, 3)
    const { entries, warnings, size, close } = await open({ resume: id })
    expect(wordsOf(entries)).toEqual(["one"])
    expect(warnings).toEqual([expect.stringMatching(/^Line 3 of .* is left out$/)])
    const transcript = createTranscript(file, {}, { after: { uuid: entries.at(-1)!.uuid, size } })
    transcript.append("assistant", answer({ type: "text", text: "again" }))
    await transcript.close()
    await close()
    const again = await open({ resume: id })
    expect(wordsOf(again.entries)).toEqual(["one", "again"])
    expect(again.warnings).toEqual([])
  })

  it("never loses what stands before a lost line, whichever it is", async () => {
    const { written } = place()
    const { file } = await written(undefined, (append) => {
      append("user", said("0"))
      for (let i = 1; i < 8; i += 2) {
        append("assistant", answer({ type: "text", text: `${i}` }, call(`c${i}`)))
        append("user", result(`c${i}`))
      }
    })
    const whole = readFileSync(file, "utf8")
    const lines = whole.trimEnd().split("\n").length
    const all = wordsOf((await readSession(file)).entries)
    for (let line = 2; line < lines; line++) {
      writeFileSync(file, whole)
      loseLine(file, line)
      const words = wordsOf((await readSession(file)).entries)
      const before = whole
        .split("\n")
        .slice(0, line - 1)
        .map((text) => JSON.parse(text))
      expect(words.slice(0, wordsOf(before).length), `line ${line}`).toEqual(wordsOf(before))
      expect(all).toEqual(expect.arrayContaining(words))
    }
  })
})

function loseLine(file: string, line: number): void {
  const lines = readFileSync(file, "utf8").split("\n")
  lines[line - 1] = "\0\0garbage"
  writeFileSync(file, lines.join("\n"))
}
