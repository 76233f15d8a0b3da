/**
 * The input of a call that is only explained → the input that the permission layer would see.
 *
 * Invariant: what decides has to be there and to fit the tool's schema; a field that only another host's tool has is kept
 * beside it, and one that decides nothing may be left out.
 */
import { SousError } from "../error.ts"
import type { Tool } from "../tool.ts"
import { describeIssue, inputJsonSchema, inputSchema } from "../tool-input.ts"

/**
 * Checks an input as a run does, but for fields that the tool does not know, and for those that are not there and decide
 * nothing. Throws TOOL_INPUT_INVALID.
 */
export async function fitInput(tool: Tool, input: unknown): Promise<unknown> {
  const parsed = await inputSchema(tool).safeParseAsync(input)
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  const foreign = issues.flatMap((issue) =>
    issue.code === "unrecognized_keys" && issue.path.length === 0 ? issue.keys : [],
  )
  if (foreign.length > 0) {
    const own = Object.entries(input as object).filter(([name]) => !foreign.includes(name))
    return { ...(input as object), ...((await fitInput(tool, Object.fromEntries(own))) as object) }
  }
  const whole = completeInput(tool, input)
  if (whole) return await fitInput(tool, whole)
  const problem = issues.slice(0, 4).map(describeIssue).join("; ")
  throw new SousError("TOOL_INPUT_INVALID", { tool: tool.name, problem, mend: `give ${exampleInput(tool)}` })
}

/** Stands in an input for a text that is not known. */
const PROBE = "probe-of-a-field"

/** The input with the fields that it lacks; undefined when it lacks none, or one of them is what the tool touches. */
function completeInput(tool: Tool, input: unknown): Record<string, unknown> | undefined {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return undefined
  const missing = fieldsOf(tool).filter(({ name, required }) => required && !Object.hasOwn(input, name))
  if (missing.length === 0 || tool.targets === undefined) return undefined
  const filled = {
    ...Object.fromEntries(missing.map(({ name, schema }) => [name, exampleOf(schema, PROBE)])),
    ...input,
  }
  return JSON.stringify(tool.targets(filled as never, { cwd: "/" })).includes(PROBE) ? undefined : filled
}

/** A value that the schema of a field takes; where it may be any text, `text`. */
export function exampleOf(schema: Record<string, unknown>, text: string): unknown {
  if (Array.isArray(schema["enum"])) return schema["enum"][0]
  if (schema["type"] === "number" || schema["type"] === "integer") return 1
  if (schema["type"] === "boolean") return false
  if (schema["type"] === "array") return []
  return schema["type"] === "object" ? {} : text
}

/** A bare text → the input that has it in the tool's first text field; fields that are missing are left out. */
export function inputOfText(tool: Tool, text: string): Record<string, unknown> {
  const field = firstTextField(tool)
  if (field !== undefined) return { [field]: text }
  const problem = "it has no field for a text"
  throw new SousError("TOOL_INPUT_INVALID", { tool: tool.name, problem, mend: "give the input as a JSON object" })
}

/** The fields of the tool's input, by name, as its JSON Schema has them. */
export function fieldsOf(tool: Tool): { name: string; schema: Record<string, unknown>; required: boolean }[] {
  const { properties = {}, required = [] } = inputJsonSchema(tool) as {
    properties?: Record<string, Record<string, unknown>>
    required?: string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({ name, schema, required: required.includes(name) }))
}

function firstTextField(tool: Tool): string | undefined {
  const texts = fieldsOf(tool).filter(({ schema }) => schema["type"] === "string")
  return (texts.find(({ required }) => required) ?? texts[0])?.name
}

function exampleInput(tool: Tool): string {
  const fields = fieldsOf(tool).filter(({ required }) => required)
  return `{ ${fields.map(({ name, schema }) => `"${name}": ${String(schema["type"] ?? "…")}`).join(", ")} }`
}
