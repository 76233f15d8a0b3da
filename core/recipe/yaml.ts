/**
 * The text of a YAML recipe → the same plain object that the TypeScript builder makes.
 *
 * Invariant: whatever is wrong with a file is said when it is loaded, with line and column; nothing in it is ignored, and
 * nothing in it can make the reader large or slow (no aliases that multiply, no duplicate keys, no tags, 1 MB at most).
 */
import { type Document, LineCounter, parseDocument } from "yaml"
import { z } from "zod"
import { isSousError, SousError } from "../error.ts"
import type { Recipe, RecipeStep, StepScope } from "../step.ts"
import { loadExpressions, type Names } from "./expression.ts"
import { checkStepId } from "./head.ts"
import { fieldsOf, resultOf, type Shape, shapeOfSchema } from "./shape.ts"
import { paramSchema, SchemaProblem } from "./short-schema.ts"
import { createPlaces, type Places } from "./yaml-place.ts"
import { type RecipeFile, recipeFile } from "./yaml-schema.ts"
import { compileStep } from "./yaml-step.ts"
import { type At, type Compiler, compileCondition, compileValue, into, wrong } from "./yaml-value.ts"

const MAX_CHARS = 1_000_000
const MAX_ALIASES = 100

/**
 * Parses a recipe; `file` is named in what is said about it. Throws RECIPE_YAML_BROKEN, RECIPE_YAML_INVALID,
 * RECIPE_YAML_KEY_UNKNOWN, STEP_ID_…, EXPRESSION_…
 */
export async function parseRecipe(text: string, { file }: { file: string }): Promise<Recipe> {
  const { data, places } = readDocument(text, file)
  const checked = checkFile(data, { file, places })
  return compileRecipe(checked, { file, places, expression: await loadExpressions() })
}

function readDocument(text: string, file: string): { data: unknown; places: Places } {
  const broken = (problem: string, at: { line: number; column: number } = { line: 1, column: 1 }) =>
    new SousError("RECIPE_YAML_BROKEN", { file, problem, ...at })
  if (text.length > MAX_CHARS) throw broken("it is longer than 1,000,000 characters")
  const lines = new LineCounter()
  try {
    const document: Document.Parsed = parseDocument(text, { lineCounter: lines, prettyErrors: false })
    const fault = document.errors[0] ?? document.warnings[0]
    if (fault) {
      const { line, col } = lines.linePos(fault.pos[0])
      const isUnquoted = text.split("\n", line)[line - 1]?.includes("${{")
      throw broken(`${fault.message}${isUnquoted ? "; put a text with ${{ … }} in quotes" : ""}`, { line, column: col })
    }
    const data: unknown = document.toJS({ maxAliasCount: MAX_ALIASES })
    return { data, places: createPlaces(document, text, lines) }
  } catch (error) {
    if (isSousError(error)) throw error
    // Too many aliases, or brackets nested deeper than a parser's stack.
    throw broken((error as Error).message)
  }
}

function checkFile(data: unknown, { file, places }: { file: string; places: Places }): RecipeFile {
  const parsed = recipeFile.safeParse(data)
  if (parsed.success) return parsed.data
  const issue = narrow(firstOf(parsed.error.issues))
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0]!
    throw new SousError("RECIPE_YAML_KEY_UNKNOWN", {
      file,
      key,
      mend: issue.message,
      ...places.ofKey([...issue.path, key]),
    })
  }
  const name = issue.path.filter((step) => typeof step === "string").at(-1)
  const problem = name === undefined ? issue.message : `"${String(name)}": ${issue.message}`
  throw new SousError("RECIPE_YAML_INVALID", { file, problem, ...places.of(issue.path) })
}

type Issue = z.core.$ZodIssue

/** A key that does not exist says more than one that is missing because of it. */
function firstOf(issues: readonly Issue[]): Issue {
  return issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0]!
}

/** Of a union, the issue of the branch that was meant: the one whose type fits at least. */
function narrow(issue: Issue): Issue {
  if (issue.code !== "invalid_union") return issue
  const meant = issue.errors.find(([first]) => first && !(first.code === "invalid_type" && first.path.length === 0))
  if (meant) {
    const inner = firstOf(meant)
    return narrow({ ...inner, path: [...issue.path, ...inner.path] } as Issue)
  }
  const expected = issue.errors.flatMap(([one]) => (one?.code === "invalid_type" ? [one.expected] : []))
  return { ...issue, message: `Invalid input: expected ${expected.join(" or ")}` }
}

function compileRecipe(data: RecipeFile, compiler: Compiler): Recipe {
  const { params: written, steps: list, output: result, ...head } = data
  const params = written === undefined ? undefined : compileParams(compiler, written)
  const scope: Record<string, Shape> = { params: params?.shape ?? fieldsOf({}) }
  const steps: RecipeStep[] = []
  for (const [index, step] of list.entries()) {
    const { line, column } = compiler.places.of(["steps", index, "id"])
    const at = `${compiler.file}:${line}:${column}`
    checkStepId(step.id, { recipe: data.name, taken: steps, reserved: RESERVED, at })
    const later = list.slice(index + 1).map(({ id }) => id)
    const compiled = compileRecipeStep(compiler, step, {
      path: ["steps", index],
      names: { scope: { ...scope }, later },
    })
    steps.push(compiled.step)
    scope[step.id] = compiled.shape
  }
  const names: Names = { scope, later: [] }
  const output = result === undefined ? undefined : compileValue(compiler, result, { path: ["output"], names })
  return {
    kind: "recipe",
    ...(head as Omit<Recipe, "kind" | "steps">),
    ...(params === undefined ? {} : { params: params.schema }),
    steps,
    ...(output === undefined ? {} : { result: (results: StepScope) => output.evaluate(results) }),
  }
}

function compileParams(compiler: Compiler, written: Record<string, unknown>): { schema: z.ZodObject; shape: Shape } {
  const fields = Object.entries(written).map(([name, field]) => {
    try {
      return [name, paramSchema(field)] as const
    } catch (error) {
      if (error instanceof SchemaProblem)
        throw wrong(compiler, { path: ["params", name, ...error.path] }, error.message)
      throw error
    }
  })
  const schema = z.strictObject(Object.fromEntries(fields))
  return { schema, shape: shapeOfSchema(z.toJSONSchema(schema, { unrepresentable: "any" })) }
}

/** Names that expressions know beside the steps'. */
const RESERVED = (
  "params trigger item index previous check round answer true false null in as break const continue else for function " +
  "if import let loop package namespace return var void while"
).split(" ")

type StepData = RecipeFile["steps"][number]

function compileRecipeStep(compiler: Compiler, data: StepData, at: At): { step: RecipeStep; shape: Shape } {
  const { id, title, onFail = "stop", when, budget, ...declaration } = data
  const compiled = compileStep(compiler, declaration, at)
  const condition = when === undefined ? undefined : compileCondition(compiler, when, into(at, "when"))
  const step = {
    id,
    onFail,
    make: compiled.make,
    ...(title === undefined ? {} : { title }),
    ...(budget === undefined ? {} : { budget }),
    ...(condition === undefined ? {} : { when: (scope: StepScope) => condition.evaluate(scope) }),
  } as RecipeStep
  return { step, shape: onFail === "continue" ? resultOf(compiled.shape) : compiled.shape }
}
