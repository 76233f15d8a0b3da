/**
 * What stands before a conversation: the system text, the tools in a stable order, the context sources' first words.
 *
 * Invariant: for one scope it comes out the same every time; nothing in it depends on what was said.
 */
import type { ContentBlockParam, TextBlockParam } from "../message.ts"
import type { ToolDeclaration } from "../model.ts"
import type { AgentScope } from "../scope.ts"
import type { Tool } from "../tool.ts"
import { inputJsonSchema } from "../tool-input.ts"

/** Used when neither the call nor an agent definition brings a system prompt. */
export const SYSTEM_PROMPT = `You are an agent at work in a person's folder, with the tools you are given.
Look before you act: read what matters, then change as little as the task needs, then check the result.
Use several tools in one message when the calls do not depend on each other.
A denied call is an answer: do not try to reach the same end another way.
Say what you did and what you did not do, in a few plain sentences.`

/** The system text as one block with the cache breakpoint of the stable prefix. */
export function assembleSystem(base: string | undefined, appended: string | undefined): TextBlockParam[] {
  const text = [base ?? SYSTEM_PROMPT, appended].filter(Boolean).join("\n\n")
  return [{ type: "text", text, cache_control: { type: "ephemeral" } }]
}

/** The tools as the model is shown them, sorted by name. */
export function declareTools(tools: Iterable<Tool>): ToolDeclaration[] {
  return [...tools]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((tool) => ({ name: tool.name, description: tool.description, input_schema: inputJsonSchema(tool) }))
}

/** The first user message: what the context sources say, then the prompt. A source that fails is left out, and told. */
export async function assembleFirstMessage(scope: AgentScope, prompt: string): Promise<ContentBlockParam[]> {
  const { engine } = scope
  const delegates = [...scope.tools.values()].some(({ role }) => role === "subagent")
  const start = { cwd: scope.cwd, roots: engine.roots, signal: scope.signal, agents: delegates ? engine.agents : [] }
  const parts = await Promise.all(
    engine.registry.context.map(async (source) => {
      try {
        return await source.start(start)
      } catch (error) {
        const message = `The context source "${source.name}" of plugin "${source.plugin}" failed: ${(error as Error).message}`
        engine.emit({ type: "notice", level: "warning", message }, scope.agent)
        return undefined
      }
    }),
  )
  return [...parts.filter((text) => text !== undefined && text !== ""), prompt].map((text) => ({
    type: "text",
    text: text!,
  }))
}
