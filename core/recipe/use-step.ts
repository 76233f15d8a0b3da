/**
 * The step `use`: another recipe as one step, its steps below this one's path.
 *
 * Invariant: it runs under the rules, the mode and the model of this run, and under its own budget and deny and ask rules
 * besides; what its head would allow by itself is not granted here.
 */
import { SousError, suggest } from "../error.ts"
import type { RuleSource } from "../permission/decision.ts"
import type { Recipe, StepResult, UseStep } from "../step.ts"
import { markComputed } from "./computed.ts"
import type { Place, RunContext } from "./context.ts"
import { withDeadline } from "./deadline.ts"
import { checkParams } from "./param.ts"
import { runSequence } from "./sequence.ts"

/** How deep recipes may be nested. */
const MAX_DEPTH = 5

/** Runs the recipe. Throws RECIPE_UNKNOWN, RECIPE_TOO_DEEP or what its parameters are refused with. */
export async function runUse(run: RunContext, step: UseStep<any>, place: Place): Promise<StepResult> {
  const recipe = findRecipe(step.recipe, place)
  if (place.depth >= MAX_DEPTH) throw new SousError("RECIPE_TOO_DEEP", { recipe: recipe.name, limit: MAX_DEPTH })
  const params = await checkParams(recipe, step.params)
  markComputed(params, step.computed ?? [])
  const at = guarded({ ...place, depth: place.depth + 1, engine: withAgents(place, recipe) }, recipe)
  return await withDeadline({ ...at, spend: at.spend.child(recipe.budget) }, async (within) => {
    const { failure, output } = await runSequence(run, recipe, params, within)
    if (failure === undefined) return { ok: true, value: output }
    const { step: id, error, ...rest } = failure
    return { ok: false, ...rest, error: id === undefined ? error : `"${id}": ${error}` }
  })
}

function findRecipe(wanted: Recipe<any, any, any> | string, { engine }: Place): Recipe {
  if (typeof wanted !== "string") return wanted
  const { recipes } = engine.registry
  const found = recipes.find(({ name }) => name === wanted)
  if (found) return found
  const names = recipes.map(({ name }) => name)
  throw new SousError("RECIPE_UNKNOWN", { name: wanted, mend: suggest(wanted, names) })
}

/** The engine, with the agents that the recipe defines. */
function withAgents({ engine }: Place, { agents = [] }: Recipe): Place["engine"] {
  if (agents.length === 0) return engine
  return Object.create(engine, { agents: { get: () => [...agents, ...engine.agents] } })
}

/** The place, where what the recipe refuses or asks about holds too. */
function guarded(place: Place, { name, permissions = {}, file }: Recipe): Place {
  const list = (behavior: "deny" | "ask") =>
    (permissions[behavior] ?? []).map(
      (text): RuleSource => ({ text, behavior, scope: "recipe", by: name, ...(file ? { file } : {}) }),
    )
  const own = [...list("deny"), ...list("ask")]
  if (own.length === 0) return place
  const guards = [...place.guards, ...own]
  return { ...place, guards, engine: withGuards(place.engine, guards) }
}

/** The engine under more rules: those of the run, whatever they are at the moment, and these. */
function withGuards(outer: Place["engine"], guards: readonly RuleSource[]): Place["engine"] {
  let [base, rules] = [outer.rules, outer.rulesWith(guards)]
  const get = () => {
    if (outer.rules !== base) [base, rules] = [outer.rules, outer.rulesWith(guards)]
    return rules
  }
  return Object.create(outer, { rules: { get } })
}
