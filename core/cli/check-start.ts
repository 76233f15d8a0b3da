/**
 * What a start here would come to → its tools and plugins, and what it says that no file says by itself.
 *
 * Invariant: it loads what a start loads and nothing else: plugins of this person and of the organisation, and those of a
 * project that somebody trusts.
 */
import type { PluginReport } from "../event.ts"
import type { HookSource } from "../hook-source.ts"
import type { Kit } from "../kit.ts"
import type { RuleSource } from "../permission/decision.ts"
import type { LoadedSettings } from "../settings/load.ts"
import type { Tool } from "../tool.ts"
import { type Finding, findingOf } from "./check-finding.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { openSession, runOptions, type Session, withKit } from "./session.ts"

/** A start that was looked at. */
export interface Start {
  /** Left out when the settings cannot be read. */
  loaded?: LoadedSettings
  tools: readonly Tool[]
  agents: readonly string[]
  /** Some plugins could not be looked at. */
  isPartial: boolean
  /** There is something in the project that nobody has trusted. */
  isUntrusted: boolean
  /** Rules and hooks that stand in no settings file: those of plugins, packs and code. */
  rules: RuleSource[]
  hooks: HookSource[]
  findings: Finding[]
}

/** Opens the settings and the plugins as a run would, and closes them. */
export async function checkStart(line: CommandLine, host: Host): Promise<Start> {
  const shipped = (await host.shippedPlugins()).flatMap(({ tools = [] }) => tools)
  const nothing = { tools: shipped, agents: [], isPartial: true, isUntrusted: false, rules: [], hooks: [] }
  let session: Session
  try {
    session = await openSession(line, { ...host, openAsker: async () => undefined }, { isSurvey: true })
  } catch (error) {
    return { ...nothing, findings: [findingOf(error, "")] }
  }
  const { loaded } = session
  const { state } = loaded.trust
  const common = { ...nothing, loaded, isUntrusted: state === "untrusted" || state === "changed" }
  const said = settingsFindings(loaded)
  try {
    const opened = await withKit(session, (kit) => lookAt(kit, session), { isSurvey: true })
    return { ...common, ...opened, hooks: unplaced(loaded.hooks.sources), findings: [...said, ...opened.findings] }
  } catch (error) {
    return { ...common, findings: [...said, findingOf(error, "")] }
  }
}

async function lookAt(kit: Kit, session: Session) {
  const known = kit.describe()
  const { rules, warnings, fault } = await kit.permissions(runOptions(session))
  const tools = known.tools.flatMap((name) => kit.tool(name) ?? [])
  const findings = [
    ...known.plugins.flatMap(pluginFindings),
    // What is odd about a rule is told with its place.
    ...warnings.filter((warning) => !/^The (?:allow|ask|deny) rules? "/.test(warning)).map(plain),
    ...(fault === undefined ? [] : [findingOf(fault, "")]),
  ]
  const isPartial = known.plugins.some(({ ok }) => !ok)
  return { tools, agents: known.agents, isPartial, rules: rules.filter(({ file }) => file === undefined), findings }
}

function pluginFindings({ ok, error, from, name, mend = "", code }: PluginReport): Finding[] {
  if (ok) return []
  const file = /[\\/]/.test(from) ? from : ""
  const problem = `Plugin left out: ${error ?? "it did not load"}`
  const what = file === "" ? `plugin "${name}"` : ""
  return [{ level: "error", file, line: 1, column: 1, what, problem, mend, ...(code === undefined ? {} : { code }) }]
}

/** Hooks of packs and of settings that are code. */
function unplaced(hooks: readonly HookSource[]): HookSource[] {
  return hooks.filter(({ origin }) => origin.file === undefined || origin.line === undefined)
}

function plain(problem: string): Finding {
  return { level: "warning", file: "", line: 1, column: 1, what: "", problem, mend: "" }
}

function settingsFindings({ warnings, trust, folders }: LoadedSettings): Finding[] {
  const told = warnings.filter((warning) => !isTold(warning)).map(plain)
  return [...told, ...trustFindings(trust, folders.root ?? "")]
}

/** What is known from the files themselves, and from what is known of trust. */
function isTold(warning: string): boolean {
  return (
    /^".*?" at .*?:\d+:\d+ /.test(warning) ||
    /^".*?" is not read: /.test(warning) ||
    /^(?:Left out, since|This project is not any more what) /.test(warning)
  )
}

function trustFindings(trust: LoadedSettings["trust"], root: string): Finding[] {
  const { state, changes, since, fault } = trust
  const place = { file: root, line: 1, column: 1, what: "trust" }
  const at = since === undefined ? "" : ` on ${since.slice(0, 10)}`
  if (fault !== undefined) return [{ ...findingOf(fault, root), level: "warning", what: "trust" }]
  if (state === "follows")
    return [{ ...place, level: "note", problem: "this folder is trusted whatever it holds", mend: "" }]
  if (state === "untrusted") {
    const problem = "nobody has trusted this project, so nothing of it that runs or widens counts"
    return [{ ...place, level: "note", problem, mend: "look at it with sous trust" }]
  }
  if (state !== "changed") return []
  const names = changes.slice(0, 5).map(({ file, how }) => `${how} "${file}"`)
  const more = changes.length > 5 ? ` and ${changes.length - 5} more` : ""
  const problem = `it is not what was trusted${at}: ${names.join(", ")}${more}`
  return [{ ...place, level: "warning", problem, mend: "look at it with sous trust" }]
}
