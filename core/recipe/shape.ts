/**
 * What is known of a value before it exists: enough to say that an expression names a field that will not be there.
 *
 * Invariant: in doubt a shape is `any`, and `any` is never objected to.
 */
import type { JsonSchema } from "../message.ts"

export type Shape =
  | { kind: "any" }
  /** A text, number or boolean: it has no fields. */
  | { kind: "plain" }
  | { kind: "list"; item: Shape }
  | { kind: "fields"; fields: Readonly<Record<string, Shape>> }

export const ANY: Shape = { kind: "any" }
export const PLAIN: Shape = { kind: "plain" }

export function listOf(item: Shape): Shape {
  return { kind: "list", item }
}

export function fieldsOf(fields: Record<string, Shape>): Shape {
  return { kind: "fields", fields }
}

const FAILURE = { cause: PLAIN, error: PLAIN, code: PLAIN }

/** The shape of a StepResult, as a step with `onFail: continue` gives it. */
export function resultOf(value: Shape): Shape {
  return fieldsOf({ ok: PLAIN, value, partial: ANY, ...FAILURE })
}

/** The shape of what `each` and `pipeline` give. */
export function eachOf(value: Shape): Shape {
  return fieldsOf({
    values: listOf(value),
    failed: listOf(fieldsOf({ key: PLAIN, ...FAILURE })),
    results: listOf(resultOf(value)),
  })
}

/** The shape that JSON Schema describes. An object with properties has no others unless it says so. */
export function shapeOfSchema(schema: JsonSchema): Shape {
  const { type, properties, items, additionalProperties, anyOf } = schema
  if (Array.isArray(anyOf)) {
    const real = anyOf.filter((one) => (one as JsonSchema).type !== "null")
    return real.length === 1 ? shapeOfSchema(real[0] as JsonSchema) : ANY
  }
  if (type === "array") return listOf(isSchema(items) ? shapeOfSchema(items) : ANY)
  if (type === "object" && isSchema(properties) && (additionalProperties ?? false) === false) {
    const entries = Object.entries(properties as Record<string, JsonSchema>)
    return fieldsOf(Object.fromEntries(entries.map(([name, field]) => [name, shapeOfSchema(field)])))
  }
  return ["string", "number", "integer", "boolean"].includes(String(type)) ? PLAIN : ANY
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** A CEL syntax tree, as far as it is read here. */
export interface Tree {
  op: string
  args: unknown
}

/** Something that an expression names and that is not there. */
export interface UnknownName {
  what: "name" | "field"
  name: string
  known: string[]
}

/** Thrown by `inferShape`. */
export class UnknownNameError extends Error {
  readonly unknown: UnknownName
  constructor(unknown: UnknownName) {
    super(unknown.name)
    this.unknown = unknown
  }
}

type Scope = Readonly<Record<string, Shape>>

/** The shape of an expression's value. Throws an UnknownNameError. */
export function inferShape(tree: Tree, scope: Scope): Shape {
  const args = tree.args as Tree[]
  switch (tree.op) {
    case "id":
      return nameIn(scope, tree.args as string)
    case ".":
      return fieldIn(inferShape(args[0]!, scope), tree.args as [Tree, string])
    case "[]":
      return indexed(args, scope)
    case "call":
      return called(tree.args as [string, Tree[]], scope)
    case "rcall":
      return calledOn(tree.args as [string, Tree, Tree[]], scope)
    case "?:":
      return either(args, scope)
    case "list":
      return listOf(common(args.map((item) => inferShape(item, scope))))
    case "map":
      for (const value of (tree.args as [Tree, Tree][]).flat()) inferShape(value, scope)
      return ANY
    case "value":
      return tree.args === null ? ANY : PLAIN
    default:
      for (const operand of [tree.args].flat() as Tree[]) inferShape(operand, scope)
      return ANY
  }
}

function nameIn(scope: Scope, name: string): Shape {
  if (Object.hasOwn(scope, name)) return scope[name]!
  throw new UnknownNameError({ what: "name", name, known: Object.keys(scope) })
}

function fieldIn(base: Shape, [, name]: [Tree, string]): Shape {
  if (base.kind === "any") return ANY
  const known = base.kind === "fields" ? Object.keys(base.fields) : []
  if (base.kind === "fields" && Object.hasOwn(base.fields, name)) return base.fields[name]!
  throw new UnknownNameError({ what: "field", name, known })
}

function indexed([base, index]: Tree[], scope: Scope): Shape {
  const shape = inferShape(base!, scope)
  inferShape(index!, scope)
  if (shape.kind === "list") return shape.item
  const isName = index!.op === "value" && typeof index!.args === "string"
  return isName && shape.kind === "fields" ? fieldIn(shape, [base!, index!.args as string]) : ANY
}

function either([condition, yes, no]: Tree[], scope: Scope): Shape {
  inferShape(condition!, scope)
  return common([inferShape(yes!, scope), inferShape(no!, scope)])
}

/** What several shapes have in common: the shape, if it is one and the same. */
function common(shapes: readonly Shape[]): Shape {
  const [first, ...others] = shapes
  return first !== undefined && others.every((other) => other === first) ? first : ANY
}

function called([name, args]: [string, Tree[]], scope: Scope): Shape {
  // has(a.b) asks whether the field is there.
  if (name === "has") inferShape((args[0]!.args as Tree[])[0]!, scope)
  else for (const arg of args) inferShape(arg, scope)
  return name === "lines" ? listOf(PLAIN) : ANY
}

const MACROS = new Set(["all", "exists", "exists_one", "map", "filter"])

function calledOn([name, receiver, args]: [string, Tree, Tree[]], scope: Scope): Shape {
  const variable = args[0]?.op === "id" ? (args[0].args as string) : undefined
  if (name === "bind" && receiver.op === "id" && receiver.args === "cel" && variable !== undefined) {
    return inferShape(args[2]!, { ...scope, [variable]: inferShape(args[1]!, scope) })
  }
  const base = inferShape(receiver, scope)
  if (!MACROS.has(name) || variable === undefined || args.length < 2) {
    for (const arg of args) inferShape(arg, scope)
    return ANY
  }
  const inside = { ...scope, [variable]: base.kind === "list" ? base.item : ANY }
  const results = args.slice(1).map((arg) => inferShape(arg, inside))
  if (name === "filter") return base
  return name === "map" ? listOf(results.at(-1)!) : PLAIN
}
