/**
 * What every ending of a hook means, row by row: event, dialect, where it was configured, how it ended → what comes of it.
 *
 * Invariant: data only. test/core/hook-contract.test.ts runs each row with a real process, a real server or a handler of
 * the process; the documentation of hooks is written from the same rows.
 */
import type { HookEvent } from "../../core/hook.ts"
import type { HookDialect, OnHookFailure } from "../../core/hook-source.ts"

/** Where a hook stands: a plugin's runs in the process, the others are commands or URLs. */
export type HookWhere = "plugin" | ".hooks.json" | "settings" | "agent" | "pack"

/** How a handler ends. */
export type HookEnding =
  | { exit: number; stdout?: string; stderr?: string }
  /** It prints this many bytes, then ends with 0. */
  | { prints: number; start?: string }
  | { signal: "SIGKILL" | "SIGTERM" }
  /** It never ends by itself. */
  | { hangs: true; stdout?: string }
  /** What a shell or interpreter was told to run is not there, is no program, or is broken. */
  | { launch: "missing script" | "missing program" | "not executable" | "missing interpreter" | "syntax error" }
  | { status: number; body?: string }
  | { unreachable: true }
  | { throws: string }
  /** In the process only: what the handler returns. */
  | { returns: unknown }

/** What comes of it; nothing: the event goes on. */
export interface HookMeaning {
  /** A part of the reason that the model (or the person) is told. */
  block?: string
  ask?: string
  allow?: true
  inject?: string
  input?: unknown
  result?: string
  env?: Record<string, string>
  /** Allow rules for the conversation. */
  rules?: string[]
  /** A part of what the person is told: a failure, or the hook's own message. */
  warning?: string
  says?: string
  /** Why the whole agent stops. */
  stop?: string
}

export interface HookRow {
  event: HookEvent
  dialect: HookDialect
  where: HookWhere
  ends: HookEnding
  onFailure?: OnHookFailure
  means: HookMeaning
  /** Why, where it is not plain. */
  because?: string
}

type Given = Omit<HookRow, "event" | "dialect" | "where">

const rowsFor = (dialect: HookDialect, where: HookWhere, event: HookEvent, rows: readonly Given[]): HookRow[] =>
  rows.map((row) => ({ event, dialect, where, ...row }))
const native = (event: HookEvent, ...rows: Given[]) => rowsFor("native", ".hooks.json", event, rows)
const claude = (event: HookEvent, ...rows: Given[]) => rowsFor("claude-code", "settings", event, rows)
const json = (value: unknown) => JSON.stringify(value)
/** A JSON answer of the claude-code protocol. */
const specific = (hookEventName: HookEvent, fields: object, more: object = {}) =>
  json({ ...more, hookSpecificOutput: { hookEventName, ...fields } })
const decides = (permissionDecision: string, more: object = {}) =>
  specific("PreToolUse", { permissionDecision, permissionDecisionReason: "why", ...more })

export const HOOK_ROWS: readonly HookRow[] = [
  ...native(
    "PreToolUse",
    { ends: { exit: 0 }, means: {} },
    { ends: { exit: 0, stdout: "checked 3 files" }, means: {}, because: "a script may print what it likes" },
    { ends: { exit: 0, stdout: '{"decision": "deny"' }, means: {}, because: "half an object is no answer" },
    { ends: { exit: 0, stdout: '{"decision": "deny", "files": 3}' }, means: {}, because: "a key that is none of ours" },
    {
      ends: { exit: 0, stdout: decides("deny") },
      means: { block: "it answered in the claude-code protocol" },
      because: "a decision in the other protocol is no output of a script",
    },
    { ends: { exit: 0, stdout: '{"decision": "deny", "reason": "no"}' }, means: { block: "no" } },
    { ends: { exit: 0, stdout: '{"decision": "ask", "reason": "sure?"}' }, means: { ask: "sure?" } },
    { ends: { exit: 0, stdout: '{"decision": "allow"}' }, means: { allow: true } },
    { ends: { exit: 0, stdout: '{"inject": "note"}' }, means: { inject: "note" } },
    { ends: { exit: 0, stdout: '{"input": {"command": "ls -a"}}' }, means: { input: { command: "ls -a" } } },
    { ends: { exit: 0, stdout: '{"decision": "maybe"}' }, means: { block: 'its decision is "maybe"' } },
    { ends: { exit: 0, stdout: '{"result": "x"}' }, means: { block: "PreToolUse takes" } },
    { ends: { exit: 0, stderr: "a line for the log" }, means: {} },
    { ends: { exit: 1, stderr: "not on Friday" }, means: { block: "not on Friday" } },
    { ends: { exit: 1 }, means: { block: "gives no reason" } },
    { ends: { exit: 1, stdout: '{"decision": "allow"}', stderr: "no" }, means: { block: "no" } },
    { ends: { exit: 2, stdout: "remember the tests" }, means: { inject: "remember the tests" } },
    {
      ends: { exit: 2, stderr: "unexpected end of file" },
      means: { block: "printed nothing to inject" },
      because: "shells end with 2 when they cannot read a script",
    },
    {
      ends: { exit: 2, stdout: "checking", stderr: "guard.sh: line 3: exit: 1\r: numeric argument required" },
      means: { block: "its shell could not make sense of it" },
      because: "the ends of its lines are those of Windows, and this is its exit 1",
    },
    {
      ends: { exit: 2, stdout: "checking", stderr: "guard.sh: line 9: syntax error: unexpected end of file" },
      means: { block: "its shell could not make sense of it" },
    },
    {
      ends: { exit: 2, stdout: "remember the tests", stderr: "npm: line 3: 2 warnings" },
      means: { inject: "remember the tests" },
    },
    { ends: { exit: 3, stderr: "boom" }, means: { block: "it ended with exit 3: boom" } },
    { ends: { exit: 3 }, onFailure: "allow", means: { warning: "it ended with exit 3" } },
    { ends: { exit: 3 }, onFailure: "ask", means: { ask: "it ended with exit 3" } },
    { ends: { signal: "SIGKILL" }, means: { block: "it was ended by SIGKILL" } },
    { ends: { hangs: true }, means: { block: "it did not answer within" } },
    { ends: { hangs: true, stdout: '{"decision": "allow"}' }, means: { block: "it did not answer within" } },
    { ends: { launch: "missing script" }, means: { block: "there is no file" } },
    { ends: { launch: "missing interpreter" }, means: { block: "it ended with exit 127" } },
    { ends: { launch: "missing program" }, means: { block: "there is no such program" } },
    { ends: { launch: "not executable" }, means: { block: "it ended with exit 126" } },
    { ends: { launch: "syntax error" }, means: { block: "printed nothing to inject" } },
    { ends: { prints: 50_000_000 }, means: {}, because: "more than is kept is no answer, and costs no memory" },
    {
      ends: { prints: 2_000_000, start: '{"decision": "deny", "reason": "' },
      means: { block: "too many for an answer" },
    },
    { ends: { status: 200, body: '{"decision": "deny", "reason": "no"}' }, means: { block: "no" } },
    { ends: { status: 200 }, means: {} },
    { ends: { status: 200, body: "ok" }, means: {} },
    { ends: { status: 403, body: '{"decision": "allow"}' }, means: { block: "it answered with the status 403" } },
    {
      ends: { status: 302 },
      means: { block: "it answered with the status 302" },
      because: "a redirect is not followed",
    },
    { ends: { unreachable: true }, means: { block: "it could not be reached" } },
  ),
  ...native(
    "PostToolUse",
    { ends: { exit: 1, stderr: "tests fail" }, means: { block: "tests fail" } },
    { ends: { exit: 2, stdout: "run npm test" }, means: { inject: "run npm test" } },
    { ends: { exit: 0, stdout: '{"result": "shorter"}' }, means: { result: "shorter" } },
    { ends: { exit: 4 }, means: { warning: "it ended with exit 4" } },
    { ends: { exit: 4 }, onFailure: "block", means: { block: "it ended with exit 4" } },
  ),
  ...native(
    "PostToolUseFailure",
    { ends: { exit: 2, stdout: "try again" }, means: { inject: "try again" } },
    { ends: { exit: 1, stderr: "no" }, means: { warning: 'it answered "block"' }, because: "nothing is left to block" },
  ),
  ...native(
    "PermissionRequest",
    { ends: { exit: 0 }, means: {} },
    { ends: { exit: 1, stderr: "no" }, means: { block: "no" } },
    { ends: { exit: 0, stdout: '{"decision": "allow"}' }, means: { allow: true } },
    { ends: { exit: 9 }, onFailure: "block", means: { warning: "it ended with exit 9" } },
  ),
  ...native(
    "SessionStart",
    { ends: { exit: 2, stdout: "the branch is main" }, means: { inject: "the branch is main" } },
    { ends: { exit: 0, stdout: "hello" }, means: {} },
    { ends: { exit: 1, stderr: "no" }, means: { warning: 'it answered "block"' } },
  ),
  ...native("UserPromptSubmit", { ends: { exit: 1, stderr: "no" }, means: { block: "no" } }),
  ...native(
    "Stop",
    { ends: { exit: 1, stderr: "tests fail" }, means: { block: "tests fail" } },
    { ends: { exit: 5 }, means: { warning: "it ended with exit 5" } },
    { ends: { exit: 5 }, onFailure: "block", means: { warning: "it ended with exit 5" } },
  ),
  ...native("SubagentStart", { ends: { exit: 2, stdout: "be brief" }, means: { inject: "be brief" } }),
  ...native("PreCompact", { ends: { exit: 2, stdout: "keep the plan" }, means: { inject: "keep the plan" } }),
  ...native(
    "RunStart",
    { ends: { exit: 1, stderr: "no" }, means: { block: "no" } },
    { ends: { exit: 6 }, means: { block: "it ended with exit 6" } },
  ),
  ...native("StepStart", { ends: { exit: 1, stderr: "no" }, means: { block: "no" } }),
  ...native("RunEnd", { ends: { exit: 1, stderr: "no" }, means: { warning: "RunEnd takes no answer" } }),
  ...rowsFor("native", "plugin", "PreToolUse", [
    { ends: { returns: { kind: "block", reason: "no" } }, means: { block: "no" } },
    { ends: { returns: undefined }, means: {} },
    { ends: { returns: { exit: 1, stderr: "no" } }, means: { block: "no" } },
    { ends: { returns: { exit: 2, stdout: "note" } }, means: { inject: "note" } },
    { ends: { returns: { exit: 127 } }, means: { block: "it ended with exit 127" } },
    { ends: { throws: "boom" }, means: { block: 'it threw "boom"' } },
    { ends: { hangs: true }, means: { block: "it did not answer within" } },
  ]),
  ...rowsFor("native", "plugin", "SessionStart", [
    { ends: { returns: { kind: "env", set: { STAGE: "dev" } } }, means: { env: { STAGE: "dev" } } },
  ]),
  ...rowsFor("native", "pack", "Notification", [{ ends: { exit: 0 }, means: {} }]),
  ...claude(
    "PreToolUse",
    { ends: { exit: 0 }, means: {} },
    { ends: { exit: 0, stdout: "text" }, means: {} },
    { ends: { exit: 1, stderr: "no" }, means: { warning: "it ended with exit 1: no" } },
    { ends: { exit: 1, stderr: "no" }, onFailure: "block", means: { block: "it ended with exit 1: no" } },
    { ends: { exit: 2, stderr: "no" }, means: { block: "no" } },
    { ends: { exit: 2 }, means: { block: "gives no reason" } },
    { ends: { exit: 2, stdout: decides("allow"), stderr: "no" }, means: { block: "no" } },
    { ends: { exit: 2, stdout: decides("deny"), stderr: "no" }, means: { block: "why" } },
    { ends: { exit: 0, stdout: decides("deny") }, means: { block: "why" } },
    { ends: { exit: 7, stdout: decides("deny") }, means: { block: "why" } },
    { ends: { exit: 0, stdout: decides("ask") }, means: { ask: "why" } },
    {
      ends: { exit: 0, stdout: decides("defer") },
      means: { ask: "why" },
      because: "what is left to others is a question",
    },
    { ends: { exit: 0, stdout: decides("allow") }, means: { allow: true } },
    {
      ends: { exit: 0, stdout: decides("allow", { updatedInput: { command: "ls -a" } }) },
      means: { allow: true, input: { command: "ls -a" } },
    },
    {
      ends: {
        exit: 0,
        stdout: specific("PreToolUse", { updatedInput: { command: "ls -a" }, additionalContext: "note" }),
      },
      means: { input: { command: "ls -a" }, inject: "note" },
    },
    { ends: { exit: 0, stdout: decides("bogus") }, means: { warning: "permissionDecision" } },
    { ends: { exit: 0, stdout: decides("bogus") }, onFailure: "block", means: { block: "permissionDecision" } },
    {
      ends: { exit: 0, stdout: json({ permissionDecision: "deny" }) },
      means: {},
      because: "it belongs into hookSpecificOutput",
    },
    { ends: { exit: 0, stdout: json({ decision: "block", reason: "why" }) }, means: { block: "why" } },
    { ends: { exit: 0, stdout: json({ decision: "approve" }) }, means: { allow: true } },
    {
      ends: { exit: 0, stdout: json({ hookSpecificOutput: { permissionDecision: "deny" } }) },
      means: { warning: "hookEventName" },
    },
    { ends: { exit: 0, stdout: specific("PostToolUse", {}) }, means: { warning: "the event is PreToolUse" } },
    {
      ends: { exit: 0, stdout: `note ${decides("deny")}` },
      means: {},
      because: "text before the object makes it text",
    },
    { ends: { exit: 0, stdout: '{"decision": "block"' }, means: { warning: "JSON that cannot be read" } },
    {
      ends: { exit: 0, stdout: json({ continue: false, stopReason: "enough" }) },
      means: { block: "enough", stop: "enough" },
    },
    { ends: { exit: 0, stdout: json({ systemMessage: "hello" }) }, means: { says: "hello" } },
    { ends: { exit: 0, stdout: json({ suppressOutput: true, other: 1 }) }, means: {} },
    { ends: { signal: "SIGTERM" }, means: { warning: "it was ended by SIGTERM" } },
    { ends: { hangs: true, stdout: decides("deny") }, means: { warning: "it did not answer within" } },
    { ends: { hangs: true }, onFailure: "block", means: { block: "it did not answer within" } },
    { ends: { launch: "missing script" }, means: { warning: "there is no file" } },
    { ends: { launch: "missing interpreter" }, means: { warning: "it ended with exit 127" } },
    { ends: { launch: "not executable" }, means: { warning: "it ended with exit 126" } },
    {
      ends: { launch: "syntax error" },
      means: { block: "syntax error" },
      because: "a shell ends with 2 then, as people are used to",
    },
    { ends: { status: 200, body: decides("deny") }, means: { block: "why" } },
    { ends: { status: 200 }, means: {} },
    { ends: { status: 200, body: "ok" }, means: { warning: "no JSON object" } },
    { ends: { status: 500, body: decides("deny") }, means: { warning: "it answered with the status 500" } },
    { ends: { unreachable: true }, onFailure: "block", means: { block: "it could not be reached" } },
  ),
  ...claude(
    "PostToolUse",
    { ends: { exit: 2, stderr: "tests fail" }, means: { block: "tests fail" } },
    { ends: { exit: 0, stdout: json({ decision: "block", reason: "why" }) }, means: { block: "why" } },
    {
      ends: { exit: 0, stdout: specific("PostToolUse", { updatedToolOutput: "shorter" }) },
      means: { result: "shorter" },
    },
    {
      ends: { exit: 0, stdout: specific("PostToolUse", { updatedToolOutput: { stdout: "out", stderr: "err" } }) },
      means: { result: "out\nerr" },
    },
    { ends: { exit: 0, stdout: json({ continue: false, stopReason: "enough" }) }, means: { stop: "enough" } },
    { ends: { exit: 1, stderr: "no" }, means: { warning: "it ended with exit 1: no" } },
  ),
  ...claude(
    "PostToolUseFailure",
    { ends: { exit: 2, stderr: "try again" }, means: { inject: "try again" } },
    {
      ends: { exit: 0, stdout: specific("PostToolUseFailure", { additionalContext: "note" }) },
      means: { inject: "note" },
    },
  ),
  ...claude(
    "PermissionRequest",
    { ends: { exit: 2, stderr: "no" }, means: {}, because: "the exit code answers no question" },
    {
      ends: { exit: 0, stdout: specific("PermissionRequest", { decision: { behavior: "deny", message: "why" } }) },
      means: { block: "why" },
    },
    {
      ends: {
        exit: 0,
        stdout: specific("PermissionRequest", { decision: { behavior: "deny", message: "why", interrupt: true } }),
      },
      means: { block: "why", stop: "why" },
    },
    {
      ends: {
        exit: 0,
        stdout: specific("PermissionRequest", {
          decision: {
            behavior: "allow",
            updatedInput: { command: "ls -a" },
            updatedPermissions: [
              {
                type: "addRules",
                rules: [{ toolName: "Bash", ruleContent: "ls:*" }],
                behavior: "allow",
                destination: "session",
              },
            ],
          },
        }),
      },
      means: { allow: true, input: { command: "ls -a" }, rules: ["Bash(ls:*)"] },
    },
    {
      ends: { exit: 0, stdout: specific("PermissionRequest", { decision: { behavior: "bogus" } }) },
      means: { warning: "behavior" },
    },
  ),
  ...claude(
    "UserPromptSubmit",
    { ends: { exit: 0, stdout: "the branch is main" }, means: { inject: "the branch is main" } },
    { ends: { exit: 2, stderr: "no" }, means: { block: "no" } },
    { ends: { exit: 0, stdout: json({ decision: "block", reason: "why" }) }, means: { block: "why" } },
    {
      ends: { exit: 0, stdout: specific("UserPromptSubmit", { additionalContext: "note" }) },
      means: { inject: "note" },
    },
    { ends: { status: 200, body: "the branch is main" }, means: { warning: "no JSON object" } },
  ),
  ...claude(
    "SessionStart",
    { ends: { exit: 0, stdout: "the branch is main" }, means: { inject: "the branch is main" } },
    { ends: { exit: 0, stdout: specific("SessionStart", { additionalContext: "note" }) }, means: { inject: "note" } },
    { ends: { exit: 2, stderr: "no" }, means: { warning: "it ended with exit 2: no" } },
  ),
  ...claude(
    "Stop",
    { ends: { exit: 2, stderr: "tests fail" }, means: { block: "tests fail" } },
    { ends: { exit: 0, stdout: json({ decision: "block", reason: "why" }) }, means: { block: "why" } },
    { ends: { exit: 0, stdout: json({ decision: "approve" }) }, means: {} },
    {
      ends: { exit: 0, stdout: specific("Stop", { additionalContext: "one more thing" }) },
      means: { block: "one more thing" },
    },
    { ends: { exit: 0, stdout: json({ continue: false, stopReason: "enough" }) }, means: { stop: "enough" } },
    { ends: { exit: 1 }, onFailure: "block", means: { warning: "it ended with exit 1" } },
  ),
  ...rowsFor("claude-code", "agent", "SubagentStop", [
    { ends: { exit: 2, stderr: "not yet" }, means: { block: "not yet" } },
    { ends: { exit: 0 }, means: {} },
  ]),
  ...claude(
    "SubagentStart",
    {
      ends: { exit: 0, stdout: specific("SubagentStart", { additionalContext: "be brief" }) },
      means: { inject: "be brief" },
    },
    { ends: { exit: 0, stdout: "text" }, means: {} },
  ),
  ...claude(
    "PreCompact",
    { ends: { exit: 2, stderr: "no" }, means: { block: "no" } },
    { ends: { exit: 0, stdout: json({ continue: false }) }, means: {} },
  ),
  ...claude("PostCompact", { ends: { exit: 2, stderr: "no" }, means: { warning: "it ended with exit 2: no" } }),
  ...claude("SessionEnd", { ends: { exit: 2, stderr: "no" }, means: { warning: "it ended with exit 2: no" } }),
  ...claude("Notification", { ends: { exit: 2, stderr: "no" }, means: {} }),
  ...claude("PermissionDenied", { ends: { exit: 2, stderr: "no" }, means: {} }),
  ...rowsFor("claude-code", "pack", "StepStart", [{ ends: { exit: 2, stderr: "no" }, means: { block: "no" } }]),
  ...rowsFor("claude-code", "pack", "ConfigChange", [{ ends: { exit: 2, stderr: "no" }, means: { block: "no" } }]),
]
