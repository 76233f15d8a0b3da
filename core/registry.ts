/**
 * What the plugins added, by name, in the order in which they were registered.
 *
 * Invariant: a name stands for one thing; after `freeze` nothing changes, and what it shows is what runs.
 */
import { SousError, suggest } from "./error.ts"
import { HOOKS, type Hook, type HookEvent, type HookHandler } from "./hook.ts"
import { type HookSource, suppressionOf } from "./hook-source.ts"
import type { ModelProvider } from "./model.ts"
import type { Behavior, RuleSource } from "./permission/decision.ts"
import type { Classifier, Compaction, ContextSource, Contribution, Plugin } from "./plugin.ts"
import type { SafetyClassifier } from "./safety.ts"
import type { Recipe } from "./step.ts"
import type { AgentDefinition, Tool } from "./tool.ts"

/** A hook with whoever brought it: a plugin (or a step) with a function, or a configuration with a command and the like. */
export type RegisteredHook = PluginHook | ConfiguredHook

interface HookHead {
  event: HookEvent
  matcher?: string
  description?: string
  /** How long the handler may take, ms. */
  timeoutMs?: number
}
export interface PluginHook extends HookHead {
  plugin: string
  handler: HookHandler<any>
  source?: undefined
}
export interface ConfiguredHook extends HookHead {
  source: HookSource
  plugin?: undefined
}

/** Everything that the plugins of a kit added; frozen. */
export interface Registry {
  readonly tools: ReadonlyMap<string, Tool>
  readonly models: readonly ModelProvider[]
  readonly agents: readonly AgentDefinition[]
  readonly recipes: readonly Recipe[]
  readonly context: readonly (ContextSource & { plugin: string })[]
  readonly compaction: readonly Compaction[]
  readonly hooks: readonly RegisteredHook[]
  /** The plugins' own permission rules. */
  readonly rules: readonly RuleSource[]
  readonly classifiers: readonly { plugin: string; classify: Classifier }[]
  readonly safety: readonly { plugin: string; classify: SafetyClassifier }[]
}

/** Collects contributions until it is frozen. */
export interface RegistryBuilder {
  /** Adds all of it or, when anything in it is refused, nothing. Throws a SousError. */
  add(plugin: string, contribution: Contribution): void
  freeze(): Registry
}

interface Named {
  kind: string
  name: string
}

const CONTRIBUTION_KEYS = [
  "tools",
  "hooks",
  "permissions",
  "compaction",
  "models",
  "context",
  "recipes",
  "agents",
  "dispose",
] as const satisfies (keyof Contribution)[]
const PLUGIN_KEYS = [...CONTRIBUTION_KEYS, "name", "requires", "required", "settings", "capabilities", "setup"]

/** Makes an empty builder. */
export function createRegistry(): RegistryBuilder {
  const owners = new Map<string, string>()
  const parts = {
    tools: new Map<string, Tool>(),
    models: [] as ModelProvider[],
    agents: [] as AgentDefinition[],
    recipes: [] as Recipe[],
    context: [] as (ContextSource & { plugin: string })[],
    compaction: [] as Compaction[],
    hooks: [] as RegisteredHook[],
    rules: [] as RuleSource[],
    classifiers: [] as { plugin: string; classify: Classifier }[],
    safety: [] as { plugin: string; classify: SafetyClassifier }[],
  }
  let frozen = false
  return {
    add(plugin, contribution) {
      if (frozen) throw new SousError("PLUGIN_TOO_LATE", { plugin })
      checkKeys(plugin, contribution, CONTRIBUTION_KEYS)
      const names = namesOf(contribution)
      checkNames(plugin, names, owners)
      const hooks = registerHooks(plugin, contribution.hooks ?? {})
      for (const { kind, name } of names) owners.set(`${kind} ${name}`, plugin)
      for (const tool of contribution.tools ?? []) parts.tools.set(tool.name, Object.freeze(tool))
      parts.models.push(...(contribution.models ?? []))
      parts.agents.push(...(contribution.agents ?? []))
      parts.recipes.push(...(contribution.recipes ?? []))
      parts.context.push(...(contribution.context ?? []).map((source) => ({ ...source, plugin })))
      parts.compaction.push(...(contribution.compaction ?? []))
      parts.hooks.push(...hooks)
      parts.rules.push(...rulesOf(plugin, contribution))
      const { classify, safety } = contribution.permissions ?? {}
      if (classify) parts.classifiers.push({ plugin, classify })
      if (safety) parts.safety.push({ plugin, classify: safety })
    },
    freeze() {
      frozen = true
      return Object.freeze(parts)
    },
  }
}

/** Throws PLUGIN_INVALID when a plugin object has no usable name or a key that no plugin has. */
export function checkPlugin(plugin: Plugin, from: string): Plugin {
  if (typeof plugin !== "object" || plugin === null) {
    throw new SousError("PLUGIN_EXPORT_INVALID", { from, found: plugin === null ? "null" : typeof plugin })
  }
  if (typeof plugin.name !== "string" || !/^[a-z0-9][a-z0-9-]*$/.test(plugin.name)) {
    throw new SousError("PLUGIN_NAME_INVALID", { from, name: String(plugin.name) })
  }
  checkKeys(plugin.name, plugin, PLUGIN_KEYS)
  return plugin
}

/** The contribution that a plugin object carries itself, without what its `setup` returns. */
export function contributionOf(plugin: Plugin): Contribution {
  return Object.fromEntries(CONTRIBUTION_KEYS.flatMap((key) => (plugin[key] === undefined ? [] : [[key, plugin[key]]])))
}

/** The hooks of a contribution as a list, each with its owner. Throws HOOK_EVENT_UNKNOWN. */
export function registerHooks(plugin: string, hooks: NonNullable<Contribution["hooks"]>): RegisteredHook[] {
  return Object.entries(hooks).flatMap(([event, value]) => {
    if (!Object.hasOwn(HOOKS, event))
      throw new SousError("HOOK_EVENT_UNKNOWN", { plugin, event, known: Object.keys(HOOKS) })
    const list = (Array.isArray(value) ? value : [value]) as Hook<any>[]
    return list.map((hook) => registerHook(plugin, event as HookEvent, hook))
  })
}

/** Configured hooks as the runner takes them; what nothing will ever start is left out. */
export function registerSources(sources: readonly HookSource[]): RegisteredHook[] {
  return sources
    .filter((source) => suppressionOf(source) === undefined)
    .map((source) => ({
      source,
      event: source.event,
      ...(source.matcher === undefined ? {} : { matcher: source.matcher }),
      ...(source.description === undefined ? {} : { description: source.description }),
      ...(source.timeoutMs === undefined ? {} : { timeoutMs: source.timeoutMs }),
    }))
}

function registerHook(plugin: string, event: HookEvent, hook: Hook<any>): RegisteredHook {
  if (typeof hook === "function") return { event, plugin, handler: hook }
  if (typeof hook?.handler !== "function") throw new SousError("HOOK_HANDLER_INVALID", { plugin, event })
  return { ...hook, event, plugin }
}

function checkKeys(plugin: string, value: object, known: readonly string[]): void {
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) throw new SousError("PLUGIN_KEY_UNKNOWN", { plugin, key, mend: suggest(key, known) })
  }
}

function namesOf(contribution: Contribution): Named[] {
  const named = (kind: string, list: { name: string }[] | undefined) =>
    (list ?? []).map(({ name }) => ({ kind, name: String(name) }))
  return [
    ...named("tool", contribution.tools),
    ...named("model provider", contribution.models),
    ...named("agent", contribution.agents),
    ...named("recipe", contribution.recipes),
    ...named("compaction", contribution.compaction),
  ]
}

function checkNames(plugin: string, names: Named[], owners: ReadonlyMap<string, string>): void {
  const seen = new Set<string>()
  for (const { kind, name } of names) {
    const id = `${kind} ${name}`
    const owner = owners.get(id) ?? (seen.has(id) ? plugin : undefined)
    if (owner !== undefined) throw new SousError("PLUGIN_CLASH", { plugin, kind, name, owner })
    seen.add(id)
  }
}

function rulesOf(plugin: string, contribution: Contribution): RuleSource[] {
  const list = (behavior: Behavior) =>
    (contribution.permissions?.[behavior] ?? []).map(
      (text): RuleSource => ({ text, behavior, scope: "plugin", by: plugin }),
    )
  return [...list("deny"), ...list("ask"), ...list("allow")]
}
