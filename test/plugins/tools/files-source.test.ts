import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { editTool } from "../../../plugins/tools/edit.ts"
import { exitPlanModeTool, planSource } from "../../../plugins/tools/exit-plan-mode.ts"
import { filesSource } from "../../../plugins/tools/files-source.ts"
import { readTool } from "../../../plugins/tools/read.ts"
import { writeTool } from "../../../plugins/tools/write.ts"
import { createToolContext, runTool, type TestContext } from "../../contract/tool.ts"
import { createMoment, type TestMoment } from "./moment.ts"

let context: TestContext
let moment: TestMoment
beforeEach(() => {
  context = createToolContext()
  moment = createMoment(context)
})
afterEach(() => context.release())

const path = (name: string) => join(context.cwd, name)
const put = (name: string, text: string) => writeFileSync(path(name), text)
const read = (file_path: string, more: object = {}) => runTool(readTool, { file_path, ...more }, context)
const edit = (file_path: string, old_string: string, new_string: string) =>
  runTool(editTool, { file_path, old_string, new_string }, context)
const write = (file_path: string, content: string) => runTool(writeTool, { file_path, content }, context)
const remind = () => moment.remind(filesSource)
const scene = () => moment.scene(filesSource)
const linesTo = (last: number) => Array.from({ length: last }, (_, i) => `line ${i + 1}\n`).join("")

describe("filesSource reminds", () => {
  test("of nothing while nobody else changes what was read", async () => {
    put("a.txt", "one\n")
    expect(await remind()).toEqual([])
    await read("a.txt")
    await edit("a.txt", "one", "two")
    await write("b.txt", "new")
    expect(await remind()).toEqual([])
  })

  test("once of a small change, with what changed", async () => {
    put("a.txt", linesTo(20))
    await read("a.txt")
    put("a.txt", linesTo(20).replace("line 7\n", "seven\n").replace("line 15\n", ""))
    const [text, ...more] = await remind()
    expect(more).toEqual([])
    expect(text).toBe(
      [
        "<system-reminder>",
        `"${path("a.txt")}" has changed on disk since you last saw it. This is all that changed:`,
        ...["@@ -6,3 +6,3 @@", " line 6", "-line 7", "+seven", " line 8"],
        ...["@@ -14,3 +14,2 @@", " line 14", "-line 15", " line 16"],
        "</system-reminder>",
      ].join("\n"),
    )
    expect(await remind()).toEqual([])
  })

  test("so that what was shown may be changed without another look", async () => {
    put("a.txt", linesTo(20))
    await read("a.txt")
    put("a.txt", linesTo(20).replace("line 7\n", "seven\n"))
    expect((await edit("a.txt", "seven", "7")).isError).toBe(true)
    await remind()
    expect((await edit("a.txt", "seven", "7")).isError).toBe(false)
    expect((await write("a.txt", "all")).isError).toBe(false)
  })

  test("of a change in a file that was read in part, which stays known in part", async () => {
    put("a.txt", linesTo(20))
    await read("a.txt", { limit: 10 })
    put("a.txt", linesTo(20).replace("line 15\n", "fifteen\n"))
    expect(await remind()).toEqual([expect.stringContaining("+fifteen")])
    expect((await write("a.txt", "all")).text).toContain("read only in part (up to line 10)")
    put("a.txt", linesTo(20).replace("line 3\n", ""))
    await remind()
    expect((await write("a.txt", "all")).isError).toBe(true)
  })

  test("of what a formatter made of the agent's own edit", async () => {
    put("a.txt", linesTo(5))
    await read("a.txt")
    await edit("a.txt", "line 3", "line  3")
    put("a.txt", linesTo(5))
    expect(await remind()).toEqual([expect.stringContaining("-line  3\n+line 3\n")])
  })

  test("once for each change, without the text where it is large or no text", async () => {
    put("a.txt", linesTo(200))
    writeFileSync(path("b.txt"), "one\n")
    await read("a.txt")
    await read("b.txt")
    put("a.txt", linesTo(200).toUpperCase())
    writeFileSync(path("b.txt"), Buffer.from([0, 1, 2]))
    const texts = await remind()
    expect(texts).toHaveLength(2)
    for (const text of texts) expect(text).toContain("has changed on disk since you last saw it. Read it again before")
    expect(await remind()).toEqual([])
    expect((await edit("a.txt", "LINE 1\n", "x")).text).toContain("Read it again")
    put("a.txt", linesTo(199).toUpperCase())
    expect(await remind()).toHaveLength(1)
  })

  test("again after a compaction of what still is not known", async () => {
    put("a.txt", linesTo(200))
    await read("a.txt")
    put("a.txt", linesTo(200).toUpperCase())
    await remind()
    moment.compacted()
    expect(await remind()).toHaveLength(1)
    await read("a.txt")
    moment.compacted()
    expect(await remind()).toEqual([])
  })

  test("not of a file that was only touched", async () => {
    put("a.txt", "one\n")
    await read("a.txt")
    utimesSync(path("a.txt"), 1000, 1000)
    expect(await remind()).toEqual([])
    expect((await edit("a.txt", "one", "two")).isError).toBe(false)
  })

  test("of a file that is gone, once", async () => {
    put("a.txt", "one\n")
    await read("a.txt")
    rmSync(path("a.txt"))
    expect(await remind()).toEqual([expect.stringContaining("is no longer there")])
    expect(await remind()).toEqual([])
  })

  test("not of what a rule keeps from being read, and of no link's end", async () => {
    put("a.txt", "one\n")
    put("b.txt", "one\n")
    put("secret.txt", "hidden\n")
    await read("a.txt")
    await read("b.txt")
    put("a.txt", "two\n")
    rmSync(path("b.txt"))
    symlinkSync(path("secret.txt"), path("b.txt"))
    moment.mayRead = (file) => !file.endsWith("/a.txt")
    const texts = await remind()
    expect(texts).toEqual([expect.stringContaining("Read it again")])
    expect(texts.join()).not.toContain("hidden")
  })

  test("without the text of a file outside of the folders of the work", async () => {
    const outside = realpathSync(mkdtempSync(join(tmpdir(), "sous-outside-")))
    writeFileSync(join(outside, "a.txt"), "one\n")
    await read(join(outside, "a.txt"))
    writeFileSync(join(outside, "a.txt"), "two\n")
    expect(await remind()).toEqual([expect.stringMatching(/Read it again before you rely on it\.\n<\/system/)])
    expect(await scene()).toEqual([])
    rmSync(outside, { recursive: true })
  })
})

describe("filesSource sets the scene", () => {
  test("with the five files worked on last, the last one first, as they are now", async () => {
    for (let i = 1; i <= 7; i++) {
      put(`${i}.txt`, `content ${i}\n`)
      await read(`${i}.txt`)
    }
    await edit("1.txt", "content", "changed")
    put("6.txt", "by somebody else\n")
    const texts = await scene()
    expect(texts.map((text) => /(\d)\.txt"/.exec(text)![1])).toEqual(["1", "7", "6", "5", "4"])
    expect(texts[0]).toContain("1\tchanged 1\n</file>")
    expect(texts[2]).toContain("1\tby somebody else\n</file>")
  })

  test("within 50,000 tokens", async () => {
    for (let i = 1; i <= 5; i++) {
      put(`${i}.txt`, linesTo(2000).replaceAll("line", "x".repeat(60)))
      await read(`${i}.txt`)
    }
    const texts = await scene()
    expect(texts.join("").length).toBeLessThanOrEqual(200_000)
    expect(texts.join("").length).toBeGreaterThan(150_000)
    expect(texts[0]).toContain("read on with offset")
  })

  test("from where a long file was looked at last, or its start when it is shorter now", async () => {
    put("a.txt", linesTo(5000))
    await read("a.txt", { offset: 3000, limit: 10 })
    expect((await scene())[0]).toContain("\n3000\tline 3000\n")
    put("a.txt", linesTo(5))
    expect((await scene())[0]).toContain("\n1\tline 1\n")
  })

  test("without what is no text, no longer there, or kept from being read", async () => {
    mkdirSync(path("sub"))
    for (const name of ["a.txt", "b.txt", "c.txt", "sub/d.txt"]) {
      put(name, "one\n")
      await read(name)
    }
    writeFileSync(path("a.txt"), Buffer.from([0, 1]))
    rmSync(path("b.txt"))
    rmSync(path("sub"), { recursive: true })
    moment.mayRead = (file) => !file.endsWith("/c.txt")
    expect(await scene()).toEqual([])
  })
})

describe("planSource", () => {
  test("sets the plan again that was approved last", async () => {
    expect(await moment.scene(planSource)).toEqual([])
    for (const plan of ["1. Look", "1. Look\n2. Mend"]) await runTool(exitPlanModeTool, { plan }, context)
    expect(await moment.scene(planSource)).toEqual([
      "<plan>\nThe plan that was approved last:\n\n1. Look\n2. Mend\n</plan>",
    ])
  })
})
