/**
 * Files of other programs: MCP configurations, settings of opencode, recipes of goose → what they are here, and how what
 * they say is written here.
 *
 * Invariant: each is named as what it is, and nothing of it runs; what is a fault in it anywhere is told too.
 */
import { parseRule } from "../permission/rule.ts"
import type { SettingsDocument } from "../settings/document.ts"
import type { Tool } from "../tool.ts"
import { type Finding, type FindingLevel, placeIn } from "./check-finding.ts"
import { secretIn, secretInVariable } from "./check-secret.ts"

/** A file that was read. */
export interface OtherFile {
  /** Absolute. */
  file: string
  document: SettingsDocument
}

type Fields = Readonly<Record<string, unknown>>
type Path = readonly (string | number)[]
type Say = (path: Path, problem: string, more?: { mend?: string; level?: FindingLevel }) => void

/** Tells of `path` by its last part. */
function teller({ file, document }: OtherFile): { findings: Finding[]; say: Say } {
  const findings: Finding[] = []
  const say: Say = (path, problem, { mend = "", level = "note" } = {}) => {
    const what = path.length === 0 ? "" : `"${path.join(".")}"`
    findings.push({ level, ...placeIn(file, document.at, path), what, problem, mend })
  }
  return { findings, say }
}

/** Servers are not started yet, whatever the file says of them. */
export function checkMcp(given: OtherFile): Finding[] {
  const { findings, say } = teller(given)
  const value = fieldsOf(given.document.value)
  const wrapper = "mcpServers" in value ? "mcpServers" : "servers"
  say([], "an MCP configuration: its servers are not started yet")
  if (wrapper === "servers" && "servers" in value) {
    const problem = 'its servers stand under "servers", as in VS Code'
    say(["servers"], problem, { mend: 'write "mcpServers"', level: "warning" })
  }
  if ("inputs" in value) say(["inputs"], "VS Code would ask for these; nothing here does", { mend: "use ${NAME}" })
  for (const [name, server] of Object.entries(fieldsOf(value[wrapper]))) {
    const path = [wrapper, name]
    if (isFields(server)) checkServer(server, path, say)
    else say(path, "it is no object", { level: "error", mend: 'write { "command": … } or { "url": … }' })
  }
  return findings
}

function checkServer(server: Fields, path: Path, say: Say): void {
  const name = path.at(-1)
  if (!("command" in server) && !("url" in server) && !("httpUrl" in server) && !("serverUrl" in server))
    say(path, "it has neither a command nor a url", { level: "error", mend: 'write "command" or "url"' })
  for (const key of ["alwaysAllow", "autoApprove", "trust"]) {
    if (!(key in server)) continue
    const [tool = "TOOL"] = Array.isArray(server[key]) ? (server[key] as string[]) : []
    const problem = "a server cannot say what of it needs no question, so this never counts"
    say([...path, key], problem, { level: "warning", mend: `allow it in settings: "mcp__${name}__${tool}"` })
  }
  const { env, command, args } = server
  for (const [variable, text] of Object.entries(fieldsOf(env))) checkVariable([...path, "env", variable], text, say)
  const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === "string")
  checkWords(words, path, say)
}

function checkVariable(path: Path, text: unknown, say: Say): void {
  if (typeof text !== "string") return
  const name = String(path.at(-1))
  if (/^<.*>$|^(?:YOUR|MY)[_-]|(?:^|[_-])(?:HERE|CHANGEME|REPLACE)|^x{4,}$|^\.\.\.$/i.test(text)) {
    const problem = `the value of ${name} is a placeholder that nobody has replaced`
    say(path, problem, { level: "warning", mend: `write \${${name}}, and set it in the environment` })
    return
  }
  if (secretInVariable(name, text) !== undefined) {
    const problem = `${name} holds what looks like a secret`
    say(path, problem, { level: "warning", mend: `write \${${name}}, and set it in the environment` })
  }
  const [, expanded] = /\$\{(?:env:)?([A-Z_][A-Z0-9_]*)(?::-[^}]*)?\}/.exec(text) ?? []
  if (expanded !== undefined && expanded !== "CLAUDE_PLUGIN_ROOT")
    say(path, `it comes from the variable ${expanded} of the environment`)
}

function checkWords(words: readonly string[], path: Path, say: Say): void {
  const text = words.join(" ")
  const machine = words.find((word) => /^[A-Za-z]:[\\/]|^\/(?:Users|home|Volumes|mnt\/[a-z])\//.test(word))
  if (machine !== undefined)
    say(path, `it names a path of one machine, ${machine}`, { mend: "write it relative, or by a variable" })
  const [, program, name, version] =
    /^(npx|bunx|uvx)\s+(?:-\S+\s+)*((?:@[\w.-]+\/)?[A-Za-z][\w.-]*)(@\S+)?(?=\s|$)/.exec(text) ?? []
  if (program !== undefined && (version === undefined || version === "@latest"))
    say(path, `${program} runs whatever version of "${name}" is the newest`, {
      mend: `name the version: ${name}@1.2.3`,
    })
  const secret = secretIn(text)
  if (secret !== undefined)
    say(path, `it holds what looks like ${secret}`, { level: "warning", mend: "use a variable" })
}

const SAME_OPENCODE: Readonly<Record<string, string>> = {
  agent: "agents of sous are not read from settings",
  command: "a prompt that is used often is a recipe here",
  enabled_providers: "a provider of models is a plugin here",
  instructions: "instructions stand in CLAUDE.md or AGENTS.md",
  mcp: "MCP servers stand in .mcp.json, and are not started yet",
  mode: "agents of sous are not read from settings",
  model: '"model" in .sous/settings.json, by the name that the API uses',
  plugin: "plugins of opencode do not load here",
  provider: "a provider of models is a plugin here",
  small_model: '"permissions.autoModel" in .sous/settings.json is the nearest',
  watcher: "sous watch has its own list",
}

/** Not read, with what the same is here. */
export function checkOpencode(given: OtherFile, tools: Iterable<Tool>): Finding[] {
  const { findings, say } = teller(given)
  const value = fieldsOf(given.document.value)
  say([], "opencode's settings: not read here", { mend: "what has an equivalent is named below" })
  const names = new Map([...tools].map(({ name }) => [name.toLowerCase(), name]))
  for (const key of Object.keys(value)) {
    if (key === "$schema") continue
    if (key === "permission")
      for (const one of permissionsOf(value[key], { names, servers: Object.keys(fieldsOf(value.mcp)) }))
        say(one.path, one.problem, { mend: one.mend })
    else say([key], SAME_OPENCODE[key] ?? "nothing here has that name")
  }
  for (const [path, text] of textsIn(value, [])) {
    const secret =
      secretIn(text) ??
      (/^(?:api_?key|token|secret)$/i.test(String(path.at(-1))) ? secretInVariable("API_KEY", text) : undefined)
    if (secret !== undefined)
      say(path, "it holds what looks like a secret", { level: "warning", mend: "use {env:NAME}" })
  }
  return findings
}

interface Same {
  path: Path
  problem: string
  mend: string
}

interface OpencodeNames {
  /** Of tools here, by the name in small letters. */
  names: ReadonlyMap<string, string>
  servers: readonly string[]
}

/** `{ "edit": "ask", "bash": { "git push": "deny" } }` as rules. */
function permissionsOf(permission: unknown, { names, servers }: OpencodeNames): Same[] {
  return Object.entries(fieldsOf(permission)).flatMap(([key, value]): Same[] => {
    const server = servers.find((one) => key.startsWith(`${one}_`))
    const ofServer = server === undefined ? undefined : `mcp__${server}__${key.slice(server.length + 1)}`
    const tool = names.get(key) ?? (key === "task" ? "Agent" : ofServer)
    const entries = isFields(value) ? Object.entries(value) : [["", value] as const]
    return entries.map(([pattern, behavior]) => {
      const path = ["permission", key, ...(isFields(value) ? [pattern] : [])]
      const rule = tool === undefined ? undefined : ruleOf(tool, pattern)
      if (rule === undefined || !/^(?:allow|ask|deny)$/.test(String(behavior)))
        return { path, problem: `no tool here is what opencode calls "${key}"`, mend: "" }
      const problem = `in .sous/settings.json it would be an entry of "permissions.${String(behavior)}"`
      return { path, problem, mend: `write "${rule}" there` }
    })
  })
}

function ruleOf(tool: string, pattern: string): string | undefined {
  const text = pattern === "" || pattern === "*" ? tool : `${tool}(${pattern})`
  try {
    parseRule(text)
    return text
  } catch {
    return undefined
  }
}

const SAME_GOOSE: Readonly<Record<string, string>> = {
  activities: "nothing; they are suggestions for its screen",
  author: "nothing; write it into the description",
  description: '"description"',
  extensions: "tools of an agent stand in its step, MCP servers in .mcp.json; none is started yet",
  instructions: 'a part of "prompt" in an agent step',
  parameters: '"params", each with a type: params: { name: string }',
  prompt: '"prompt" in an agent step',
  response: '"output" in an agent step, as a JSON schema',
  retry: 'a step with "until", and the check as its sh step',
  settings: '"model" in the agent step',
  sub_recipes: 'a step with "use"',
  title: '"name", one word with hyphens',
  version: "the recipe's file is its version",
}

/** Not run here, with what the same is here. */
export function checkGoose(given: OtherFile): Finding[] {
  const { findings, say } = teller(given)
  const value = fieldsOf(given.document.value)
  const mend = 'write one with "name", "description", "params" and "steps: [{ id, agent: { prompt } }]"'
  say([], "a recipe of goose: it does not run here", { mend })
  for (const key of Object.keys(value)) say([key], `the same here: ${SAME_GOOSE[key] ?? "nothing has that name"}`)
  const templated = ["prompt", "instructions"].find((key) => /\{\{.*?\}\}/.test(String(value[key] ?? "")))
  const [found = "{{ name }}"] = /\{\{.*?\}\}/.exec(String(value[templated ?? ""] ?? "")) ?? []
  const name = found.replace(/[{}\s]/g, "")
  if (templated !== undefined) say([templated], `${found} is written \${{ params.${name} }} here`)
  for (const [index, extension] of Object.entries(Array.isArray(value.extensions) ? value.extensions : [])) {
    if (!isFields(extension) || extension.type === "builtin") continue
    const words = [extension.cmd, ...(Array.isArray(extension.args) ? extension.args : [])].filter(
      (one) => typeof one === "string",
    )
    say(["extensions", Number(index)], `it starts a program, ${words.join(" ")}`, { mend: "write it into .mcp.json" })
  }
  return findings
}

function textsIn(value: unknown, path: Path): [Path, string][] {
  if (typeof value === "string") return [[path, value]]
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    textsIn(inner, [...path, Array.isArray(value) ? Number(key) : key]),
  )
}

function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
