import { readdirSync } from "node:fs"
import { chmod, mkdir, open, readFile, rm, stat, truncate, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { beforeAll, describe, expect, it, vi } from "vitest"
import { createJournal, type Journal, readJournal, readRecorded } from "../../../core/recipe/journal.ts"
import type { StepResult } from "../../../core/step.ts"
import { tempFolder } from "./engine.ts"

/** What all open files have in common; a full disk is played here. */
let FileHandle: { appendFile: (data: Buffer) => Promise<void> }
beforeAll(async () => {
  const handle = await open(import.meta.filename)
  FileHandle = Object.getPrototypeOf(handle)
  await handle.close()
})

const clock = { now: () => 0 }
const ts = "1970-01-01T00:00:00.000Z"
const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
const START = { type: "run_start", version: 1, run: "r", recipe: "one", params: { a: 1 } } as const
const ended = async (journal: Journal, path: string, result: StepResult) => {
  const recorded = await journal.record(result)
  await journal.sync({ type: "step_end", path, key: "k", usage, durationMs: 0, ...recorded })
}

describe("createJournal()", () => {
  it("appends a line for each entry, readable by its owner only", async () => {
    const folder = tempFolder()
    const journal = await createJournal(folder, { clock })
    journal.add(START)
    journal.add({ type: "step_start", path: "a", key: "k", kind: "value" })
    await ended(journal, "a", { ok: true, value: "line\nbreak" })
    expect((await readFile(journal.file, "utf8")).trimEnd().split("\n")).toHaveLength(3)
    expect((await stat(journal.file)).mode & 0o777).toBe(0o600)
    await journal.sync({ type: "run_end", status: "ok", exit: 0 })
    await journal.close()
    expect(await readJournal(folder)).toEqual([
      { ts, ...START },
      { ts, type: "step_start", path: "a", key: "k", kind: "value" },
      { ts, type: "step_end", path: "a", key: "k", usage, durationMs: 0, result: { ok: true, value: "line\nbreak" } },
      { ts, type: "run_end", status: "ok", exit: 0 },
    ])
  })

  it("has written whatever came before an entry that is synced, also when many wait at once", async () => {
    const folder = tempFolder()
    const journal = await createJournal(folder, { clock })
    journal.add(START)
    await Promise.all(Array.from({ length: 200 }, (_, i) => ended(journal, `p${i}`, { ok: true, value: i })))
    const paths = (await readJournal(folder)).flatMap((entry) => (entry.type === "step_end" ? [entry.path] : []))
    expect(paths.sort()).toEqual(Array.from({ length: 200 }, (_, i) => `p${i}`).sort())
    await journal.close()
  })

  it("puts a result above 64 KB into a file named by its content, once", async () => {
    const folder = tempFolder()
    const journal = await createJournal(folder, { clock })
    journal.add(START)
    const large = { ok: true as const, value: "é".repeat(40_000) }
    await Promise.all([ended(journal, "a", large), ended(journal, "b", large)])
    await ended(journal, "c", { ok: true, value: "x".repeat(65_000) })
    const files = readdirSync(join(folder, "outputs"))
    expect(files).toEqual([expect.stringMatching(/^[0-9a-f]{64}\.json$/)])
    expect((await stat(join(folder, "outputs", files[0]!))).mode & 0o777).toBe(0o600)
    const [, first, , inline] = (await readJournal(folder)) as any[]
    expect(first).toMatchObject({ output: { sha256: files[0]!.slice(0, 64), bytes: 80_000 + 22 } })
    expect(await readRecorded(folder, first)).toEqual(large)
    expect(await readRecorded(folder, inline)).toMatchObject({ ok: true })
    expect(await readRecorded(folder, { ok: true })).toBeUndefined()
    await rm(join(folder, "outputs"), { recursive: true })
    await expect(readRecorded(folder, first)).rejects.toMatchObject({ code: "JOURNAL_UNREADABLE" })
    await journal.close()
  })

  it("refuses a folder that has a journal, or cannot be written", async () => {
    const folder = tempFolder()
    await (await createJournal(folder, { clock })).close()
    await expect(createJournal(folder, { clock })).rejects.toMatchObject({
      code: "JOURNAL_UNWRITABLE",
      message: expect.stringContaining("EEXIST"),
    })
    await expect(createJournal(join(folder, "none"), { clock })).rejects.toMatchObject({ code: "JOURNAL_UNWRITABLE" })
  })

  it("says that an output cannot be written", async () => {
    const folder = tempFolder()
    const journal = await createJournal(folder, { clock })
    await writeFile(join(folder, "outputs"), "")
    await expect(journal.record({ ok: true, value: "x".repeat(70_000) })).rejects.toMatchObject({
      code: "JOURNAL_UNWRITABLE",
    })
    await journal.close()
  })

  it("keeps what could not be written for the next attempt, whole", async () => {
    const folder = tempFolder()
    const journal = await createJournal(folder, { clock })
    journal.add(START)
    await ended(journal, "a", { ok: true, value: 1 })
    const broken = vi.spyOn(FileHandle, "appendFile").mockImplementationOnce(async function (
      this: { write(bytes: Buffer): Promise<void> },
      bytes: Buffer,
    ) {
      await this.write(bytes.subarray(0, 10))
      throw Object.assign(new Error("full"), { code: "ENOSPC" })
    } as never)
    await expect(ended(journal, "b", { ok: true, value: 2 })).rejects.toMatchObject({
      code: "JOURNAL_UNWRITABLE",
      message: expect.stringContaining("ENOSPC"),
    })
    broken.mockRestore()
    await ended(journal, "c", { ok: true, value: 3 })
    await journal.close()
    const paths = (await readJournal(folder)).flatMap((entry) => (entry.type === "step_end" ? [entry.path] : []))
    expect(paths).toEqual(["a", "b", "c"])
  })

  it("keeps values that JSON has no word for as what comes nearest", async () => {
    const folder = tempFolder()
    const journal = await createJournal(folder, { clock })
    journal.add(START)
    await ended(journal, "a", { ok: true, value: { big: 5n, none: undefined } })
    expect((await readJournal(folder))[1]).toMatchObject({ result: { ok: true, value: { big: "5" } } })
    await journal.close()
  })

  it("finds nothing of an earlier run yet", async () => {
    const journal = await createJournal(tempFolder(), { clock })
    expect(journal.lookup("a", "k")).toBeUndefined()
    await journal.close()
  })
})

describe("readJournal()", () => {
  it("opens a journal that was cut off at any byte, without the torn line", async () => {
    const folder = tempFolder()
    const journal = await createJournal(folder, { clock })
    journal.add(START)
    await ended(journal, "a", { ok: true, value: "ä" })
    await ended(journal, "b", { ok: false, cause: "tool", error: "no" })
    await journal.close()
    const bytes = await readFile(journal.file)
    const breaks = [...bytes.keys()].filter((at) => bytes[at] === 10)
    for (let length = bytes.length; length >= 0; length--) {
      await truncate(journal.file, length)
      expect(await readJournal(folder)).toHaveLength(breaks.filter((at) => at < length).length)
    }
  })

  it("names the line that is broken before the last one", async () => {
    const folder = tempFolder()
    const file = join(folder, "journal.jsonl")
    await writeFile(file, `${JSON.stringify({ ts, ...START })}\n{"ts":\n${JSON.stringify({ ts, type: "run_end" })}\n`)
    await expect(readJournal(folder)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT", details: { file, line: 2 } })
    await writeFile(file, `${JSON.stringify({ ts, ...START, version: 2 })}\n`)
    await expect(readJournal(folder)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT", details: { line: 1 } })
  })

  it("says that a journal cannot be read", async () => {
    const folder = tempFolder()
    await expect(readJournal(folder)).rejects.toMatchObject({ code: "JOURNAL_UNREADABLE" })
    await mkdir(join(folder, "journal.jsonl"))
    await chmod(join(folder, "journal.jsonl"), 0o700)
    await expect(readJournal(folder)).rejects.toMatchObject({ code: "JOURNAL_UNREADABLE" })
  })
})
