/**
 * The claude-code protocol: from what a command or an HTTP handler printed to one reply, by the rows of hook-table.ts.
 *
 * Invariant: exit 2 blocks whatever else was printed; what fails its schema has failed, and is never read in part.
 */
import { z } from "zod"
import type { HookEvent } from "./hook.ts"
import { checkReply, describe, type HookReply, parseObject } from "./hook-answer.ts"
import type { HookOutput } from "./hook-ending.ts"
import { CLAUDE_ROWS, EXITS } from "./hook-table.ts"

const text = z.string().optional()
const UPDATE = z.object({
  type: z.string(),
  behavior: text,
  rules: z.array(z.object({ toolName: z.string(), ruleContent: text })).optional(),
})
const REQUEST = z.object({
  behavior: z.enum(["allow", "deny"]),
  updatedInput: z.record(z.string(), z.unknown()).optional(),
  updatedPermissions: z.array(UPDATE).optional(),
  message: text,
  interrupt: z.boolean().optional(),
})
const SPECIFIC = z.object({
  hookEventName: z.string(),
  permissionDecision: z.enum(["allow", "deny", "ask", "defer"]).optional(),
  permissionDecisionReason: text,
  updatedInput: z.record(z.string(), z.unknown()).optional(),
  additionalContext: text,
  initialUserMessage: text,
  updatedToolOutput: z.unknown().optional(),
  updatedMCPToolOutput: z.unknown().optional(),
  decision: REQUEST.optional(),
})
const ANSWER = z.object({
  continue: z.boolean().optional(),
  stopReason: text,
  suppressOutput: z.boolean().optional(),
  systemMessage: text,
  decision: z.enum(["block", "approve"]).optional(),
  reason: text,
  hookSpecificOutput: SPECIFIC.optional(),
})
type Answer = z.output<typeof ANSWER>
type Specific = NonNullable<Answer["hookSpecificOutput"]>

/** Reads an ending. Throws an Error whose message goes on after "the hook failed: ". */
export function parseClaude(output: HookOutput, event: HookEvent): HookReply {
  const stdout = output.stdout.trim()
  const stderr = output.stderr.trim()
  const exits = EXITS["claude-code"]
  const meaning = (output.exit === null ? undefined : exits[output.exit]) ?? exits.other
  if (meaning === "block") return checkReply(blocked(stdout, stderr, event), event)
  const answer = parseObject(stdout)
  if (answer !== undefined) return checkReply(fromAnswer(checkAnswer(answer, event), event), event)
  if (meaning !== "answer") throw new Error(failed(output.exit, stderr))
  if (stdout.startsWith("{")) throw new Error("it printed JSON that cannot be read")
  return CLAUDE_ROWS[event].plain && stdout !== "" ? { inject: stdout } : {}
}

function failed(exit: number | null, stderr: string): string {
  const first = stderr.split("\n", 1)[0]
  return `it ended with exit ${exit}${first ? `: ${first}` : ""}`
}

/** Exit 2: the JSON's own reason, else stderr; what the JSON adds beside it still counts. */
function blocked(stdout: string, stderr: string, event: HookEvent): HookReply {
  const { exit2 } = CLAUDE_ROWS[event]
  if (exit2 === "nothing") return {}
  if (exit2 === "warning") throw new Error(failed(2, stderr))
  const own = readQuietly(stdout, event)
  if (exit2 === "inject")
    return { ...own, inject: joined(own.inject, stderr || "The hook blocks, and gives no reason") }
  const { input: _, decision, reason, ...rest } = own
  const why = decision === "block" && reason ? reason : stderr
  return { ...rest, decision: "block", ...(why === "" ? {} : { reason: why }) }
}

function readQuietly(stdout: string, event: HookEvent): HookReply {
  try {
    const answer = parseObject(stdout)
    return answer === undefined ? {} : fromAnswer(checkAnswer(answer, event), event)
  } catch {
    return {}
  }
}

function checkAnswer(answer: Record<string, unknown>, event: HookEvent): Answer {
  const parsed = ANSWER.safeParse(answer)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new Error(`the "${issue?.path.join(".")}" of its answer is not what it may be: ${issue?.message}`)
  }
  const named = parsed.data.hookSpecificOutput?.hookEventName
  if (named !== undefined && named !== event) {
    throw new Error(`its hookSpecificOutput is for ${describe(named)}, and the event is ${event}`)
  }
  return parsed.data
}

function fromAnswer(answer: Answer, event: HookEvent): HookReply {
  const specific = answer.hookSpecificOutput
  const decided = decisionOf(answer, event)
  const added = contextOf(specific, event)
  const reply: HookReply = { ...decided, ...added }
  if (decided.decision && added.decision) reply.reason = joined(decided.reason, added.reason)
  if (answer.systemMessage !== undefined) reply.say = answer.systemMessage
  if (event === "PostToolUse") Object.assign(reply, resultOf(specific))
  return answer.continue === false ? stopped(reply, answer, event) : reply
}

function decisionOf({ decision, reason, hookSpecificOutput: specific }: Answer, event: HookEvent): HookReply {
  if (event === "PermissionRequest") return requestOf(specific?.decision)
  const said = specific?.permissionDecision ?? (decision === "approve" && event === "PreToolUse" ? "allow" : decision)
  const why = specific?.permissionDecision === undefined ? reason : specific.permissionDecisionReason
  const updated = event === "PreToolUse" && specific?.updatedInput ? { input: { value: specific.updatedInput } } : {}
  const kind = said === undefined ? undefined : DECISIONS[said]
  const { exit2 } = CLAUDE_ROWS[event]
  if (kind === "block" && exit2 === "inject") return { inject: why ?? "The hook blocks, and gives no reason" }
  // Where nothing can be blocked, and where approving is nothing new, the field is accepted and does nothing.
  const counts = kind !== undefined && (event === "PreToolUse" || (kind === "block" && exit2 === "block"))
  return { ...updated, ...(counts ? { decision: kind } : {}), ...(counts && why ? { reason: why } : {}) }
}

/** `defer` leaves the call to somebody outside; here that is a question. */
const DECISIONS = {
  allow: "allow",
  deny: "block",
  block: "block",
  ask: "ask",
  defer: "ask",
  approve: undefined,
} as const

function requestOf(decision: Specific["decision"]): HookReply {
  if (decision === undefined) return {}
  const { behavior, updatedInput, updatedPermissions = [], message, interrupt } = decision
  if (behavior === "deny") {
    const why = message ?? "A hook denied it"
    return { decision: "block", reason: why, ...(interrupt ? { stop: why } : {}) }
  }
  const rules = updatedPermissions
    .filter(({ type, behavior: kind }) => type === "addRules" && (kind ?? "allow") === "allow")
    .flatMap(({ rules: added = [] }) => added)
    .map(({ toolName, ruleContent }) => (ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`))
  return {
    decision: "allow",
    ...(updatedInput ? { input: { value: updatedInput } } : {}),
    ...(rules.length > 0 ? { rules } : {}),
  }
}

function contextOf(specific: Specific | undefined, event: HookEvent): HookReply {
  const { context } = CLAUDE_ROWS[event]
  const said = joined(specific?.initialUserMessage, specific?.additionalContext)
  if (said === "" || context === undefined) return {}
  return context === "inject" ? { inject: said } : { decision: "block", reason: said }
}

/** A text stands for itself; what a shell tool gives for its two streams; anything else as JSON. */
function resultOf(specific: Specific | undefined): HookReply {
  const output = specific?.updatedToolOutput ?? specific?.updatedMCPToolOutput
  if (output === undefined) return {}
  if (typeof output === "string") return { result: output }
  const { stdout, stderr } = Object(output) as { stdout?: unknown; stderr?: unknown }
  if (typeof stdout === "string") return { result: joined(stdout, typeof stderr === "string" ? stderr : undefined) }
  return { result: JSON.stringify(output) }
}

function stopped(reply: HookReply, { stopReason }: Answer, event: HookEvent): HookReply {
  const { stop } = CLAUDE_ROWS[event]
  const why = stopReason ?? "it gives no reason"
  if (stop === "nothing") return reply
  if (stop !== "block") return { ...reply, stop: why }
  const { input: _, ...rest } = reply
  return { ...rest, decision: "block", reason: rest.decision === "block" && rest.reason ? rest.reason : why, stop: why }
}

function joined(...parts: (string | undefined)[]): string {
  return parts.filter(Boolean).join("\n")
}
