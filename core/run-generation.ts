/**
 * The generations of a kit → the plugins of one run, which takes the newest one over between two turns.
 *
 * Invariant: a generation that this run cannot use leaves it as it was; what the run still uses of an older one is not
 * ended before it.
 */
import type { Engine, RunPlugins } from "./engine.ts"
import { isSousError } from "./error.ts"
import type { Generation, Held } from "./generation.ts"
import type { KitParts } from "./kit.ts"
import type { Registry } from "./registry.ts"
import type { OpenModels } from "./run-model.ts"
import type { RunRules } from "./run-rule.ts"
import type { Recipe } from "./step.ts"

/** What another generation is taken over into. */
export interface TakeTarget {
  engine(): Engine
  rules: RunRules
  recipe: Pick<Recipe<any, any, any>, "agents">
  opened: OpenModels
  canAsk(registry: Registry): boolean
}

/** Makes the plugins of a run, which are those that are held for it; `close` lets go of them when the run is over. */
export function createRunPlugins({ generations }: KitParts, first: Held, target: TakeTarget) {
  let held = first
  let refused: Generation | undefined
  let age = 0
  const kept: Held[] = []
  const plugins: RunPlugins & { close(): void } = {
    get age() {
      return age
    },
    take() {
      const next = generations.current
      if (next === held.generation || next === refused) return
      const engine = target.engine()
      try {
        useRegistry(engine, target, next.registry)
      } catch (error) {
        refused = next
        tell(engine, error)
        return
      }
      const before = held
      held = generations.hold()
      age++
      if (hasModelOf(target.opened, before.generation.registry, next.registry)) kept.push(before)
      else before.release()
    },
    hold() {
      const { release } = generations.hold(held.generation)
      return release
    },
    close() {
      for (const one of [...kept, held]) one.release()
    },
  }
  return plugins
}

/** Changes all of it, or nothing. Throws PERMISSION_RULE_INVALID or HOOK_MATCHER_INVALID. */
function useRegistry(engine: Engine, target: TakeTarget, registry: Registry): void {
  const rules = target.rules.recompile(registry)
  engine.hooks.replace(registry.hooks)
  engine.registry = registry
  engine.rules = rules
  engine.agents = [...registry.agents, ...(target.recipe.agents ?? [])]
  engine.canAsk = target.canAsk(registry)
}

/** A model that the run has open is of the older plugins only. */
function hasModelOf({ providers }: OpenModels, before: Registry, next: Registry): boolean {
  return [...providers].some((one) => before.models.includes(one) && !next.models.includes(one))
}

function tell(engine: Engine, error: unknown): void {
  if (!isSousError(error)) throw error
  const message = `This run goes on with the plugins that it has: ${error.message}; ${error.mend}`
  engine.emit({ type: "notice", level: "warning", message, code: error.code })
}
