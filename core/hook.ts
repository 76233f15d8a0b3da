/**
 * Hooks: what a handler is given, what it may answer, how several answers combine. One table; an event is a row.
 *
 * Invariant: a hook blocks, rewrites, injects or decides within its event; it never redirects the loop. Watchers fail
 * open, gates fall the way their row says.
 *
 * Trail: 4 of 6, from permission/decide.ts, next plugins/tools/read.ts.
 */

interface Common {
  session_id: string
  transcript_path: string
  cwd: string
  permission_mode: string
  agent_id?: string
  agent_type?: string
}
interface ToolCallFields {
  tool_name: string
  tool_input: unknown
  tool_use_id: string
}

/** What each event hands to its handlers, beside the common fields. Wire names, as command hooks get them on stdin. */
export interface HookPayloads {
  SessionStart: { source: "startup" | "resume" | "clear" | "compact" }
  UserPromptSubmit: { prompt: string; origin: "human" | "system" | "agent" }
  PreToolUse: ToolCallFields
  PermissionRequest: ToolCallFields & { reason: string; suggestions: string[] }
  PermissionDenied: ToolCallFields & { reason: string }
  PostToolUse: ToolCallFields & { tool_response: unknown }
  PostToolUseFailure: ToolCallFields & { error: string }
  PreCompact: { trigger: "manual" | "auto" | "reactive" }
  PostCompact: { trigger: "manual" | "auto" | "reactive" }
  SubagentStart: { prompt: string }
  SubagentStop: { last_message: string; stop_hook_active: boolean }
  Stop: { last_message: string; stop_hook_active: boolean }
  SessionEnd: { reason: string }
  Notification: { kind: string; message: string }
  RunStart: { recipe: string }
  StepStart: { step_id: string; kind: string }
  StepEnd: { step_id: string; kind: string; ok: boolean }
  RunEnd: { recipe: string; status: string }
  FileChanged: { path: string }
  /** `source`: the scope as the claude-code protocol names it; `file_path`: the first of the files that changed. */
  ConfigChange: {
    scope: string
    source: "policy_settings" | "flag_settings" | "local_settings" | "project_settings" | "user_settings"
    file_path?: string
  }
}
export type HookEvent = keyof HookPayloads
export type HookPayload<E extends HookEvent> = Common & HookPayloads[E] & { hook_event_name: E }

/** A handler's answer; `undefined` is `pass`. Make them with `block()`, `inject()` and so on. */
export type HookAnswer =
  | { kind: "pass" }
  | { kind: "block"; reason: string }
  | { kind: "inject"; text: string }
  | { kind: "rewrite"; input: unknown }
  /** `rules`: for PermissionRequest, allow rules that are kept for the conversation. */
  | { kind: "allow"; reason?: string; input?: unknown; rules?: readonly string[] }
  | { kind: "ask"; reason?: string }
  | { kind: "result"; content: string }
  /** Variables for the commands of this conversation, by name. */
  | { kind: "env"; set: Readonly<Record<string, string>> }
  /** The native protocol of commands: 0 go on, 1 block with stderr, 2 inject stdout. */
  | { exit: number; stdout?: string; stderr?: string }

export type HookHandler<E extends HookEvent> = (
  payload: HookPayload<E>,
  context: { signal: AbortSignal },
) => HookAnswer | undefined | void | Promise<HookAnswer | undefined | void>

/** A bare handler, or one with a matcher on the field that its event's row names. */
export type Hook<E extends HookEvent> =
  | HookHandler<E>
  | {
      matcher?: string
      /** Names the hook in messages. */
      description?: string
      /** How long the handler may take, ms. Default: what the event's row says, or 60,000. */
      timeoutMs?: number
      handler: HookHandler<E>
    }
export type Hooks = { [E in HookEvent]?: Hook<E> | Hook<E>[] }

export const pass = (): HookAnswer => ({ kind: "pass" })
export const block = (reason: string): HookAnswer => ({ kind: "block", reason })
export const inject = (text: string): HookAnswer => ({ kind: "inject", text })
export const rewrite = (input: unknown): HookAnswer => ({ kind: "rewrite", input })
export const allow = (reason?: string): HookAnswer =>
  reason === undefined ? { kind: "allow" } : { kind: "allow", reason }
export const ask = (reason?: string): HookAnswer => (reason === undefined ? { kind: "ask" } : { kind: "ask", reason })
export const setEnv = (set: Readonly<Record<string, string>>): HookAnswer => ({ kind: "env", set })

/** How several answers combine, which way a broken handler falls, what a matcher reads, what may be answered. */
export type HookSpec = ({ kind: "gate"; fails: "closed" | "open" } | { kind: "fold" | "first" | "observe" }) & {
  /** The payload's field that a matcher reads; without it the event takes no matcher. */
  matches?: string
  /** The matcher of a hook that has none; otherwise it matches everything. */
  matcher?: string
  answers: readonly AnswerKind[]
  /** How long a handler may take, ms. Default 60,000. */
  timeoutMs?: number
}
export type AnswerKind = Exclude<HookAnswer, { exit: number }>["kind"]

export const HOOKS = {
  SessionStart: { kind: "fold", matches: "source", answers: ["inject", "env"] },
  UserPromptSubmit: {
    kind: "gate",
    fails: "closed",
    matches: "origin",
    matcher: "human",
    answers: ["block", "inject"],
  },
  PreToolUse: {
    kind: "gate",
    fails: "closed",
    matches: "tool_name",
    answers: ["block", "rewrite", "inject", "allow", "ask"],
  },
  PermissionRequest: { kind: "first", matches: "tool_name", answers: ["allow", "block"] },
  PermissionDenied: { kind: "observe", matches: "tool_name", answers: [] },
  PostToolUse: { kind: "fold", matches: "tool_name", answers: ["inject", "result", "block"] },
  PostToolUseFailure: { kind: "fold", matches: "tool_name", answers: ["inject"] },
  PreCompact: { kind: "gate", fails: "open", matches: "trigger", answers: ["block", "inject"] },
  PostCompact: { kind: "observe", matches: "trigger", answers: [] },
  SubagentStart: { kind: "fold", matches: "agent_type", answers: ["inject"] },
  SubagentStop: { kind: "gate", fails: "open", matches: "agent_type", answers: ["block"] },
  Stop: { kind: "gate", fails: "open", answers: ["block"] },
  SessionEnd: { kind: "observe", matches: "reason", answers: [], timeoutMs: 5_000 },
  Notification: { kind: "observe", matches: "kind", answers: [] },
  RunStart: { kind: "gate", fails: "closed", matches: "recipe", answers: ["block"] },
  StepStart: { kind: "gate", fails: "closed", matches: "step_id", answers: ["block"] },
  StepEnd: { kind: "observe", matches: "step_id", answers: [] },
  RunEnd: { kind: "observe", matches: "recipe", answers: [] },
  FileChanged: { kind: "observe", matches: "path", answers: [] },
  ConfigChange: { kind: "gate", fails: "open", matches: "scope", answers: ["block"] },
} as const satisfies Record<HookEvent, HookSpec>
