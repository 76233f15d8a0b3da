/**
 * What is settled about an agent before its first request: definition, tools, identity, and what may come of it.
 *
 * Invariant: a list of tools, a definition, a filter only ever take away.
 */
import { randomUUID } from "node:crypto"
import type { Engine } from "./engine.ts"
import { SousError, suggest } from "./error.ts"
import type { Usage } from "./message.ts"
import { isRemoved } from "./permission/rule.ts"
import type { Spend } from "./recipe/spend.ts"
import type { AgentScope } from "./scope.ts"
import type { AgentStep, StepResult } from "./step.ts"
import type { LoopStop } from "./stop.ts"
import type { AgentDefinition, AgentIdentity, PermissionMode, SubagentRequest, SubagentResult, Tool } from "./tool.ts"

/** What became of an agent. `text` is its last answer. */
export interface AgentOutcome {
  result: StepResult<unknown>
  stop: LoopStop
  text: string
  usage: Usage
  usd?: number
  turns: number
  denials: { tool: string; reason: string }[]
}

/** Everything that is settled about an agent before its first request. */
export interface AgentSetup {
  identity: AgentIdentity
  step: AgentStep<any>
  tools: ReadonlyMap<string, Tool>
  filters: readonly (readonly string[])[]
  /** The mode that the run is in. */
  mode: PermissionMode
  /** The modes that the step and its definition ask for. */
  asked: readonly PermissionMode[]
  /** The agent that starts this one. */
  parent?: AgentScope
  model: string
  spend: Spend
  signal: AbortSignal
  cwd?: string
  verify?: (answer: unknown) => Promise<string | undefined>
  inbox?: () => string[]
  /** Starts a child loop for a call of this agent's. */
  delegate(
    parent: AgentScope,
    setup: AgentSetup,
    request: SubagentRequest & { signal: AbortSignal },
  ): Promise<SubagentResult>
}

/** The tools that a list of names and filters leaves; without a list, all. Throws TOOL_UNKNOWN. */
export function selectTools(
  engine: Pick<Engine, "contextPlaces" | "rules">,
  available: ReadonlyMap<string, Tool>,
  entries: readonly string[] | undefined,
): { tools: ReadonlyMap<string, Tool>; filters: string[][] } {
  const usable = [...available].filter(
    ([, tool]) =>
      (tool.role !== "memory" || engine.contextPlaces.memory.auto) &&
      !isRemoved(engine.rules, [tool.name, ...(tool.ruleName ? [tool.ruleName] : [])]),
  )
  if (entries === undefined) return { tools: new Map(usable), filters: [] }
  const wanted = new Set<string>()
  for (const entry of entries) {
    const name = entry.replace(/\(.*$/s, "")
    const matching = usable.filter(
      ([tool]) => tool === name || (name.endsWith("*") && tool.startsWith(name.slice(0, -1))),
    )
    for (const [tool] of matching) wanted.add(tool)
    if (matching.length === 0 && !available.has(name)) {
      throw new SousError("TOOL_UNKNOWN", { entry, mend: suggest(name, available.keys()) })
    }
  }
  return {
    tools: new Map(usable.filter(([name]) => wanted.has(name))),
    filters: entries.some((entry) => entry.includes("(")) ? [[...entries]] : [],
  }
}

/** An agent definition by name. Throws AGENT_UNKNOWN. */
export function findDefinition(engine: Engine, name: string | undefined): AgentDefinition | undefined {
  if (name === undefined) return undefined
  const found = engine.agents.find((agent) => agent.name === name)
  if (found) return found
  const mend = suggest(
    name,
    engine.agents.map((agent) => agent.name),
  )
  throw new SousError("AGENT_UNKNOWN", { name, mend })
}

/** A new agent's id: eight hexadecimal digits. */
export function newAgentId(): string {
  return randomUUID().slice(0, 8)
}

/** A step with what its definition says wherever it says nothing itself. */
export function applyDefinition(step: AgentStep<any>, definition: AgentDefinition | undefined): AgentStep<any> {
  if (definition === undefined) return step
  const { prompt: system, tools, model, effort, maxTurns, mode, compact } = definition
  const defaults = { system, tools, model, effort, maxTurns, mode, compact }
  const given = Object.entries(defaults).filter(([, value]) => value !== undefined)
  return { ...Object.fromEntries(given), ...step } as AgentStep<any>
}
