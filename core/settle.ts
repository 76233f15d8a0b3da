/**
 * What a tool returned → the tool_result that the model is given: checked, masked, and no longer than it may be.
 *
 * Invariant: no secret and nothing that JSON cannot hold comes out; what is too long lies in a file that the rest names.
 */
import type { Called, ToolUse } from "./call.ts"
import { fitResult, RESULT_LIMIT } from "./context/budget.ts"
import { maskSecrets, maskValue, type Secrets } from "./env.ts"
import type { ToolResult, ToolResultContent } from "./message.ts"
import type { AgentScope } from "./scope.ts"
import type { Tool, ToolOutput } from "./tool.ts"

/** How an execution ended. `threw`: the reason, when the tool did not return. */
export interface Executed {
  output: ToolOutput
  threw?: string
}

/** The result as the conversation gets it; a failure names the tool. */
export async function settle(scope: AgentScope, tool: Tool, use: ToolUse, executed: Executed): Promise<Called> {
  const { engine } = scope
  const output = checkOutput(tool, executed.output)
  const masked = maskOutput(output, engine.secrets)
  const options = { limit: tool.maxResultChars ?? RESULT_LIMIT, folder: engine.folder, name: use.id }
  const { content, isError, data, spilled } = await fitResult(masked, options)
  const called: Called = { result: toolResult(use, content, isError), text: textOf(content), isError, injected: [] }
  if (data !== undefined) called.data = data
  if (spilled !== undefined) called.spilled = spilled
  if (isError) called.cause = "tool"
  return called
}

/** A tool that returns what no tool may return has failed; its author is told what came. */
function checkOutput(tool: Tool, output: ToolOutput): ToolOutput {
  if (typeof output === "string") return output
  const content = output?.content
  if (
    typeof content === "string" ||
    (Array.isArray(content) && content.every((block) => typeof block?.type === "string") && isJson(content))
  )
    return output
  const found = output === null ? "null" : typeof output
  return { content: `${tool.name} failed: it returned ${found} instead of text or content blocks`, isError: true }
}

/** What JSON cannot hold can be neither sent nor written down. */
function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}

/** Masks what goes to the model, and the facts for hooks and recipes; images and documents are what they are. */
function maskOutput(output: ToolOutput, secrets: Secrets): ToolOutput {
  if (typeof output === "string") return maskSecrets(output, secrets)
  if (secrets.pattern === undefined) return output
  const { content, data } = output
  const masked: ToolResultContent =
    typeof content === "string"
      ? maskSecrets(content, secrets)
      : content.map((block) => (block.type === "text" ? { ...block, text: maskSecrets(block.text, secrets) } : block))
  return { ...output, content: masked, ...(data === undefined ? {} : { data: maskValue(data, secrets) }) }
}

/** The block that answers a tool_use. */
export function toolResult(use: ToolUse, content: ToolResultContent, isError: boolean): ToolResult {
  const base = { type: "tool_result" as const, tool_use_id: use.id, content }
  return isError ? { ...base, is_error: true } : base
}

function textOf(content: ToolResultContent): string {
  if (typeof content === "string") return content
  return content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n")
}
