/**
 * Plugins in processes of their own: a freshly built toolkit, folders with plugins, and what a call of a tool is given.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, afterEach, beforeAll } from "vitest"
import { createNotebook } from "../../../core/notes.ts"
import { type Isolated, type IsolateOptions, type IsolationParts, loadIsolated } from "../../../core/pack/isolate.ts"
import type { Tool, ToolContext, ToolOutput } from "../../../core/tool.ts"
import { createStage } from "../../package/stage.ts"

export interface IsolatePlace {
  parts: IsolationParts
  /** A folder below one that goes away; absolute, real. */
  folder(files: Record<string, string>): string
  /** Loads `plugin.mjs` of the files, closed after the test. */
  load(files: Record<string, string> | string, options?: Partial<IsolateOptions>): Promise<Loaded>
}

export interface Loaded extends Isolated {
  folder: string
  /** What people were told. */
  notices: string[]
  tool(name?: string): Tool
  call(input?: unknown, context?: Partial<ToolContext>): Promise<ToolOutput>
}

/** Builds the toolkit before the tests of a file. */
export function usePlace(): IsolatePlace {
  let stage: ReturnType<typeof createStage> | undefined
  const folders: string[] = []
  const open: Isolated[] = []
  beforeAll(() => {
    stage = createStage()
    const dist = join(stage.folder, "dist")
    const urlOf = (name: string) => pathToFileURL(join(dist, name)).href
    place.parts = {
      entry: join(dist, "isolate.js"),
      modules: { sous: urlOf("index.js"), "sous/testing": urlOf("testing.js") },
      reads: [dist, join(stage.folder, "package.json"), join(stage.folder, "node_modules")],
    }
  }, 60_000)
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()))
  })
  afterAll(() => {
    stage?.remove()
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })
  const place: IsolatePlace = {
    parts: { entry: "", modules: {}, reads: [] },
    folder(files) {
      const folder = realpathSync(mkdtempSync(join(tmpdir(), "sous-isolate-")))
      folders.push(folder)
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, name)), { recursive: true })
        writeFileSync(join(folder, name), text)
      }
      return folder
    },
    async load(given, options = {}) {
      const files = typeof given === "string" ? { "plugin.mjs": given } : given
      const folder = options.folder ?? place.folder(files)
      const notices: string[] = []
      const isolated = await loadIsolated(join(folder, Object.keys(files)[0]!), {
        parts: place.parts,
        folder,
        capabilities: { tools: ["T"] },
        cwd: folder,
        env: { PATH: process.env["PATH"], HOME: "/nowhere" },
        home: "/nowhere",
        notice: (text) => notices.push(text),
        ...options,
      })
      open.push(isolated)
      const tool = (name = "T") => isolated.plugin.tools!.find((one) => one.name === name)!
      return Object.assign(Object.create(isolated, Object.getOwnPropertyDescriptors(isolated)) as Isolated, {
        folder,
        notices,
        tool,
        call: async (input: unknown = {}, context: Partial<ToolContext> = {}) =>
          (await tool().execute(input as never, contextOf(folder, context))) as ToolOutput,
      })
    },
  }
  return place
}

/** A plugin with one tool whose `execute` has this body, with `input` and `context`, and Node's modules by name. */
export function toolPlugin(body: string, more = ""): string {
  return `
import fs from "node:fs"; import { createRequire } from "node:module"
const require = createRequire(import.meta.url)
export default { name: "guest", ${more} tools: [{
  name: "T", description: "does it", input: { type: "object" },
  async execute(input, context) { ${body} },
}] }`
}

export function contextOf(cwd: string, more: Partial<ToolContext> = {}): ToolContext {
  const state = new Map<symbol, unknown>()
  return {
    toolUseId: "toolu_1",
    caller: "model",
    cwd,
    setCwd: () => {},
    roots: [cwd],
    mayRead: () => true,
    env: {},
    signal: new AbortController().signal,
    agent: { id: "main", type: "main", depth: 0 },
    sessionId: "session",
    runFolder: cwd,
    state: <T>(key: symbol, create: () => T) => {
      if (!state.has(key)) state.set(key, create())
      return state.get(key) as T
    },
    notes: createNotebook(),
    progress: () => {},
    defer: () => {},
    subagent: async () => {
      throw new Error("no subagents here")
    },
    agents: [],
    ...more,
  }
}
