/**
 * One plugin into the registry: its name, what it requires, its settings, its setup, and what all that adds.
 *
 * Invariant: a plugin is added whole or not at all; what one that is not added had acquired is given back.
 */
import { isSousError, reasonOf, SousError } from "./error.ts"
import type { EventBody, PluginReport } from "./event.ts"
import { compileHooks } from "./hook-match.ts"
import { within } from "./patience.ts"
import { parseRule } from "./permission/rule.ts"
import type { Contribution, Plugin, PluginContext, PluginEntry } from "./plugin.ts"
import { addsOf, guardsOf } from "./register-adds.ts"
import { type RegistryBuilder, registerHooks } from "./registry.ts"
import { checkContribution, checkPlugin, contributionOf, quotePlugin } from "./registry-shape.ts"
import { describeIssue } from "./tool-input.ts"

/** Time that a plugin's setup may take when nothing else is said, ms. */
const SETUP_BUDGET_MS = 10_000
/** How long a plugin may take to give back what it holds, ms. */
export const DISPOSE_MS = 10_000

/** What a plugin is registered into. */
export interface Setting {
  builder: RegistryBuilder
  /** Sections of the settings, by the plugin's name. */
  sections: Readonly<Record<string, unknown>>
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  /** Default: 10 s, ms. */
  budgetMs?: number | undefined
  /** Names that are registered, each with who has it. */
  names: Map<string, string>
  /** Tells people of what a plugin does that it may not. */
  tell(body: EventBody): void
}

/** A plugin that is registered. */
export interface Unit {
  entry: PluginEntry
  plugin: Plugin
  /** As it was handed in. */
  contribution: Contribution
  /** Its section of the settings, as text. */
  section: string
  adds: string[]
  /** With what it guards: `deny Bash(rm *)`, `hook PreToolUse(Bash)`; empty for one that does not. */
  guards: string[]
  durationMs: number
  /** Ends it: its signal fires, then it gives back what it holds. Rejects with what that threw. */
  retire(): Promise<void>
}

/** Checks, sets up and adds one plugin. `before`: the same, set up already. Throws its SousError. */
export async function registerPlugin(entry: PluginEntry, setting: Setting, before?: Unit): Promise<Unit> {
  const started = performance.now()
  if (entry.fault) throw entry.fault
  const plugin = checkPlugin(entry.plugin as Plugin, entry.from)
  const owner = quotePlugin(plugin.name, entry.from)
  const taken = setting.names.get(plugin.name)
  if (taken !== undefined) throw new SousError("PLUGIN_DUPLICATE", { plugin: owner, owner: taken })
  const missing = plugin.requires?.find((required) => !setting.names.has(required))
  if (missing !== undefined) throw new SousError("PLUGIN_REQUIRES", { plugin: owner, missing })
  const unit = canCarry(before, plugin, setting) ? { ...before, entry } : await setUp(entry, plugin, setting)
  try {
    checkCompiles(plugin.name, owner, unit.contribution)
    const added = await withPrefixes(entry, unit, setting)
    setting.builder.add(plugin.name, added, entry)
    setting.names.set(plugin.name, owner)
    const durationMs = (entry.loadMs ?? 0) + performance.now() - started
    return { ...unit, adds: addsOf(added), guards: guardsOf(plugin, added), durationMs }
  } catch (error) {
    if (unit.retire !== before?.retire) await unit.retire().catch(() => {})
    throw error
  }
}

async function withPrefixes(
  { collision, from }: PluginEntry,
  { plugin, contribution }: Pick<Unit, "plugin" | "contribution">,
  { builder }: Setting,
): Promise<Contribution> {
  if (collision !== "prefix") return contribution
  checkContribution(contribution, { plugin: plugin.name, from })
  const { prefixTools } = await import("./registry-prefix.ts")
  return prefixTools(plugin.name, contribution, builder.hasTool)
}

/** What cannot be compiled would keep every run from starting. Throws HOOK_…_INVALID or PERMISSION_RULE_INVALID. */
function checkCompiles(plugin: string, owner: string, { hooks, permissions }: Contribution): void {
  if (hooks !== undefined) compileHooks(registerHooks(plugin, hooks))
  for (const rule of [...(permissions?.deny ?? []), ...(permissions?.ask ?? [])]) {
    try {
      parseRule(rule)
    } catch (error) {
      const { details } = error as SousError<"PERMISSION_RULE_INVALID">
      throw new SousError("PERMISSION_RULE_INVALID", { ...details, from: `plugin ${owner}` }, { cause: error })
    }
  }
}

/** What became of a plugin that is registered. */
export function reportOf({ entry, adds, guards, durationMs }: Unit): PluginReport {
  const { restarts = 0, fault } = entry.health?.() ?? {}
  const report: PluginReport = { ...headOf(entry), ok: fault === undefined, adds, durationMs }
  if (guards.length > 0) report.guards = true
  if (restarts > 0) report.restarts = restarts
  if (fault !== undefined) report.error = fault
  return report
}

/** What became of a plugin that is left out. */
export function reportFault(entry: PluginEntry, fault: SousError, started: number): PluginReport {
  const { message: error, code, mend } = fault
  const durationMs = (entry.loadMs ?? 0) + performance.now() - started
  return { ...headOf(entry), ok: false, adds: [], durationMs, error, code, mend }
}

function headOf({ name, plugin, from, tier, scope, pack }: PluginEntry) {
  return {
    name: typeof plugin?.name === "string" ? plugin.name : name,
    from,
    tier,
    ...(scope === undefined ? {} : { scope }),
    ...(pack === undefined ? {} : { pack }),
  }
}

/** Whatever kept a plugin from being registered, as a fault with a code. */
export function asFault(entry: PluginEntry, error: unknown): SousError {
  if (isSousError(error)) return error
  const reason = reasonOf(error)
  const plugin = quotePlugin(headOf(entry).name, entry.from)
  return new SousError("PLUGIN_SETUP_FAILED", { plugin, reason }, { cause: error })
}

/** A plugin that did not change goes on as it is. */
function canCarry(before: Unit | undefined, plugin: Plugin, { sections }: Setting): before is Unit {
  return before?.plugin === plugin && before.section === sectionOf(plugin, sections)
}

function sectionOf({ name }: Plugin, sections: Setting["sections"]): string {
  return JSON.stringify(sections[name] ?? {})
}

type SetUp = Omit<Unit, "adds" | "guards" | "durationMs">

async function setUp(entry: PluginEntry, plugin: Plugin, setting: Setting): Promise<SetUp> {
  const own = contributionOf(plugin)
  const section = checkSection(plugin, entry, setting.sections)
  const life = new AbortController()
  const added: Contribution[] = [own]
  const retire = async () => {
    life.abort(new Error(`The plugin "${plugin.name}" is no longer used`))
    const disposals = added.flatMap(({ dispose }) => (dispose ? [dispose] : []))
    await disposeAll(plugin.name, disposals.reverse())
  }
  let isOpen = true
  const add = (contribution: Contribution) => {
    const owner = quotePlugin(plugin.name, entry.from)
    if (!isOpen) throw lateness(owner, setting)
    checkContribution(contribution, { plugin: plugin.name, from: entry.from })
    added.push(contribution)
  }
  const { cwd, env } = setting
  const context: PluginContext = { settings: section, cwd, env, signal: life.signal, add }
  try {
    const returned = await withinBudget(plugin, entry, { setting, context })
    if (returned !== undefined && returned !== null) add(returned)
    const contribution = added.reduce(joinContributions)
    return { entry, plugin, contribution, section: sectionOf(plugin, setting.sections), retire }
  } catch (error) {
    await retire().catch(() => {})
    throw error
  } finally {
    isOpen = false
  }
}

/** People are told of it, too: a plugin that catches it would hide it. */
function lateness(plugin: string, { tell }: Setting): SousError {
  const fault = new SousError("PLUGIN_TOO_LATE", { plugin })
  tell({ type: "notice", level: "warning", message: `${fault.message}; ${fault.mend}`, code: fault.code })
  return fault
}

async function disposeAll(plugin: string, disposals: readonly (() => void | Promise<void>)[]): Promise<void> {
  let first: unknown
  for (const dispose of disposals) {
    await within(DISPOSE_MS, `the dispose of plugin "${plugin}"`, dispose).catch((error: unknown) => {
      first ??= error
    })
  }
  if (first !== undefined) throw first
}

function checkSection(plugin: Plugin, { from }: PluginEntry, sections: Setting["sections"]): unknown {
  const section = sections[plugin.name]
  if (plugin.settings === undefined) return section ?? {}
  const parsed = plugin.settings.safeParse(section ?? {})
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues.map(describeIssue).join("; ")
  const owner = quotePlugin(plugin.name, from)
  throw new SousError("PLUGIN_SETTINGS_INVALID", { plugin: owner, section: plugin.name, issue })
}

async function withinBudget(
  plugin: Plugin,
  { from }: PluginEntry,
  { setting, context }: { setting: Setting; context: PluginContext },
): Promise<Contribution | void> {
  if (plugin.setup === undefined) return undefined
  const { budgetMs = SETUP_BUDGET_MS } = setting
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const reason = `its setup did not end within ${budgetMs / 1000} s`
    const fault = new SousError("PLUGIN_SETUP_FAILED", { plugin: quotePlugin(plugin.name, from), reason })
    timer = setTimeout(() => reject(fault), budgetMs)
  })
  const work = (async () => await plugin.setup!(context))()
  try {
    return await Promise.race([work, late])
  } catch (error) {
    // What comes too late is given back at once.
    work.then(
      (returned) => disposeAll(plugin.name, returned?.dispose ? [returned.dispose] : []).catch(() => {}),
      () => {},
    )
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** What a plugin object carries and what its setup returned, as one; hooks of one event from both are kept, in order. */
function joinContributions(own: Contribution, more: Contribution): Contribution {
  const joined: Record<string, unknown> = { ...own }
  for (const [key, value] of Object.entries(more)) {
    const before = joined[key]
    if (value === undefined) continue
    if (before === undefined || key === "dispose") joined[key] = value
    else if (Array.isArray(value)) joined[key] = [...(before as unknown[]), ...value]
    else joined[key] = joinFields(before as Record<string, unknown>, value as Record<string, unknown>)
  }
  return joined
}

function joinFields(own: Record<string, unknown>, more: Record<string, unknown>): Record<string, unknown> {
  const both = Object.keys({ ...own, ...more }).map((key) => {
    const values = [own[key], more[key]].filter((value) => value !== undefined)
    return [key, values.length === 1 ? values[0] : values.flat()]
  })
  return Object.fromEntries(both)
}
