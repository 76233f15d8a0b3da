/**
 * What an external hook's ending means, as data: exit codes for each dialect, and what an event of the claude-code
 * dialect takes. The contract tests run through it and the documentation is written from it.
 *
 * Invariant: nothing outside of this table gives an exit code a meaning.
 */
import type { HookEvent } from "./hook.ts"
import type { HookDialect } from "./hook-source.ts"

/**
 * `answer`: read what it printed · `block`: stderr is the reason · `inject`: stdout goes to the conversation · `answer or
 * failure`: a JSON object decides, anything else has failed · `failure`: `onFailure` decides.
 */
export type ExitMeaning = "answer" | "block" | "inject" | "answer or failure" | "failure"

/** The meaning of each exit code; `other` also stands for a signal. A timeout and a failed launch are failures in both. */
export const EXITS: Readonly<Record<HookDialect, Readonly<Record<number, ExitMeaning>> & { other: ExitMeaning }>> = {
  native: { 0: "answer", 1: "block", 2: "inject", other: "failure" },
  "claude-code": { 0: "answer", 2: "block", other: "answer or failure" },
}

/** What one event makes of an ending in the claude-code dialect (source: code.claude.com/docs/en/hooks). */
export interface ClaudeRow {
  /** Exit 2: `block`, `inject` (stderr goes to the model), `warning` (to the person), or nothing. */
  exit2: "block" | "inject" | "warning" | "nothing"
  /** `continue: false`: the agent stops, and here also what is at hand is blocked; `end`: it may end now; or nothing. */
  stop: "block" | "stop" | "end" | "nothing"
  /** Plain text on stdout is context. */
  plain?: true
  /** `hookSpecificOutput.additionalContext`: context, or the reason to go on. */
  context?: "inject" | "block"
}

const OBSERVED = { exit2: "warning", stop: "nothing" } as const satisfies ClaudeRow
const GATE = { exit2: "block", stop: "block", context: "inject" } as const satisfies ClaudeRow
const ENDING = { exit2: "block", stop: "end", context: "block" } as const satisfies ClaudeRow
const STEP = { exit2: "block", stop: "block" } as const satisfies ClaudeRow

/** One row for each event; those of recipes and watching are ours, and follow their neighbours. */
export const CLAUDE_ROWS: Readonly<Record<HookEvent, ClaudeRow>> = {
  SessionStart: { exit2: "warning", stop: "stop", context: "inject", plain: true },
  UserPromptSubmit: { ...GATE, plain: true },
  PreToolUse: GATE,
  PermissionRequest: { exit2: "nothing", stop: "stop" },
  PermissionDenied: { exit2: "nothing", stop: "nothing" },
  PostToolUse: { exit2: "block", stop: "stop", context: "inject" },
  PostToolUseFailure: { exit2: "inject", stop: "stop", context: "inject" },
  PreCompact: { exit2: "block", stop: "nothing" },
  PostCompact: OBSERVED,
  SubagentStart: { exit2: "warning", stop: "nothing", context: "inject" },
  SubagentStop: ENDING,
  Stop: ENDING,
  SessionEnd: OBSERVED,
  Notification: { exit2: "nothing", stop: "nothing" },
  RunStart: STEP,
  StepStart: STEP,
  StepEnd: OBSERVED,
  RunEnd: OBSERVED,
  FileChanged: OBSERVED,
  ConfigChange: { exit2: "block", stop: "nothing" },
}

/** Events whose failed hooks never block, whatever `onFailure` says: a broken hook must not keep an agent from ending. */
export const NEVER_BLOCK_ON_FAILURE: readonly HookEvent[] = ["Stop", "SubagentStop", "PermissionRequest"]

/** The name by which the claude-code protocol knows a field of ours; hooks of both dialects are given both names. */
export const WIRE_NAMES: Readonly<Partial<Record<HookEvent, Readonly<Record<string, string>>>>> = {
  Notification: { notification_type: "kind" },
  Stop: { last_assistant_message: "last_message" },
  SubagentStop: { last_assistant_message: "last_message" },
}
