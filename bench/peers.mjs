/**
 * The programs that are measured, each with how it is started and what its file-reading tool is called.
 *
 * Invariant: every program has a home of its own and the same project; nothing of the user's is read or written.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const here = dirname(fileURLToPath(import.meta.url))
const cli = join(here, "../dist/cli.js")
const node = process.execPath

/** How many files the project has; a script reads them in turn. */
const FILES = 50

/** A folder for one measurement: `home`, `project`, `files`, and `remove()`. */
export function createWorkplace() {
  const folder = mkdtempSync(join(tmpdir(), "sous-bench-"))
  const [home, project] = [join(folder, "home"), join(folder, "project")]
  const files = Array.from({ length: FILES }, (_, i) => join(project, `files/f${i}.txt`))
  for (const [i, file] of files.entries()) write(file, `file ${i}\n${"line of text\n".repeat(12)}`)
  mkdirSync(home, { recursive: true })
  configure(home, project)
  return { folder, home, project, files, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Settings in three scopes and one hook, as a user of sous would have them. */
function configure(home, project) {
  const own = join(home, ".config/sous")
  write(join(own, "settings.json"), { maxTurns: 10_000, plugins: ["./plugins/watch.ts"] })
  write(join(own, "plugins/watch.ts"), HOOK_PLUGIN)
  write(join(project, ".sous/settings.json"), { permissions: { deny: ["Read(./secrets/**)"] } })
  write(join(project, ".sous/settings.local.json"), { permissions: { ask: ["Bash(git push *)"] } })
  write(join(project, "recipe.ts"), RECIPE)
  write(join(project, "text.ts"), 'export const task: string = "Please do the task."\n')
}

const HOOK_PLUGIN = `import { definePlugin } from "sous"

let calls = 0
export default definePlugin({
  name: "watch",
  hooks: {
    PreToolUse() {
      calls++
    },
  },
})
`

const RECIPE = `import { agent, recipe } from "sous"
import { task } from "./text.ts"

export default recipe({ name: "bench", description: "Does the task" }).step("answer", () => agent({ prompt: task }))
`

function write(file, content) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, null, 2))
}

/** What every program is given of the environment. */
export function environment(workplace, url) {
  return {
    PATH: process.env.PATH,
    HOME: workplace.home,
    NO_COLOR: "1",
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "key-of-nobody",
  }
}

const PROMPT = "Please do the task."

/** `prompt`: the command that runs one prompt; `read`: the tool's name and its input's key. */
export const peers = {
  node: { label: "node -e 0", version: [node, "-e", "0"] },
  fetch: {
    label: "fetch loop",
    prompt: [node, join(here, "floors/fetch-loop.mjs"), PROMPT],
    read: { tool: "read_file", key: "path" },
  },
  sdk: {
    label: "SDK runner",
    prompt: [node, join(here, "floors/sdk-runner.mjs"), PROMPT],
    read: { tool: "read_file", key: "path" },
  },
  sous: {
    label: "sous",
    version: [node, cli, "--version"],
    prompt: [node, cli, "-p", PROMPT],
    recipe: [node, cli, "run", "./recipe.ts"],
    read: { tool: "Read", key: "file_path" },
  },
}
