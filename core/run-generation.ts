/**
 * The generations of a kit → the plugins of one run, which takes the newest one over between two turns.
 *
 * Invariant: what the run still uses of an older one is not ended before it; what tightened meanwhile stays.
 */
import type { Engine, RunPlugins } from "./engine.ts"
import type { Held } from "./generation.ts"
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
  let age = 0
  const kept: Held[] = []
  const plugins: RunPlugins & { close(): void } = {
    get age() {
      return age
    },
    take() {
      const next = generations.current
      if (next === held.generation) return
      useRegistry(target.engine(), target, next.registry)
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

/** What cannot be compiled was refused before. */
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
