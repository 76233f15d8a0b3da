/**
 * The settings in force, those read before and those read now → what a run at work goes by from here on, and what it says.
 *
 * Invariant: what comes out is never weaker than what was in force: guards are added and kept, what allows is only taken away.
 */
import { isDeepStrictEqual } from "node:util"
import { HOOKS } from "../hook.ts"
import { type HookSource, placeOf, suppressionOf } from "../hook-source.ts"
import type { RuleSource } from "../permission/decision.ts"
import { describeOrigin } from "../permission/rule.ts"
import type { PermissionMode } from "../tool.ts"
import type { LoadedSettings } from "./load.ts"
import { type EffectiveSettings, SETTINGS_SCOPES, type SettingsScope, type SettingsSource } from "./merge.ts"
import { tightenRules } from "./reload-rule.ts"
import { settingsKeys } from "./schema.ts"
import { needsTrust } from "./trust.ts"

/** The part of the settings that can become tighter while a run is at work. */
export interface InForce {
  rules: readonly RuleSource[]
  /** Those that may run. */
  hooks: readonly HookSource[]
  denialLimit: number
  /** Modes that nobody may be in. */
  barredModes: readonly PermissionMode[]
  /** Only the organisation's rules allow. */
  managedRulesOnly: boolean
}

/** A scope whose settings say something else than before. */
export interface ChangedScope {
  scope: SettingsScope
  /** Absolute. */
  files: string[]
}

/** What is in force from here on, and what came of everything else; sentences' parts, for people. */
export interface Tightened {
  next: InForce
  /** Those of its rules that are new. */
  added: readonly RuleSource[]
  /** What holds from here on. */
  applied: string[]
  /** What was taken out of the settings and holds until the next start. */
  kept: string[]
  /** What would widen, or is no guard. */
  waiting: string[]
}

/** What a start goes by, as far as it can be tightened. */
export function inForceAtStart({ permissions }: EffectiveSettings, hooks: readonly HookSource[]): InForce {
  const { rules, denialLimit, barredModes, managedRulesOnly = false } = permissions
  return {
    rules,
    denialLimit,
    barredModes,
    managedRulesOnly,
    hooks: hooks.filter((hook) => suppressionOf(hook) === undefined),
  }
}

/** The scopes that differ, strongest first. */
export function changedScopes(before: LoadedSettings, fresh: LoadedSettings): ChangedScope[] {
  return SETTINGS_SCOPES.flatMap((scope) => {
    const [old, now] = [saidBy(scope, before), saidBy(scope, fresh)]
    const files = [...new Set([...old.keys(), ...now.keys()])].filter(
      (file) => !isDeepStrictEqual(old.get(file), now.get(file)),
    )
    return files.length === 0 ? [] : [{ scope, files }]
  })
}

/** What each file of a scope sets, and the hooks that it configures. */
function saidBy(scope: SettingsScope, { sources, hooks }: LoadedSettings): Map<string, unknown> {
  const said = new Map<string, { values?: unknown; hooks: string[] }>()
  for (const { file = "", values } of sources.filter((one) => one.scope === scope))
    said.set(file, { values, hooks: [] })
  for (const hook of hooks.sources.filter(({ origin }) => origin.scope === scope)) {
    const file = hook.origin.file ?? ""
    if (!said.has(file)) said.set(file, { hooks: [] })
    said.get(file)!.hooks.push(hookKey(hook))
  }
  return said
}

export interface TightenOptions {
  /** Scopes whose change a hook has blocked: what they allowed stays. */
  blocked: ReadonlySet<SettingsScope>
  /** Files that could not be read: nothing was taken out of them. */
  broken: ReadonlySet<string>
  /** The project is trusted whatever its content. */
  follows: boolean
}

/** Takes over what tightens. */
export function tighten(
  now: InForce,
  { before, fresh }: { before: LoadedSettings; fresh: LoadedSettings },
  options: TightenOptions,
): Tightened {
  const { permissions } = fresh.settings
  const rules = tightenRules(now.rules, permissions.rules, options)
  const hooks = tightenHooks(now.hooks, fresh, options)
  const barred = permissions.barredModes.filter((mode) => !now.barredModes.includes(mode))
  const denialLimit = Math.min(now.denialLimit, permissions.denialLimit)
  const managedRulesOnly = now.managedRulesOnly || permissions.managedRulesOnly === true
  const isLowered = denialLimit < now.denialLimit
  const isManaged = managedRulesOnly && !now.managedRulesOnly
  const isOld = (rule: RuleSource) => before.settings.permissions.rules.some((old) => old.text === rule.text)
  return {
    next: {
      rules: rules.next,
      hooks: [...now.hooks, ...hooks.added],
      denialLimit,
      barredModes: [...now.barredModes, ...barred],
      managedRulesOnly,
    },
    added: rules.added,
    applied: [
      ...rules.added.map(nameRule),
      ...rules.removed.map((rule) => `without the ${nameRule(rule)}`),
      ...hooks.added.map(nameHook),
      ...barred.map((mode) => `nobody may be in the mode ${mode}`),
      ...(isLowered ? [`${DENIAL_LIMIT} ${denialLimit}`] : []),
      ...(isManaged ? ["only rules of the managed settings allow"] : []),
    ],
    kept: [
      ...rules.kept.filter(isOld).map(nameRule),
      ...hooks.kept.filter((hook) => isIn(before.hooks.sources, hook)).map(nameHook),
    ],
    waiting: [
      ...rules.waiting.filter((rule) => !isOld(rule)).map(nameRule),
      ...hooks.waiting.filter((hook) => !isIn(before.hooks.sources, hook)).map(nameHook),
      ...waitingKeys(before, fresh, [...(isLowered ? [DENIAL_LIMIT] : []), ...(isManaged ? [MANAGED_ONLY] : [])]),
    ],
  }
}

function tightenHooks(now: readonly HookSource[], { hooks }: LoadedSettings, { broken, follows }: TightenOptions) {
  const active = hooks.sources.filter((hook) => suppressionOf(hook) === undefined)
  const fresh = active.filter((hook) => !isIn(now, hook))
  const counts = ({ event, origin }: HookSource) =>
    HOOKS[event].kind === "gate" && (!needsTrust(origin.scope as SettingsScope) || follows)
  return {
    added: fresh.filter(counts),
    waiting: fresh.filter((hook) => !counts(hook)),
    kept: now.filter((hook) => !isIn(active, hook) && !broken.has(hook.origin.file ?? "")),
  }
}

function isIn(hooks: readonly HookSource[], hook: HookSource): boolean {
  const key = hookKey(hook)
  return hooks.some((one) => hookKey(one) === key)
}

/** All that a hook does; not where in its file it stands. */
function hookKey({
  event,
  matcher,
  dialect,
  form,
  if: condition,
  onFailure,
  async,
  timeoutMs,
  once,
  origin,
}: HookSource) {
  const { scope, by } = origin
  return JSON.stringify([event, matcher, dialect, form, condition, onFailure, async, timeoutMs, once, scope, by])
}

/** Keys that are compared by what they come to. */
const COMPARED =
  /^(?:hooks|\$schema|permissions\.(?:allow|ask|deny|rules|disableBypassPermissionsMode|disableAutoMode))$/

const DENIAL_LIMIT = "permissions.denialLimit"
const MANAGED_ONLY = "allowManagedPermissionRulesOnly"

/** Keys that some file sets to another value than before, and that a run at work does not look at again. */
function waitingKeys(before: LoadedSettings, fresh: LoadedSettings, applied: readonly string[]): string[] {
  return settingsKeys().flatMap(({ path }) => {
    if (COMPARED.test(path) || applied.includes(path)) return []
    const [old, now] = [before, fresh].map(({ sources }) => sources.map((source) => valueAt(source, path)))
    return isDeepStrictEqual(old?.filter(isSet), now?.filter(isSet)) ? [] : [path]
  })
}

const isSet = (value: unknown) => value !== undefined

function valueAt({ values }: SettingsSource, path: string): unknown {
  return path.split(".").reduce((fields: any, name) => fields?.[name], values)
}

function nameRule(rule: RuleSource): string {
  return `${rule.ordered ? "entry" : `${rule.behavior} rule`} "${rule.ordered ? `${rule.behavior} ` : ""}${rule.text}" (${describeOrigin(rule)})`
}

function nameHook({ event, matcher, origin }: HookSource): string {
  return `${event} hook${matcher === undefined ? "" : ` for "${matcher}"`} (${placeOf(origin)})`
}
