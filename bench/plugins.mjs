/**
 * What settings in three scopes and five plugins add to the first request of a run, over none of either; in turns.
 *
 * Invariant: both starts send the same prompt to the same server; each plugin is one TypeScript file that imports "sous".
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { environment, peers } from "./peers.mjs"
import { run } from "./process.mjs"

const PAIRS = 3

/** Adds samples of both, in ms. */
export async function measurePlugins(place, samples) {
  if (!place.wants("plugins")) return
  const folder = mkdtempSync(join(tmpdir(), "sous-bench-plugins-"))
  try {
    const [none, full] = [createPlace(join(folder, "none")), createPlace(join(folder, "full"))]
    configure(full)
    // What is compiled is kept from then on.
    for (const one of [none, full]) await firstRequest(place, one)
    for (let pair = 0; pair < PAIRS; pair++) {
      samples.add("plugins-none", "sous", await firstRequest(place, none))
      samples.add("plugins", "sous", await firstRequest(place, full))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function createPlace(folder) {
  const place = { home: join(folder, "home"), project: join(folder, "project") }
  for (const one of [place.home, join(place.project, ".git")]) mkdirSync(one, { recursive: true })
  return place
}

/** The user's settings name two of the plugins, three lie in the user's folder. */
function configure({ home, project }) {
  const own = join(home, ".config/sous")
  const names = ["one", "two", "three", "four", "five"]
  for (const [index, name] of names.entries())
    write(join(own, index < 2 ? "mine" : "plugins", `${name}.ts`), pluginText(name))
  write(join(own, "settings.json"), { maxTurns: 10_000, plugins: ["./mine/one.ts", "./mine/two.ts"] })
  write(join(project, ".sous/settings.json"), { permissions: { deny: ["Read(./secrets/**)"] } })
  write(join(project, ".sous/settings.local.json"), { permissions: { ask: ["Bash(git push *)"] } })
}

const pluginText = (name) => `import { definePlugin, defineTool, z } from "sous"

interface Options {
  loud: boolean
}
const options: Options = { loud: false }

export default definePlugin({
  name: "${name}",
  tools: [
    defineTool({
      name: "Tool_${name}",
      description: "Says ${name}",
      input: z.strictObject({ text: z.string() }),
      readOnly: true,
      execute: async ({ text }: { text: string }) => (options.loud ? text.toUpperCase() : text),
    }),
  ],
  hooks: { PostToolUse: () => undefined },
})
`

async function firstRequest({ server }, { home, project }) {
  await server.play({ turns: 1, parallel: 0, files: [], ...peers.sous.read })
  const { started, code, stderr } = await run(peers.sous.prompt, {
    cwd: project,
    env: environment({ home }, server.url),
  })
  const { log } = await server.report()
  if (code !== 0 || log.length !== 1) throw new Error(`sous: exit ${code}\n${stderr.slice(-600)}`)
  return log[0].arrived - started
}

function write(file, content) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content, null, 2))
}
