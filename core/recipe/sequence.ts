/**
 * The steps of one recipe, in order: each is declared from the results before it, run, and its result kept under its id.
 *
 * Invariant: a failure ends the sequence unless its step tolerates it; an abort, or a budget that is spent, always does.
 */
import { isSousError, SousError } from "../error.ts"
import type { Recipe, RecipeStep, RunResult, StepFailure, StepResult, StepScope } from "../step.ts"
import { below, declare, failureOf, type Place, plainFailure, type RunContext, reasonOf } from "./context.ts"
import { findImpure } from "./plain-value.ts"

/** What became of a recipe's steps. */
export interface Sequence {
  steps: RunResult["steps"]
  /** What ended it, and in which step. */
  failure?: StepFailure & { step?: string }
  output?: unknown
}

/** Runs the steps of a recipe; `params` were checked. It does not reject. */
export async function runSequence(
  run: RunContext,
  recipe: Recipe,
  params: Record<string, unknown>,
  place: Place,
): Promise<Sequence> {
  const steps: RunResult["steps"] = []
  let scope: StepScope = Object.freeze({ params })
  let last: unknown
  for (const step of recipe.steps) {
    const result = await runRecipeStep(run, step, scope, place)
    if (result === SKIPPED || result.ok) steps.push({ id: step.id, ok: true })
    else {
      const failure = plainFailure(result)
      steps.push({ id: step.id, ok: false, failure })
      if (step.onFail !== "continue" || isOver(place)) return { steps, failure: { ...failure, step: step.id } }
      run.tolerated++
    }
    last = result === SKIPPED ? null : step.onFail === "continue" ? result : result.ok && result.value
    scope = Object.freeze({ ...scope, [step.id]: last })
  }
  return { steps, ...makeOutput(recipe, scope, last) }
}

const SKIPPED = Symbol("skipped")

async function runRecipeStep(
  run: RunContext,
  step: RecipeStep,
  scope: StepScope,
  place: Place,
): Promise<StepResult | typeof SKIPPED> {
  const at = below(place, step.id)
  try {
    if (step.when && !declare(at.path, () => step.when!(scope))) return SKIPPED
    const { title, budget } = step
    return await run.step(
      declare(at.path, () => step.make(scope)),
      at,
      { title, budget },
    )
  } catch (error) {
    return failureOf(error, place.signal)
  }
}

/** Nothing new may start: whoever tolerates failures does not tolerate these. */
function isOver({ signal, spend }: Place): boolean {
  return signal.aborted || spend.exhausted() !== undefined
}

function makeOutput(recipe: Recipe, scope: StepScope, last: unknown): Pick<Sequence, "output" | "failure"> {
  if (recipe.result === undefined) return { output: last }
  try {
    const output = recipe.result(scope)
    const impure = findImpure(output)
    if (impure) throw new SousError("STEP_VALUE_INVALID", { step: "output", ...impure })
    return { output }
  } catch (error) {
    const fault = isSousError(error)
      ? error
      : new SousError("RECIPE_OUTPUT_FAILED", { recipe: recipe.name, reason: reasonOf(error) })
    return { failure: { cause: "output", error: fault.message, code: fault.code, mend: fault.mend } }
  }
}
