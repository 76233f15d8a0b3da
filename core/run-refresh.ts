/**
 * Changed settings → the engine of a run at work: when it is looked for them, and that nobody decides meanwhile.
 *
 * Invariant: without a change nothing is loaded and nothing waits; while a change is taken over, all agents of the run do.
 */
import type { Engine } from "./engine.ts"
import { SousError } from "./error.ts"
import type { KitParts } from "./kit.ts"
import type { RunRules } from "./run-rule.ts"
import type { LoadedSettings } from "./settings/load.ts"
import { type SettingsReload, watchSettings } from "./settings/watch.ts"

/** What a change is taken over into. */
export interface RefreshTarget {
  kit: KitParts
  engine(): Engine
  /** Compiles the rules of the run anew, with these in the place of the settings'. Throws PERMISSION_RULE_INVALID. */
  compile: RunRules["compile"]
}

/** Makes the look that an engine takes before calls are decided. */
export function createRefresh(target: RefreshTarget): Engine["refresh"] {
  const { reload } = target.kit.options
  return reload === undefined ? () => undefined : createLook(target, reload)
}

function createLook(target: RefreshTarget, reload: SettingsReload): Engine["refresh"] {
  const { cwd } = target.kit.options
  let watch = watchSettings(reload.loaded, { cwd })
  let takeOver: ((engine: Engine) => Promise<LoadedSettings>) | undefined
  let changing: Promise<void> | undefined
  const change = async (engine: Engine) => {
    try {
      takeOver ??= (await import("./run-reload.ts")).createTakeOver(target, reload)
      const loaded = await takeOver(engine)
      if (!watch.covers(loaded)) watch = watchSettings(loaded, { cwd })
    } catch (error) {
      const { message, mend, code } = asFault(error)
      engine.emit({ type: "notice", level: "warning", message: `${message}; ${mend}`, code })
    } finally {
      changing = undefined
    }
  }
  return () => {
    if (changing === undefined && watch.hasChanged()) changing = change(target.engine())
    return changing
  }
}

function asFault(error: unknown): SousError {
  if (error instanceof SousError) return error
  return new SousError("SETTINGS_RELOAD_FAILED", { reason: error instanceof Error ? error.message : String(error) })
}
