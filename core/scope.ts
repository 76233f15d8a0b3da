/**
 * What one agent, or one step of a recipe, may do and remember: its tools, its mode, its folder, its denials.
 *
 * Invariant: a scope never grants more than the engine's rules; a child's scope starts without its parent's approvals.
 */
import type { Engine } from "./engine.ts"
import type { FromAgent } from "./hook-runner.ts"
import type { Decision } from "./permission/decision.ts"
import type { Spend } from "./recipe/spend.ts"
import type { RegisteredHook } from "./registry.ts"
import type { AgentIdentity, PermissionMode, SubagentRequest, SubagentResult, Tool } from "./tool.ts"

/** The state of one agent beside its conversation. */
export interface AgentScope {
  readonly engine: Engine
  readonly agent: AgentIdentity
  readonly caller: "model" | "recipe"
  readonly tools: ReadonlyMap<string, Tool>
  /** Entries such as `Bash(npm test*)` that narrow their tool, a list for each agent on the way down; they never grant. */
  readonly filters: readonly (readonly string[])[]
  readonly spend: Spend
  readonly signal: AbortSignal
  readonly sessionId: string
  readonly transcriptPath: string
  readonly env: Readonly<Record<string, string>>
  /** Hooks of this step only, run after those of the plugins. */
  readonly hooks: readonly RegisteredHook[]
  readonly subagent: (request: SubagentRequest, call: { signal: AbortSignal }) => Promise<SubagentResult>
  mode: PermissionMode
  /** Absolute; moves when a shell call moves. */
  cwd: string
  /** Denials since the last call that was allowed. */
  denialsInARow: number
  readonly denials: { tool: string; reason: string; decision?: Decision }[]
  readonly state: Map<symbol, unknown>
}

export interface ScopeOptions {
  agent: AgentIdentity
  caller: "model" | "recipe"
  mode: PermissionMode
  spend: Spend
  signal: AbortSignal
  tools?: ReadonlyMap<string, Tool>
  filters?: readonly (readonly string[])[]
  sessionId?: string
  transcriptPath?: string
  cwd?: string
  env?: Record<string, string>
  hooks?: readonly RegisteredHook[]
  subagent?: AgentScope["subagent"]
}

/** Makes the scope of an agent or of a step; what is left out comes from the engine. */
export function createScope(engine: Engine, options: ScopeOptions): AgentScope {
  return {
    engine,
    agent: options.agent,
    caller: options.caller,
    tools: options.tools ?? engine.registry.tools,
    filters: options.filters ?? [],
    spend: options.spend,
    signal: options.signal,
    sessionId: options.sessionId ?? engine.runId,
    transcriptPath: options.transcriptPath ?? "",
    env: options.env ? { ...engine.childEnv, ...options.env } : engine.childEnv,
    hooks: options.hooks ?? [],
    subagent: options.subagent ?? refuseSubagent,
    mode: options.mode,
    cwd: options.cwd ?? engine.cwd,
    denialsInARow: 0,
    denials: [],
    state: new Map(),
  }
}

/** What hooks are told about the agent that they fire for. */
export function hookSource(scope: AgentScope, toolUseId?: string): FromAgent {
  return {
    agent: scope.agent,
    sessionId: scope.sessionId,
    transcriptPath: scope.transcriptPath,
    cwd: scope.cwd,
    mode: scope.mode,
    extra: scope.hooks,
    ...(toolUseId === undefined ? {} : { toolUseId }),
  }
}

async function refuseSubagent(): Promise<SubagentResult> {
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  return { ok: false, agentId: "", text: "", turns: 0, usage, error: "Only an agent can start a subagent" }
}

/** Whose approvals count for a call: all main agents and steps of a run are one conversation, each subagent is its own. */
export function granteeOf({ agent }: AgentScope): string {
  return agent.depth === 0 ? "main" : agent.id
}
