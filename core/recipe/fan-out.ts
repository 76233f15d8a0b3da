/**
 * The steps `each`, `pipeline` and `parallel`: many steps at once, and one honest account of what became of each.
 *
 * Invariant: nothing disappears: every item has its result, in the order of the items, whatever happened to the others.
 */
import { SousError } from "../error.ts"
import type { Each, EachStep, ParallelStep, PipelineStep, Step, StepResult } from "../step.ts"
import {
  below,
  cancelled,
  declare,
  type Failure,
  failureOf,
  type Place,
  plainFailure,
  type RunContext,
} from "./context.ts"
import { itemKey } from "./key.ts"

const CONCURRENCY = 8

/** One step for each item, each at `<path>/<key>`. */
export async function runEach(run: RunContext, step: EachStep<any>, place: Place): Promise<StepResult<Each<unknown>>> {
  const { items, make } = step
  return await fanOut(run, step, place, (index, at) => {
    const declared = declare(at.path, () => make(items[index] as never, index))
    return run.step(declared, at)
  })
}

/** Each item through all stages, stage n at `<path>/<key>/<n>`, without waiting for other items in between. */
export async function runPipeline(
  run: RunContext,
  step: PipelineStep<any>,
  place: Place,
): Promise<StepResult<Each<unknown>>> {
  const { items, stages } = step
  return await fanOut(run, step, place, async (index, at) => {
    let result: StepResult = { ok: true, value: items[index] }
    for (const [number, stage] of stages.entries()) {
      if (!result.ok) break
      const { value } = result
      const declared = declare(at.path, () => stage(value as never, items[index] as never, index))
      result = await run.step(declared, below(at, number + 1))
    }
    return result
  })
}

/** All at once, each at `<path>/<name>`; fails with the first that failed, when all have ended. */
export async function runParallel(run: RunContext, step: ParallelStep<any>, place: Place): Promise<StepResult> {
  const siblings = new AbortController()
  const signal = step.siblings === "abort" ? AbortSignal.any([place.signal, siblings.signal]) : place.signal
  let first: { name: string; failure: Failure } | undefined
  const branch = async ([name, declared]: [string, Step]): Promise<[string, StepResult]> => {
    const result = await run.step(declared, { ...below(place, name), signal })
    if (!result.ok) {
      first ??= { name, failure: result }
      siblings.abort()
    }
    return [name, result]
  }
  const results = await Promise.all(Object.entries(step.steps).map(branch))
  const values = Object.fromEntries(results.flatMap(([name, result]) => (result.ok ? [[name, result.value]] : [])))
  if (first === undefined) return { ok: true, value: values }
  const { name, failure } = first
  return { ok: false, ...plainFailure(failure), error: `"${name}": ${failure.error}`, partial: values }
}

type Work = (index: number, at: Place) => Promise<StepResult>

async function fanOut(
  run: RunContext,
  step: EachStep<any> | PipelineStep<any>,
  place: Place,
  work: Work,
): Promise<StepResult<Each<unknown>>> {
  const keys = keysOf(step, place.path)
  const results = await inTurns(keys.length, step.concurrency ?? CONCURRENCY, async (index) => {
    const at = { ...below(place, keys[index]!), each: place.path }
    if (place.signal.aborted) return cancelled()
    try {
      return await work(index, at)
    } catch (error) {
      return failureOf(error, place.signal)
    }
  })
  return account(run, place, { keys, results, allowed: step.allowFailures ?? 0 })
}

/** Throws STEP_KEY_DUPLICATE. */
function keysOf({ items, key }: EachStep<any> | PipelineStep<any>, path: string): string[] {
  const seen = new Set<string>()
  return items.map((item, index) => {
    const name = key ? String(declare(path, () => key(item as never, index))) : itemKey(item)
    if (seen.has(name)) throw new SousError("STEP_KEY_DUPLICATE", { step: path, key: name })
    seen.add(name)
    return name
  })
}

/** Runs `count` pieces of work, so many at once, and keeps their order. */
async function inTurns<T>(count: number, atOnce: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results = new Array<T>(count)
  let next = 0
  const lane = async () => {
    while (next < count) {
      const index = next++
      results[index] = await work(index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, lane))
  return results
}

interface Account {
  keys: readonly string[]
  results: StepResult[]
  allowed: number
}

function account(run: RunContext, place: Place, { keys, results, allowed }: Account): StepResult<Each<unknown>> {
  const values = results.flatMap((result) => (result.ok ? [result.value] : []))
  const failed = results.flatMap((result, index) => {
    if (result.ok) return []
    return [{ key: keys[index]!, ...plainFailure(result) }]
  })
  const value = { values, failed, results }
  const counted = `${failed.length} of ${keys.length} items failed, ${allowed} may`
  const tripped = place.engine.breaker.tripped()
  if (tripped !== undefined && !place.signal.aborted) {
    return { ok: false, cause: "denied", error: `${counted}; ${tripped}`, partial: value }
  }
  const worst = failed.find(({ cause }) => cause === "cancelled" || cause === "budget")
  const ends = place.signal.aborted || place.spend.exhausted() !== undefined
  if (failed.length <= allowed && !(ends && worst)) {
    run.tolerated += failed.length
    return { ok: true, value }
  }
  const { cause, code, key, error } = (ends && worst) || failed[0]!
  return { ok: false, cause, error: `${counted}; "${key}": ${error}`, ...(code ? { code } : {}), partial: value }
}
