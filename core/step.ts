/**
 * The declarations that a recipe is made of, and the results they come back with: plain data, one type for each kind.
 *
 * Invariant: a declaration has no behaviour but the functions that make further declarations; a result is never a bare
 * null: it is a value, or a failure with its cause.
 */
import type { z } from "zod"
import type { JsonSchema, Usage } from "./message.ts"
import type { Contribution } from "./plugin.ts"
import type { CompactOptions, Effort, PermissionMode } from "./tool.ts"

/** What a failed step died of. */
export type Cause = "model" | "tool" | "budget" | "denied" | "cancelled" | "infra" | "output"

export interface StepFailure {
  cause: Cause
  /** One sentence. */
  error: string
  /** The code of the SousError behind it, if any. */
  code?: string
  /** How to mend it, one line, where that is known. */
  mend?: string
}

/** The outcome of one step. */
export type StepResult<T = unknown> = { ok: true; value: T } | ({ ok: false; partial?: unknown } & StepFailure)

/** A limit on what a run, a step or an agent may use. */
export interface Budget {
  usd?: number
  /** Input and output together. */
  tokens?: number
  turns?: number
  minutes?: number
}

declare const value: unique symbol
/** A declared step whose result is a T. */
export interface Step<T = unknown> {
  kind: StepKind
  /** Only for the type checker. */
  readonly [value]?: T
}

/** The type of a step's result; of several possible steps, of any of them. */
export type ResultOf<S extends Step> = S extends Step<infer T> ? T : never

export type StepKind =
  | "agent"
  | "sh"
  | "tool"
  | "each"
  | "parallel"
  | "pipeline"
  | "until"
  | "write"
  | "value"
  | "use"
  | "script"

export interface AgentStep<T = string> extends Step<T> {
  kind: "agent"
  prompt: string
  /** Replaces the built-in system prompt. */
  system?: string
  /** Added to the system prompt. */
  appendSystem?: string
  model?: string
  effort?: Effort
  /** Names, or rules that filter: `Bash(npm test*)`. Narrows; never grants. Left out: all tools. */
  tools?: string[]
  mode?: PermissionMode
  maxTurns?: number
  /** The shape of the result. A step with one never ends ok without a valid value. */
  output?: z.ZodType<T> | JsonSchema
  /** An agent definition to take prompt, tools and model from. */
  agentType?: string
  /** Must succeed before the loop may stop; its failure is fed back, `attempts` times (default 3). */
  verify?: Step | ((answer: T) => Step)
  attempts?: number
  budget?: Budget
  hooks?: Contribution["hooks"]
  /** How its conversation is kept within the window; beats the settings. */
  compact?: CompactOptions
}

/** The result of a command. `stdout` and `stderr` are cut at 1 MB each, with a note. */
export interface ShResult {
  stdout: string
  stderr: string
  code: number
}
export interface ShStep extends Step<ShResult> {
  kind: "sh"
  command: string
  cwd?: string
  env?: Record<string, string>
  /** Exit codes that count as success. Default [0]; `"any"`: all, the code is in the result. */
  ok?: number[] | "any"
  /** ms; default 10 minutes. */
  timeoutMs?: number
}
export interface ToolStep extends Step<ToolStepResult> {
  kind: "tool"
  name: string
  input: unknown
}
export interface ToolStepResult {
  text: string
  data?: unknown
}
export interface EachStep<T = unknown> extends Step<Each<T>> {
  kind: "each"
  items: readonly unknown[]
  make: (item: never, index: number) => Step<T>
  /** Names an item; two items with one key are an error. Default: a hash of its content. */
  key?: (item: never, index: number) => string
  /** Items at work at once. Default 8. */
  concurrency?: number
  /** How many items may fail before the step does. Default 0. */
  allowFailures?: number
}
/** Everything that became of a fan-out; nothing disappears. `results` is in the order of the items. */
export interface Each<T> {
  values: T[]
  failed: ({ key: string } & StepFailure)[]
  results: StepResult<T>[]
}
export interface ParallelStep<T = unknown> extends Step<T> {
  kind: "parallel"
  steps: Record<string, Step>
  /** What becomes of the others when one fails. Default `finish`. */
  siblings?: "finish" | "abort"
}
export interface PipelineStep<T = unknown> extends Step<Each<T>> {
  kind: "pipeline"
  items: readonly unknown[]
  stages: readonly ((previous: never, item: never, index: number) => Step)[]
  key?: (item: never, index: number) => string
  concurrency?: number
  allowFailures?: number
}
/** What the last check said; handed to the next body. */
export interface UntilRound<C> {
  check: C
  /** Counts from 1. */
  round: number
}
export interface UntilStep<C = unknown> extends Step<UntilResult<C>> {
  kind: "until"
  check: Step<C>
  /** Says whether a check's result holds. Default: the check step succeeded. */
  holds?: (check: C) => boolean
  body: (round: UntilRound<C>) => Step
  /** Bodies at most. Default 5. */
  max?: number
}
export interface UntilResult<C> {
  rounds: number
  check: C
}
export interface WriteStep extends Step<{ path: string }> {
  kind: "write"
  path: string
  text: string
}
export interface ValueStep<T = unknown> extends Step<T> {
  kind: "value"
  value: T
}
export interface UseStep<T = unknown> extends Step<T> {
  kind: "use"
  /** A recipe, or the name of one that a plugin brings. */
  recipe: Recipe<any, T, any> | string
  params: Record<string, unknown>
  /** Parameters that were made from results: the recipe does not take them for text that a person wrote. */
  computed?: string[]
}
export interface ScriptStep<T = unknown> extends Step<T> {
  kind: "script"
  run: (step: ScriptContext) => Promise<T>
}
/**
 * What a script step may call; each call is a step of its own, named by its `id` or by its number in the order of the
 * calls. A step that fails throws a StepError, which ends the script unless it catches it.
 */
export interface ScriptContext {
  run<S extends Step>(id: string, step: S): Promise<ResultOf<S>>
  agent<S extends z.ZodType>(options: AgentOptions<z.output<S>> & { output: S; id?: string }): Promise<z.output<S>>
  agent(options: AgentOptions<unknown> & { output: JsonSchema; id?: string }): Promise<unknown>
  agent(options: AgentOptions<string> & { id?: string }): Promise<string>
  sh(parts: TemplateStringsArray, ...values: unknown[]): Promise<ShResult>
  sh(options: Omit<ShStep, "kind"> & { id?: string }): Promise<ShResult>
  tool(name: string, input: unknown): Promise<ToolStepResult>
  write(path: string, text: string): Promise<{ path: string }>
  /** Waits for all of them, also when one has failed; then throws its error. */
  parallel<const T extends readonly (() => Promise<unknown>)[]>(
    tasks: T,
  ): Promise<{ [K in keyof T]: Awaited<ReturnType<T[K]>> }>
  /** Tells those who watch. */
  log(message: string): void
}

/** What an agent step is declared with, its `output` aside. */
export type AgentOptions<T> = Omit<AgentStep<T>, "kind" | "output">

export type AnyStep =
  | AgentStep<any>
  | ShStep
  | ToolStep
  | EachStep<any>
  | ParallelStep<any>
  | PipelineStep<any>
  | UntilStep<any>
  | WriteStep
  | ValueStep<any>
  | UseStep<any>
  | ScriptStep<any>

/** The results so far, by step id, and the parameters. */
export type StepScope = { params: Record<string, unknown> } & Record<string, unknown>

/** One step of a recipe, as data. */
export interface RecipeStep {
  id: string
  make: (scope: StepScope) => Step
  /** `continue`: a failure is handed on as a result object. Default `stop`. */
  onFail: "stop" | "continue"
  /** `when` is false: the step is skipped and its result is null. */
  when?: (scope: StepScope) => boolean
  title?: string
  /** What the step and all below it may use. */
  budget?: Budget
}

/** A recipe, as data: what a `.ts` file exports by default and a YAML file becomes. P: params, O: output, I: params as given. */
export interface Recipe<P = Record<string, unknown>, O = unknown, I = Record<string, unknown>> extends RecipeHead {
  readonly kind: "recipe"
  steps: readonly RecipeStep[]
  /** Makes the output of the results. Left out: the result of the last step. */
  result?: (scope: StepScope) => O
  /** Where it was loaded from, absolute. */
  file?: string
  /** Only for the type checker. */
  readonly [params]?: P
  /** Only for the type checker. */
  readonly [given]?: I
}
declare const params: unique symbol
declare const given: unique symbol

/** What a recipe says about itself. */
export interface RecipeHead {
  /** kebab-case. */
  name: string
  description: string
  /** Checked before anything runs; `describe()` and defaults show in the help. */
  params?: z.ZodObject
  permissions?: { allow?: string[]; ask?: string[]; deny?: string[] }
  budget?: Budget
  on?: { change?: string[]; schedule?: string; commit?: boolean }
  model?: string
  agents?: import("./tool.ts").AgentDefinition[]
}

export type RunStatus = "ok" | "degraded" | "failed" | "waiting" | "budget" | "denied" | "cancelled"

/** How a run ended. */
export interface RunResult<O = unknown> {
  run: string
  recipe: string
  status: RunStatus
  /** The process exit code that says the same (design/cli.md). */
  exit: number
  output?: O
  /** The failure that ended it. */
  failure?: StepFailure & { step?: string }
  steps: { id: string; ok: boolean; failure?: StepFailure }[]
  usage: Usage
  /** Absent when a price is unknown. */
  usd?: number
  turns: number
  durationMs: number
  denials: { tool: string; reason: string }[]
  /** Failures that were tolerated. */
  tolerated: number
  /** State folder of the run: journal, transcripts, spilled results. */
  folder: string
}
