/**
 * A value in a YAML recipe → a function of the results so far: texts with expressions in them, at any depth.
 *
 * Invariant: every expression is checked when the file is loaded; in a command each becomes one quoted word.
 */
import { isSousError, SousError } from "../error.ts"
import { isComputed } from "./computed.ts"
import type { CompileExpression, Expression, Names } from "./expression.ts"
import { ANY, fieldsOf, listOf, PLAIN, type Shape } from "./shape.ts"
import { joinCommand } from "./shell.ts"
import { isWhole, parseTemplate } from "./template.ts"
import type { Places } from "./yaml-place.ts"

/** What a file is compiled with. */
export interface Compiler {
  file: string
  places: Places
  expression: CompileExpression
}

/** Where something stands in the data, and what its expressions may name. */
export interface At {
  path: readonly (string | number)[]
  names: Names
}

/** The parameters and the results so far, and what `each` and its like add. */
export type Scope = Readonly<Record<string, unknown>>

/** A compiled value. */
export interface Value<T = unknown> {
  evaluate(scope: Scope): T
  shape: Shape
  /** True when it holds text that no person wrote, as far as the scope tells. */
  isComputed(scope: Scope): boolean
}

/** The place of something below. */
export function into(at: At, ...steps: (string | number)[]): At {
  return { ...at, path: [...at.path, ...steps] }
}

/** The same place, where more may be named. */
export function naming(at: At, names: Record<string, Shape>): At {
  return { ...at, names: { ...at.names, scope: { ...at.names.scope, ...names } } }
}

/** Makes the fault of something that is wrong at a place. */
export function wrong(compiler: Compiler, at: Pick<At, "path">, problem: string): SousError {
  return new SousError("RECIPE_YAML_INVALID", { file: compiler.file, problem, ...compiler.places.of(at.path) })
}

/** Any value; a text that is one expression keeps the expression's type. */
export function compileValue(compiler: Compiler, data: unknown, at: At): Value {
  if (typeof data === "string") return compileTemplate(compiler, data, at)
  if (Array.isArray(data)) {
    const items = data.map((item, index) => compileValue(compiler, item, into(at, index)))
    return combine(items, (scope) => items.map((item) => item.evaluate(scope)), listOf(ANY))
  }
  if (typeof data !== "object" || data === null) return constant(data)
  const fields = Object.entries(data).map(
    ([key, field]) => [key, compileValue(compiler, field, into(at, key))] as const,
  )
  return combine(
    fields.map(([, field]) => field),
    (scope) => Object.fromEntries(fields.map(([key, field]) => [key, field.evaluate(scope)])),
    fieldsOf(Object.fromEntries(fields.map(([key, field]) => [key, field.shape]))),
  )
}

/** A text; values in it are written as they are, or as JSON. */
export function compileText(compiler: Compiler, text: string, at: At): Value<string> {
  const value = compileTemplate(compiler, text, at)
  return { ...value, shape: PLAIN, evaluate: (scope) => toText(value.evaluate(scope)) }
}

/** One expression and nothing else. */
export function compileCondition(compiler: Compiler, text: string, at: At): Value<boolean> {
  const template = parseTemplate(text)
  if (template === undefined || !isWhole(template)) throw wrong(compiler, at, 'it is not one expression, "${{ … }}"')
  const value = compileTemplate(compiler, text, at)
  return { ...value, shape: PLAIN, evaluate: (scope) => Boolean(value.evaluate(scope)) }
}

/** A number, or an expression that gives one. */
export function compileCount(
  compiler: Compiler,
  count: number | string | undefined,
  at: At,
): Value<number> | undefined {
  if (count === undefined) return undefined
  return compileValue(compiler, count, at) as Value<number>
}

/**
 * A command. A text that is nothing but a parameter is a command that a person wrote, and runs as it is; what a recipe
 * computed for that parameter is a word like any other.
 */
export function compileCommand(compiler: Compiler, text: string, at: At): Value<string> {
  const { template, expressions } = cutUp(compiler, text, at)
  const raw = expressions.findIndex(({ isRaw }) => isRaw)
  if (raw >= 0) {
    const place = compiler.places.ofExpression(at.path, raw)
    throw new SousError("EXPRESSION_RAW", { file: compiler.file, expression: expressions[raw]!.source, ...place })
  }
  checkPlacement(compiler, template.parts, at)
  const param = isWhole(template) ? expressions[0]!.param : undefined
  return {
    shape: PLAIN,
    isComputed: () => true,
    evaluate(scope) {
      const values = expressions.map((expression) => expression.evaluate(scope))
      const [first] = values
      if (param !== undefined && typeof first === "string" && !isComputed(paramsOf(scope), param)) return first
      return joinCommand(template.parts, values)
    },
  }
}

function checkPlacement(compiler: Compiler, parts: string[], at: At): void {
  try {
    joinCommand(parts, parts.slice(1))
  } catch (error) {
    if (isSousError(error)) throw wrong(compiler, at, `${error.message}; ${error.mend}`)
    throw error
  }
}

function compileTemplate(compiler: Compiler, text: string, at: At): Value {
  const { template, expressions } = cutUp(compiler, text, at)
  const [first] = expressions
  if (first === undefined) return constant(template.parts.join(""))
  if (isWhole(template)) {
    const { param, shape, evaluate } = first
    const computed = (scope: Scope) => param === undefined || isComputed(paramsOf(scope), param)
    return { shape, evaluate, isComputed: computed }
  }
  return {
    shape: PLAIN,
    isComputed: () => true,
    evaluate: (scope) =>
      expressions.reduce(
        (joined, expression, index) => joined + toText(expression.evaluate(scope)) + template.parts[index + 1],
        template.parts[0]!,
      ),
  }
}

function cutUp(compiler: Compiler, text: string, at: At) {
  const template = parseTemplate(text)
  if (template === undefined) throw wrong(compiler, at, 'an expression is not closed: "${{" without "}}"')
  const expressions: Expression[] = template.expressions.map((source, index) =>
    compiler.expression(source, at.names, { file: compiler.file, ...compiler.places.ofExpression(at.path, index) }),
  )
  return { template, expressions }
}

function constant(data: unknown): Value {
  return { evaluate: () => data, shape: data === null ? ANY : PLAIN, isComputed: () => false }
}

function combine(parts: readonly Value[], evaluate: (scope: Scope) => unknown, shape: Shape): Value {
  return { evaluate, shape, isComputed: (scope) => parts.some((part) => part.isComputed(scope)) }
}

function paramsOf(scope: Scope): object {
  return scope.params as object
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null")
}
