/**
 * The loop again, inside a tool, with less: own messages, prompt, tools, turns; its parent's rules, budget and abort.
 *
 * Invariant: a subagent can do no more than its parent, sees nothing of its conversation, inherits none of its session's
 * approvals, and hands back only its last message.
 */
import { startAgent } from "./agent-run.ts"
import { type AgentSetup, findDefinition, newAgentId, selectTools } from "./agent-setup.ts"
import { isSousError } from "./error.ts"
import type { AgentScope } from "./scope.ts"
import type { SubagentRequest, SubagentResult } from "./tool.ts"

/** Runs a child loop for a call of its parent's. A fault comes back as a result: the parent's loop goes on. */
export async function startSubagent(
  parent: AgentScope,
  setup: AgentSetup,
  request: SubagentRequest & { signal: AbortSignal },
): Promise<SubagentResult> {
  const { engine } = parent
  const depth = parent.agent.depth + 1
  if (depth > engine.limits.maxDepth) {
    return refused(`Agents may be nested ${engine.limits.maxDepth} deep at most; do this work yourself`)
  }
  const release = await engine.subagentSlots.acquire(depth, request.signal)
  try {
    return await runChild(parent, setup, { ...request, depth })
  } catch (error) {
    return refused(isSousError(error) ? `${error.message}; ${error.mend}` : (error as Error).message)
  } finally {
    release()
  }
}

async function runChild(
  parent: AgentScope,
  setup: AgentSetup,
  request: SubagentRequest & { signal: AbortSignal; depth: number },
): Promise<SubagentResult> {
  const { engine } = parent
  const definition = findDefinition(engine, request.type)
  const { tools, filters } = selectTools(engine, parent.tools, definition?.tools)
  const { step, each } = parent.agent
  const identity = {
    id: newAgentId(),
    type: definition?.name ?? "general",
    depth: request.depth,
    ...(step ? { step } : {}),
    ...(each ? { each } : {}),
  }
  const maxTurns = request.maxTurns ?? definition?.maxTurns
  const outcome = await startAgent(engine, {
    identity,
    step: {
      kind: "agent",
      prompt: request.prompt,
      ...(definition ? { system: definition.prompt } : setup.step.system ? { system: setup.step.system } : {}),
      ...(definition?.effort ? { effort: definition.effort } : {}),
      ...(definition?.compact ? { compact: definition.compact } : {}),
      ...(maxTurns === undefined ? {} : { maxTurns }),
    },
    tools,
    filters: [...parent.filters, ...filters],
    mode: parent.mode,
    asked: definition?.mode === undefined ? [] : [definition.mode],
    parent,
    model: request.model ?? definition?.model ?? setup.model,
    spend: parent.spend,
    signal: request.signal,
    cwd: parent.cwd,
    delegate: startSubagent,
  })
  const { result, text, turns, usage } = outcome
  parent.denials.push(...outcome.denials)
  if (result.ok) return { ok: true, agentId: identity.id, text, turns, usage }
  return { ok: false, agentId: identity.id, text, turns, usage, error: result.error }
}

function refused(error: string): SubagentResult {
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  return { ok: false, agentId: "", text: "", turns: 0, usage, error }
}
