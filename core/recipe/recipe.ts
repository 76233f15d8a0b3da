/**
 * The builder of recipes: from a head and steps to one plain object, with types that flow from step to step.
 *
 * Invariant: a builder is itself the recipe so far, whose output is its last step's result; each call returns a new one
 * and changes none.
 */
import type { z } from "zod"
import type { Budget, Recipe, RecipeHead, RecipeStep, ResultOf, Step, StepResult, StepScope } from "../step.ts"
import { checkHead, checkStepId, checkStepOptions } from "./head.ts"

/** What a step's function is given: the parameters, and the result of each step before it under its id. */
export type StepContext<P, R> = { params: P } & R

export interface StepOptions<C> {
  /** `continue`: a failure is handed on as a StepResult instead of ending the run. Default `stop`. */
  onFail?: "stop" | "continue"
  /** False: the step is skipped, and its result is null. */
  when?: (context: C) => boolean
  /** One line for people. Default: what the step does. */
  title?: string
  /** What the step, and all below it, may use. */
  budget?: Budget
}

/** An id that is free, or a text that says why it is not: the compiler shows it. */
type FreeId<Id extends string, R> = Id extends keyof R
  ? `there is already a step "${Id}"`
  : Id extends "params"
    ? `"params" names the parameters`
    : Id

/** The result as later steps see it. A tolerated failure has its own type: `ok` is looked at before `value` is read. */
type Outcome<V, O> =
  | (O extends { onFail: "continue" } ? StepResult<V> : V)
  | (O extends { when: (...context: never[]) => boolean } ? null : never)

/** A recipe so far. R: the results by step id; L: the result of the last step. */
export interface Builder<P, R, I, L = unknown> extends Recipe<P, L, I> {
  /** Adds a step. `make` turns the results so far into a declaration; it has no side effects and may be called again. */
  step<Id extends string, S extends Step, O extends StepOptions<StepContext<P, R>>>(
    id: FreeId<Id, R>,
    make: (context: StepContext<P, R>) => S,
    options?: O,
  ): Builder<P, R & { [K in Id]: Outcome<ResultOf<S>, O> }, I, Outcome<ResultOf<S>, O>>
  /** Ends the recipe: what it makes of the results is the recipe's output. */
  output<T>(make: (context: StepContext<P, R>) => T): Recipe<P, T, I>
}

/** A head with its params' type. */
export interface TypedHead<S extends z.ZodObject> extends Omit<RecipeHead, "params"> {
  params?: S
}

/** Starts a recipe. Throws RECIPE_HEAD_INVALID or RECIPE_KEY_UNKNOWN. */
export function recipe<S extends z.ZodObject = z.ZodObject<Record<never, z.ZodType>>>(
  head: TypedHead<S>,
): Builder<z.output<S>, object, z.input<S>> {
  return createBuilder(checkHead(head as RecipeHead), []) as unknown as Builder<z.output<S>, object, z.input<S>>
}

function createBuilder(head: RecipeHead, steps: readonly RecipeStep[]): Recipe {
  const built: Recipe = { kind: "recipe", ...head, steps }
  const methods = {
    step(id: string, make: RecipeStep["make"], options: StepOptions<StepScope> = {}): Recipe {
      checkStepId(id, { recipe: head.name, taken: steps, reserved: ["params", "trigger"] })
      checkStepOptions(head.name, id, options)
      return createBuilder(head, [...steps, { id, make, onFail: "stop", ...options }])
    },
    output: (make: NonNullable<Recipe["result"]>): Recipe => ({ ...built, result: make }),
  }
  // Not enumerable: a builder prints, compares and spreads as the recipe it is.
  for (const [name, value] of Object.entries(methods)) Object.defineProperty(built, name, { value })
  return built
}
