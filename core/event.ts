/**
 * What a run tells those who watch it: one flat, versioned union, the same in `--json`, in the library and in reports.
 *
 * Invariant: events only tell. Nothing an observer does with them changes the run.
 */
import type { StopReason, Usage } from "./message.ts"
import type { ApprovalRequest, Decision, Origin } from "./permission/decision.ts"
import type { RunResult, StepFailure } from "./step.ts"

/** Version of the event format; grows when a field changes its meaning. */
export const EVENT_VERSION = 1

/** An event with its place: which run, which step (path), which agent. */
export type RunEvent = EventBody & {
  v: typeof EVENT_VERSION
  /** ISO 8601, UTC. */
  ts: string
  run: string
  step?: string
  /** Agent id; left out outside of agents. */
  agent?: string
}

export type EventBody =
  | {
      type: "run_started"
      recipe: string
      cwd: string
      model: string | undefined
      mode: string
      tools: string[]
      plugins: PluginReport[]
      warnings: string[]
      folder: string
      /** The conversation that the run belongs to. */
      session?: { id: string; resumed: boolean }
    }
  | { type: "step_started"; id: string; kind: string; title: string; items?: number; stages?: number }
  | { type: "turn_started"; turn: number; model: string }
  | { type: "text"; text: string }
  | { type: "thinking"; text: string }
  | { type: "tool_use"; id: string; name: string; input: unknown }
  | { type: "permission"; id: string; name: string; decision: Decision }
  | { type: "approval_requested"; request: ApprovalRequest }
  | { type: "approval_settled"; id: string; behavior: "allow" | "deny"; by: string }
  | {
      type: "hook"
      event: string
      /** Who brought it: `plugin "guard"`, or the place of its configuration, `.hooks.json:3`. */
      owner: string
      /** Where an external hook was configured. */
      origin?: Origin
      /** The hook's name among those of its owner: its description, or its event and matcher. */
      hook: string
      outcome: HookOutcome
      durationMs: number
      /** Exit code of a command, status of an HTTP response. */
      exit?: number
      /** What an external hook said in so many words, its start; secrets are masked. */
      answer?: string
      reason?: string
      id?: string
    }
  | { type: "tool_progress"; id: string; text: string }
  | {
      type: "tool_result"
      id: string
      name: string
      isError: boolean
      chars: number
      preview: string
      durationMs: number
      data?: unknown
    }
  | {
      type: "usage"
      turn: number
      model: string
      usage: Usage
      usd?: number
      stopReason: StopReason | null
      contextTokens: number
    }
  | {
      type: "compaction"
      trigger: "manual" | "auto" | "reactive"
      strategy: string
      ok: boolean
      reason?: string
      /** Tokens of the next request, estimated, as it was and as it is now. */
      before?: number
      after?: number
    }
  /** The next request does not begin as the last one did, so the prompt's cache does not help. `by`: what did it. */
  | { type: "cache_break"; cause: CacheBreak; by: string; tokens: number }
  | { type: "gate"; id: string; question: string; state: "waiting" | "answered" }
  /** A fault that the run survives: a retry, a warning, a plugin left out. */
  | { type: "notice"; level: "info" | "warning"; message: string; code?: string }
  | {
      type: "step_finished"
      id: string
      kind: string
      ok: boolean
      durationMs: number
      failure?: StepFailure
      usage: Usage
      usd?: number
      preview: string
    }
  | { type: "run_finished"; result: RunResult }

export type HookOutcome =
  | "pass"
  | "block"
  | "inject"
  | "rewrite"
  | "allow"
  | "ask"
  | "deny"
  | "result"
  | "env"
  | "failed"

/** Where the code of a plugin runs, and whose it is: `shipped` comes with the toolkit and runs in this process. */
export type PluginTier = "shipped" | "in-process" | "process"

/** Why a request may begin otherwise than the one before it. */
export type CacheBreak = "compaction" | "model" | "tools" | "thinking" | "settings"

/** What became of one plugin at load. */
export interface PluginReport {
  name: string
  /** Its file; without one, its name. */
  from: string
  ok: boolean
  /** `tool Read`, `hook PreToolUse`, `rule deny Bash(rm *)` … */
  adds: string[]
  /** Loading and setting up, ms. */
  durationMs: number
  tier?: PluginTier
  /** The scope whose settings or folder brought it. */
  scope?: string
  /** The pack that it came in. */
  pack?: string
  /** Its absence would let something through. */
  guards?: true
  /** Why it was left out. */
  error?: string
  code?: string
  mend?: string
  /** A run does not start without it. */
  fatal?: true
  /** How often its process died and was started again; left out: never. */
  restarts?: number
}
