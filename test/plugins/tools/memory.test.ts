import { linkSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { createCall } from "../../../core/permission/explain.ts"
import type { PermissionMode } from "../../../core/tool.ts"
import { memorySource, memoryTool } from "../../../plugins/tools/memory.ts"
import { createToolContext, runTool, type TestContext } from "../../contract/tool.ts"
import { decideIn, type Folders, makeProject, rulesOf, type TestRules } from "../../core/permission/fixture.ts"
import { createMoment, type TestMoment } from "./moment.ts"

let context: TestContext
let moment: TestMoment
let folder: string
beforeEach(() => {
  context = createToolContext()
  moment = createMoment(context)
  folder = join(moment.places.state, "memory")
  context.memoryFolder = folder
})
afterEach(() => context.release())

const call = (command: string, more: object = {}) => runTool(memoryTool, { command, ...more }, context)
const write = (name: string, content: string) => call("write", { name, content })
const onDisk = (name: string) => readFileSync(join(folder, `${name}.md`), "utf8")
const put = (name: string, text: string) => {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.md`), text)
}

/** Another conversation in the same project. */
function startAnew(): void {
  const { memoryFolder } = context
  const next = createToolContext({ memoryFolder: memoryFolder! })
  const release = context.release
  context = { ...next, release: async () => void (await Promise.all([next.release(), release()])) }
}

describe("Memory", () => {
  test("writes, shows, edits and deletes a note", async () => {
    expect((await write("build", "Run make.\n")).text).toBe('Kept the note "build" (1 line, 10 bytes)')
    expect(onDisk("build")).toBe("Run make.\n")
    expect((await call("view", { name: "build" })).text).toBe("Run make.\n")
    expect((await call("edit", { name: "build.md", old_string: "make", new_string: "ninja" })).isError).toBe(false)
    expect(onDisk("build")).toBe("Run ninja.\n")
    expect((await call("delete", { name: "build" })).text).toBe('Deleted the note "build"')
    expect(readdirSync(folder)).toEqual([])
  })

  test("keeps notes where nobody else may look", async () => {
    await write("a", "x")
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(statSync(join(folder, "a.md")).mode & 0o777).toBe(0o600)
  })

  test("without a name it is about the index, whose view lists the others", async () => {
    await write("build", "x")
    await call("write", { content: "Notes\n" })
    expect(onDisk("MEMORY")).toBe("Notes\n")
    expect((await call("view")).text).toBe("Notes\n\n(other notes: build)")
  })

  test("says which notes there are when one is missing", async () => {
    expect(await call("view")).toMatchObject({ isError: true, text: expect.stringContaining("no notes yet") })
    await write("build", "x")
    expect((await call("view")).text).toBe("There is no MEMORY yet (other notes: build)")
    const missing = await call("view", { name: "test" })
    expect(missing).toMatchObject({ isError: true, text: 'There is no note "test": there are build' })
    expect((await call("delete", { name: "test" })).isError).toBe(true)
  })

  test.each([
    ["write", { name: "a" }, "needs content"],
    ["edit", { name: "a", new_string: "x" }, "needs old_string"],
    ["edit", { name: "a", old_string: "", new_string: "x" }, "needs old_string"],
    ["edit", { name: "a", old_string: "missing", new_string: "x" }, "occurs 0 times"],
    ["edit", { name: "a", old_string: "t", new_string: "x" }, "occurs 2 times"],
  ])("%s with %j is told what it lacks", async (command, more, words) => {
    await write("a", "text")
    expect(await call(command, more)).toMatchObject({ isError: true, text: expect.stringContaining(words) })
    expect(onDisk("a")).toBe("text")
  })

  test("replaces no note that this conversation has not seen as it is", async () => {
    await write("a", "one")
    startAnew()
    expect(await write("a", "two")).toMatchObject({ isError: true, text: expect.stringContaining("view it first") })
    await call("view", { name: "a" })
    expect((await write("a", "two")).isError).toBe(false)
    put("a", "by somebody else")
    expect((await write("a", "three")).isError).toBe(true)
    expect(onDisk("a")).toBe("by somebody else")
  })

  test("an edit of an unseen note does not make it seen", async () => {
    await write("a", "one\ntwo\n")
    startAnew()
    expect((await call("edit", { name: "a", old_string: "one", new_string: "1" })).isError).toBe(false)
    expect((await write("a", "three")).isError).toBe(true)
  })

  test("an index beyond what is shown is written, with a warning", async () => {
    const lines = await call("write", { content: "x\n".repeat(201) })
    expect(lines).toMatchObject({ isError: false, text: expect.stringContaining("Warning: a conversation starts") })
    const bytes = await call("write", { content: "ä".repeat(12_501) })
    expect(bytes.text).toContain("Warning")
    expect((await call("write", { content: "x\n".repeat(200) })).text).not.toContain("Warning")
    expect((await write("other", "x\n".repeat(500))).text).not.toContain("Warning")
  })

  test("a note that would be a megabyte is refused", async () => {
    expect(await write("a", "x".repeat(1_000_001))).toMatchObject({ isError: true })
  })

  test("does nothing where the settings or a rule keep it from it", async () => {
    await write("a", "x")
    context.mayRead = (path) => !path.endsWith("/a.md")
    expect(await call("view", { name: "a" })).toMatchObject({ isError: true, text: expect.stringContaining("rule") })
    delete context.memoryFolder
    expect(await call("view")).toMatchObject({ isError: true, text: expect.stringContaining("memory.auto") })
  })
})

describe("Memory stays in its folder", () => {
  const NAMES = [
    "../a",
    "..",
    ".",
    "",
    "a/b",
    "/etc/passwd",
    "a\\b",
    "a\0",
    ".hidden",
    "a.md.md",
    "ä",
    "a b",
    "~",
    "-x",
  ]
  test.each(["view", "write", "edit", "delete"])("%s takes a name and no path", async (command) => {
    put("kept", "x")
    const outside = join(folder, "..", "a.md")
    writeFileSync(outside, "outside")
    for (const name of [...NAMES, "a".repeat(81)]) {
      const more = { name, content: "x", old_string: "outside", new_string: "x" }
      expect(await call(command, more), name).toMatchObject({ isError: true, text: expect.stringContaining("no name") })
    }
    expect(readFileSync(outside, "utf8")).toBe("outside")
    expect(readdirSync(folder)).toEqual(["kept.md"])
  })

  test.each(["view", "write", "edit", "delete"])("%s follows no link, soft or hard", async (command) => {
    put("kept", "x")
    const outside = join(context.cwd, "outside.md")
    writeFileSync(outside, "outside")
    symlinkSync(outside, join(folder, "soft.md"))
    symlinkSync(join(context.cwd, "nothing"), join(folder, "nowhere.md"))
    linkSync(outside, join(folder, "hard.md"))
    for (const name of ["soft", "nowhere", "hard"]) {
      const more = { name, content: "x", old_string: "outside", new_string: "x" }
      const { isError, text } = await call(command, more)
      expect({ name, isError }).toEqual({ name, isError: true })
      expect(text).not.toContain("outside\n")
    }
    expect(readFileSync(outside, "utf8")).toBe("outside")
    expect(readdirSync(context.cwd)).toEqual(["outside.md"])
  })

  test("a link in the place of the folder is refused", async () => {
    mkdirSync(moment.places.state, { recursive: true })
    symlinkSync(context.cwd, folder)
    expect(await write("a", "x")).toMatchObject({ isError: true, text: expect.stringContaining("is no folder") })
    expect(readdirSync(context.cwd)).toEqual([])
  })
})

describe("memorySource", () => {
  const start = () => memorySource.start!(moment)

  test("says nothing where there are no notes", async () => {
    expect(await start()).toBeUndefined()
    mkdirSync(folder, { recursive: true })
    expect(await start()).toBeUndefined()
  })

  test("shows the index and names the other notes", async () => {
    put("MEMORY", "Build with make.\n")
    put("build", "x")
    put("tests", "x")
    const text = await start()
    expect(text).toMatch(
      /^<auto-memory>\n.*\n\nBuild with make\.\n\n\(other notes, for Memory: build, tests\)\n<\/auto/,
    )
  })

  test("shows 200 lines of a longer index, and says so", async () => {
    put("MEMORY", Array.from({ length: 300 }, (_, i) => `line ${i + 1}\n`).join(""))
    const text = await start()
    expect(text).toContain("line 200\n(cut: MEMORY has 300 lines and ")
    expect(text).not.toContain("line 201")
  })

  test("shows 25 KB of a larger index, no half character", async () => {
    put("MEMORY", `x${"ä".repeat(20_000)}`)
    const text = (await start())!
    expect(text).toContain("(cut: MEMORY has 1 line and 40,001 bytes)")
    expect(text).not.toContain("\uFFFD")
    expect(Buffer.byteLength(text)).toBeLessThan(25_300)
  })

  test("says nothing to subagents, against the settings, or of what a rule keeps from being read", async () => {
    put("MEMORY", "secret")
    expect(await start()).toContain("secret")
    const { places } = moment
    for (const more of [
      { depth: 1 },
      { mayRead: (path: string) => !path.endsWith("/memory/MEMORY.md") },
      { places: { ...places, memory: { ...places.memory, auto: false } } },
    ]) {
      expect(await memorySource.start!({ ...moment, ...more })).toBeUndefined()
    }
  })
})

describe("who may call Memory", () => {
  let folders: Folders & { remove(): Promise<void> }
  beforeAll(async () => {
    folders = await makeProject()
  })
  afterAll(() => folders.remove())

  async function judge(input: object, mode: PermissionMode, rules: TestRules, facts: object = {}) {
    const permission = await createCall(memoryTool, input, folders.project)
    const { behavior, source } = await decideIn(folders, permission, rulesOf(rules, folders), { mode, ...facts })
    return `${behavior} ${source}`
  }

  const VIEW = { command: "view", name: "a" }
  const WRITE = { command: "write", name: "a", content: "x" }
  const DELETE = { command: "delete", name: "a" }

  const CASES: [mode: PermissionMode, input: object, rules: TestRules, expected: string][] = [
    ["default", VIEW, {}, "allow classifier"],
    ["plan", VIEW, {}, "allow classifier"],
    ["dontAsk", VIEW, {}, "allow classifier"],
    ["default", WRITE, {}, "ask approval"],
    ["default", DELETE, {}, "ask approval"],
    ["default", WRITE, { allow: ["Memory"] }, "allow allow"],
    ["default", WRITE, { allow: ["Memory(a)"] }, "allow allow"],
    ["default", WRITE, { allow: ["Memory(b)"] }, "ask approval"],
    ["default", WRITE, { allow: ["Edit"] }, "ask approval"],
    ["default", WRITE, { write: true }, "ask approval"],
    ["acceptEdits", WRITE, {}, "allow mode"],
    ["acceptEdits", DELETE, {}, "allow mode"],
    ["acceptEdits", WRITE, { ask: ["Memory"] }, "ask ask"],
    ["acceptEdits", WRITE, { deny: ["Memory(a)"] }, "deny deny"],
    ["acceptEdits", VIEW, { deny: ["Memory(a)"] }, "deny deny"],
    ["auto", WRITE, {}, "ask mode"],
    ["dontAsk", WRITE, {}, "deny mode"],
    ["plan", WRITE, {}, "deny plan"],
    ["bypassPermissions", WRITE, {}, "allow mode"],
  ]
  test.each(CASES)("in mode %s, %j with %j", async (mode, input, rules, expected) => {
    expect(await judge(input, mode, rules)).toBe(expected)
  })

  test("where nobody can answer it is decided as a change of a file in the working folder is", async () => {
    const headless = { canAsk: false }
    expect(await judge(WRITE, "default", {}, headless)).toBe("deny approval")
    expect(await judge(WRITE, "acceptEdits", {}, headless)).toBe("allow mode")
    expect(await judge(WRITE, "default", { allow: ["Memory"] }, headless)).toBe("allow allow")
    // A step that accepts edits below a run in auto spares no safety classifier.
    expect(await judge(WRITE, "acceptEdits", {}, { ...headless, belowAuto: true })).toBe("deny approval")
  })
})
