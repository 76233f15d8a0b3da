/**
 * What every loop of one run shares: the frozen registry, the rules, the hooks, the spend, the way to ask and to tell.
 *
 * Invariant: the engine holds no conversation; a loop holds no engine state of its own but its messages.
 */

import type { Clock } from "./clock.ts"
import type { Secrets } from "./env.ts"
import type { EventBody } from "./event.ts"
import type { HookRunner } from "./hook-runner.ts"
import type { Model } from "./model.ts"
import type { SettledAnswer } from "./permission/approve.ts"
import type { Breaker } from "./permission/breaker.ts"
import type { ApprovalRequest, Decision, PermissionCall, PermissionFacts, RuleSource } from "./permission/decision.ts"
import type { Grants } from "./permission/grant.ts"
import type { RuleSet } from "./permission/rule.ts"
import type { ContextPlaces } from "./plugin.ts"
import type { Spend } from "./recipe/spend.ts"
import type { Registry } from "./registry.ts"
import type { AgentScope } from "./scope.ts"
import type { RunSession } from "./session/session-place.ts"
import type { AgentDefinition, AgentIdentity, CompactOptions, Effort, PermissionMode } from "./tool.ts"

/** The plugins of one run, as it has them. */
export interface RunPlugins {
  /** How often others took their place. */
  readonly age: number
  /** Takes over those that the kit has now; to be called where a turn or a step begins. */
  take(): void
  /** Keeps those that the run has now from being ended, until the function is called. */
  hold(): () => void
}

export interface Engine {
  runId: string
  /** State folder of the run, absolute, exists. */
  folder: string
  cwd: string
  roots: readonly string[]
  /** What the permission layer knows about folders. */
  places: Pick<
    PermissionFacts,
    "roots" | "home" | "namedRoots" | "stateFolders" | "configures" | "hookFiles" | "toolkit"
  > & { openGitRuns(): Promise<NonNullable<PermissionFacts["gitRuns"]>> }
  /** What context is read from. */
  contextPlaces: ContextPlaces
  /** How conversations are kept within the window. */
  compact: CompactOptions
  /** The conversation that the run belongs to; left out: each of its agents has one of its own. */
  session?: RunSession | undefined
  /** The whole environment; only models read it. */
  env: Readonly<Record<string, string | undefined>>
  /** The environment for child processes. */
  childEnv: Readonly<Record<string, string>>
  /** Values that never enter a conversation. */
  secrets: Secrets
  clock: Clock
  signal: AbortSignal
  registry: Registry
  /** Those of the plugins and those of the recipe. */
  agents: readonly AgentDefinition[]
  /**
   * Looks whether settings have changed and takes over what tightens; to be awaited before calls are decided. Undefined:
   * nothing has changed. It does not reject.
   */
  refresh(): Promise<void> | undefined
  /** Compiled settings', flags', recipe's and plugins' rules; the same for every agent. Only `refresh` replaces them. */
  rules: RuleSet
  /** The same rules and more: what a recipe that this one uses refuses or asks about. Throws PERMISSION_RULE_INVALID. */
  rulesWith(more: readonly RuleSource[]): RuleSet
  /** The plugins, while others may take their place. */
  plugins: RunPlugins
  mode: PermissionMode
  /** Modes that nobody may be in: there they count as `default`. */
  barredModes: readonly PermissionMode[]
  hooks: HookRunner
  spend: Spend
  limits: { maxTurns: number; maxDepth: number; maxConcurrency: number; denialLimit: number; effort?: Effort }
  /** Opens a model by id, once per id and run. */
  openModel(id: string): Promise<Model>
  defaultModel: string | undefined
  fallbackModel: string | undefined
  /** The small model that safety classifiers may ask. */
  autoModel: string | undefined
  /** Asks whoever can answer; undefined: nobody could. */
  approve(
    scope: AgentScope,
    request: ApprovalRequest,
    asked: {
      call: PermissionCall /** Judges the waiting call again, after a grant. */
      reevaluate(): Promise<Decision>
    },
  ): Promise<SettledAnswer | undefined>
  /** Asks the person whether to go on in plan mode; left out: there is nobody to ask. */
  offerPlanMode: ((signal: AbortSignal) => Promise<boolean>) | undefined
  canAsk: boolean
  /** Rules granted while the run goes on; a subagent starts with none but the project's. */
  grants: Grants
  /** Counts denials in a row. */
  breaker: Breaker
  emit(body: EventBody, from?: Pick<AgentIdentity, "step"> & { id?: string }): void
  defer(cleanup: () => void | Promise<void>): void
  /** How many loops of subagents run now, and the queue for the next. */
  subagentSlots: { acquire(depth: number, signal: AbortSignal): Promise<() => void> }
}
