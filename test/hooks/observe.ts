/**
 * One observed case → what our own configuration and execution make of it: which hooks ran, what became of each call, and
 * which of the hooks' words the model saw.
 */
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import {
  createKit,
  definePlugin,
  defineTool,
  isSousError,
  loadSettings,
  type PermissionMode,
  type RunEvent,
  type Settings,
  z,
} from "sous"
import { createModelServer } from "sous/testing"
import { defaultPlugins } from "../../plugins/default.ts"

export type Fate = "allow" | "ask" | "deny" | "none"

export interface ObservedCase {
  id: string
  project?: Settings
  local?: Settings
  user?: Settings
  cli?: Settings
  mode?: PermissionMode
  maxTurns?: number
  /** Flags that only the other program has. */
  flags?: string[]
  files?: Record<string, string>
  /** Tool, input, and what became of it; null: the tool itself refused. */
  uses: [tool: string, input: Record<string, unknown>, fate: Fate | null][]
  /** `name event tool` of each hook that started, in order. */
  ran: string[]
  /** Words of hooks that the model saw. */
  saw: string[]
}

/** The same of ours. `refused`: the settings stop the start. */
export interface Ours {
  ran: string[]
  saw: string[]
  fates: Fate[]
  refused?: string
}

/** The words that hooks of the cases say. */
const WORDS =
  /\b(?:WHY|ERRTEXT|OUTTEXT|UPDATED|STOPWHY|LATE|CTX|KEEPGOING|SYSMSG|ERRA|PLAIN|CTXA|CTXB|ASYNCCTX|REWAKE|INITIAL|SUBCTX)\b/g

/** Tools and agents that the cases name and that are not shipped. */
const stand = definePlugin({
  name: "stand-ins",
  tools: [
    defineTool({
      name: "mcp__mock__echo",
      description: "Says what it was given.",
      input: z.object({ text: z.string() }),
      execute: async ({ text }) => text,
    }),
  ],
  agents: ["Explore", "general-purpose"].map((name) => ({ name, description: name, prompt: "Look around" })),
})

/** Runs a case in a place of its own, below `root`. `port`: where its HTTP hooks go. */
export async function observe(row: ObservedCase, { root, port }: { root: string; port: number }): Promise<Ours> {
  const place = makePlace(root)
  const { fill, ...paths } = place(port)
  const { uses, files = {}, ...given } = fill(row)
  writeFiles(paths, { ...given, files })
  const log = join(paths.base, "log")
  const env = { PATH: `${paths.rig}:${process.env["PATH"]}`, HOME: paths.home, HOOKLOG: log }
  try {
    const cli = given.cli === undefined ? [] : [JSON.stringify(given.cli)]
    const loaded = await loadSettings({
      cwd: paths.project,
      env,
      home: paths.home,
      trust: true,
      settings: cli,
      managed: join(paths.base, "etc"),
    })
    const events: RunEvent[] = []
    const bodies = await run(row, { uses, env, cwd: paths.project, home: paths.home, loaded, events })
    return { ran: startsIn(log), saw: sawIn(bodies, row), fates: fatesOf(events, uses.length) }
  } catch (error) {
    if (!isSousError(error)) throw error
    return { ran: [], saw: [], fates: uses.map(() => "none"), refused: error.code }
  }
}

interface Work {
  uses: ObservedCase["uses"]
  env: Record<string, string>
  cwd: string
  home: string
  loaded: Awaited<ReturnType<typeof loadSettings>>
  events: RunEvent[]
}

/** Runs the calls, one a turn; returns the bodies of the requests. */
async function run(row: ObservedCase, { uses, env, cwd, home, loaded, events }: Work): Promise<any[]> {
  const main = { first_user_contains: "CASEMAIN" }
  const sub = { first_user_contains: "SUBAGENT" }
  const inSub = row.id === "subagent-json/tools-in-subagent" ? [{ when: sub, tool: { Bash: { command: "ls" } } }] : []
  const server = await createModelServer({
    unused: "ignore",
    turns: [
      ...uses.map(([name, input]) => ({
        when: main,
        tool: { [name]: name === "Agent" ? { ...input, prompt: "SUBAGENT" } : input },
      })),
      ...inSub,
      { when: sub, text: "sub done", times: "always" as const },
      { when: main, text: "final answer", times: "always" as const },
    ],
  })
  const kit = await createKit({
    plugins: [...defaultPlugins, { plugin: stand, name: stand.name, from: stand.name, tier: "shipped" }],
    settings: loaded.settings,
    hooks: loaded.hooks.sources,
    projectDir: cwd,
    cwd,
    home,
    env: { ...env, ...server.env },
  })
  try {
    await kit.prompt("CASEMAIN go", {
      model: "claude-opus-5-5",
      ask: async () => undefined,
      onEvent: (event) => events.push(event),
      ...(row.mode ? { mode: row.mode } : {}),
      ...(row.maxTurns ? { maxTurns: row.maxTurns } : {}),
    }).result
    // Of the other program only the requests of its main agent were recorded.
    const isMain = ({ messages }: any) => JSON.stringify(messages[0]).includes("CASEMAIN")
    return server
      .asked()
      .map(({ body }) => body)
      .filter(isMain)
  } finally {
    await kit.close()
    await server.close({ abandon: true })
  }
}

/** Every hook that started, as the cases name them. */
function startsIn(log: string): string[] {
  if (!existsSync(log)) return []
  const lines = readFileSync(log, "utf8").split("\n").filter(Boolean)
  return lines.map((line) => {
    const [name = "", ...rest] = line.split("\t")
    const json = rest.at(-1) ?? ""
    // Lines of a case's own commands begin with a word more.
    const own = name === "start" ? rest[0]! : name
    if (!json.startsWith("{")) return own
    const { hook_event_name: event, tool_name: tool } = JSON.parse(json)
    return [own, event, tool].filter(Boolean).join(" ")
  })
}

/** The words among what the model was sent, but for the calls that it made itself and the commands that messages quote. */
function sawIn(bodies: readonly any[], row: ObservedCase): string[] {
  const texts = bodies.flatMap(({ messages }) =>
    messages.flatMap(({ role, content }: any) => {
      if (role === "assistant") return []
      if (typeof content === "string") return [content]
      return content.flatMap((block: any) =>
        [block.text ?? block.content ?? ""].flat().map((part: any) => part.text ?? part),
      )
    }),
  )
  const said = new Set(JSON.stringify([row.project, row.local, row.user, row.cli]).match(WORDS) ?? [])
  return [...new Set(texts.join("\n").match(WORDS) ?? [])].filter((word) => said.has(word))
}

/** What became of the calls of the main agent, in order. */
function fatesOf(events: readonly RunEvent[], count: number): Fate[] {
  const mainAgent = events.find(({ type }) => type === "tool_use")?.agent
  const ids = events.flatMap((event) => (event.type === "tool_use" && event.agent === mainAgent ? [event.id] : []))
  return Array.from({ length: count }, (_, at) =>
    fateOf(events.filter((event) => "id" in event && event.id === ids[at])),
  )
}

function fateOf(events: readonly RunEvent[]): Fate {
  const last = <T extends RunEvent["type"]>(type: T) =>
    events.findLast((event): event is Extract<RunEvent, { type: T }> => event.type === type)
  const [result, settled, permission] = [last("tool_result"), last("approval_settled"), last("permission")]
  if (result === undefined) return "none"
  if (settled?.by === "nobody") return "ask"
  const said = events.flatMap((event) => (event.type === "hook" && event.event === "PreToolUse" ? [event.outcome] : []))
  const isHeld = said.includes("block") || (said.includes("ask") && settled === undefined)
  const isRefused = settled?.behavior === "deny" || (settled === undefined && permission?.decision.behavior === "deny")
  const isUnfit = said.length > 0 && result.preview.startsWith("The input of")
  return isHeld || isRefused || isUnfit ? "deny" : "allow"
}

interface Paths {
  base: string
  project: string
  home: string
  outside: string
  rig: string
}

function makePlace(root: string) {
  const base = mkdtempSync(join(root, "case-"))
  const paths: Paths = {
    base,
    project: join(base, "proj"),
    home: join(base, "home"),
    outside: join(base, "out"),
    rig: join(base, "rig"),
  }
  return (port: number) => {
    const names: Record<string, string> = {
      PROJECT: paths.project,
      HOME: paths.home,
      OUTSIDE: paths.outside,
      BASE: base,
      RIG: paths.rig,
      PORT: String(port),
    }
    const text = (value: string) => value.replaceAll(/\{\{([A-Z]+)\}\}/g, (all, name: string) => names[name] ?? all)
    const fill = <T>(value: T): T => JSON.parse(text(JSON.stringify(value))) as T
    return { ...paths, fill }
  }
}

function writeFiles({ project, home, outside, rig }: Paths, row: Partial<ObservedCase>): void {
  const write = (file: string, text: string) => {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  write(join(project, "a.txt"), "alpha\n")
  write(join(project, "src/b.txt"), "beta\n")
  mkdirSync(outside)
  mkdirSync(home)
  for (const [name, text] of Object.entries(row.files ?? {})) write(join(project, name), text)
  for (const name of Object.keys(row.files ?? {})) chmodSync(join(project, name), 0o755)
  const settings = {
    [`${project}/.sous/settings.json`]: row.project,
    [`${project}/.sous/settings.local.json`]: row.local,
    [`${home}/.config/sous/settings.json`]: row.user,
  }
  mkdirSync(join(project, ".sous"))
  for (const [file, value] of Object.entries(settings)) if (value) write(file, JSON.stringify(value))
  mkdirSync(rig)
  copyFileSync(join(import.meta.dirname, "hook.sh"), join(rig, "hook.sh"))
  for (const tool of ["mytool", "othertool"]) {
    write(join(rig, tool), `#!/bin/sh\necho STUB ${tool} "$@"\n`)
    chmodSync(join(rig, tool), 0o755)
  }
}
