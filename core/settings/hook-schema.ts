/**
 * The shape of `hooks` in settings and in `.hooks.json`: one schema for each kind of handler, and one for all of it.
 *
 * Invariant: loaded only where hooks are configured, or a schema is written; a key that is not in here is refused.
 */
import { z } from "zod"
import { HOOKS } from "../hook.ts"

/** Events of the claude-code protocol that are not raised here; hooks for them are listed and never run. */
export const FOREIGN_EVENTS = [
  "Setup",
  "InstructionsLoaded",
  "UserPromptExpansion",
  "MessageDisplay",
  "PostToolBatch",
  "TaskCreated",
  "TaskCompleted",
  "StopFailure",
  "TeammateIdle",
  "CwdChanged",
  "DirectoryAdded",
  "WorktreeCreate",
  "WorktreeRemove",
  "Elicitation",
  "ElicitationResult",
  "PreModelSwitch",
  "PostModelSwitch",
  "PreSkillShellCommand",
] as const

/** The longest time that a hook may be given, seconds. */
export const MOST_SECONDS = 86_400

const text = z.string().min(1)
const SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600 }

/** A number is seconds. */
const timeout = z
  .union([z.number(), z.string().regex(/^\d+(?:\.\d+)?\s*(?:ms|s|m|h)$/)], {
    error: 'expected seconds, or a duration such as "30s"',
  })
  .refine((value) => isPossible(secondsOf(value)), {
    error: `expected more than 0 and at most ${MOST_SECONDS} seconds`,
  })
  .describe('How long the handler may take: seconds, or "500ms", "30s", "2m".')

const common = {
  timeout: timeout.optional(),
  onFailure: z
    .enum(["block", "ask", "allow", "continue"])
    .describe('What a hook that fails counts for; "continue" is another word for "allow".')
    .optional(),
  if: text
    .describe('One permission rule: the hook runs for calls that it fits, such as "Bash(git push *)".')
    .optional(),
  once: z.boolean().describe("Native hooks: run for the first event only.").optional(),
  async: z.boolean().describe("Start it and wait for nothing; it cannot block.").optional(),
  asyncRewake: z.boolean().describe("Like async; what it finds may bring about a further turn.").optional(),
  description: text.describe("Names the hook in messages.").optional(),
  statusMessage: text.describe("Shown while it runs.").optional(),
  dialect: z
    .enum(["native", "claude-code"])
    .describe("Which protocol it speaks; left out: native for flat entries, claude-code for nested ones.")
    .optional(),
}

const matcher = z.string().describe("Exact names, or a regular expression; left out: everything.").optional()

/** The handlers, by type. */
export const HANDLERS = {
  command: z.strictObject({
    type: z.literal("command").optional(),
    command: text.describe("Text for bash; with args, a program."),
    args: z.array(z.string()).describe("Starts the program as it is, without a shell.").optional(),
    shell: z.enum(["bash", "powershell"]).optional(),
    ...common,
  }),
  http: z.strictObject({
    type: z.literal("http").optional(),
    url: text.describe("Gets the event as a POST."),
    headers: z.record(z.string(), z.string()).describe("Values may use $NAME of allowedEnvVars.").optional(),
    allowedEnvVars: z.array(text).describe("Environment variables that headers may use.").optional(),
    ...common,
  }),
  prompt: z.strictObject({
    type: z.literal("prompt").optional(),
    prompt: text.describe("The question to a model; $ARGUMENTS is the event."),
    model: text.optional(),
    continueOnBlock: z.boolean().optional(),
    ...common,
  }),
  agent: z.strictObject({
    type: z.literal("agent"),
    prompt: text.describe("The question to an agent that may look around."),
    model: text.optional(),
    ...common,
  }),
  mcp_tool: z.strictObject({
    type: z.literal("mcp_tool"),
    server: text,
    tool: text,
    input: z.record(z.string(), z.unknown()).optional(),
    ...common,
  }),
}
export type HandlerType = keyof typeof HANDLERS
export type Handler = { [T in HandlerType]: z.output<(typeof HANDLERS)[T]> }[HandlerType]

/** A flat entry: a handler with its matcher. */
export const FLAT = {
  command: HANDLERS.command.extend({ matcher }),
  http: HANDLERS.http.extend({ matcher }),
  prompt: HANDLERS.prompt.extend({ matcher }),
  agent: HANDLERS.agent.extend({ matcher }),
  mcp_tool: HANDLERS.mcp_tool.extend({ matcher }),
} as const satisfies Record<HandlerType, z.ZodType>

const groupHead = { matcher, dialect: common.dialect, description: common.description }

/** A nested entry; what its handlers look like is checked one by one. */
export const GROUP = z.strictObject({ ...groupHead, hooks: z.array(z.unknown()) })

/** All of `hooks`, for editors. */
export const hooksSchema = z.partialRecord(
  z.enum([...Object.keys(HOOKS), ...FOREIGN_EVENTS]),
  z.array(
    z.union([
      ...Object.values(FLAT),
      z.strictObject({ ...groupHead, hooks: z.array(z.union(Object.values(HANDLERS))) }),
    ]),
  ),
)

/** A `.hooks.json`. */
export const hookFileSchema = z.strictObject({
  $schema: z.string().optional(),
  description: z.string().optional(),
  hooks: z.record(z.string(), z.unknown()),
})

/** In ms. */
export function timeoutMsOf(value: number | string): number {
  return Math.max(1, Math.round(secondsOf(value) * 1000))
}

function secondsOf(value: number | string): number {
  if (typeof value === "number") return value
  const [, count = "", unit = ""] = /^([\d.]+)\s*(ms|s|m|h)$/.exec(value) ?? []
  return Number(count) * (SECONDS[unit] ?? Number.NaN)
}

function isPossible(seconds: number): boolean {
  return seconds > 0 && seconds <= MOST_SECONDS
}
