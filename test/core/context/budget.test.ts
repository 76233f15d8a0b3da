import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { fitMessage, fitResult } from "../../../core/context/budget.ts"
import type { ToolResultContent } from "../../../core/message.ts"

let room: string
let count = 0
const newFolder = () => join(room, `${++count}`)
beforeAll(async () => {
  room = await mkdtemp(join(tmpdir(), "sous-budget-"))
})
afterAll(() => rm(room, { recursive: true, force: true }))

const lines = (n: number) => Array.from({ length: n }, (_, i) => `line ${i + 1}`).join("\n")
const image = {
  type: "image" as const,
  source: { type: "base64" as const, media_type: "image/png" as const, data: "A".repeat(50_000) },
}

describe("fitResult()", () => {
  it("hands on what fits, and writes nothing", async () => {
    const folder = newFolder()
    const options = { limit: 5, folder, name: "t1" }
    expect(await fitResult("hello", options)).toEqual({ content: "hello", isError: false, chars: 5 })
    expect(await fitResult({ content: "no", isError: true, data: { code: 1 } }, options)).toEqual({
      content: "no",
      isError: true,
      data: { code: 1 },
      chars: 2,
    })
    await expect(stat(folder)).rejects.toThrow("ENOENT")
  })

  it("keeps head and tail of what is longer, whole lines, with size and path of the whole", async () => {
    const folder = newFolder()
    const text = lines(10_000)
    const { content, chars, spilled } = await fitResult(text, { limit: 1_000, folder, name: "t1" })
    const path = join(folder, "t1.txt")
    expect(content).toMatch(/^line 1\nline 2\n[\s\S]*\nline 9999\nline 10000$/)
    expect(content).toContain(`it has ${text.length.toLocaleString("en-US")} characters`)
    expect(content).toContain(`in the file ${path}: read that file`)
    expect(content.length).toBeLessThanOrEqual(1_000)
    for (const line of (content as string).split("\n").filter((line) => line && !line.startsWith("["))) {
      expect(line).toMatch(/^line \d+$/)
    }
    expect({ chars, spilled }).toEqual({ chars: text.length, spilled: { path, chars: text.length } })
    expect(await readFile(path, "utf8")).toBe(text)
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
  })

  it("never overwrites another result, and never leaves its folder", async () => {
    const folder = newFolder()
    const spill = async (text: string, name: string) =>
      (await fitResult(text, { limit: 1, folder, name })).spilled!.path
    const paths = [await spill("one", "t/../1"), await spill("two", "t/../1"), await spill("three", "../../x")]
    expect(new Set(paths).size).toBe(3)
    expect(await readdir(folder)).toHaveLength(3)
    expect(await Promise.all(paths.map((path) => readFile(path, "utf8")))).toEqual(["one", "two", "three"])
  })

  it("never cuts images, keeps them in their place, and counts only text", async () => {
    const content = [{ type: "text" as const, text: "a".repeat(600) }, image, { type: "text" as const, text: "end" }]
    const small = await fitResult({ content }, { limit: 603, folder: newFolder(), name: "t1" })
    expect(small.content).toBe(content)
    const { content: cut, spilled } = await fitResult({ content }, { limit: 400, folder: newFolder(), name: "t1" })
    expect(cut).toEqual([{ type: "text", text: expect.stringContaining("left out") }, image])
    expect(await readFile(spilled!.path, "utf8")).toBe(`${"a".repeat(600)}\nend`)
  })

  it("lets a preview pass whose whole the tool has put in a file", async () => {
    const folder = newFolder()
    const spilled = { path: "/run/out.log", chars: 50_000_000 }
    const options = { limit: 400, folder, name: "t1" }
    expect(await fitResult({ content: "preview", spilled }, options)).toEqual({
      content: "preview",
      isError: false,
      chars: 50_000_000,
      spilled,
    })
    const { content } = await fitResult({ content: "x".repeat(500), spilled }, options)
    expect(content).toContain("50,000,000 characters. All of it is in the file /run/out.log")
    await expect(stat(folder)).rejects.toThrow("ENOENT")
  })

  it("still answers when the file cannot be written, and says so", async () => {
    const file = join(room, "file")
    await writeFile(file, "")
    const { content, spilled } = await fitResult(lines(1_000), { limit: 500, folder: join(file, "x"), name: "t1" })
    expect(content).toMatch(/^line 1\n[\s\S]*could not be kept in a file \(ENOTDIR\)[\s\S]*line 1000$/)
    expect(spilled).toBeUndefined()
  })

  it("stays under the limit and splits no character, whatever the text", async () => {
    const folder = newFolder()
    const text = fc.string({ unit: fc.constantFrom("🙂", "a", "\n", "é"), minLength: 900, maxLength: 2_000 })
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 400, max: 800 }), async (whole, limit) => {
        const { content } = await fitResult(whole, { limit, folder, name: "t" })
        const [head, tail] = (content as string).split(/\n\n\[The middle [^\]]*\]\n\n/)
        expect(content.length).toBeLessThanOrEqual(limit)
        expect(whole.startsWith(head!) && whole.endsWith(tail!)).toBe(true)
        expect(content).not.toMatch(/\p{Surrogate}/u)
      }),
      { numRuns: 50 },
    )
  })
})

describe("fitMessage()", () => {
  const result = (id: string, content: ToolResultContent) => ({
    type: "tool_result" as const,
    tool_use_id: id,
    content,
  })
  const total = (results: readonly { content?: ToolResultContent }[]) =>
    results.reduce((sum, { content }) => sum + (content as string).length, 0)

  it("returns the same results while they fit together", async () => {
    const results = [result("t1", "a".repeat(500)), result("t2", [image]), result("t3", "b".repeat(500))]
    expect(await fitMessage(results, 1_000, { folder: newFolder(), name: "m1" })).toBe(results)
  })

  it("cuts the longest ones and leaves the others as they are", async () => {
    const folder = newFolder()
    const results = [result("t1", lines(1_000)), result("t2", "short"), result("t3", lines(2_000))]
    const fitted = await fitMessage(results, 2_005, { folder, name: "m1" })
    expect(fitted.map(({ tool_use_id }) => tool_use_id)).toEqual(["t1", "t2", "t3"])
    expect(fitted[1]).toBe(results[1])
    expect(total(fitted)).toBeLessThanOrEqual(2_005)
    expect(fitted.map(({ content }) => (content as string).length > 900)).toEqual([true, false, true])
    expect(await readFile(join(folder, "m1-1.txt"), "utf8")).toBe(lines(1_000))
    expect(await readFile(join(folder, "m1-3.txt"), "utf8")).toBe(lines(2_000))
  })

  it("names the file that holds the whole of a result that was cut before", async () => {
    const folder = newFolder()
    const first = await fitResult(lines(10_000), { limit: 2_000, folder, name: "t1" })
    const [again] = await fitMessage([first, { content: "short" }], 600, { folder, name: "m1" })
    expect(again!.content).toContain(`in the file ${first.spilled!.path}`)
    expect(await readdir(folder)).toEqual(["t1.txt"])
  })
})
