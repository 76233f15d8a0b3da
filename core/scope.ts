/**
 * What one agent, or one step of a recipe, may do and remember: its tools, its mode, its folder, its denials.
 *
 * Invariant: a scope never grants more than the engine's rules; a child's scope starts without its parent's approvals.
 */
import type { Engine } from "./engine.ts"
import type { FromAgent } from "./hook-runner.ts"
import { createNotebook } from "./notes.ts"
import type { Decision, Grantee } from "./permission/decision.ts"
import { createCall } from "./permission/explain.ts"
import { fitsRule } from "./permission/fits.ts"
import { type CombinedMode, combineModes } from "./permission/mode.ts"
import { resolveCall } from "./permission/path.ts"
import type { Spend } from "./recipe/spend.ts"
import type { RegisteredHook } from "./registry.ts"
import type { CheckpointStore } from "./session/checkpoint.ts"
import type { AgentIdentity, Notebook, PermissionMode, SubagentRequest, SubagentResult, Tool } from "./tool.ts"

/** The state of one agent beside its conversation. */
export interface AgentScope {
  readonly engine: Engine
  readonly agent: AgentIdentity
  readonly caller: "model" | "recipe"
  /** Only core/agent-renew.ts replaces them, where a turn begins. */
  tools: ReadonlyMap<string, Tool>
  /** Entries such as `Bash(npm test*)` that narrow their tool, a list for each agent on the way down; they never grant. */
  readonly filters: readonly (readonly string[])[]
  readonly spend: Spend
  readonly signal: AbortSignal
  readonly sessionId: string
  readonly transcriptPath: string
  /** The environment of commands; what SessionStart hooks set is in it. */
  env: Readonly<Record<string, string>>
  /** Hooks of this step only, run after those of the plugins. */
  readonly hooks: readonly RegisteredHook[]
  readonly subagent: (request: SubagentRequest, call: { signal: AbortSignal }) => Promise<SubagentResult>
  /** The agent that started this one: its mode, whatever it is at the moment, holds here too. */
  readonly parent: AgentScope | undefined
  /** The mode that a person gave. Only core/plan-mode.ts changes it; an agent with a parent goes by that of its parent. */
  given: PermissionMode
  /** The modes that files ask for, on the way down; they only tighten. */
  readonly asked: readonly PermissionMode[]
  /** All of these together, at this moment. */
  readonly mode: PermissionMode
  /** The mode to go back to when plan mode ends. */
  beforePlan: PermissionMode
  /** What the person asked for, for whoever judges whether a call serves it. */
  request: string
  /** What the model is told after its next results. */
  readonly reminders: string[]
  /** What is worth a turn of its own: the loop goes on with it. */
  readonly wakes: string[]
  /** Why a hook wants this agent to stop. */
  stopped: string | undefined
  /** Takes what is to be written down beside the conversation. */
  record: ((type: string, fields: object) => void) | undefined
  /** A plan that nobody can approve: the answer of an agent that has nothing else to give. */
  conclusion: string | undefined
  /** Absolute; moves when a shell call moves. */
  cwd: string
  /** Where that began. */
  readonly startedIn: string
  /** What it remembers beside its conversation; kept with its session. */
  notes: Notebook
  /** Files that calls have touched since the conversation last looked: real paths. */
  readonly touched: { path: string; access: "read" | "write" }[]
  /** Folders beside the run's own that may be read without a rule: those of earlier runs of the session. */
  readonly readRoots: readonly string[]
  /** Keeps a file as it is before a call changes it. */
  readonly checkpoint: CheckpointStore | undefined
  /** The turn that its session is in, from 1; of a subagent, that of the agent which a person talks to. */
  turn: () => number
  readonly denials: { tool: string; reason: string; decision?: Decision }[]
  readonly state: Map<symbol, unknown>
}

export interface ScopeOptions {
  agent: AgentIdentity
  caller: "model" | "recipe"
  /** As the person gave it; a subagent's is that of its parent. */
  mode: PermissionMode
  parent?: AgentScope | undefined
  /** Modes that files ask for. */
  asked?: readonly PermissionMode[]
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
  readRoots?: readonly string[]
  checkpoint?: CheckpointStore | undefined
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
    parent: options.parent,
    given: options.mode,
    asked: options.asked ?? [],
    get mode() {
      return combinedMode(this).mode
    },
    beforePlan: options.mode === "plan" ? "default" : options.mode,
    request: "",
    reminders: [],
    wakes: [],
    stopped: undefined,
    record: undefined,
    conclusion: undefined,
    cwd: options.cwd ?? engine.cwd,
    startedIn: options.cwd ?? engine.cwd,
    notes: createNotebook(),
    touched: [],
    readRoots: options.readRoots ?? options.parent?.readRoots ?? [],
    checkpoint: options.checkpoint ?? options.parent?.checkpoint,
    turn: () => options.parent?.turn() ?? 0,
    denials: [],
    state: new Map(),
  }
}

/** The mode of an agent, and what modes above it leave of their own. */
export function combinedMode(scope: AgentScope): CombinedMode {
  const asked: PermissionMode[] = []
  let root = scope
  for (; root.parent !== undefined; root = root.parent) asked.push(...root.asked)
  const modes = [root.given, ...root.asked, ...asked] as const
  const { barredModes } = scope.engine
  if (barredModes.length === 0) return combineModes(modes)
  const [given = "default", ...others] = modes.map((mode) => (barredModes.includes(mode) ? "default" : mode))
  return { ...combineModes([given, ...others]), belowAuto: modes.includes("auto") }
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
    fits: (rule, call) => fitsCall(scope, rule, call),
    stop: (reason) => {
      scope.stopped ??= reason
    },
    late: (text, { wake }) => void (wake ? scope.wakes : scope.reminders).push(text),
    record: (entry) => scope.record?.("hook", entry),
    ...(toolUseId === undefined ? {} : { toolUseId }),
  }
}

/** True when the rule that narrows a hook fits a call. A tool that nobody knows here, or that does not say what it touches, may do anything. */
async function fitsCall(scope: AgentScope, rule: string, { name, input }: { name: string; input: unknown }) {
  const { engine, cwd, mode } = scope
  const tool = scope.tools.get(name)
  if (tool === undefined) return true
  const call = await createCall(tool, input, cwd).catch(() => undefined)
  if (call === undefined) return true
  const paths = await resolveCall(call, cwd, { home: engine.places.home })
  const facts = { ...engine.places, aborted: false, mode, cwd, readRoots: [], paths, canAsk: false }
  return fitsRule(rule, call, facts, engine.rules.anchors)
}

async function refuseSubagent(): Promise<SubagentResult> {
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  return { ok: false, agentId: "", text: "", turns: 0, usage, error: "Only an agent can start a subagent" }
}

/** Whose approvals count for a call: all main agents and steps of a run are one conversation, each subagent is its own. */
export function granteeOf({ agent }: AgentScope): Grantee {
  return agent.depth === 0 ? { ...agent, id: "main" } : agent
}
