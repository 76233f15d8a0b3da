/**
 * A declared shape of an answer: what the model is shown, how an answer is checked, what it is told when it does not fit.
 *
 * Invariant: a value comes out only if the schema took it. Shapes that are no object travel as `{ "value": … }`.
 */
import { z } from "zod"
import type { JsonSchema } from "./message.ts"
import { defineTool, type Tool } from "./tool.ts"
import { describeIssue, isZod } from "./tool-input.ts"

/** The shape that a step asks of its answer. */
export interface OutputShape {
  /** JSON Schema of an object. */
  schema: JsonSchema
  check(value: unknown): { ok: true; value: unknown } | { ok: false; error: string }
  /** Reads the answer out of a model's text. */
  parse(text: string): { ok: true; value: unknown } | { ok: false; error: string }
}

/** Makes the shape from a zod schema or from JSON Schema. */
export function createOutputShape(output: z.ZodType | JsonSchema): OutputShape {
  const inner = isZod(output) ? output : z.fromJSONSchema(output)
  const shown = isZod(output) ? (z.toJSONSchema(output, { unrepresentable: "any" }) as JsonSchema) : output
  const wrapped = shown["type"] !== "object"
  const { $schema: _, ...bare } = shown
  const schema = wrapped
    ? { type: "object", properties: { value: bare }, required: ["value"], additionalProperties: false }
    : bare
  const check: OutputShape["check"] = (value) => {
    const parsed = inner.safeParse(wrapped ? (value as { value?: unknown } | null)?.value : value)
    if (parsed.success) return { ok: true, value: parsed.data }
    return { ok: false, error: parsed.error.issues.slice(0, 8).map(describeIssue).join("; ") }
  }
  return { schema, check, parse: (text) => parseAnswer(text, check) }
}

/** The name of the kernel's own tool for models without structured output. */
export const SUBMIT = "submit_output"

/** The tool that such a model calls with its answer; a call that fits is kept for the loop. */
export function createSubmitTool(shape: OutputShape, onValue: (value: unknown) => void): Tool {
  const tool = defineTool({
    name: SUBMIT,
    description: "Submit your final answer in the form that was asked for. Call it once, when you are done.",
    input: z.record(z.string(), z.unknown()),
    readOnly: true,
    concurrencySafe: false,
    async execute(input) {
      const checked = shape.check(input)
      if (!checked.ok)
        return {
          content: `The answer does not have the form that was asked for: ${checked.error}. Call ${SUBMIT} again`,
          isError: true,
        }
      onValue(checked.value)
      return "The answer was taken. Say nothing more."
    },
  })
  return { ...tool, input: shape.schema }
}

function parseAnswer(text: string, check: OutputShape["check"]): ReturnType<OutputShape["parse"]> {
  const body = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text
  try {
    return check(JSON.parse(body))
  } catch (error) {
    return { ok: false, error: `it is not valid JSON: ${(error as Error).message}` }
  }
}
