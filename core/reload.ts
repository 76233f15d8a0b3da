/**
 * The plugins of a kit, at its start and whenever others take their place.
 *
 * Invariant: plugins that cannot be set up, or that guard less than those in use, change nothing; during a run guards are
 * added, and none is taken away without a person.
 */
import { existsSync } from "node:fs"
import { isSousError, type SousError } from "./error.ts"
import type { PluginReport } from "./event.ts"
import { checkGuards, createGeneration, createGenerations, type Generation } from "./generation.ts"
import type { HookSource } from "./hook-source.ts"
import type { KitOptions, KitParts } from "./kit.ts"
import type { Plugin, PluginEntry } from "./plugin.ts"
import { guardsFile } from "./session/guard-file.ts"
import { given } from "./settings/given.ts"
import type { EffectiveSettings } from "./settings/merge.ts"

/** What takes the place of the plugins that are there. */
export interface Reload {
  /** All of them, in the order of registration; one that is the same object as before goes on as it is. */
  plugins: readonly (Plugin | PluginEntry)[]
  reports?: readonly PluginReport[]
  /** For new runs, and for plugins that are set up anew. */
  settings?: EffectiveSettings
  /** For new runs. */
  hooks?: readonly HookSource[]
  /** A person has agreed to guards that go. Default false. */
  mayWeaken?: boolean
}

/** What came of it; the fault is why everything is as it was. */
export type Reloaded = { ok: true; plugins: PluginReport[] } | { ok: false; fault: SousError }

type Base = Omit<KitParts, "registry" | "reports" | "generations">

/** The plugins of a kit while it is open. */
export interface KitPlugins {
  /** As it is at this moment, for a run that starts or a question. */
  parts(): KitParts
  /** One after the other. */
  reload(next: Reload): Promise<Reloaded>
  /** Ends every plugin; rejects with the first of their faults. */
  close(): Promise<void>
}

/** Registers the first generation. Throws the SousError of a plugin that nothing starts without. */
export async function openPlugins(first: Base): Promise<KitPlugins> {
  const { generation, warnings } = await createFirst(first)
  const generations = createGenerations(generation, first.notices.tellFault)
  const all = [...(first.options.warnings ?? []), ...warnings]
  let base: Base = { ...first, options: { ...first.options, warnings: all } }
  const parts = (): KitParts => {
    const { registry, reports } = generations.current
    return { ...base, registry, reports: [...(base.options.reports ?? []), ...reports()], generations }
  }
  let last: Promise<unknown> = Promise.resolve()
  return {
    parts,
    reload(next) {
      const done = last.then(async () => {
        if (first.signal.aborted) throw first.signal.reason
        const reloaded = await replacePlugins(parts(), next)
        if (reloaded.ok)
          base = { ...base, settings: next.settings ?? base.settings, options: changed(base.options, next) }
        return reloaded
      })
      last = done.catch(() => {})
      return done
    },
    async close() {
      await last
      await generations.close()
    },
  }
}

function changed(options: KitOptions, { hooks, reports }: Reload): KitOptions {
  return { ...options, ...given({ hooks, reports }) }
}

async function createFirst(base: Base): Promise<{ generation: Generation; warnings: string[] }> {
  const generation = await createGeneration(base.options.plugins.map(toEntry), generationOptions(base))
  try {
    return { generation, warnings: await recall(generation, base) }
  } catch (error) {
    await generation.abandon()
    throw error
  }
}

/** Builds the next generation beside the current one and, when it is as good, puts it in its place. */
async function replacePlugins(parts: KitParts, next: Reload): Promise<Reloaded> {
  const { generations, notices } = parts
  const before = generations.current
  const base = { ...parts, settings: next.settings ?? parts.settings }
  try {
    const generation = await createGeneration(next.plugins.map(toEntry), generationOptions(base), before)
    try {
      checkFailed(before, generation)
      if (!next.mayWeaken) checkGuards(before, generation)
      await recall(generation, base)
    } catch (error) {
      await generation.abandon(before)
      throw error
    }
    generations.replace(generation)
    return { ok: true, plugins: generation.reports() }
  } catch (error) {
    if (!isSousError(error)) throw error
    const message = `The plugins stay as they were: ${error.message}; ${error.mend}`
    notices.tell({ type: "notice", level: "warning", message, code: error.code })
    return { ok: false, fault: error }
  }
}

/** What was good stays: a plugin that was there and cannot be set up any more is not left out for it. */
function checkFailed(before: Generation, { failed }: Generation): void {
  const lost = failed.find(({ entry }) =>
    before.units.some((unit) => unit.entry.from === entry.from || unit.plugin.name === entry.plugin?.name),
  )
  if (lost) throw lost.fault
}

function generationOptions({ settings, options, notices }: Base) {
  const { cwd, env, strict, isSurvey, setupBudgetMs } = options
  return {
    sections: settings.pluginSettings,
    cwd,
    env,
    strict,
    isSurvey,
    budgetMs: setupBudgetMs,
    tell: notices.tell,
  }
}

/** Compares with what earlier starts knew of the plugins; returns warnings. */
async function recall(generation: Generation, { state, clock, options }: Base): Promise<string[]> {
  const { units, failed } = generation
  const isWorthRemembering = units.some(({ entry, guards }) => guards.length > 0 && isPlaced(entry))
  const isAsked = isWorthRemembering || failed.some(({ entry }) => isPlaced(entry))
  const mayHaveGuarded = units.some(({ entry }) => isPlaced(entry)) && existsSync(guardsFile(state))
  if (!isAsked && !mayHaveGuarded) return []
  const { settleGuards } = await import("./guard-memory.ts")
  const fault = await settleGuards(generation, { state, now: clock.now(), isSurvey: options.isSurvey })
  return fault === undefined ? [] : [`${fault.message}; ${fault.mend}`]
}

/** It lies in a file. */
function isPlaced({ from, name, identity, tier }: PluginEntry): boolean {
  return tier !== "shipped" && (from !== name || identity !== undefined)
}

function toEntry(one: KitOptions["plugins"][number]): PluginEntry {
  if (typeof one === "object" && one !== null && "tier" in one) return one
  const name = String((one as Plugin | null)?.name ?? "?")
  return { plugin: one as Plugin, name, from: name, tier: "in-process" }
}
