/**
 * From a declared agent step to a loop that ran.
 *
 * Invariant: whatever a declaration or a definition says can only narrow what the run allows.
 */

import { startAgent } from "./agent-run.ts"
import { type AgentOutcome, applyDefinition, findDefinition, newAgentId, selectTools } from "./agent-setup.ts"
import type { Engine } from "./engine.ts"
import { SousError } from "./error.ts"
import type { Spend } from "./recipe/spend.ts"
import type { AgentStep } from "./step.ts"
import { startSubagent } from "./subagent.ts"

export type { AgentOutcome }

/** An agent step to run. */
export interface AgentRequest {
  step: AgentStep<any>
  /** The step's path, for events and records. */
  path: string
  /** The `each` or `pipeline` step that it works for an item of. */
  each?: string
  spend: Spend
  signal: AbortSignal
  /** Says why the agent may not stop yet, or nothing. */
  verify?: (answer: unknown) => Promise<string | undefined>
  /** Takes the messages that a person has queued. */
  inbox?: () => string[]
}

/** Runs an agent step. A fault of its own (no such model, a state folder that cannot be written) is thrown. */
export async function runAgent(engine: Engine, request: AgentRequest): Promise<AgentOutcome> {
  const definition = findDefinition(engine, request.step.agentType)
  const step = applyDefinition(request.step, definition)
  const { tools, filters } = selectTools(engine, engine.registry.tools, step.tools)
  const model = step.model ?? engine.defaultModel
  if (model === undefined) throw new SousError("MODEL_NOT_CONFIGURED", {})
  return await startAgent(engine, {
    ...request,
    identity: {
      id: newAgentId(),
      type: definition?.name ?? "main",
      depth: 0,
      step: request.path,
      ...(request.each === undefined ? {} : { each: request.each }),
    },
    step,
    tools,
    filters,
    mode: engine.mode,
    asked: [request.step.mode, definition?.mode].filter((mode) => mode !== undefined),
    model,
    delegate: startSubagent,
  })
}
