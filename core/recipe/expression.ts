/**
 * CEL: from the text of an expression to a function of the results so far, checked before anything runs.
 *
 * Invariant: an expression has no effect and always ends; what comes out is plain JSON (CEL's whole numbers become
 * numbers, its times texts). Source: https://cel.dev, with `json`, `fromJson`, `lines`, `raw` and `replace` added.
 */
import { SousError, suggest } from "../error.ts"
import { inferShape, type Shape, type Tree, type UnknownName, UnknownNameError } from "./shape.ts"

/** A checked expression. */
export interface Expression {
  source: string
  /** What is known of its value. */
  shape: Shape
  /** The parameter that it is, when it is nothing but `params.x`. */
  param?: string
  /** It calls `raw()`. */
  isRaw: boolean
  /** Throws EXPRESSION_FAILED. */
  evaluate(scope: Readonly<Record<string, unknown>>): unknown
}

/** Where an expression stands; `line` and `column` count from 1. */
export interface ExpressionPlace {
  file: string
  line: number
  column: number
}

/** What an expression may name. `later`: steps that come after it, for the advice. */
export interface Names {
  scope: Readonly<Record<string, Shape>>
  later: readonly string[]
}

/** Throws EXPRESSION_INVALID or EXPRESSION_NAME_UNKNOWN. */
export type CompileExpression = (source: string, names: Names, place: ExpressionPlace) => Expression

/** Loads CEL. */
export async function loadExpressions(): Promise<CompileExpression> {
  const { Environment } = await import("@marcbachmann/cel-js")
  const environment = new Environment({ unlistedVariablesAreDyn: true, homogeneousAggregateLiterals: false })
  environment
    .registerFunction("json(dyn): string", (value: unknown) => JSON.stringify(toPlain(value)) ?? "null")
    .registerFunction("fromJson(string): dyn", (text: string) => JSON.parse(text))
    .registerFunction("lines(string): list", (text: string) => text.split(/\r?\n/).filter((line) => line !== ""))
    .registerFunction("raw(dyn): dyn", (value: unknown) => value)
    .registerFunction("string.replace(string, string): string", (text: string, from: string, to: string) =>
      text.replaceAll(from, () => to),
    )
  for (const [sign, apply] of Object.entries(MIXED)) {
    const handler = (left: unknown, right: unknown) => apply(Number(left), Number(right))
    environment.registerOperator(`double ${sign} int`, handler).registerOperator(`int ${sign} double`, handler)
  }
  return (source, names, place) => {
    const fail = (problem: string) => new SousError("EXPRESSION_INVALID", { expression: source, problem, ...place })
    if (source === "") throw fail("it is empty")
    const parsed = parse(() => environment.parse(source), fail)
    const tree = parsed.ast as Tree
    const shape = checkNames(tree, names, { source, place })
    const checked = parsed.check()
    if (!checked.valid) throw fail(checked.error?.summary ?? "its types do not fit")
    const param = paramOf(tree)
    return {
      source,
      shape,
      isRaw: mentions(tree, "raw"),
      evaluate: (scope) => evaluate(parsed, source, scope),
      ...(param === undefined ? {} : { param }),
    }
  }
}

/** Values of JSON are CEL's doubles, and whole numbers in an expression its ints: CEL itself does not mix them. */
const MIXED: Readonly<Record<string, (left: number, right: number) => number>> = {
  "+": (left, right) => left + right,
  "-": (left, right) => left - right,
  "*": (left, right) => left * right,
  "/": (left, right) => left / right,
  "%": (left, right) => left % right,
}

function parse<T>(run: () => T, fail: (problem: string) => SousError): T {
  try {
    return run()
  } catch (error) {
    const { summary, message } = error as Error & { summary?: string }
    throw fail(summary ?? message)
  }
}

function evaluate(
  run: (scope: Record<string, unknown>) => unknown,
  source: string,
  scope: Readonly<Record<string, unknown>>,
): unknown {
  try {
    return toPlain(run(scope))
  } catch (error) {
    const { summary, message } = error as Error & { summary?: string }
    throw new SousError("EXPRESSION_FAILED", { expression: source, reason: summary ?? message }, { cause: error })
  }
}

function checkNames(tree: Tree, names: Names, at: { source: string; place: ExpressionPlace }): Shape {
  try {
    return inferShape(tree, names.scope)
  } catch (error) {
    if (!(error instanceof UnknownNameError)) throw error
    const { name } = error.unknown
    const what = whatIs(error.unknown, tree)
    const mend = names.later.includes(name)
      ? `move the step "${name}" before the one that reads it`
      : suggest(name, error.unknown.known)
    throw new SousError("EXPRESSION_NAME_UNKNOWN", { expression: at.source, what, name, mend, ...at.place })
  }
}

function whatIs({ what, name }: UnknownName, tree: Tree): string {
  if (what === "name") return "step"
  return mentionsParam(tree, name) ? "parameter" : "field"
}

function paramOf(tree: Tree): string | undefined {
  if (tree.op !== ".") return undefined
  const [base, name] = tree.args as [Tree, string]
  return base.op === "id" && base.args === "params" ? name : undefined
}

function mentionsParam(tree: unknown, name: string): boolean {
  return someTree(tree, (node) => paramOf(node) === name)
}

function mentions(tree: unknown, called: string): boolean {
  return someTree(tree, ({ op, args }) => op === "call" && (args as [string])[0] === called)
}

function someTree(value: unknown, test: (tree: Tree) => boolean): boolean {
  if (Array.isArray(value)) return value.some((item) => someTree(item, test))
  if (typeof value !== "object" || value === null || !("op" in value)) return false
  return test(value as Tree) || someTree((value as Tree).args, test)
}

function toPlain(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value)
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(toPlain)
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64")
  if (value instanceof Set) return [...value].map(toPlain)
  const isMap = value instanceof Map
  const prototype = Object.getPrototypeOf(value)
  // CEL's own objects (a duration, a type) print as CEL writes them.
  if (!isMap && prototype !== Object.prototype && prototype !== null) return String(value)
  const entries = isMap ? [...value] : Object.entries(value)
  return Object.fromEntries(entries.map(([key, field]) => [String(key), toPlain(field)]))
}
