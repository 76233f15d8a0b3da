/**
 * Checks a call's input against its tool's schema, once per call; what does not fit is told to the model field by field.
 *
 * Invariant: zod is the one validator, for zod schemas and for JSON Schema alike.
 */
import { z } from "zod"
import { Refusal, type ToolUse } from "./call.ts"
import type { JsonSchema } from "./message.ts"
import type { Tool } from "./tool.ts"

const compiled = new WeakMap<object, z.ZodType>()
const declared = new WeakMap<object, JsonSchema>()

/** The input as the tool's schema makes it (defaults filled in). Throws a Refusal that says what is wrong with it. */
export async function checkInput(tool: Tool, use: ToolUse): Promise<unknown> {
  if (use.broken !== undefined) {
    throw new Refusal(
      `The input of ${use.name} is not valid JSON: ${use.broken}. Send the call again, as one JSON object`,
      "tool",
    )
  }
  const parsed = await inputSchema(tool).safeParseAsync(use.input)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.slice(0, 8).map(describeIssue).join("; ")
  throw new Refusal(
    `The input of ${use.name} does not fit its schema: ${issues}. Send the call again with these corrected`,
    "tool",
  )
}

/** The JSON Schema that the model is shown for a tool's input. */
export function inputJsonSchema(tool: Tool): JsonSchema {
  if (!isZod(tool.input)) return tool.input as JsonSchema
  let schema = declared.get(tool.input)
  if (!schema) {
    const { $schema: _, ...rest } = z.toJSONSchema(tool.input, { io: "input", unrepresentable: "any" }) as JsonSchema
    schema = rest
    declared.set(tool.input, schema)
  }
  return schema
}

/** One line for one zod issue: where, and what. */
export function describeIssue(issue: z.core.$ZodIssue): string {
  return issue.path.length === 0 ? issue.message : `${issue.path.map(String).join(".")}: ${issue.message}`
}

/** True for a schema of any copy of zod 4. */
export function isZod(schema: z.ZodType | JsonSchema): schema is z.ZodType {
  return typeof schema === "object" && "_zod" in schema
}

/** The schema that inputs of the tool are checked against. */
export function inputSchema(tool: Tool): z.ZodType {
  if (isZod(tool.input)) return tool.input
  let schema = compiled.get(tool.input)
  if (!schema) {
    schema = z.fromJSONSchema(tool.input as JsonSchema)
    compiled.set(tool.input, schema)
  }
  return schema
}
