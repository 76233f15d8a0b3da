/**
 * A payload for each event, to try hooks out with.
 *
 * Invariant: data only; a row for every event, with all the fields that a run gives it.
 */
import type { HookEvent, HookPayloads } from "../hook.ts"

/** Fields that every event has, beside its own. */
export const COMMON_FIELDS = [
  "session_id",
  "transcript_path",
  "cwd",
  "permission_mode",
  "agent_id",
  "agent_type",
] as const

/** Fields that say which call of a tool an event is about. */
export const CALL_FIELDS = ["tool_name", "tool_input", "tool_use_id"] as const

type Sample<E extends HookEvent> = Omit<HookPayloads[E], "tool_name" | "tool_input"> & { agent_type?: string }

/** By event; which tool is called with what is for the person to say. */
export const SAMPLES: { readonly [E in HookEvent]: Sample<E> } = {
  SessionStart: { source: "startup" },
  UserPromptSubmit: { prompt: "A sample prompt", origin: "human" },
  PreToolUse: { tool_use_id: "toolu_sample" },
  PermissionRequest: { tool_use_id: "toolu_sample", reason: "No rule allows it", suggestions: [] },
  PermissionDenied: { tool_use_id: "toolu_sample", reason: "A rule denies it" },
  PostToolUse: { tool_use_id: "toolu_sample", tool_response: "A sample result" },
  PostToolUseFailure: { tool_use_id: "toolu_sample", error: "A sample failure" },
  PreCompact: { trigger: "manual" },
  PostCompact: { trigger: "manual" },
  SubagentStart: { prompt: "A sample prompt", agent_type: "general" },
  SubagentStop: { last_message: "A sample answer", stop_hook_active: false, agent_type: "general" },
  Stop: { last_message: "A sample answer", stop_hook_active: false },
  SessionEnd: { reason: "completed" },
  Notification: { kind: "permission_prompt", message: "A sample message" },
  RunStart: { recipe: "sample" },
  StepStart: { step_id: "sample", kind: "agent" },
  StepEnd: { step_id: "sample", kind: "agent", ok: true },
  RunEnd: { recipe: "sample", status: "ok" },
  FileChanged: { path: "src/sample.ts" },
  ConfigChange: { scope: "user", source: "user_settings" },
}
