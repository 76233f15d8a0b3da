/**
 * One plugin into the registry: its name, what it requires, its settings, its setup, and what all that adds.
 *
 * Invariant: a plugin is added whole or not at all, and one that guards something is never left out quietly.
 */
import { isSousError, SousError } from "./error.ts"
import type { PluginReport } from "./event.ts"
import { HOOKS } from "./hook.ts"
import type { KitOptions } from "./kit.ts"
import type { Contribution, Plugin } from "./plugin.ts"
import { checkPlugin, contributionOf, type RegistryBuilder } from "./registry.ts"
import type { EffectiveSettings } from "./settings/merge.ts"
import { describeIssue } from "./tool-input.ts"

/** Time that a plugin's setup may take, ms. */
const SETUP_BUDGET_MS = 10_000

/** What a plugin is registered into. */
export interface Setting {
  builder: RegistryBuilder
  settings: EffectiveSettings
  options: KitOptions
  disposals: (() => void | Promise<void>)[]
  signal: AbortSignal
  names: Set<string>
}

/**
 * Checks, sets up and adds one plugin. What cannot be set up is reported; a plugin that guards something, or any when
 * the kit is strict, throws its SousError instead.
 */
export async function registerPlugin(plugin: Plugin, setting: Setting): Promise<PluginReport> {
  const started = performance.now()
  const name = String(plugin?.name ?? "?")
  try {
    const adds = await setUpPlugin(checkPlugin(plugin, name), setting)
    return { name, from: name, ok: true, adds, durationMs: performance.now() - started }
  } catch (error) {
    const cause = isSousError(error)
      ? error
      : new SousError("PLUGIN_SETUP_FAILED", { plugin: name, reason: (error as Error).message }, { cause: error })
    // A guard that is missing must not be a smaller guard.
    if (setting.options.strict || guards(plugin)) throw cause
    return { name, from: name, ok: false, adds: [], durationMs: performance.now() - started, error: cause.message }
  }
}

async function setUpPlugin(plugin: Plugin, setting: Setting): Promise<string[]> {
  const { builder, names, disposals, options } = setting
  if (names.has(plugin.name)) throw new SousError("PLUGIN_DUPLICATE", { plugin: plugin.name })
  const missing = plugin.requires?.find((required) => !names.has(required))
  if (missing !== undefined) throw new SousError("PLUGIN_REQUIRES", { plugin: plugin.name, missing })
  const section = checkSection(plugin, setting.settings)
  const own = contributionOf(plugin)
  const context = { settings: section, cwd: options.cwd, env: options.env, signal: setting.signal }
  const more = plugin.setup ? ((await withinBudget(plugin, () => plugin.setup!(context))) ?? {}) : {}
  const both = joinContributions(own, more)
  builder.add(plugin.name, both)
  names.add(plugin.name)
  for (const dispose of [own.dispose, more.dispose]) if (dispose) disposals.push(dispose)
  return addsOf(both)
}

function checkSection(plugin: Plugin, settings: EffectiveSettings): unknown {
  const section = settings.pluginSettings[plugin.name]
  if (plugin.settings === undefined) return section ?? {}
  const parsed = plugin.settings.safeParse(section ?? {})
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues.map(describeIssue).join("; ")
  throw new SousError("PLUGIN_SETTINGS_INVALID", { plugin: plugin.name, issue })
}

async function withinBudget<T>(plugin: Plugin, work: () => T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const reason = `its setup did not end within ${SETUP_BUDGET_MS / 1000} s`
    timer = setTimeout(
      () => reject(new SousError("PLUGIN_SETUP_FAILED", { plugin: plugin.name, reason })),
      SETUP_BUDGET_MS,
    )
  })
  try {
    return await Promise.race([work(), late])
  } finally {
    clearTimeout(timer)
  }
}

/** What a plugin object carries and what its setup returned, as one; hooks of one event from both are kept, in order. */
function joinContributions(own: Contribution, more: Contribution): Contribution {
  const joined: Record<string, unknown> = { ...own }
  for (const [key, value] of Object.entries(more)) {
    const before = joined[key]
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

function addsOf(contribution: Contribution): string[] {
  const named = (kind: string, list: { name: string }[] | undefined) =>
    (list ?? []).map(({ name }) => `${kind} ${name}`)
  return [
    ...named("tool", contribution.tools),
    ...Object.keys(contribution.hooks ?? {}).map((event) => `hook ${event}`),
    ...named("model", contribution.models),
    ...named("agent", contribution.agents),
    ...named("recipe", contribution.recipes),
    ...named("context", contribution.context),
    ...named("compaction", contribution.compaction),
  ]
}

/** True for a plugin whose absence would let something through that it was there to stop. */
function guards(plugin: Plugin): boolean {
  const gates = Object.keys(plugin?.hooks ?? {}).some((event) => HOOKS[event as keyof typeof HOOKS]?.kind === "gate")
  return gates || Boolean(plugin?.required || plugin?.permissions?.deny?.length || plugin?.permissions?.ask?.length)
}
