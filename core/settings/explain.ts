/**
 * Loaded settings and a key → what is in force, who set it, what that beat, and what was ignored and why.
 *
 * Invariant: every value of every file is in the answer: in force, beaten, or ignored with a reason; nothing is decided
 * here that merging did not decide.
 */
import type { Origin, RuleSource } from "../permission/decision.ts"
import { CLAUDE_NAMES } from "./claude-keys.ts"
import { explainHooks } from "./explain-hook.ts"
import type { ExplainedSetting, ExplainedValue, IgnoredSetting } from "./explained.ts"
import type { LoadedSettings } from "./load.ts"
import type { SettingsSource } from "./merge.ts"
import { type SettingsKey, settingsKeys } from "./schema.ts"

export interface ExplainOptions {
  /** What persons always allow in this project. */
  grants?: readonly RuleSource[]
  /** The mode that a start would be in, when it is not the one that is set, and why. */
  mode?: { value: unknown; note: string } | undefined
}

/** Explains a key, a section such as `permissions`, or a name such as `env.CI`. Empty: there is none of that name. */
export function explainSetting(loaded: LoadedSettings, key: string, options: ExplainOptions = {}): ExplainedSetting[] {
  const keys = settingsKeys()
  const here = keys.filter(({ path }) => path === key || path.startsWith(`${key}.`))
  if (here.length > 0) return here.map((one) => explainKey(loaded, one, options))
  const above = keys.find(({ path, mark }) => mark?.merge === "union" && key.startsWith(`${path}.`))
  if (above) return [only(explainKey(loaded, above, options), key.slice(above.path.length + 1))]
  const ignored = ignoredAt(loaded.sources, key)
  return ignored.length === 0 ? [] : [{ key, beaten: [], ignored }]
}

/** Explains every key that somebody set, or that has a default; and what means nothing here. */
export function explainAll(loaded: LoadedSettings, options: ExplainOptions = {}): ExplainedSetting[] {
  const known = settingsKeys().map((key) => explainKey(loaded, key, options))
  const isKnown = (path: string) => known.some(({ key }) => path === key || path.startsWith(`${key}.`))
  const foreign = new Set(ignoredAt(loaded.sources, undefined).map(({ path }) => ownPath(path)))
  const others = [...foreign].filter((path) => !isKnown(path))
  return [
    ...known.filter(({ value, entries, ignored }) => value !== undefined || entries?.length || ignored.length > 0),
    ...others.map((key) => ({ key, beaten: [], ignored: ignoredAt(loaded.sources, key) })),
  ]
}

function explainKey(loaded: LoadedSettings, key: SettingsKey, options: ExplainOptions): ExplainedSetting {
  const { path, sentence, mark } = key
  const { merge = "replace", default: usual } = mark ?? {}
  const head = { key: path, sentence, merge, ...(usual === undefined ? {} : { default: usual }) }
  const ignored = ignoredAt(loaded.sources, path)
  if (path === "hooks") {
    const hooks = explainHooks(loaded.hooks)
    return { ...head, entries: hooks.entries, beaten: [], ignored: [...ignored, ...hooks.ignored] }
  }
  const found = valuesAt(loaded.sources, path)
  if (merge === "union") return { ...head, ...unite(found, path, options), ignored }
  const winner =
    merge === "tighten"
      ? found.reduce((a, b) => (b && a && Number(b.value) < Number(a.value) ? b : a), found[0])
      : found[0]
  const beaten = found.filter((one) => one !== winner).map(placed)
  const value = winner === undefined ? usual : winner.value
  const said = path === "permissions.defaultMode" ? options.mode : undefined
  return {
    ...head,
    ...(value === undefined ? {} : { value }),
    ...(winner ? { by: originOf(winner.source, winner.path) } : {}),
    beaten,
    ignored,
    ...(said ?? {}),
  }
}

/** A value in a file. */
interface Found {
  source: SettingsSource
  path: readonly (string | number)[]
  value: unknown
  name?: string
}

function valuesAt(sources: readonly SettingsSource[], key: string): Found[] {
  const path = key.split(".")
  return sources.flatMap((source) => {
    const value = path.reduce((fields: any, name) => fields?.[name], source.values) as unknown
    return value === undefined ? [] : [{ source, path, value }]
  })
}

/** Of a list all entries; of a record each name, of which the strongest scope's counts. */
function unite(
  found: readonly Found[],
  key: string,
  { grants = [] }: ExplainOptions,
): Pick<ExplainedSetting, "entries" | "beaten" | "value"> {
  const parts = found.flatMap(partsOf)
  const granted = key === "permissions.allow" ? grants.map(grantedValue) : []
  const winners = parts.filter((part, index) => index === parts.findIndex((one) => isSame(one, part)))
  const beaten = parts.filter((part) => !winners.includes(part)).map(placed)
  const entries = [...winners.map(placed), ...granted].sort((a, b) => rankOf(a) - rankOf(b))
  if (entries.length === 0) return { beaten, entries }
  const isRecord = parts.some(({ name }) => name !== undefined)
  const depth = key.split(".").length
  return { value: isRecord ? nested(winners, depth) : entries.map(({ value }) => value), entries, beaten }
}

/** The entries of a list, or the leaves of a record. */
function partsOf(found: Found): Found[] {
  const { value, path } = found
  if (Array.isArray(value)) {
    return value.flatMap((entry: unknown, index) =>
      entry === undefined ? [] : [{ ...found, path: [...path, index], value: entry }],
    )
  }
  return Object.entries(value as object).flatMap(([name, inner]: [string, unknown]) => {
    const part = { ...found, path: [...path, name], value: inner, name: found.name ? `${found.name}.${name}` : name }
    return isFields(inner) && Object.keys(inner).length > 0 ? partsOf(part) : [part]
  })
}

/** Parts of records clash by name; entries of lists never do. */
function isSame(a: Found, b: Found): boolean {
  return a === b || (a.name !== undefined && a.name === b.name)
}

/** The record of these parts, whose paths begin with that of the record. */
function nested(parts: readonly Found[], depth: number): Record<string, unknown> {
  const whole: Record<string, unknown> = {}
  for (const { path, value } of parts) {
    const names = path.slice(depth).map(String)
    const last = names.pop() ?? ""
    const fields = names.reduce((at, name) => {
      if (!isFields(at[name])) at[name] = {}
      return at[name] as Record<string, unknown>
    }, whole)
    fields[last] = value
  }
  return whole
}

const RANKS = ["managed", "cli", "session", "local", "project", "user"]

function rankOf({ scope }: Origin): number {
  return RANKS.indexOf(scope)
}

function grantedValue({ text, behavior: _, scope: __, ...origin }: RuleSource): ExplainedValue {
  return { value: text, ...origin, scope: "session" }
}

function placed({ source, path, value, name }: Found): ExplainedValue {
  return { value, ...(name === undefined ? {} : { name }), ...originOf(source, path) }
}

function originOf({ scope, file, at }: SettingsSource, path: readonly (string | number)[]): Origin {
  return { scope, ...(file === undefined ? {} : { file }), ...at?.(path) }
}

/** The ignored values at a key of ours or below it; without a key: all. */
function ignoredAt(sources: readonly SettingsSource[], key: string | undefined): IgnoredSetting[] {
  return sources.flatMap((source) =>
    (source.ignored ?? []).flatMap(({ path, value, reason }) => {
      const own = ownPath(path)
      if (key !== undefined && own !== key && !own.startsWith(`${key}.`)) return []
      const steps = own.split(".").map((step) => (/^\d+$/.test(step) ? Number(step) : step))
      return [{ path, value, reason, ...originOf(source, steps) }]
    }),
  )
}

/** What a path of a file of Claude Code's is called here. */
function ownPath(path: string): string {
  const [first = "", ...rest] = path.split(".")
  const own = Object.entries(CLAUDE_NAMES).find(([, theirs]) => theirs === first)?.[0] ?? first
  return [own, ...rest].join(".")
}

/** The part of an explanation that is about one name. */
function only(explained: ExplainedSetting, name: string): ExplainedSetting {
  const isOf = (found: string | undefined) => found === name || found?.startsWith(`${name}.`) === true
  const entries = explained.entries?.filter((entry) => isOf(entry.name)) ?? []
  const { value: _, ...rest } = explained
  return {
    ...rest,
    key: `${explained.key}.${name}`,
    ...(entries[0] ? { value: entries.length === 1 ? entries[0].value : entries.map(({ value }) => value) } : {}),
    entries,
    beaten: explained.beaten.filter((one) => isOf(one.name)),
    ignored: explained.ignored.filter(
      ({ path }) => path === explained.key || isOf(path.slice(explained.key.length + 1)),
    ),
  }
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
