/**
 * What several scopes set → what is in force: one value for each key, every rule and path with its origin.
 *
 * Invariant: a key merges as its mark in the schema says and no other way; a weaker scope never replaces a stronger one.
 */
import type { Price } from "../model.ts"
import type { Behavior, Origin, RuleSource, Scope } from "../permission/decision.ts"
import type { Budget } from "../step.ts"
import type { CompactOptions, Effort, PermissionMode } from "../tool.ts"
import { given } from "./given.ts"
import { type Settings, type SettingsKey, settingsKeys } from "./schema.ts"

/** Scopes that settings come from, strongest first. */
export const SETTINGS_SCOPES = ["managed", "cli", "local", "project", "user"] as const
export type SettingsScope = Extract<Scope, (typeof SETTINGS_SCOPES)[number]>

/** The settings of one file, or of the flags of one start. */
export interface SettingsSource {
  scope: SettingsScope
  /** Absolute; left out for flags. */
  file?: string
  /** What relative paths in it are relative to, absolute. */
  base: string
  values: Settings
  /** What was read of the file. */
  text?: string
  /** Whose file it is. Left out: one of ours. */
  dialect?: "claude-code"
  /** What stands in it and does not count. */
  ignored?: readonly IgnoredValue[]
  /** Where a key or a list's entry stands, counting from 1. */
  at?(path: readonly (string | number)[]): { line: number; column: number } | undefined
}

/** A value of a file that does not count. */
export interface IgnoredValue {
  /** Dotted, as in the file. */
  path: string
  value: unknown
  /** One clause. */
  reason: string
}

/** A value with the place that set it. */
export interface Placed {
  value: string
  origin: Origin
  /** What a relative path is relative to, absolute. */
  base: string
}

/** A plugin that settings ask for. */
export interface PlacedPlugin extends Placed {
  /** `process`: in a process of its own. Left out: what is usual where it comes from. */
  isolation?: "process" | "none"
  /** Nothing starts without it. */
  required?: boolean
  /** What becomes of a tool whose name is taken. Default: an error. */
  collision?: "error" | "prefix"
}

/** A pack that settings ask for; `value` is its source. */
export interface PlacedPack extends Placed {
  name: string
}

/** What is in force. */
export interface EffectiveSettings {
  model?: string
  fallbackModel?: string
  effort?: Effort
  maxTurns?: number
  permissions: {
    /** Entries of `allow`, `ask`, `deny`, and those of `rules` (marked `ordered`); strongest scope first. */
    rules: RuleSource[]
    defaultMode: PermissionMode
    /** The small model that judges calls in mode auto. */
    autoModel?: string
    additionalDirectories: Placed[]
    denialLimit: number
    /** Modes that nobody may be in. */
    barredModes: PermissionMode[]
    /** Only the organisation's rules allow; what flags, recipes, plugins and persons grant does not. */
    managedRulesOnly?: true
  }
  env: Record<string, string>
  plugins: PlacedPlugin[]
  /** By name, the strongest scope's where several set one. */
  packs: PlacedPack[]
  pluginSettings: Record<string, Record<string, unknown>>
  budget: Budget
  prices: Record<string, Price>
  /** How conversations are kept within the window. */
  compact: CompactOptions
  memory: { files: boolean; auto: boolean; exclude: Placed[] }
  cleanup: { days: number }
  compat: { claude: boolean }
  /** Who set each key that has one value, by dotted path; what nobody set is not in it. */
  origins: ReadonlyMap<string, Origin>
}

/** Adds up the settings of several scopes, in whatever order they are given. */
export function mergeSettings(sources: readonly SettingsSource[]): EffectiveSettings {
  const ranked = rankSources(sources)
  const origins = new Map<string, Origin>()
  const merged = new Map(settingsKeys().map((key) => [key.path, mergeKey(key, ranked, origins)]))
  const one = <T>(path: string) => merged.get(path) as T
  const placed = (path: string) => one<Placed[] | undefined>(path) ?? []
  const budget = { usd: one("budget.usd"), tokens: one("budget.tokens"), turns: one("budget.turns") }
  return given({
    model: one("model"),
    fallbackModel: one("fallbackModel"),
    effort: one("effort"),
    maxTurns: one("maxTurns"),
    permissions: given({
      rules: [
        ...(["deny", "ask", "allow"] as const).flatMap((list) =>
          placed(`permissions.${list}`).map(({ value, origin }) => ({ ...origin, text: value, behavior: list })),
        ),
        ...placed("permissions.rules").map(orderedRule),
      ],
      defaultMode: modeOf(one("permissions.defaultMode")),
      autoModel: one("permissions.autoModel"),
      additionalDirectories: placed("permissions.additionalDirectories"),
      denialLimit: one("permissions.denialLimit"),
      barredModes: [
        ...(one("permissions.disableBypassPermissionsMode") === undefined ? [] : ["bypassPermissions"]),
        ...(one("permissions.disableAutoMode") === undefined ? [] : ["auto"]),
      ],
      managedRulesOnly: isManagedRulesOnly(ranked) || undefined,
    }),
    env: one("env") ?? {},
    plugins: placePlugins(ranked),
    packs: placePacks(ranked),
    pluginSettings: one("pluginSettings") ?? {},
    budget: given({ ...budget, minutes: one("budget.minutes") }),
    prices: one("prices") ?? {},
    compact: given({
      auto: one("compact.auto"),
      strategy: one("compact.strategy"),
      threshold: one("compact.threshold"),
      keep: one("compact.keep"),
    }),
    memory: { files: one("memory.files"), auto: one("memory.auto"), exclude: placed("memory.exclude") },
    cleanup: { days: one("cleanup.days") },
    compat: { claude: one("compat.claude") },
    origins,
  }) as EffectiveSettings
}

/** Strongest scope first; those of one scope stay in the order in which they are given. */
export function rankSources(sources: readonly SettingsSource[]): SettingsSource[] {
  return [...sources].sort((a, b) => SETTINGS_SCOPES.indexOf(a.scope) - SETTINGS_SCOPES.indexOf(b.scope))
}

/** True when the organisation lets only its own rules allow. */
export function isManagedRulesOnly(sources: readonly SettingsSource[]): boolean {
  return sources.some(({ scope, values }) => scope === "managed" && values.allowManagedPermissionRulesOnly)
}

/** `manual` is the other name of `default`. */
export function modeOf(name: PermissionMode | "manual"): PermissionMode {
  return name === "manual" ? "default" : name
}

function mergeKey({ path, mark }: SettingsKey, ranked: readonly SettingsSource[], origins: Map<string, Origin>) {
  const keys = path.split(".")
  const found = ranked.flatMap((source) => {
    const value = keys.reduce((values: any, key) => values?.[key], source.values) as unknown
    return value === undefined ? [] : [{ source, value }]
  })
  if (found.length === 0) return mark?.default
  if (mark?.merge === "union") {
    return found.every(({ value }) => Array.isArray(value))
      ? found.flatMap(({ source, value }) => placeEntries(source, keys, value as string[]))
      : found.reduceRight((sum, { value }) => mergeRecords(sum, value as Fields), {} as Fields)
  }
  const winner =
    mark?.merge === "tighten" ? found.reduce((a, b) => (Number(b.value) < Number(a.value) ? b : a)) : found[0]!
  origins.set(path, originOf(winner.source, keys))
  return winner.value
}

function placeEntries(
  source: SettingsSource,
  keys: readonly string[],
  values: readonly (string | undefined)[],
): Placed[] {
  return values.flatMap((value, index) =>
    value === undefined ? [] : [{ value, origin: originOf(source, [...keys, index]), base: source.base }],
  )
}

function placePlugins(ranked: readonly SettingsSource[]): PlacedPlugin[] {
  return ranked.flatMap((source) =>
    (source.values.plugins ?? []).map((entry, index) => {
      const { plugin, ...options } = typeof entry === "string" ? { plugin: entry } : entry
      return { value: plugin, origin: originOf(source, ["plugins", index]), base: source.base, ...given(options) }
    }),
  )
}

function placePacks(ranked: readonly SettingsSource[]): PlacedPack[] {
  const packs = new Map<string, PlacedPack>()
  for (const source of ranked) {
    for (const [name, value] of Object.entries(source.values.packs ?? {})) {
      if (!packs.has(name))
        packs.set(name, { name, value, origin: originOf(source, ["packs", name]), base: source.base })
    }
  }
  return [...packs.values()]
}

function originOf(source: SettingsSource, path: readonly (string | number)[]): Origin {
  return { scope: source.scope, ...(source.file === undefined ? {} : { file: source.file }), ...source.at?.(path) }
}

function orderedRule({ value, origin }: Placed): RuleSource {
  const [behavior = "", text = ""] = value.split(/\s+(.*)/s)
  return { ...origin, text, behavior: behavior as Behavior, ordered: true }
}

type Fields = Record<string, unknown>

function mergeRecords(weaker: Fields, stronger: Fields): Fields {
  const both = Object.entries(stronger).map(([name, value]) => {
    const below = Object.hasOwn(weaker, name) ? weaker[name] : undefined
    return [name, isFields(value) && isFields(below) ? mergeRecords(below, value) : value]
  })
  return { ...weaker, ...Object.fromEntries(both) }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
