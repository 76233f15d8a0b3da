/**
 * One declared step → its result: hooks, journal, events and budget around whatever its kind does.
 *
 * Invariant: it never rejects; every step that starts also ends, in the journal and for those who watch.
 */
import { SousError } from "../error.ts"
import type { Usage } from "../message.ts"
import type { AnyStep, StepKind, StepResult } from "../step.ts"
import { runAgentStep } from "./agent-step.ts"
import {
  cancelled,
  type Failure,
  failureOf,
  hookPlace,
  type Place,
  plainFailure,
  type RunContext,
  type StepRunOptions,
} from "./context.ts"
import { isInterrupted, withDeadline } from "./deadline.ts"
import { runEach, runParallel, runPipeline } from "./fan-out.ts"
import type { Recorded } from "./journal.ts"
import { stepKey } from "./key.ts"
import { findImpure } from "./plain-value.ts"
import { runScript } from "./script-step.ts"
import { previewOf, titleOf } from "./title.ts"
import { runSh, runTool, runWrite } from "./tool-step.ts"
import { runUntil } from "./until-step.ts"
import { runUse } from "./use-step.ts"

type Execute<K extends StepKind> = (
  run: RunContext,
  step: Extract<AnyStep, { kind: K }>,
  place: Place,
) => Promise<StepResult>

/** What each kind does. */
const KINDS: { readonly [K in StepKind]: Execute<K> } = {
  agent: runAgentStep,
  sh: runSh,
  tool: runTool,
  each: runEach,
  parallel: runParallel,
  pipeline: runPipeline,
  until: runUntil,
  write: runWrite,
  value: async (_run, step) => ({ ok: true, value: step.value }),
  use: runUse,
  script: runScript,
}

/** Kinds that are made of other steps: these are recorded, and their own results follow from them. */
const MADE_OF_STEPS: ReadonlySet<StepKind> = new Set(["each", "parallel", "pipeline", "until", "use", "script"])

/** Runs a step where it stands. What was declared may be anything: it is checked here. */
export async function runStep(
  run: RunContext,
  declared: unknown,
  place: Place,
  options: StepRunOptions = {},
): Promise<StepResult> {
  try {
    const step = checkDeclaration(declared, place.path)
    const late = refusesToStart(place)
    if (late) return late
    claimPath(run, place.path)
    const key = stepKey(place.path, step)
    return run.journal.lookup(place.path, key) ?? (await runFresh(run, step, place, { ...options, key }))
  } catch (error) {
    return failureOf(error, place.signal)
  }
}

/** Throws STEP_DECLARATION_INVALID. */
function checkDeclaration(declared: unknown, path: string): AnyStep {
  const kind = (declared as { kind?: unknown } | null | undefined)?.kind
  if (typeof kind === "string" && Object.hasOwn(KINDS, kind)) return declared as AnyStep
  throw new SousError("STEP_DECLARATION_INVALID", { step: path, found: nameOf(declared) })
}

function nameOf(declared: unknown): string {
  if (declared === null || declared === undefined) return String(declared)
  if (declared instanceof Promise) return "a promise"
  if (Array.isArray(declared)) return "a list"
  return typeof declared === "object" ? "an object without a kind" : `a ${typeof declared}`
}

/** After an abort, once a budget has refused something, or after too many denials nothing new starts. */
function refusesToStart({ signal, spend, engine }: Place): Failure | undefined {
  const spent = spend.exhausted()
  if (spent && !isInterrupted(signal)) return { ok: false, cause: "budget", error: spent.spent }
  if (signal.aborted) return cancelled()
  const tripped = engine.breaker.tripped()
  return tripped === undefined ? undefined : { ok: false, cause: "denied", error: tripped }
}

function claimPath({ paths }: RunContext, path: string): void {
  if (paths.has(path)) throw new SousError("STEP_KEY_DUPLICATE", { step: path, key: path })
  paths.add(path)
}

async function runFresh(
  run: RunContext,
  step: AnyStep,
  place: Place,
  options: StepRunOptions & { key: string },
): Promise<StepResult> {
  const { engine, path } = place
  const { kind } = step
  const started = engine.clock.now()
  const spend = place.spend.child(options.budget)
  const items = "items" in step ? { items: step.items.length } : {}
  const stages = "stages" in step ? { stages: step.stages.length } : {}
  run.journal.add({ type: "step_start", path, key: options.key, kind })
  engine.emit(
    { type: "step_started", id: path, kind, title: options.title ?? titleOf(step), ...items, ...stages },
    { step: path },
  )
  const result = keepable((await askHooks(place, kind)) ?? (await execute(run, step, { ...place, spend })), path)
  const { usage, usd } = spend.totals()
  const cost = { usage, ...(usd === undefined ? {} : { usd }), durationMs: engine.clock.now() - started }
  const kept = await keep(run, result, { path, key: options.key, kind, ...cost })
  const told = kept.ok ? { ok: true } : { ok: false, failure: plainFailure(kept) }
  engine.emit({ type: "step_finished", id: path, kind, ...told, ...cost, preview: previewOf(kept) }, { step: path })
  await engine.hooks.observe("StepEnd", { step_id: path, kind, ok: kept.ok }, hookPlace(place))
  return kept
}

/** Has the result in the journal, and on the disk, before anybody sees it. Returns what stands when that fails. */
async function keep(
  run: RunContext,
  result: StepResult,
  {
    kind,
    path,
    ...entry
  }: { path: string; key: string; kind: StepKind; usage: Usage; usd?: number; durationMs: number },
): Promise<StepResult> {
  try {
    const recorded: Recorded = MADE_OF_STEPS.has(kind) ? { ok: result.ok } : await run.journal.record(result)
    await run.journal.sync({ type: "step_end", path, ...entry, ...recorded })
    return result
  } catch (error) {
    return failureOf(error, new AbortController().signal)
  }
}

/** The result, or the failure that it is when its value would be another one after a resume. */
function keepable(result: StepResult, path: string): StepResult {
  const impure = result.ok ? findImpure(result.value) : undefined
  if (impure === undefined) return result
  return failureOf(new SousError("STEP_VALUE_INVALID", { step: path, ...impure }), new AbortController().signal)
}

async function askHooks(place: Place, kind: StepKind): Promise<Failure | undefined> {
  const { hooks } = place.engine
  if (!hooks.has("StepStart")) return undefined
  const answer = await hooks.gate("StepStart", { step_id: place.path, kind }, hookPlace(place))
  if (answer.decision !== "block") return undefined
  return { ok: false, cause: "tool", error: `A hook blocked the step: ${answer.reasons.join("; ")}` }
}

async function execute(run: RunContext, step: AnyStep, place: Place): Promise<StepResult> {
  const work = (at: Place) => (KINDS[step.kind] as Execute<StepKind>)(run, step as never, at)
  const own = step.kind === "agent" ? step.budget : undefined
  if (own === undefined) return await withDeadline(place, work)
  return await withDeadline(place, (at) => withDeadline({ ...at, spend: at.spend.child(own) }, work))
}
