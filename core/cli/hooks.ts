/**
 * `sous hooks list` and `sous hooks test EVENT`: the hooks of all scopes and plugins, for people or for machines.
 *
 * Invariant: listing starts nothing; what is listed is what a run would have, and whatever is kept from running says by
 * what.
 */
import { relative } from "node:path"
import { nearestName, SousError } from "../error.ts"
import { type HookSource, placeOf, suppressionOf } from "../hook-source.ts"
import type { Kit } from "../kit.ts"
import type { CommandLine } from "./command-line.ts"
import { matcherFinding, scriptFinding } from "./hooks-finding.ts"
import type { Host } from "./host.ts"
import { openSession, type Session, withKit } from "./session.ts"

const WORDS = ["list", "test"]

/** Returns 0. Throws CLI_… errors, and what broken settings throw. */
export async function hooks(line: CommandLine, host: Host): Promise<number> {
  const [word = "list", event] = line.args
  if (!WORDS.includes(word)) {
    const near = nearestName(word, WORDS)
    const mend = near ? `write "sous hooks ${near}"` : 'write "sous hooks list" or "sous hooks test EVENT"'
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: word, mend })
  }
  if (word === "test") return await (await import("./hooks-test.ts")).testEvent(line, host)
  if (event !== undefined) {
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: event, mend: 'write "sous hooks list" alone' })
  }
  for (const flag of ["tool", "input", "payload"] as const) {
    if (line.values[flag] === undefined) continue
    throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: `--${flag}`, mend: 'write "sous hooks test EVENT"' })
  }
  return await list(line, host)
}

async function list(line: CommandLine, host: Host): Promise<number> {
  const session = await openSession(line, { ...host, openAsker: async () => undefined })
  const { rows, warnings } = await withKit(session, async (kit) => listHooks(kit, session))
  for (const warning of warnings) host.tell(`! ${warning}`)
  const { notRaised } = session.loaded.hooks
  if (line.values.json) host.print(`${JSON.stringify({ hooks: rows, notRaised })}\n`)
  else host.print(host.escape(forPeople(rows, session)))
  return 0
}

/** One hook as it is listed. */
export interface HookRow {
  event: string
  matcher?: string
  dialect: string
  /** command, http, prompt, agent, mcp_tool; of a plugin: code. */
  type: string
  /** What it runs, asks or calls, one line. */
  does?: string
  scope: string
  file?: string
  line?: number
  column?: number
  by?: string
  description?: string
  timeoutMs?: number
  onFailure?: string
  if?: string
  once?: boolean
  async?: boolean | "rewake"
  active: boolean
  /** What keeps it from running. */
  suppressed?: string
  /** What is wrong with it, one clause each. */
  problems: string[]
}

/** All hooks, those of plugins first, as they run; with the warnings of the settings. */
export function listHooks(kit: Kit, { loaded, cwd, host }: Session): { rows: HookRow[]; warnings: string[] } {
  const { tools, agents, hooks: ofPlugins } = kit.describe()
  const surroundings = { cwd, projectDir: loaded.folders.root ?? cwd, env: host.env }
  const rows = ofPlugins.map(
    ({ plugin, ...hook }): HookRow => ({
      ...hook,
      dialect: "native",
      type: "code",
      scope: "plugin",
      by: plugin,
      active: true,
      problems: [],
    }),
  )
  for (const source of loaded.hooks.sources) {
    const found = [scriptFinding(source, surroundings), matcherFinding(source, { tools, agents })]
    rows.push(
      rowOf(
        source,
        found.flatMap((one) => one?.problem ?? []),
      ),
    )
  }
  return { rows, warnings: loaded.warnings }
}

function rowOf(source: HookSource, problems: string[]): HookRow {
  const { form, origin, suppressed: _, statusMessage: __, expects: ___, env: ____, ...rest } = source
  const suppressed = suppressionOf(source)
  return {
    ...rest,
    ...origin,
    type: form.type,
    does: describeForm(form),
    active: suppressed === undefined,
    ...(suppressed === undefined ? {} : { suppressed }),
    problems,
  }
}

/** In one line, and without values of headers. */
function describeForm(form: HookSource["form"]): string {
  switch (form.type) {
    case "command":
      return [form.command, ...(form.args ?? [])].join(" ")
    case "http":
      return form.url
    case "mcp_tool":
      return `${form.server} ${form.tool}`
    case "prompt":
    case "agent":
      return form.prompt
  }
}

function forPeople(rows: readonly HookRow[], { loaded, cwd }: Session): string {
  const { notRaised } = loaded.hooks
  const near = (file: string) => {
    const way = relative(cwd, file)
    return way.startsWith("..") ? file : way
  }
  const lines = rows.flatMap((row) => {
    const { event, matcher, active, dialect, type, file, scope, by, suppressed, problems } = row
    const place = file === undefined ? (by ?? scope) : `${near(file)}:${row.line ?? 1}`
    const head = [active ? "active " : "not run", matcher ? `${event}(${matcher})` : event, dialect, scope, place]
    return [
      head.join("  "),
      ...[row.description, row.does && clip(`${type}: ${row.does}`)].flatMap((text) => (text ? [`    ${text}`] : [])),
      ...(suppressed === undefined ? [] : [`    not run: ${suppressed}`]),
      ...problems.map((problem) => `    ! ${problem}`),
    ]
  })
  const others = notRaised.map(({ event, origin }) => {
    const shown = origin.file === undefined ? origin : { ...origin, file: near(origin.file) }
    return `not raised here  ${event}  ${placeOf(shown)}`
  })
  const all = [...lines, ...others]
  return `${all.length === 0 ? "No hooks" : all.join("\n")}\n`
}

function clip(text: string): string {
  const line = text.replaceAll("\n", "\\n")
  return line.length <= 160 ? line : `${line.slice(0, 159)}…`
}
