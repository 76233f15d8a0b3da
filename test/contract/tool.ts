/**
 * What every tool must be, whoever wrote it: one suite that takes a tool and two inputs.
 *
 * Invariant: it knows the contract (core/tool.ts) and nothing of the tool but what it is handed.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createNotebook } from "../../core/notes.ts"
import type { Tool, ToolContext, ToolOutput } from "../../core/tool.ts"
import { checkInput, inputJsonSchema } from "../../core/tool-input.ts"

/** A context over a folder of its own; `release` runs what was deferred and removes the folder. */
export interface TestContext extends ToolContext {
  cwd: string
  progressed: string[]
  release(): Promise<void>
}

/** Makes a context whose only root is a new temporary folder. */
export function createToolContext(more: Partial<ToolContext> = {}): TestContext {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "sous-tool-")))
  const folders = { project: join(base, "project"), run: join(base, "run") }
  for (const folder of Object.values(folders)) mkdirSync(folder)
  const state = new Map<symbol, unknown>()
  const deferred: (() => void | Promise<void>)[] = []
  const context: TestContext = {
    toolUseId: "toolu_1",
    caller: "model",
    cwd: folders.project,
    setCwd: (path) => {
      context.cwd = path
    },
    roots: [folders.project],
    mayRead: () => true,
    env: { PATH: process.env["PATH"] ?? "", HOME: base },
    signal: new AbortController().signal,
    agent: { id: "main", type: "main", depth: 0 },
    sessionId: "session",
    runFolder: folders.run,
    state: <T>(key: symbol, create: () => T) => {
      if (!state.has(key)) state.set(key, create())
      return state.get(key) as T
    },
    notes: createNotebook(),
    progressed: [],
    progress: (text) => {
      context.progressed.push(text)
    },
    defer: (cleanup) => {
      deferred.push(cleanup)
    },
    subagent: () => Promise.reject(new Error("This context has no subagents")),
    agents: [],
    release: async () => {
      for (const cleanup of deferred.reverse()) await cleanup()
      rmSync(base, { recursive: true, force: true })
    },
    ...more,
  }
  return context
}

/** True when a process of that id runs; a zombie that nobody has reaped does not run. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  const stat = `/proc/${pid}/stat`
  return !existsSync(stat) || !/^\d+ \(.*\) Z/s.test(readFileSync(stat, "utf8"))
}

/** What came back, in one shape. */
export interface Settled {
  text: string
  isError: boolean
  data: any
  output: Exclude<ToolOutput, string>
}

/** Checks an input as the kernel does, runs the tool and checks the shape of what comes back. */
export async function runTool(tool: Tool, input: unknown, context: ToolContext): Promise<Settled> {
  const checked = await checkInput(tool, { id: context.toolUseId, name: tool.name, input })
  const execution = tool.execute(checked, context)
  let output: ToolOutput = ""
  if (Symbol.asyncIterator in execution) {
    for await (const item of execution) if (typeof item === "string" || "content" in item) output = item
  } else {
    output = await execution
  }
  return settle(output)
}

/** Inputs that a tool takes and refuses; `prepare` puts into the folder what the good one needs. */
export interface ToolSample {
  good: Record<string, unknown>
  /** Does not fit the schema. */
  bad: Record<string, unknown>
  prepare?(context: TestContext): void | Promise<void>
  context?: Partial<ToolContext>
}

/** Registers the tests of the contract for one tool. */
export function testTool(tool: Tool, sample: ToolSample): void {
  describe(`${tool.name} keeps the contract of a tool`, () => {
    let context: TestContext
    beforeAll(() => {
      context = createToolContext(sample.context)
      return sample.prepare?.(context)
    })
    afterAll(() => context.release())

    test("has a name and a description that fit the API", () => checkWords(tool))
    test("declares an object schema, each field of it plain or described", () => checkSchema(tool))
    test("takes the good input and refuses the bad one, and fields that it does not know", async () => {
      const use = { id: "toolu_1", name: tool.name }
      await expect(checkInput(tool, { ...use, input: sample.good })).resolves.toBeDefined()
      await expect(checkInput(tool, { ...use, input: sample.bad })).rejects.toThrow("does not fit its schema")
      const unknown = { ...sample.good, no_such_field: true }
      await expect(checkInput(tool, { ...use, input: unknown })).rejects.toThrow("no_such_field")
    })
    test("names its targets without touching anything, the same each time", () => checkTargets(tool, sample, context))
    test("says whether it is read-only; what is not runs alone", () => checkNature(tool, sample))
    test("returns text or blocks, and facts that are JSON", async () => {
      const { isError, text } = await runTool(tool, sample.good, context)
      expect({ isError, text }).toMatchObject({ isError: false })
      expect(text.length).toBeLessThanOrEqual(tool.maxResultChars ?? 30_000)
    })
    test("works when it is frozen, with a frozen input", async () => {
      const input = Object.freeze({ ...sample.good })
      const { isError } = await runTool(Object.freeze({ ...tool }), input, context)
      expect(typeof isError).toBe("boolean")
    })
    test("ends at once when the run is aborted", async () => {
      const aborted = { ...context, signal: AbortSignal.abort(new Error("aborted")) }
      const started = performance.now()
      const outcome = await runTool(tool, sample.good, aborted).then(
        ({ isError }) => isError,
        () => true,
      )
      expect(outcome).toBe(true)
      expect(performance.now() - started).toBeLessThan(1000)
    })
  })
}

function settle(output: ToolOutput): Settled {
  const full = typeof output === "string" ? { content: output } : output
  const { content, isError = false, data, spilled } = full
  const text =
    typeof content === "string" ? content : content.map((block) => (block.type === "text" ? block.text : "")).join("")
  expect(Buffer.from(text).toString()).toBe(text)
  if (typeof content !== "string") for (const block of content) expect(block.type).toMatch(/^(text|image|document)$/)
  expect(typeof isError).toBe("boolean")
  expect(JSON.parse(JSON.stringify(data ?? null))).toEqual(data ?? null)
  if (spilled !== undefined) expect(spilled.path.startsWith("/")).toBe(true)
  return { text, isError, data, output: full }
}

function checkWords(tool: Tool): void {
  expect(tool.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
  expect(tool.description.length).toBeGreaterThan(10)
  expect(tool.description.length).toBeLessThanOrEqual(600)
  expect(tool.description).not.toMatch(/^\s|\s$|\n/)
}

function checkSchema(tool: Tool): void {
  const schema = inputJsonSchema(tool)
  expect(schema["type"]).toBe("object")
  expect(JSON.parse(JSON.stringify(schema))).toEqual(schema)
  expect(schema["$ref"] ?? schema["$defs"]).toBeUndefined()
  const fields = Object.entries(schema["properties"] as Record<string, { description?: string; type?: string }>)
  for (const [name, field] of fields) {
    expect(name).toMatch(/^[a-zA-Z0-9_.-]{1,64}$/)
    expect(field.type).toBeDefined()
    expect(field.description?.length ?? 0).toBeLessThanOrEqual(120)
  }
}

function checkTargets(tool: Tool, sample: ToolSample, context: ToolContext): void {
  if (tool.targets === undefined) return
  const input = Object.freeze({ ...sample.good })
  const targets = tool.targets(input, Object.freeze({ cwd: context.cwd }))
  expect(targets.length).toBeGreaterThan(0)
  expect(tool.targets(input, { cwd: context.cwd })).toEqual(targets)
  for (const target of targets) expect(["command", "path", "url", "name"]).toContain(target.kind)
}

function checkNature(tool: Tool, sample: ToolSample): void {
  const { readOnly = false, concurrencySafe = readOnly } = tool
  const decide = (flag: typeof readOnly) => (typeof flag === "function" ? flag(sample.good) : flag)
  if (!decide(readOnly)) expect(decide(concurrencySafe)).toBe(false)
}
