/**
 * What the plugins added, by name, in the order in which they were registered.
 *
 * Invariant: a name stands for one thing; after `freeze` nothing changes, and what it shows is what runs.
 */
import { SousError } from "./error.ts"
import { HOOKS, type Hook, type HookEvent, type HookHandler } from "./hook.ts"
import { type HookSource, suppressionOf } from "./hook-source.ts"
import type { ModelProvider } from "./model.ts"
import type { Behavior, RuleSource } from "./permission/decision.ts"
import type { Classifier, Compaction, ContextSource, Contribution, PluginEntry } from "./plugin.ts"
import { checkContribution, quotePlugin } from "./registry-shape.ts"
import type { SafetyClassifier } from "./safety.ts"
import type { Recipe } from "./step.ts"
import type { AgentDefinition, Tool } from "./tool.ts"

export { checkPlugin, contributionOf } from "./registry-shape.ts"

/** A hook with whoever brought it: a plugin (or a step) with a function, or a configuration with a command and the like. */
export type RegisteredHook = PluginHook | ConfiguredHook

interface HookHead {
  event: HookEvent
  matcher?: string
  description?: string
  /** How long the handler may take, ms. */
  timeoutMs?: number
  /** It came in while a run was at work: what it allows does not count. */
  onlyGuards?: true
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
  add(plugin: string, contribution: Contribution, place?: RegistryPlace): void
  hasTool(name: string): boolean
  freeze(): Registry
}

/** What an entry says about its plugin that counts here. */
export type RegistryPlace = Partial<Pick<PluginEntry, "from" | "tier">>

interface Named {
  kind: string
  name: string
}

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
    hasTool: (name) => parts.tools.has(name),
    add(plugin, contribution, { from, tier } = {}) {
      const owner = { plugin, from }
      if (frozen) throw new SousError("PLUGIN_TOO_LATE", { plugin: quotePlugin(plugin, from) })
      checkContribution(contribution, owner)
      if (tier !== "shipped") checkReserved(owner, contribution)
      const names = namesOf(contribution)
      checkNames(owner, names, owners)
      const hooks = registerHooks(plugin, contribution.hooks ?? {})
      for (const { kind, name } of names) owners.set(`${kind} ${name}`, quotePlugin(plugin, from))
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

interface Owner {
  plugin: string
  from: string | undefined
}

function checkNames({ plugin, from }: Owner, names: Named[], owners: ReadonlyMap<string, string>): void {
  const seen = new Set<string>()
  for (const { kind, name } of names) {
    const id = `${kind} ${name}`
    const owner = owners.get(id) ?? (seen.has(id) ? "itself" : undefined)
    if (owner !== undefined) {
      const prefixes = kind === "tool" && from !== undefined && from !== plugin
      throw new SousError("PLUGIN_CLASH", { plugin: quotePlugin(plugin, from), kind, name, owner, prefixes })
    }
    seen.add(id)
  }
}

/** A tool of that name would be taken for one of a server, by rules and by people. */
function checkReserved({ plugin, from }: Owner, { tools = [] }: Contribution): void {
  const reserved = tools.find(({ name }) => /^mcp__/i.test(name))
  if (reserved === undefined) return
  throw new SousError("PLUGIN_TOOL_RESERVED", { plugin: quotePlugin(plugin, from), tool: reserved.name })
}

function rulesOf(plugin: string, contribution: Contribution): RuleSource[] {
  const list = (behavior: Behavior) =>
    (contribution.permissions?.[behavior] ?? []).map(
      (text): RuleSource => ({ text, behavior, scope: "plugin", by: plugin }),
    )
  return [...list("deny"), ...list("ask"), ...list("allow")]
}
