/**
 * A hooks file of another program → whose it is, and how the same is written here.
 *
 * Invariant: told by the names that only that program uses; such a file is never taken for one that runs.
 */
import { HOOKS } from "../hook.ts"
import type { Tool } from "../tool.ts"

/** Whose file it is. */
export interface ForeignHooks {
  program: string
  /** An event of it and the same here, each as it would be written. */
  example: { event: string; here: string } | undefined
}

/** What an event of another program is about: here a PreToolUse or PostToolUse of a tool with that role, or an event. */
type Same = { event: string; role?: NonNullable<Tool["role"]> }

const CURSOR: Readonly<Record<string, Same>> = {
  beforeShellExecution: { event: "PreToolUse", role: "shell" },
  afterShellExecution: { event: "PostToolUse", role: "shell" },
  beforeMCPExecution: { event: "PreToolUse" },
  afterMCPExecution: { event: "PostToolUse" },
  beforeReadFile: { event: "PreToolUse" },
  afterFileEdit: { event: "PostToolUse", role: "write" },
  beforeSubmitPrompt: { event: "UserPromptSubmit" },
  preToolUse: { event: "PreToolUse" },
  postToolUse: { event: "PostToolUse" },
  sessionStart: { event: "SessionStart" },
  sessionEnd: { event: "SessionEnd" },
  subagentStart: { event: "SubagentStart" },
  subagentStop: { event: "SubagentStop" },
  preCompact: { event: "PreCompact" },
  stop: { event: "Stop" },
}

const WINDSURF: Readonly<Record<string, Same>> = {
  pre_run_command: { event: "PreToolUse", role: "shell" },
  post_run_command: { event: "PostToolUse", role: "shell" },
  pre_write_code: { event: "PreToolUse", role: "write" },
  post_write_code: { event: "PostToolUse", role: "write" },
  pre_read_code: { event: "PreToolUse" },
  post_read_code: { event: "PostToolUse" },
  pre_mcp_tool_use: { event: "PreToolUse" },
  post_mcp_tool_use: { event: "PostToolUse" },
  pre_user_prompt: { event: "UserPromptSubmit" },
  post_cascade_response: { event: "Stop" },
}

const COPILOT: Readonly<Record<string, Same>> = {
  userPromptSubmitted: { event: "UserPromptSubmit" },
  errorOccurred: { event: "PostToolUseFailure" },
  agentStop: { event: "Stop" },
}

const GEMINI: Readonly<Record<string, Same>> = {
  BeforeTool: { event: "PreToolUse" },
  AfterTool: { event: "PostToolUse" },
  BeforeAgent: { event: "UserPromptSubmit" },
  AfterAgent: { event: "Stop" },
  PreCompress: { event: "PreCompact" },
  BeforeModel: { event: "StepStart" },
}

const PROGRAMS: readonly { program: string; events: Readonly<Record<string, Same>> }[] = [
  { program: "Windsurf", events: WINDSURF },
  { program: "Cursor", events: CURSOR },
  { program: "Copilot", events: COPILOT },
  { program: "the Gemini command line", events: GEMINI },
]

type Fields = Readonly<Record<string, unknown>>

/** Whose file it is; undefined: nothing says that it is not one of ours or of Claude Code. */
export function foreignHooks(value: unknown, tools: Iterable<Tool>): ForeignHooks | undefined {
  if (!isFields(value) || !isFields(value.hooks)) return undefined
  const names = Object.keys(value.hooks)
  const entries = Object.values(value.hooks).flatMap((list) => (Array.isArray(list) ? list : []))
  const handlers = entries.flatMap((entry) => (isFields(entry) && Array.isArray(entry.hooks) ? entry.hooks : [entry]))
  for (const { program, events } of PROGRAMS) {
    const event = names.find((name) => Object.hasOwn(events, name) && !Object.hasOwn(HOOKS, name))
    if (event === undefined) continue
    return { program, example: { event, here: exampleOf(events[event]!, handlers, tools) } }
  }
  const example = ownExample(value.hooks)
  if (hasKey(handlers, /^(?:bash|powershell|timeoutSec)$/) || (value.version !== undefined && isFlat(entries)))
    return { program: "Copilot", example }
  const isCodex = hasKey(handlers, /^(?:commandWindows|command_windows|additionalContextLimit)$/)
  if (isCodex || entries.some((entry) => isFields(entry) && entry.matcher === null))
    return { program: "Codex", example }
  return undefined
}

/** An event that has the same name here. */
function ownExample(hooks: Fields): ForeignHooks["example"] {
  for (const [event, entries] of Object.entries(hooks)) {
    const [entry] = Array.isArray(entries) ? entries : []
    const [handler] = isFields(entry) && Array.isArray(entry.hooks) ? entry.hooks : [entry]
    if (!Object.hasOwn(HOOKS, event) || !isFields(handler)) continue
    const command = handler.command ?? handler.bash
    if (typeof command !== "string") continue
    const { type } = handler
    const own = isFields(entry) && "hooks" in entry ? { hooks: [{ type: type ?? "command", command }] } : { command }
    return { event, here: JSON.stringify({ [event]: [own] }) }
  }
  return undefined
}

function exampleOf({ event, role }: Same, handlers: readonly unknown[], tools: Iterable<Tool>): string {
  const tool = role === undefined ? undefined : [...tools].find((one) => one.role === role)?.name
  const [first] = handlers
  const command = isFields(first) && typeof first.command === "string" ? first.command : "…"
  return JSON.stringify({ [event]: [{ ...(tool === undefined ? {} : { matcher: tool }), command }] })
}

function hasKey(handlers: readonly unknown[], key: RegExp): boolean {
  return handlers.some((one) => isFields(one) && Object.keys(one).some((name) => key.test(name)))
}

function isFlat(entries: readonly unknown[]): boolean {
  return entries.length > 0 && entries.every((entry) => isFields(entry) && !("hooks" in entry))
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
