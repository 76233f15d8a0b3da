/**
 * A recipe and its parameters → a run: journal, hooks, steps, and one honest result.
 *
 * Invariant: nothing runs before the parameters were checked; the status says how it ended, whatever was tolerated;
 * `run_finished` is the last event.
 */
import { runAgent } from "../agent.ts"
import { callTool } from "../dispatch.ts"
import type { Engine } from "../engine.ts"
import { SousError } from "../error.ts"
import { createScope } from "../scope.ts"
import type { Recipe, RunResult, RunStatus } from "../step.ts"
import { EXIT_OF_STATUS, STATUS_OF_CAUSE } from "../stop.ts"
import { cancelled, failureOf, hookPlace, type Place, plainFailure, type RunContext, type RunParts } from "./context.ts"
import { withDeadline } from "./deadline.ts"
import { createJournal, JOURNAL_VERSION, type Journal } from "./journal.ts"
import { checkParams } from "./param.ts"
import { runStep } from "./run-step.ts"
import { runSequence, type Sequence } from "./sequence.ts"

export interface RunRecipeOptions {
  /** As given: checked here against the recipe's schema. */
  params?: Record<string, unknown>
  /** Default: the engine's. Its reason `"SIGTERM"` makes the exit code 143. */
  signal?: AbortSignal
  /** Takes the messages that a person has queued for the agents. */
  inbox?: () => string[]
  /** Called once the parameters were taken, before anything runs. */
  begin?: () => void
  /** Ends what the steps left behind, before the run is called finished; returns what that brought to light. */
  settle?: () => Promise<Error | undefined>
  /** What steps are done with; for tests. */
  parts?: Partial<RunParts>
}

const PARTS: RunParts = { runAgent, createScope, callTool }

/**
 * Runs a recipe. Throws, before anything ran, what the parameters are refused with, RECIPE_EMPTY and JOURNAL_UNWRITABLE;
 * whatever happens after that is in the result.
 */
export async function runRecipe<O>(
  engine: Engine,
  recipe: Recipe<any, O, any>,
  options: RunRecipeOptions = {},
): Promise<RunResult<O>> {
  if (recipe.steps.length === 0) throw new SousError("RECIPE_EMPTY", { recipe: recipe.name })
  const params = await checkParams(recipe, options.params ?? {})
  const started = engine.clock.now()
  const journal = await createJournal(engine.folder, engine)
  const run = createRun(journal, options)
  const signal = options.signal ?? engine.signal
  const place: Place = { engine, path: "", spend: engine.spend, signal, depth: 0, guards: [] }
  const { file } = recipe
  journal.add({
    type: "run_start",
    version: JOURNAL_VERSION,
    run: engine.runId,
    recipe: recipe.name,
    ...(file ? { file } : {}),
    params,
  })
  options.begin?.()
  const ran = (await askHooks(place, recipe)) ?? (await runWithin(run, recipe, params, place))
  const sequence = withFault(ran, await options.settle?.())
  const result = resultOf(run, sequence, { place, recipe, started })
  await engine.hooks.observe("RunEnd", { recipe: recipe.name, status: result.status }, hookPlace(place))
  const ended = await closeJournal(journal, result)
  engine.emit({ type: "run_finished", result: ended })
  return ended as RunResult<O>
}

function createRun(journal: Journal, options: RunRecipeOptions): RunContext {
  let number = 0
  const run: RunContext = {
    parts: { ...PARTS, ...options.parts },
    journal,
    inbox: options.inbox,
    denials: [],
    tolerated: 0,
    paths: new Set(),
    next: () => ++number,
    step: (declared, place, stepOptions) => runStep(run, declared, place, stepOptions),
  }
  return run
}

/** A fault that showed only at the end (a recording that was not used up) fails a run that had gone well. */
function withFault(sequence: Sequence, fault: Error | undefined): Sequence {
  if (fault === undefined || sequence.failure !== undefined) return sequence
  const { output: _, ...rest } = sequence
  return { ...rest, failure: plainFailure(failureOf(fault, new AbortController().signal)) }
}

async function askHooks(place: Place, { name }: Recipe): Promise<Sequence | undefined> {
  const { hooks } = place.engine
  if (!hooks.has("RunStart")) return undefined
  const answer = await hooks.gate("RunStart", { recipe: name }, hookPlace(place))
  if (place.signal.aborted) return { steps: [], failure: plainFailure(cancelled()) }
  if (answer.decision !== "block") return undefined
  return { steps: [], failure: { cause: "tool", error: `A hook blocked the run: ${answer.reasons.join("; ")}` } }
}

async function runWithin(
  run: RunContext,
  recipe: Recipe,
  params: Record<string, unknown>,
  place: Place,
): Promise<Sequence> {
  let sequence: Sequence = { steps: [] }
  const result = await withDeadline(place, async (within) => {
    sequence = await runSequence(run, recipe, params, within)
    const { failure } = sequence
    return failure === undefined ? { ok: true, value: undefined } : { ok: false, ...failure }
  })
  if (result.ok) return sequence
  const { step } = sequence.failure ?? {}
  return { ...sequence, failure: { ...plainFailure(result), ...(step === undefined ? {} : { step }) } }
}

interface Ended {
  place: Place
  recipe: Recipe
  started: number
}

function resultOf(run: RunContext, sequence: Sequence, { place, recipe, started }: Ended): RunResult {
  const { engine } = place
  const { usage, usd, turns } = place.spend.totals()
  const status = statusOf(run, sequence)
  return {
    run: engine.runId,
    recipe: recipe.name,
    status,
    exit: exitOf(status, place.signal),
    ...(sequence.failure === undefined ? { output: sequence.output } : { failure: sequence.failure }),
    steps: sequence.steps,
    usage,
    ...(usd === undefined ? {} : { usd }),
    turns,
    durationMs: engine.clock.now() - started,
    denials: run.denials,
    tolerated: run.tolerated,
    folder: engine.folder,
  }
}

function statusOf({ tolerated }: RunContext, { failure }: Sequence): RunStatus {
  if (failure) return STATUS_OF_CAUSE[failure.cause]
  return tolerated > 0 ? "degraded" : "ok"
}

function exitOf(status: RunStatus, { reason }: AbortSignal): number {
  const terminated = reason === "SIGTERM" || (reason as { message?: unknown } | undefined)?.message === "SIGTERM"
  return status === "cancelled" && terminated ? 143 : EXIT_OF_STATUS[status]
}

/** The result, or that the journal could not be written to its end. */
async function closeJournal(journal: Journal, result: RunResult): Promise<RunResult> {
  journal.add({ type: "run_end", status: result.status, exit: result.exit })
  try {
    await journal.close()
    return result
  } catch (error) {
    if (result.failure) return result
    const { output: _, ...rest } = result
    const failure = plainFailure(failureOf(error, new AbortController().signal))
    return { ...rest, status: "failed", exit: EXIT_OF_STATUS.failed, failure }
  }
}
