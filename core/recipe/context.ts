/**
 * What the parts of a running recipe share: the run, and the place of one step in it.
 *
 * Invariant: a step knows its place only from here: its path, its budget, its signal, the rules it runs under.
 */
import type { AgentOutcome, AgentRequest } from "../agent.ts"
import type { Called, ToolUse } from "../call.ts"
import type { Engine } from "../engine.ts"
import { isSousError, SousError } from "../error.ts"
import type { RuleSource } from "../permission/decision.ts"
import type { AgentScope, ScopeOptions } from "../scope.ts"
import type { Budget, Step, StepFailure, StepResult } from "../step.ts"
import type { Journal } from "./journal.ts"
import type { Spend } from "./spend.ts"

/** The doors to what steps do; tests bring their own. */
export interface RunParts {
  runAgent(engine: Engine, request: AgentRequest): Promise<AgentOutcome>
  createScope(engine: Engine, options: ScopeOptions): AgentScope
  callTool(scope: AgentScope, use: ToolUse): Promise<Called>
}

/** One run of a recipe. */
export interface RunContext {
  parts: RunParts
  journal: Journal
  /** Takes the messages that a person has queued; absent: nobody can queue any. */
  inbox: (() => string[]) | undefined
  denials: { tool: string; reason: string }[]
  /** Failures that were tolerated so far. */
  tolerated: number
  /** Paths in use; a path stands for one step. */
  paths: Set<string>
  /** A number that is new in this run. */
  next(): number
  /** Runs a declared step; it never rejects. */
  step(declared: Step, place: Place, options?: StepRunOptions): Promise<StepResult>
}

export interface StepRunOptions {
  title?: string | undefined
  /** What this step and all below it may use. */
  budget?: Budget | undefined
}

/** Where a step stands. */
export interface Place {
  engine: Engine
  /** `verify/src/a.ts:3`; empty for the recipe itself. */
  path: string
  spend: Spend
  signal: AbortSignal
  /** The `each` or `pipeline` step that this place is an item of. */
  each?: string
  /** How many recipes this one is nested in. */
  depth: number
  /** What these recipes refuse or ask about. */
  guards: readonly RuleSource[]
}

/** A failed result. */
export type Failure = StepResult & { ok: false }

/** The place of a step below. */
export function below(place: Place, name: string | number): Place {
  return { ...place, path: place.path === "" ? String(name) : `${place.path}/${name}` }
}

/** A failure without its partial value. */
export function plainFailure({ cause, error, code, mend }: Failure): StepFailure {
  return { cause, error, ...(code === undefined ? {} : { code }), ...(mend === undefined ? {} : { mend }) }
}

/** For whom a hook of the run itself, or of one of its steps, fires. */
export function hookPlace({ engine, signal }: Pick<Place, "engine" | "signal">) {
  return { sessionId: engine.runId, transcriptPath: "", cwd: engine.cwd, mode: engine.mode, signal }
}

/** A step that failed inside of a script: what its `await` throws. */
export class StepError extends Error {
  override readonly name = "StepError"
  readonly failure: StepFailure
  constructor(step: string, failure: StepFailure) {
    super(`The step "${step}" failed: ${failure.error}`)
    this.failure = failure
  }
}

/** The failure that a thrown error makes of a step. */
export function failureOf(error: unknown, signal: AbortSignal): Failure {
  if (error instanceof StepError) return { ok: false, ...error.failure }
  if (signal.aborted) return cancelled()
  if (isSousError(error)) {
    return { ok: false, cause: "infra", error: error.message, code: error.code, mend: error.mend }
  }
  return { ok: false, cause: "infra", error: reasonOf(error) }
}

export function cancelled(): Failure {
  return { ok: false, cause: "cancelled", error: "The run was interrupted" }
}

/** Calls a function of the recipe's author. Throws STEP_MAKE_FAILED when it does. */
export function declare<T>(step: string, make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (isSousError(error)) throw error
    throw new SousError("STEP_MAKE_FAILED", { step, reason: reasonOf(error) }, { cause: error })
  }
}

/** What went wrong, in one line. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.name === "Error" || error.name === "SousError" ? error.message : `${error.name}: ${error.message}`
}
