/**
 * Settings that have changed → the engine of the run that is at work: read again, compared, taken over, and told.
 *
 * Invariant: a file that cannot be read leaves in force what it said before; no answer of a hook keeps a guard out.
 */
import { existsSync } from "node:fs"
import type { Engine } from "./engine.ts"
import { isSousError, SousError } from "./error.ts"
import type { HookPayloads } from "./hook.ts"
import type { HookSource } from "./hook-source.ts"
import type { RuleSource } from "./permission/decision.ts"
import { NO_GRANTS } from "./permission/grant.ts"
import { hookPlace } from "./recipe/context.ts"
import { registerSources } from "./registry.ts"
import { hookFiles } from "./run-place.ts"
import type { RefreshTarget } from "./run-refresh.ts"
import type { LoadedSettings } from "./settings/load.ts"
import {
  mergeSettings,
  rankSources,
  SETTINGS_SCOPES,
  type SettingsScope,
  type SettingsSource,
} from "./settings/merge.ts"
import {
  type ChangedScope,
  changedScopes,
  type InForce,
  inForceAtStart,
  type Tightened,
  tighten,
} from "./settings/reload.ts"
import type { SettingsReload } from "./settings/watch.ts"

/** What a run knows of the settings while they change. */
interface State {
  /** As they were read last, with what was good of files that are not any more. */
  before: LoadedSettings
  now: InForce
  /** Rules that the kit has beside those of the settings' files. */
  others: readonly RuleSource[]
  /** What was said about files that cannot be used, by file. */
  faults: ReadonlyMap<string, string>
}

/** Makes the function that takes a change over; it returns what was read. Throws SETTINGS_… errors. */
export function createTakeOver(
  target: RefreshTarget,
  reload: SettingsReload,
): (engine: Engine) => Promise<LoadedSettings> {
  const { loaded } = reload
  const { settings } = target.kit
  const own = new Set(loaded.settings.permissions.rules.map((rule) => JSON.stringify(rule)))
  const isOwn = (rule: RuleSource) => own.has(JSON.stringify(rule))
  const start = inForceAtStart(settings, loaded.hooks.sources)
  const state: State = {
    before: loaded,
    now: { ...start, rules: start.rules.filter(isOwn) },
    others: start.rules.filter((rule) => !isOwn(rule)),
    faults: new Map(),
  }
  return async (engine) => {
    const { fresh, faults } = await readAgain(reload, state.before)
    const blocked = await askHooks(engine, changedScopes(state.before, fresh))
    const options = { blocked, broken: new Set(faults.keys()), follows: loaded.trust.state === "follows" }
    const tightened = tighten(state.now, { before: state.before, fresh }, options)
    const applied = await apply(engine, { target, state, tightened, faults })
    tellFaults(engine, state.faults, faults)
    tellChange(engine, applied)
    state.faults = new Map([...faults].map(([file, { message }]) => [file, message]))
    state.now = applied.next
    state.before = fresh
    return fresh
  }
}

type Faults = Map<string, SousError>

/** How often the project may change while it is read. */
const MOST_MOVES = 5

/** Reads all files; one that is broken or gone is replaced by what it said before. */
async function readAgain(
  reload: SettingsReload,
  before: LoadedSettings,
): Promise<{ fresh: LoadedSettings; faults: Faults }> {
  const faults: Faults = new Map()
  const lastGood = (file: string) => before.sources.find((source) => source.file === file)
  // Code is read at a start, and only there.
  const instead = new Map(before.sources.filter(isCode).map((source) => [source.file!, source] as const)) as Map<
    string,
    SettingsSource | undefined
  >
  // What a person said yes to counts for the run; who may come in is said by `tighten`.
  let { isTrusted: trust } = reload.loaded.trust
  for (let moved = 0; ; ) {
    try {
      const fresh = await reload.load({ instead, load: undefined, trust })
      return { fresh: withGone(fresh, before, faults), faults }
    } catch (error) {
      if (trust && isSousError(error) && error.code.startsWith("TREE_")) {
        trust = false
        continue
      }
      // Somebody wrote there between two looks.
      if (isSousError(error) && error.code === "TRUST_CHANGED" && moved++ < MOST_MOVES) continue
      const file = isSousError(error) ? (error.details as { file?: unknown }).file : undefined
      if (typeof file !== "string" || instead.has(file)) throw error
      faults.set(file, error as SousError)
      instead.set(file, lastGood(file))
    }
  }
}

function isCode({ file }: SettingsSource): boolean {
  return file?.endsWith(".ts") ?? false
}

/** Editors take a file away for a moment; nobody mends settings by deleting them while a run goes by them. */
function withGone(fresh: LoadedSettings, before: LoadedSettings, faults: Faults): LoadedSettings {
  const gone = before.files.filter(({ file }) => !fresh.files.some((one) => one.file === file) && !existsSync(file))
  for (const { file } of gone)
    faults.set(file, new SousError("SETTINGS_FILE_UNREADABLE", { file, reason: "it is gone" }))
  if (gone.length === 0) return fresh
  const kept = before.sources.filter(({ file }) => gone.some((one) => one.file === file))
  const sources = rankSources([...fresh.sources, ...kept])
  const { rules } = fresh.settings.permissions
  // Packs have rules that no source of settings has.
  const others = rules.filter(({ scope }) => !SETTINGS_SCOPES.some((one) => one === scope))
  const settings = mergeSettings(sources)
  const permissions = { ...settings.permissions, rules: [...settings.permissions.rules, ...others] }
  return { ...fresh, sources, files: [...fresh.files, ...gone], settings: { ...settings, permissions } }
}

/** The name of a scope in the claude-code protocol. */
const SOURCES: Readonly<Record<SettingsScope, HookPayloads["ConfigChange"]["source"]>> = {
  managed: "policy_settings",
  cli: "flag_settings",
  local: "local_settings",
  project: "project_settings",
  user: "user_settings",
}

/** Asks the hooks about each scope; returns those that are to stay as they were. */
async function askHooks(engine: Engine, changed: readonly ChangedScope[]): Promise<ReadonlySet<SettingsScope>> {
  const blocked = new Set<SettingsScope>()
  if (!engine.hooks.has("ConfigChange")) return blocked
  for (const { scope, files } of changed) {
    const [file] = files
    const payload = { scope, source: SOURCES[scope], ...(file ? { file_path: file } : {}) }
    const { decision, reasons } = await engine.hooks.gate(
      "ConfigChange",
      payload,
      hookPlace({ engine, signal: engine.signal }),
    )
    if (decision !== "block") continue
    const why = `A hook blocks the change of the ${scope} settings (${reasons.join("; ")})`
    const isIgnored = scope === "managed"
    const message = isIgnored ? `${why}; managed settings apply all the same` : `${why}; its guards apply all the same`
    engine.emit({ type: "notice", level: "info", message })
    if (!isIgnored) blocked.add(scope)
  }
  return blocked
}

interface Application {
  target: RefreshTarget
  state: State
  tightened: Tightened
  /** Takes rules and hooks that are no use as they are. */
  faults: Faults
}

/** Puts it in force, but for what cannot be compiled. */
async function apply(engine: Engine, { target, state, tightened, faults }: Application): Promise<Tightened> {
  const { next } = tightened
  const isUseful = (rule: RuleSource) => attempt(rule.file, faults, () => target.compile([rule]))
  const isWhole = attempt("", new Map(), () => target.compile(tightened.added))
  const rules = isWhole ? next.rules : next.rules.filter((rule) => !tightened.added.includes(rule) || isUseful(rule))
  engine.rules = target.compile([...state.others, ...rules], next)
  if (next.managedRulesOnly) engine.grants = NO_GRANTS
  const added = next.hooks.slice(state.now.hooks.length).filter((hook) => {
    const registered = registerSources([hook]).map((one) => ({ ...one, onlyGuards: true as const }))
    return attempt(hook.origin.file, faults, () => engine.hooks.add(registered))
  })
  await protect(engine, target, added)
  engine.breaker.tighten(next.denialLimit)
  engine.limits = { ...engine.limits, denialLimit: next.denialLimit }
  engine.barredModes = next.barredModes
  return { ...tightened, next: { ...next, rules, hooks: [...state.now.hooks, ...added] } }
}

/** The scripts of hooks are not written by those whom they watch over. */
async function protect(engine: Engine, { kit }: RefreshTarget, hooks: readonly HookSource[]): Promise<void> {
  if (hooks.length === 0) return
  const { cwd } = engine
  const home = engine.places.home ?? cwd
  const files = await hookFiles({ ...kit, options: { ...kit.options, hooks } }, { cwd, home })
  engine.places = { ...engine.places, hookFiles: [...(engine.places.hookFiles ?? []), ...files] }
}

function attempt(file: string | undefined, faults: Faults, work: () => unknown): boolean {
  try {
    work()
    return true
  } catch (error) {
    if (isSousError(error)) faults.set(file ?? "", error)
    return false
  }
}

function tellFaults(engine: Engine, told: State["faults"], faults: Faults): void {
  for (const [file, { message, mend, code }] of faults) {
    if (told.get(file) === message) continue
    const text = `${message}; what was in force before stays in force: ${mend}`
    engine.emit({ type: "notice", level: "warning", message: text, code })
  }
  for (const file of told.keys()) {
    if (faults.has(file)) continue
    engine.emit({ type: "notice", level: "info", message: `The settings in "${file}" are in order again` })
  }
}

function tellChange(engine: Engine, { applied, kept, waiting }: Tightened): void {
  const tell = (level: "info" | "warning", start: string, list: readonly string[]) => {
    if (list.length > 0) engine.emit({ type: "notice", level, message: `${start}: ${shorten(list)}` })
  }
  tell("info", "The settings changed, and from here on this holds", applied)
  tell("warning", "Taken out of the settings, and in force until the next start", kept)
  tell("info", "Changed in the settings, and of effect from the next start on", waiting)
}

/** How many things a notice names. */
const MOST_NAMED = 8

function shorten(list: readonly string[]): string {
  const more = list.length - MOST_NAMED
  return more > 0 ? `${list.slice(0, MOST_NAMED).join(", ")}, and ${more} more` : list.join(", ")
}
