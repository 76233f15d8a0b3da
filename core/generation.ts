/**
 * Entries of plugins → one generation of them, registered and frozen; and one generation after the other.
 *
 * Invariant: a generation is built whole or not at all, beside the one that is in use; what did not change is carried over
 * and not set up again; a plugin is ended once nothing uses a generation that has it, and never before.
 */
import { SousError } from "./error.ts"
import type { PluginReport } from "./event.ts"
import { within } from "./patience.ts"
import type { PluginEntry } from "./plugin.ts"
import { asFault, DISPOSE_MS, registerPlugin, reportFault, reportOf, type Setting, type Unit } from "./register.ts"
import { guardsOf } from "./register-adds.ts"
import { createRegistry, type Registry } from "./registry.ts"

/** The plugins of a kit at one time. */
export interface Generation {
  readonly registry: Registry
  readonly units: readonly Unit[]
  /** What became of each entry, in order, as it is now. */
  reports(): PluginReport[]
  /** Entries that were left out. */
  readonly failed: readonly FailedEntry[]
  /** Ends what it has beyond another one; for one that comes into no use. */
  abandon(before?: Generation): Promise<void>
}

/** A plugin that was left out. */
export interface FailedEntry {
  entry: PluginEntry
  fault: SousError
  report: PluginReport
}

export interface GenerationOptions extends Omit<Setting, "builder" | "names"> {
  /** What cannot be set up stops everything. */
  strict?: boolean | undefined
  /** Nothing stops anything: what would is marked so in its report. */
  isSurvey?: boolean | undefined
}

/** Registers the entries, in order. Throws the SousError of one that nothing starts without. */
export async function createGeneration(
  entries: readonly PluginEntry[],
  options: GenerationOptions,
  before?: Generation,
): Promise<Generation> {
  const builder = createRegistry()
  const setting: Setting = { ...options, builder, names: new Map() }
  const units: Unit[] = []
  const failed: FailedEntry[] = []
  const reports: (() => PluginReport)[] = []
  const abandon = (other?: Generation) => retireAll(units, other?.units ?? []).catch(() => {})
  for (const entry of entries) {
    const started = performance.now()
    try {
      const same = before?.units.find(({ plugin }) => plugin === entry.plugin)
      const unit = await registerPlugin(entry, setting, same)
      units.push(unit)
      reports.push(() => reportOf(unit))
    } catch (error) {
      const fault = asFault(entry, error)
      const report = reportFault(entry, fault, started)
      if (isNeeded(entry, options)) {
        if (!options.isSurvey) {
          await endProcess(entry)
          await abandon(before)
          throw fault
        }
        report.fatal = true
      }
      await endProcess(entry)
      failed.push({ entry, fault, report })
      reports.push(() => report)
    }
  }
  return { registry: builder.freeze(), units, failed, abandon, reports: () => reports.map((report) => report()) }
}

/** Its process runs since it was loaded, also when it was never set up. */
async function endProcess({ tier, plugin }: PluginEntry): Promise<void> {
  if (tier === "process")
    await within(DISPOSE_MS, "the end of a plugin's process", async () => await plugin?.dispose?.()).catch(() => {})
}

/** True for a plugin that nothing starts without: a guard that is missing must not be a smaller guard. */
function isNeeded({ plugin, required, isNamed }: PluginEntry, { strict }: GenerationOptions): boolean {
  if (strict || required || isNamed) return true
  try {
    return guardsOf(plugin, plugin).length > 0
  } catch {
    // Nobody can say what it guards.
    return true
  }
}

/** Throws PLUGIN_RELOAD_WEAKENS when something guards in the one and no longer in the other. */
export function checkGuards(before: Generation, after: Generation): void {
  for (const { plugin, guards } of before.units) {
    const left = after.units.find((unit) => unit.plugin.name === plugin.name)?.guards ?? []
    const lost = guards.find((guard) => !left.includes(guard))
    if (lost !== undefined) throw new SousError("PLUGIN_RELOAD_WEAKENS", { plugin: plugin.name, lost })
  }
}

/** The generations of one kit. */
export interface Generations {
  readonly current: Generation
  /** Keeps one that is in use, by default the current one, in use until `release`. */
  hold(generation?: Generation): Held
  /** The one that new runs have from now on. */
  replace(next: Generation): void
  /** Ends every plugin, last registered first. Rejects with the first fault, after all of them. */
  close(): Promise<void>
}

/** A generation in use. */
export interface Held {
  readonly generation: Generation
  release(): void
}

/** Keeps generations while they are used; `fail` is told what a plugin threw that was ended meanwhile. */
export function createGenerations(first: Generation, fail: (error: unknown) => void): Generations {
  const holds = new Map<Generation, number>([[first, 1]])
  const endings = new Set<Promise<void>>()
  let current = first
  const release = (generation: Generation) => {
    const left = holds.get(generation)! - 1
    if (left > 0) return void holds.set(generation, left)
    holds.delete(generation)
    const used = [...holds.keys()].flatMap(({ units }) => units)
    const ending = retireAll(generation.units, used).catch(fail)
    endings.add(ending)
    void ending.finally(() => endings.delete(ending))
  }
  return {
    get current() {
      return current
    },
    hold(generation = current) {
      holds.set(generation, (holds.get(generation) ?? 0) + 1)
      let isHeld = true
      return {
        generation,
        release() {
          if (isHeld) release(generation)
          isHeld = false
        },
      }
    },
    replace(next) {
      const before = current
      holds.set(next, 1)
      current = next
      release(before)
    },
    async close() {
      await Promise.all(endings)
      const all = [...holds.keys()].flatMap(({ units }) => units)
      holds.clear()
      await retireAll([...new Map(all.map((unit) => [unit.retire, unit])).values()], [])
    },
  }
}

/** Ends the units that are not among those still used, last registered first; rejects with the first fault. */
async function retireAll(units: readonly Unit[], used: readonly Unit[]): Promise<void> {
  let first: unknown
  for (const { retire } of [...units].reverse()) {
    if (used.some((unit) => unit.retire === retire)) continue
    await retire().catch((error: unknown) => {
      first ??= error
    })
  }
  if (first !== undefined) throw first
}
