/**
 * What one execution counts for: from a reply, a failure or its absence to the reply that a gate or a fold goes by.
 *
 * Invariant: exactly one `hook` event tells of it; a failed hook falls the way that was configured, else the way that its
 * dialect and its event say, and is named in either case.
 */
import { isDeepStrictEqual } from "node:util"
import { HOOKS, type HookEvent, type HookSpec } from "./hook.ts"
import type { HookReply } from "./hook-answer.ts"
import type { Execution } from "./hook-ending.ts"
import { failureOf, type HookContext, type HookFiring, outcomeOf, passOn, tellHook, warnHook } from "./hook-fire.ts"
import type { CompiledHook } from "./hook-match.ts"
import type { OnHookFailure } from "./hook-source.ts"
import { NEVER_BLOCK_ON_FAILURE } from "./hook-table.ts"

/** The payload's field that a rewrite stands in for. */
export const INPUT_FIELD = "tool_input"

/** A rewrite by one of several hooks that ran together. */
export interface Made {
  by: CompiledHook
  input: unknown
}

/** What an execution counts for; tells of it. `made`: what a hook that ran at the same time has rewritten before. */
export function judge(
  compiled: CompiledHook,
  firing: HookFiring,
  execution: Execution,
  options: { context: HookContext; made?: Made | undefined },
): HookReply {
  const { context, made } = options
  const { durationMs, exit, answer } = execution
  const heard = { durationMs, exit, answer }
  if (!("reply" in execution)) {
    const failure = "failure" in execution ? execution.failure : "it was called off before it answered"
    tellHook(compiled, firing, { outcome: "failed", reason: failure, ...heard }, context)
    const falls = fallOf(compiled, firing.event)
    if (falls === "block") return { decision: "block", reason: blockReason(compiled, firing, failure) }
    if (falls === "ask") return { decision: "ask", reason: askReason(compiled, failure) }
    if ("failure" in execution) warnHook(compiled, firing, failure, context)
    return {}
  }
  const reply = settleReply(compiled, firing, bounded(compiled, execution.reply), made)
  tellHook(compiled, firing, { outcome: outcomeOf(reply), reason: reply.reason, ...heard }, context)
  passOn(reply, firing, context)
  return reply
}

/** Which way a failed hook falls; an event that takes no such answer lets go. */
export function fallOf({ hook, dialect }: Pick<CompiledHook, "hook" | "dialect">, event: HookEvent): OnHookFailure {
  const spec: HookSpec = HOOKS[event]
  const closed = spec.kind === "gate" && spec.fails === "closed" && dialect === "native"
  const wanted = hook.source?.onFailure ?? (closed ? "block" : "allow")
  if (wanted === "allow" || NEVER_BLOCK_ON_FAILURE.includes(event)) return "allow"
  if (wanted === "ask" && spec.answers.includes("ask")) return "ask"
  return spec.answers.includes("block") ? "block" : "allow"
}

function blockReason(compiled: CompiledHook, { event }: HookFiring, failure: string): string {
  const { message, mend } = failureOf(compiled, failure)
  return `${message}. A ${event} hook that fails blocks here. To go on, a person must ${mend}.`
}

function askReason(compiled: CompiledHook, failure: string): string {
  const { message, mend } = failureOf(compiled, failure)
  return `${message}; ${mend}`
}

/** The reply without a leave that the hook may not give. */
function bounded({ hook }: CompiledHook, reply: HookReply): HookReply {
  if (!hook.onlyGuards || reply.decision !== "allow") return reply
  const { decision: _, ...rest } = reply
  return rest
}

/** Names a hook in a sentence. */
export function whoIs({ name, owner }: CompiledHook): string {
  return `Hook "${name}" of ${owner}`
}

/** A reply as it counts: a rewrite must change something and come in time, and a block has a reason. */
function settleReply(compiled: CompiledHook, firing: HookFiring, reply: HookReply, made: Made | undefined): HookReply {
  const { input, ...rest } = reply
  const who = whoIs(compiled)
  if (rest.decision === "block") return { ...rest, reason: rest.reason || `${who} blocks, and gives no reason` }
  if (input === undefined || isDeepStrictEqual(input.value, firing.fields[INPUT_FIELD])) return rest
  if (firing.from.blind !== undefined) {
    const reason = `${who} rewrites an input that was rewritten before, so that no guard has seen what would run`
    return { decision: "block", reason }
  }
  if (made === undefined || isDeepStrictEqual(input.value, made.input)) return reply
  const other = whoIs(made.by).replace("Hook", "hook")
  return {
    decision: "block",
    reason: `${who} and ${other} rewrite the same input, each without having seen the other's`,
  }
}
