/**
 * The constructors of steps: from options to a declaration, plain data whose result type the next steps know.
 *
 * Invariant: they have no effect but the object they return; an option that no step has is refused, not ignored.
 */
import { z } from "zod"
import { SousError, suggest } from "../error.ts"
import type { JsonSchema } from "../message.ts"
import { PERMISSION_MODES } from "../permission/mode.ts"
import type {
  AgentOptions,
  AgentStep,
  EachStep,
  ParallelStep,
  PipelineStep,
  Recipe,
  ResultOf,
  ScriptContext,
  ScriptStep,
  ShStep,
  Step,
  StepKind,
  ToolStep,
  UntilRound,
  UntilStep,
  UseStep,
  ValueStep,
  WriteStep,
} from "../step.ts"
import { EFFORTS } from "../tool.ts"
import { describeIssue } from "../tool-input.ts"
import { budgetSchema, compactSchema } from "./head.ts"
import { joinCommand } from "./shell.ts"

/** One agent loop. With `output` its result is the value of that shape, otherwise the text of the last answer. */
export function agent<S extends z.ZodType>(options: AgentOptions<z.output<S>> & { output: S }): AgentStep<z.output<S>>
export function agent(options: AgentOptions<unknown> & { output: JsonSchema }): AgentStep<unknown>
export function agent(options: AgentOptions<string>): AgentStep<string>
export function agent(options: AgentOptions<any> & { output?: any }): AgentStep<any> {
  checkOptions("agent", options)
  if (typeof options.prompt !== "string") throw invalid("agent", `its prompt is ${nameOf(options.prompt)}, not a text`)
  return { kind: "agent", ...options }
}

/** Options of a command, without the command. */
export type ShOptions = Omit<ShStep, "kind" | "command">
/** A tag for a template whose values are quoted. */
export type ShTag = (parts: TemplateStringsArray, ...values: unknown[]) => ShStep

/**
 * One command through the shell. In a template each value becomes one quoted word, and a list one word for each item;
 * `sh({ ok: "any" })` gives such a template with options. `sh({ command })` takes the text as it is: build it with
 * `quote()` when it holds anything that the recipe's author did not write. Throws SH_VALUE_INVALID, SH_VALUE_MISPLACED.
 */
export function sh(parts: TemplateStringsArray, ...values: unknown[]): ShStep
export function sh(options: ShOptions & { command: string }): ShStep
export function sh(options: ShOptions): ShTag
export function sh(
  first: TemplateStringsArray | (ShOptions & { command?: string }),
  ...values: unknown[]
): ShStep | ShTag {
  if (isTemplate(first)) return { kind: "sh", command: joinCommand(first, values) }
  checkOptions("sh", first)
  const { command, ...options } = first
  if (command === undefined)
    return (parts, ...later) => ({ kind: "sh", command: joinCommand(parts, later), ...options })
  if (typeof command !== "string") throw invalid("sh", `its command is ${nameOf(command)}, not a text`)
  return { kind: "sh", command, ...options }
}

/** One call of a tool, by the name that the model and the rules use, through the whole permission pipeline. */
export function tool(name: string, input: unknown): ToolStep {
  return { kind: "tool", name, input }
}

export interface EachOptions<I> {
  /** Names an item, so that its result is found again when the list changes. Unique; default: what the item holds. */
  key?: (item: I, index: number) => string
  /** Items at work at once. Default 8. */
  concurrency?: number
  /** How many items may fail before the step does. Default 0. */
  allowFailures?: number
}

/** One step for each item; all are finished, then it fails if more than `allowFailures` failed. */
export function each<I, S extends Step>(
  items: readonly I[],
  make: (item: I, index: number) => S,
  options: EachOptions<I> = {},
): EachStep<ResultOf<S>> {
  checkOptions("each", options)
  return { kind: "each", items: checkItems("each", items), make: make as EachStep<ResultOf<S>>["make"], ...options }
}

/** All of them at once; the results under the same names when all are done. */
export function parallel<R extends Record<string, Step>>(
  steps: R,
  options: Pick<ParallelStep, "siblings"> = {},
): ParallelStep<{ [K in keyof R]: ResultOf<R[K]> }> {
  checkOptions("parallel", options)
  return { kind: "parallel", steps, ...options }
}

type Stage<P, I, S extends Step> = (previous: P, item: I, index: number) => S

/** Each item through all stages, without waiting for the others between them. The first stage gets the item itself. */
export function pipeline<I, A extends Step>(
  items: readonly I[],
  ...rest: [Stage<I, I, A>, EachOptions<I>?]
): PipelineStep<ResultOf<A>>
export function pipeline<I, A extends Step, B extends Step>(
  items: readonly I[],
  ...rest: [Stage<I, I, A>, Stage<ResultOf<A>, I, B>, EachOptions<I>?]
): PipelineStep<ResultOf<B>>
export function pipeline<I, A extends Step, B extends Step, C extends Step>(
  items: readonly I[],
  ...rest: [Stage<I, I, A>, Stage<ResultOf<A>, I, B>, Stage<ResultOf<B>, I, C>, EachOptions<I>?]
): PipelineStep<ResultOf<C>>
export function pipeline<I, A extends Step, B extends Step, C extends Step, D extends Step>(
  items: readonly I[],
  ...rest: [
    Stage<I, I, A>,
    Stage<ResultOf<A>, I, B>,
    Stage<ResultOf<B>, I, C>,
    Stage<ResultOf<C>, I, D>,
    EachOptions<I>?,
  ]
): PipelineStep<ResultOf<D>>
export function pipeline(items: readonly unknown[], ...rest: unknown[]): PipelineStep<any> {
  const stages = rest.filter((stage): stage is PipelineStep["stages"][number] => typeof stage === "function")
  const options = rest.find((stage) => typeof stage !== "function") ?? {}
  checkOptions("pipeline", options)
  if (stages.length === 0) throw invalid("pipeline", "it has no stages")
  return { kind: "pipeline", items: checkItems("pipeline", items), stages, ...(options as EachOptions<never>) }
}

/** Runs `check`, then `body` and `check` again, until the check holds; at most `max` bodies (default 5). */
export function until<C extends Step>(
  check: C,
  body: (round: UntilRound<ResultOf<C>>) => Step,
  options: Pick<UntilStep<ResultOf<C>>, "max" | "holds"> = {},
): UntilStep<ResultOf<C>> {
  checkOptions("until", options)
  return { kind: "until", check: check as Step<ResultOf<C>>, body, ...options }
}

/** Writes a file through the permission pipeline. The path may be relative to the run's working directory. */
export function write(path: string, text: string): WriteStep {
  if (typeof text !== "string") throw invalid("write", `its text is ${nameOf(text)}, not a text`)
  return { kind: "write", path, text }
}

/** A value that is there already. */
export function value<T>(constant: T): ValueStep<T> {
  return { kind: "value", value: constant }
}

/** Another recipe as one step, five deep at most. It runs under the rules of this run. */
export function use<P, O, I>(recipe: Recipe<P, O, I>, params: I): UseStep<O>
export function use(recipe: string, params?: Record<string, unknown>): UseStep<unknown>
export function use(recipe: Recipe<any, any, any> | string, params: object = {}): UseStep<any> {
  return { kind: "use", recipe, params: params as Record<string, unknown> }
}

/** Ordinary code in which each awaited `step.agent(…)`, `step.sh(…)` and so on is a step of its own. */
export function script<T>(run: (step: ScriptContext) => Promise<T>): ScriptStep<T> {
  return { kind: "script", run }
}

/** The options that each kind takes beside what its constructor names. */
const OPTIONS = {
  agent: [
    "prompt",
    "system",
    "appendSystem",
    "model",
    "effort",
    "tools",
    "mode",
    "maxTurns",
    "output",
    "agentType",
    "verify",
    "attempts",
    "budget",
    "hooks",
    "compact",
  ],
  sh: ["command", "cwd", "env", "ok", "timeoutMs"],
  each: ["key", "concurrency", "allowFailures"],
  pipeline: ["key", "concurrency", "allowFailures"],
  parallel: ["siblings"],
  until: ["max", "holds"],
} as const satisfies Partial<Record<StepKind, readonly string[]>>

const COUNTS: Record<string, number> = {
  concurrency: 1,
  allowFailures: 0,
  max: 1,
  maxTurns: 1,
  attempts: 1,
  timeoutMs: 1,
}

/** What an option may be, where TypeScript is not there to say so. */
const VALUES: Readonly<Record<string, z.ZodType>> = {
  model: z.string().min(1),
  mode: z.enum(PERMISSION_MODES),
  effort: z.enum(EFFORTS),
  budget: budgetSchema,
  compact: compactSchema,
  tools: z.array(z.string().regex(/^[^()]+(\(.*\))?$/s, "it is no tool and no filter such as Bash(npm test*)")),
  agentType: z.string().min(1),
  output: z.custom((shape) => typeof shape === "object" && shape !== null, "it is no schema"),
}

function checkOptions(kind: keyof typeof OPTIONS, options: object): void {
  if (typeof options !== "object" || options === null) throw invalid(kind, `its options are ${nameOf(options)}`)
  const known: readonly string[] = OPTIONS[kind]
  for (const [key, option] of Object.entries(options)) {
    if (!known.includes(key)) throw new SousError("STEP_OPTION_UNKNOWN", { kind, key, mend: suggest(key, known) })
    const least = COUNTS[key]
    if (least !== undefined && option !== undefined && !(Number.isInteger(option) && option >= least)) {
      throw invalid(kind, `"${key}" is ${JSON.stringify(option)}, not a whole number from ${least} up`)
    }
    const parsed = option === undefined ? undefined : VALUES[key]?.safeParse(option)
    if (parsed?.success === false) throw invalid(kind, `"${key}" is wrong: ${describeIssue(parsed.error.issues[0]!)}`)
  }
}

function checkItems<I>(kind: "each" | "pipeline", items: readonly I[]): readonly I[] {
  if (!Array.isArray(items)) throw invalid(kind, `its items are ${nameOf(items)}, not a list`)
  return items
}

function isTemplate(first: unknown): first is TemplateStringsArray {
  return Array.isArray(first) && "raw" in first
}

function invalid(kind: StepKind, problem: string): SousError {
  return new SousError("STEP_OPTION_INVALID", { kind, problem })
}

function nameOf(found: unknown): string {
  if (found === null || found === undefined) return String(found)
  return Array.isArray(found) ? "a list" : typeof found === "object" ? "an object" : `a ${typeof found}`
}
