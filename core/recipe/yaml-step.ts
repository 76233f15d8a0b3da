/**
 * A step as YAML declares it → the function that makes its declaration, by the constructors that TypeScript recipes use.
 *
 * Invariant: a step has one kind; around it stand `until`, which repeats it, and around that `each`, which does it for
 * every item. What is wrong is said with its line and column, before anything runs.
 */
import { z } from "zod"
import type { AgentOptions, Step } from "../step.ts"
import { agent, each, parallel, pipeline, sh, tool, until, use, value, write } from "./declare.ts"
import { ANY, eachOf, fieldsOf, PLAIN, type Shape, shapeOfSchema } from "./shape.ts"
import { parseSchema, SchemaProblem } from "./short-schema.ts"
import type { Declaration, FanOut } from "./yaml-schema.ts"
import {
  type At,
  type Compiler,
  compileCommand,
  compileCondition,
  compileCount,
  compileText,
  compileValue,
  into,
  naming,
  type Scope,
  type Value,
  wrong,
} from "./yaml-value.ts"

/** A compiled step. */
export interface CompiledStep {
  make(scope: Scope): Step
  /** What is known of its result. */
  shape: Shape
}

type Compile<K extends keyof Declaration> = (
  compiler: Compiler,
  data: NonNullable<Declaration[K]>,
  at: At,
  around: Declaration,
) => CompiledStep

/** The kinds that stand for themselves. */
const KINDS = {
  agent: compileAgent,
  sh: compileSh,
  tool: compileTool,
  parallel: compileParallel,
  pipeline: compilePipeline,
  write: compileWrite,
  value: compileConstant,
  use: compileUse,
} satisfies { [K in keyof Declaration]?: Compile<K> }

type Kind = keyof typeof KINDS

/** Compiles a step with all that is around and in it. */
export function compileStep(compiler: Compiler, data: Declaration, at: At): CompiledStep {
  const { each: items, ...inner } = data
  return items === undefined ? compileRounds(compiler, inner, at) : compileEach(compiler, items, inner, at)
}

function compileRounds(compiler: Compiler, data: Declaration, at: At): CompiledStep {
  const { until: check, max, holds, ...inner } = data
  if (check === undefined) {
    const lonely = max === undefined ? (holds === undefined ? undefined : "holds") : "max"
    if (lonely !== undefined) throw wrong(compiler, into(at, lonely), `"${lonely}" belongs to "until"`)
    return compileKind(compiler, inner, at)
  }
  const checked = compileStep(compiler, check, into(at, "until"))
  const most = compileCount(compiler, max, into(at, "max"))
  const condition =
    holds === undefined
      ? undefined
      : compileCondition(compiler, holds, naming(into(at, "holds"), { check: checked.shape }))
  const body = compileKind(compiler, inner, naming(at, { check: checked.shape, round: PLAIN }))
  return {
    shape: fieldsOf({ rounds: PLAIN, check: checked.shape }),
    make: (scope) =>
      until(checked.make(scope), (round) => body.make({ ...scope, ...round }), {
        ...given({ max: most?.evaluate(scope) }),
        ...given({ holds: condition && ((seen: unknown) => condition.evaluate({ ...scope, check: seen })) }),
      }),
  }
}

function compileKind(compiler: Compiler, data: Declaration, at: At): CompiledStep {
  const found = (Object.keys(KINDS) as Kind[]).filter((kind) => kind in data)
  const [kind, second] = found
  if (kind === undefined) throw wrong(compiler, at, `it does nothing: give it one of ${Object.keys(KINDS).join(", ")}`)
  if (second !== undefined)
    throw wrong(compiler, into(at, second), `it is "${kind}" and "${second}" at once; a step does one thing`)
  if (data.siblings !== undefined && kind !== "parallel") {
    throw wrong(compiler, into(at, "siblings"), '"siblings" belongs to "parallel"')
  }
  return (KINDS[kind] as Compile<Kind>)(compiler, data[kind] as never, into(at, kind), data)
}

function compileEach(
  compiler: Compiler,
  data: NonNullable<Declaration["each"]>,
  inner: Declaration,
  at: At,
): CompiledStep {
  const around = into(at, "each")
  const fan =
    typeof data === "string" || Array.isArray(data)
      ? compileFanOut(compiler, { items: data }, { around, items: around })
      : compileFanOut(compiler, data, { around, items: into(around, "items") })
  const body = compileRounds(compiler, inner, naming(at, fan.names))
  return {
    shape: eachOf(body.shape),
    make: (scope) =>
      each(
        fan.items.evaluate(scope) as unknown[],
        (item, index) => body.make({ ...scope, item, index }),
        fan.options(scope),
      ),
  }
}

function compilePipeline(compiler: Compiler, data: NonNullable<Declaration["pipeline"]>, at: At): CompiledStep {
  const fan = compileFanOut(compiler, data, { around: at, items: into(at, "items") })
  const stages: CompiledStep[] = []
  for (const [index, stage] of data.stages.entries()) {
    const previous = stages.at(-1)?.shape ?? fan.names.item
    stages.push(compileStep(compiler, stage, naming(into(at, "stages", index), { ...fan.names, previous })))
  }
  return {
    shape: eachOf(stages.at(-1)!.shape),
    make: (scope) => {
      const makes = stages.map(
        ({ make }) =>
          (previous: unknown, item: unknown, index: number) =>
            make({ ...scope, previous, item, index }),
      )
      return (pipeline as (...all: unknown[]) => Step)(fan.items.evaluate(scope), ...makes, fan.options(scope))
    },
  }
}

function compileFanOut(compiler: Compiler, data: FanOut, { around, items: itemsAt }: { around: At; items: At }) {
  const items = compileValue(compiler, data.items, itemsAt)
  const names = { item: items.shape.kind === "list" ? items.shape.item : ANY, index: PLAIN }
  const key = data.key === undefined ? undefined : compileText(compiler, data.key, naming(into(around, "key"), names))
  const concurrency = compileCount(compiler, data.concurrency, into(around, "concurrency"))
  const allowFailures = compileCount(compiler, data.allowFailures, into(around, "allowFailures"))
  return {
    items,
    names,
    options: (scope: Scope) => ({
      ...given({ key: key && ((item: unknown, index: number) => key.evaluate({ ...scope, item, index })) }),
      ...given({ concurrency: concurrency?.evaluate(scope), allowFailures: allowFailures?.evaluate(scope) }),
    }),
  }
}

/** Options of an agent that are texts, whatever an expression in them gives. */
const TEXTS = new Set(["prompt", "system", "appendSystem", "model", "agentType"])

function compileAgent(compiler: Compiler, data: NonNullable<Declaration["agent"]>, at: At): CompiledStep {
  if (typeof data === "string") {
    const prompt = compileText(compiler, data, at)
    return { shape: PLAIN, make: (scope) => agent({ prompt: prompt.evaluate(scope) }) }
  }
  const { output: written, verify: check, budget, effort, mode, ...texts } = data
  const values = Object.entries(texts).map(([key, text]) => {
    const compile = TEXTS.has(key) ? compileText : compileValue
    return [key, compile(compiler, text as string, into(at, key))] as const
  })
  const output = written === undefined ? undefined : compileSchema(compiler, written, into(at, "output"))
  const shape = output?.shape ?? PLAIN
  const verify = check && compileStep(compiler, check, naming(into(at, "verify"), { answer: shape }))
  return {
    shape,
    make(scope) {
      const options: unknown = {
        ...Object.fromEntries(values.map(([key, text]) => [key, text.evaluate(scope)])),
        ...given({ budget, effort, mode, output: output?.schema }),
        ...given({ verify: verify && ((answer: unknown) => verify.make({ ...scope, answer })) }),
      }
      return agent(options as AgentOptions<string>)
    },
  }
}

function compileSchema(compiler: Compiler, written: unknown, at: At) {
  try {
    const schema = parseSchema(written)
    const json = schema instanceof z.ZodType ? z.toJSONSchema(schema, { unrepresentable: "any" }) : schema
    return { schema, shape: shapeOfSchema(json) }
  } catch (error) {
    if (error instanceof SchemaProblem) throw wrong(compiler, into(at, ...error.path), error.message)
    throw error
  }
}

const SH_RESULT = fieldsOf({ stdout: PLAIN, stderr: PLAIN, code: PLAIN })

function compileSh(compiler: Compiler, data: NonNullable<Declaration["sh"]>, at: At): CompiledStep {
  if (typeof data === "string") {
    const command = compileCommand(compiler, data, at)
    return { shape: SH_RESULT, make: (scope) => sh({ command: command.evaluate(scope) }) }
  }
  const command = compileCommand(compiler, data.command, into(at, "command"))
  const cwd = data.cwd === undefined ? undefined : compileText(compiler, data.cwd, into(at, "cwd"))
  const env = Object.entries(data.env ?? {}).map(
    ([name, text]) => [name, compileText(compiler, text, into(at, "env", name))] as const,
  )
  const timeout = compileCount(compiler, data.timeoutMs, into(at, "timeoutMs"))
  return {
    shape: SH_RESULT,
    make: (scope) =>
      sh({
        command: command.evaluate(scope),
        ...given({ cwd: cwd?.evaluate(scope), ok: data.ok, timeoutMs: timeout?.evaluate(scope) }),
        ...(data.env ? { env: Object.fromEntries(env.map(([name, text]) => [name, text.evaluate(scope)])) } : {}),
      }),
  }
}

function compileTool(compiler: Compiler, data: NonNullable<Declaration["tool"]>, at: At): CompiledStep {
  const name = compileText(compiler, data.name, into(at, "name"))
  const input = compileValue(compiler, data.input ?? {}, into(at, "input"))
  const shape = fieldsOf({ text: PLAIN, data: ANY })
  return { shape, make: (scope) => tool(name.evaluate(scope), input.evaluate(scope)) }
}

function compileParallel(
  compiler: Compiler,
  data: NonNullable<Declaration["parallel"]>,
  at: At,
  { siblings }: Declaration,
): CompiledStep {
  const steps = Object.entries(data).map(([name, one]) => [name, compileStep(compiler, one, into(at, name))] as const)
  return {
    shape: fieldsOf(Object.fromEntries(steps.map(([name, { shape }]) => [name, shape]))),
    make: (scope) =>
      parallel(Object.fromEntries(steps.map(([name, { make }]) => [name, make(scope)])), given({ siblings })),
  }
}

function compileWrite(compiler: Compiler, data: NonNullable<Declaration["write"]>, at: At): CompiledStep {
  const path = compileText(compiler, data.path, into(at, "path"))
  const text = compileText(compiler, data.text, into(at, "text"))
  return { shape: fieldsOf({ path: PLAIN }), make: (scope) => write(path.evaluate(scope), text.evaluate(scope)) }
}

function compileConstant(compiler: Compiler, data: unknown, at: At): CompiledStep {
  const { shape, evaluate } = compileValue(compiler, data, at)
  return { shape, make: (scope) => value(evaluate(scope)) }
}

function compileUse(compiler: Compiler, data: NonNullable<Declaration["use"]>, at: At): CompiledStep {
  const { recipe, params = {} } = typeof data === "string" ? { recipe: data } : data
  const name = compileText(compiler, recipe, typeof data === "string" ? at : into(at, "recipe"))
  const values: [string, Value][] = Object.entries(params).map(([key, field]) => [
    key,
    compileValue(compiler, field, into(at, "params", key)),
  ])
  return {
    shape: ANY,
    make(scope) {
      const given = Object.fromEntries(values.map(([key, field]) => [key, field.evaluate(scope)]))
      const computed = values.flatMap(([key, field]) => (field.isComputed(scope) ? [key] : []))
      return { ...use(name.evaluate(scope), given), computed }
    },
  }
}

/** The options that are there. */
function given<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, option]) => option !== undefined)) as never
}
