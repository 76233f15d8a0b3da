import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { inputJsonSchema } from "../../../core/tool-input.ts"
import agents from "../../../plugins/agents.ts"
import { startInBackground } from "../../../plugins/tools/background.ts"
import tools from "../../../plugins/tools/index.ts"
import { runTool, type TestContext, type ToolSample, testTool } from "../../contract/tool.ts"
import { createSite, page } from "./web-site.ts"

const shipped = [...tools.tools!, ...agents.tools!]
const named = (name: string) => shipped.find((tool) => tool.name === name)!

/** A text file that has been read, so that it may be changed. */
async function readFileFirst(context: TestContext): Promise<void> {
  writeFileSync(join(context.cwd, "a.txt"), "one\ntwo\n")
  await runTool(named("Read"), { file_path: "a.txt" }, context)
}

async function readNotebookFirst(context: TestContext): Promise<void> {
  const cell = { id: "first", cell_type: "markdown", metadata: {}, source: ["# Title"] }
  const notebook = { cells: [cell], metadata: {}, nbformat: 4, nbformat_minor: 5 }
  writeFileSync(join(context.cwd, "a.ipynb"), JSON.stringify(notebook))
  await runTool(named("Read"), { file_path: "a.ipynb" }, context)
}

async function startCommand(context: TestContext): Promise<void> {
  await startInBackground({ command: "echo up; exec sleep 30", cwd: context.cwd }, context)
}

const site = await createSite({ "/": page("text/html", "<p>Hello") })
afterAll(() => site.close())
const memory = mkdtempSync(join(tmpdir(), "sous-memory-"))
afterAll(() => rmSync(memory, { recursive: true }))

const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
const SAMPLES: Record<string, ToolSample> = {
  Read: { good: { file_path: "a.txt" }, bad: { file_path: "a.txt", offset: 0 }, prepare: readFileFirst },
  Edit: {
    good: { file_path: "a.txt", old_string: "one", new_string: "1" },
    bad: { file_path: "a.txt" },
    prepare: readFileFirst,
  },
  Write: { good: { file_path: "deep/b.txt", content: "x" }, bad: { file_path: "b.txt", content: 1 } },
  NotebookEdit: {
    good: { notebook_path: "a.ipynb", cell_id: "first", new_source: "# New" },
    bad: { notebook_path: "a.ipynb", new_source: "", edit_mode: "append" },
    prepare: readNotebookFirst,
  },
  Glob: { good: { pattern: "*.txt" }, bad: { pattern: "" }, prepare: readFileFirst },
  Grep: { good: { pattern: "one" }, bad: { pattern: "one", "-A": -1 }, prepare: readFileFirst },
  Bash: { good: { command: "echo hi" }, bad: { command: "echo hi", timeout: "soon" } },
  BashOutput: { good: { bash_id: "bash_1" }, bad: {}, prepare: startCommand },
  TodoWrite: {
    good: { todos: [{ content: "Look", status: "pending" }] },
    bad: { todos: [{ content: "Look", status: "later" }] },
  },
  Memory: {
    good: { command: "write", name: "a", content: "x" },
    bad: { command: "rename" },
    context: { memoryFolder: join(memory, "memory") },
  },
  ExitPlanMode: { good: { plan: "1. Write a.txt" }, bad: { plan: "" } },
  KillShell: { good: { shell_id: "bash_1" }, bad: { bash_id: "bash_1" }, prepare: startCommand },
  WebFetch: {
    good: { url: site.origin, prompt: "What does it say?" },
    bad: { url: site.origin },
    context: { web: { names: () => true, guards: () => false } },
  },
  Agent: {
    good: { description: "count", prompt: "Count the files" },
    bad: { description: "count", prompt: "" },
    context: {
      subagent: async () => ({ ok: true, agentId: "a", text: "three", turns: 1, usage }),
    },
  },
}

for (const tool of shipped) testTool(tool, SAMPLES[tool.name]!)

test("the shipped tools take less than 7.8 KB, with the one that is shown in plan mode alone", () => {
  const sizes = shipped.map((tool) => {
    const declared = { name: tool.name, description: tool.description, input_schema: inputJsonSchema(tool) }
    return [tool.name, JSON.stringify(declared).length] as const
  })
  const total = sizes.reduce((sum, [, size]) => sum + size, 0)
  console.log(`tools: ${total} bytes (${sizes.map(([name, size]) => `${name} ${size}`).join(", ")})`)
  expect(total).toBeLessThan(7800)
})
