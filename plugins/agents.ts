/**
 * Agent: a piece of work → the final message of a subagent that did it.
 *
 * Invariant: starting one changes nothing; every call that the subagent makes is judged by itself, with no approval of
 * its parent's.
 */
import { definePlugin, defineTool, suggest, type ToolContext, z } from "sous"

/** The kind that needs no definition. */
const GENERAL = "general"

const input = z.strictObject({
  description: z.string().describe("The work in 3 to 5 words"),
  prompt: z.string().min(1).describe("All it needs to know: it sees nothing of this conversation"),
  subagent_type: z.string().optional().describe("Default general; a wrong name lists them all"),
  model: z.string().optional(),
})
type Input = z.output<typeof input>

const agentTool = defineTool({
  name: "Agent",
  description:
    "Hand a self-contained piece of work to a subagent. Only its final message comes back. Several in one message run in parallel.",
  input,
  role: "subagent",
  readOnly: true,
  concurrencySafe: true,
  targets: ({ subagent_type = GENERAL, model }) => [
    { kind: "name", name: subagent_type, ...(model === undefined ? {} : { params: { model } }) },
  ],
  execute: async (input: Input, context) => {
    context.signal.throwIfAborted()
    const type = typeOf(input, context)
    if (type.wrong !== undefined) return { content: type.wrong, isError: true }
    const { ok, text, error, agentId, turns, usage } = await context.subagent({
      prompt: input.prompt,
      ...(type.name === undefined ? {} : { type: type.name }),
      ...(input.model === undefined ? {} : { model: input.model }),
    })
    const data = { agentId, turns, usage }
    if (ok) return { content: text || "(the subagent ended without a word)", data }
    const said = text === "" ? "" : `\nIts last message:\n${text}`
    return { content: `The subagent did not finish: ${error ?? "no reason is known"}${said}`, isError: true, data }
  },
})

export default definePlugin({
  name: "agents",
  tools: [agentTool],
  context: [
    {
      name: "agents",
      start({ agents }) {
        if (agents.length === 0) return undefined
        const lines = agents.map(({ name, description }) => `- ${name}: ${description}`)
        return `<agents>\nKinds of subagent_type, beside ${GENERAL}:\n${lines.join("\n")}\n</agents>`
      },
    },
  ],
})

/** The definition that is meant; none for the general kind. */
function typeOf(input: Input, { agents }: ToolContext): { name?: string; wrong?: string } {
  const name = input.subagent_type ?? GENERAL
  if (agents.some((agent) => agent.name === name)) return { name }
  if (name === GENERAL || name === "general-purpose") return {}
  const known = [GENERAL, ...agents.map((agent) => agent.name)]
  const list = agents.map((agent) => `\n- ${agent.name}: ${agent.description}`).join("")
  const wrong = `There is no subagent_type "${name}": ${suggest(name, known)}. They are\n- ${GENERAL}: any work${list}`
  return { wrong }
}
