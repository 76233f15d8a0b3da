/**
 * The plugins of a start, and what their files guarded when they were loaded last → whether it may go on without some.
 *
 * Invariant: a guard that is missing is not a smaller guard: a start stops for one that was there, until a person says
 * that it is meant.
 */
import { isAbsolute } from "node:path"
import { isSousError, SousError } from "./error.ts"
import type { FailedEntry, Generation } from "./generation.ts"
import { loadGuards, type RememberedGuard, rememberGuards, type SeenGuard } from "./session/guard-memory.ts"

export { forgetGuards, loadGuards } from "./session/guard-memory.ts"

interface MemoryOptions {
  /** The state folder, absolute. */
  state: string
  /** ms since the epoch. */
  now: number
  /** Nothing is thrown for a guard that is missing, and nothing is written: the report says it. */
  isSurvey?: boolean | undefined
}

/**
 * Remembers what guards now. Returns why it could not. Throws PLUGIN_GUARD_MISSING for a plugin that is left out and
 * guarded before, and PLUGIN_MEMORY_UNREADABLE when nobody can know.
 */
export async function settleGuards(generation: Generation, options: MemoryOptions): Promise<SousError | undefined> {
  const { state, now, isSurvey } = options
  const failed = generation.failed.filter(({ entry }) => isRemembered(entry))
  try {
    const known = await loadGuards(state)
    for (const one of failed) {
      const missing = missingGuard(one, known)
      if (missing === undefined) continue
      if (!isSurvey) throw missing
      Object.assign(one.report, {
        fatal: true,
        guards: true,
        error: missing.message,
        code: missing.code,
        mend: missing.mend,
      })
    }
    if (!isSurvey) await rememberGuards(state, seenIn(generation), { known, now })
    return undefined
  } catch (error) {
    if (!isSousError(error)) throw error
    const isUnknown = error.code === "PLUGIN_MEMORY_UNREADABLE" && failed.length > 0 && !isSurvey
    if (isUnknown || error.code === "PLUGIN_GUARD_MISSING") throw error
    return error
  }
}

function missingGuard({ entry, fault }: FailedEntry, known: readonly RememberedGuard[]): SousError | undefined {
  const isSame = ({ file, identity }: RememberedGuard) =>
    file === entry.from || (identity !== undefined && identity === entry.identity)
  const before = known.find(isSame)
  if (before === undefined) return undefined
  const { name, file, guards } = before
  const guarded = guards.slice(0, 3).join(", ") + (guards.length > 3 ? ", …" : "")
  const mend = `${fault.mend}; or, if it is meant to guard no more, run "sous plugins forget ${name}"`
  return new SousError(
    "PLUGIN_GUARD_MISSING",
    { plugin: name, file, reason: fault.message, guarded, mend },
    { cause: fault },
  )
}

function seenIn({ units }: Generation): SeenGuard[] {
  return units.flatMap(({ entry, plugin, guards }) => {
    if (!isRemembered(entry)) return []
    const { identity, from } = entry
    return [{ file: from, name: plugin.name, guards, ...(identity === undefined ? {} : { identity }) }]
  })
}

/** Bare objects and what is shipped cannot be missing. */
function isRemembered({ from, identity, tier }: FailedEntry["entry"]): boolean {
  return tier !== "shipped" && (isAbsolute(from) || identity !== undefined)
}
