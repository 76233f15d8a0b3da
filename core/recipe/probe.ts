/**
 * Looks ahead into a recipe without running it: would it start an agent that names no model of its own?
 *
 * Invariant: it only calls the functions that turn results into declarations, which have no effect; the results that are
 * not there yet are stood in for. What cannot be told is taken for no.
 */
import { isSousError } from "../error.ts"
import type { AnyStep, Recipe, Step, StepScope } from "../step.ts"

/** True when a step of the recipe, as far as that can be seen before it runs, needs the run's own model. */
export function needsModel(recipe: Recipe<any, any, any>, params: Record<string, unknown>): boolean {
  const modelled = new Set((recipe.agents ?? []).filter(({ model }) => model !== undefined).map(({ name }) => name))
  const isAgent = (step: AnyStep) =>
    step.kind === "agent" && step.model === undefined && !(step.agentType !== undefined && modelled.has(step.agentType))
  return recipe.steps.some((step) =>
    STAND_INS.some((standIn) => {
      const scope = scopeOf(recipe, params, standIn)
      return attempt(() => contains(step.make(scope), isAgent, standIn))
    }),
  )
}

type StandIn = () => unknown

/** How often one stand-in may be looked at: a loop that waits for a real result must end without one. */
const LOOKS = 2000

/** A result that nobody knows is once any object that can be called, and once any list. */
const STAND_INS: readonly StandIn[] = [() => anything(() => {}, { left: LOOKS }), () => anything([], { left: LOOKS })]

function scopeOf(recipe: Recipe<any, any, any>, params: Record<string, unknown>, standIn: StandIn): StepScope {
  const results = recipe.steps.map(({ id }) => [id, standIn()])
  return { ...Object.fromEntries(results), params } as StepScope
}

function attempt(look: () => boolean): boolean {
  try {
    return look()
  } catch (error) {
    // A prompt that is a bare stand-in is no text; it was an agent's all the same.
    return (
      isSousError(error) && error.code === "STEP_OPTION_INVALID" && (error.details as { kind: string }).kind === "agent"
    )
  }
}

function contains(declared: Step, isAgent: (step: AnyStep) => boolean, standIn: StandIn): boolean {
  const step = declared as AnyStep
  const below = (steps: (() => Step)[]) => steps.some((make) => attempt(() => contains(make(), isAgent, standIn)))
  switch (step.kind) {
    case "until":
      return below([() => step.check, () => step.body({ check: standIn(), round: 1 })])
    case "each":
      return below([() => step.make((step.items[0] ?? standIn()) as never, 0)])
    case "pipeline":
      return below(
        step.stages.map((stage, index) => () => {
          const item = step.items[0] ?? standIn()
          return stage((index === 0 ? item : standIn()) as never, item as never, 0)
        }),
      )
    case "parallel":
      return below(Object.values(step.steps).map((one) => () => one))
    case "use":
      return typeof step.recipe !== "string" && needsModel(step.recipe, step.params)
    default:
      return isAgent(step)
  }
}

/** A value of which every field is anything again, that can be called, printed and walked; not for ever. */
function anything(target: object, looks: { left: number }): unknown {
  return new Proxy(target, {
    get(on, key) {
      if (looks.left-- <= 0) throw new Error("This depends on a result that is not there yet")
      if (key === Symbol.toPrimitive) return () => "…"
      if (key === "then") return undefined
      if (key === Symbol.iterator) return () => [anything(target, looks)][Symbol.iterator]()
      if (Array.isArray(on) && key in on) return Reflect.get([anything(target, looks)], key)
      if (key === "split" || key in Array.prototype) return () => anything([], looks)
      return anything(target, looks)
    },
    apply: () => anything(target, looks),
  })
}
