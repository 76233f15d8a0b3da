/**
 * Hooks that run one after the other: from their replies to the strictest decision (gate) or a changed value (fold).
 *
 * Invariant: a hook that failed never passes for one that agreed (a closed gate blocks and names it), and no input
 * leaves a gate that was changed after a later hook had judged it.
 */
import { isDeepStrictEqual } from "node:util"
import { HOOKS, type HookSpec } from "./hook.ts"
import type { HookReply } from "./hook-answer.ts"
import { type Execution, executeHook } from "./hook-execute.ts"
import { failureOf, type HookContext, type HookFiring, outcomeOf, tellHook, warnHook } from "./hook-fire.ts"
import type { CompiledHook } from "./hook-match.ts"
import type { RegisteredHook } from "./registry.ts"

/** What all hooks of a gate said together: the strictest of deny, ask and allow. */
export interface GateOutcome {
  decision: "pass" | "block" | "allow" | "ask"
  /** Of all that decided, those of the decision itself first. */
  reasons: string[]
  /** The rewritten input; absent when it stays as it was. */
  input?: unknown
  injected: string[]
  /** The hooks that saw the input in its final form, or made it. */
  judged: ReadonlySet<RegisteredHook>
}

/** What the hooks of a fold made of it. */
export interface FoldOutcome {
  injected: string[]
  /** Stands in for the tool's result. */
  result?: string
  /** Why it was blocked; the reasons of all that did, a line each. */
  blocked?: string
}

/** The payload's field that a rewrite stands in for, and the one of a replaced result. */
const INPUT_FIELD = "tool_input"
const RESULT_FIELD = "tool_response"

const STRICTNESS: readonly HookReply["decision"][] = ["allow", "ask", "block"]

/** Runs the hooks of a gate; all are asked, also after one has blocked. */
export async function runGate(
  hooks: readonly CompiledHook[],
  firing: HookFiring,
  context: HookContext,
): Promise<GateOutcome> {
  let { fields } = firing
  let judged = new Set<RegisteredHook>()
  const injected: string[] = []
  let replies: HookReply[] = []
  for (const compiled of hooks) {
    const execution = await executeInOrder(compiled, fields, firing, context)
    const reply = judge(compiled, { ...firing, fields }, execution, context)
    if (reply.input !== undefined) {
      fields = { ...fields, [INPUT_FIELD]: reply.input.value }
      judged = new Set()
      // What was allowed before is not what would run now.
      replies = replies.filter(({ decision }) => decision !== "allow")
    }
    judged.add(compiled.hook)
    if (reply.inject !== undefined) injected.push(reply.inject)
    replies.push(reply)
  }
  return {
    ...strictest(replies),
    ...(fields === firing.fields ? {} : { input: fields[INPUT_FIELD] }),
    injected,
    judged,
  }
}

function executeInOrder(
  compiled: CompiledHook,
  fields: HookFiring["fields"],
  { from }: HookFiring,
  { clock, signal }: HookContext,
): Promise<Execution> {
  return executeHook(compiled, fields, { clock, signal: from.signal ?? signal, timeoutMs: compiled.timeoutMs })
}

/** What an execution counts for; tells of it. */
function judge(compiled: CompiledHook, firing: HookFiring, execution: Execution, context: HookContext): HookReply {
  const { durationMs } = execution
  if (!("reply" in execution)) {
    const failure = "failure" in execution ? execution.failure : "it was called off before it answered"
    tellHook(compiled, firing, { outcome: "failed", reason: failure, durationMs }, context)
    if (isClosed(firing)) return { decision: "block", reason: closedReason(compiled, firing, failure) }
    if ("failure" in execution) warnHook(compiled, firing, failure, context)
    return {}
  }
  const reply = settleReply(compiled, firing, execution.reply)
  tellHook(compiled, firing, { outcome: outcomeOf(reply), reason: reply.reason, durationMs }, context)
  return reply
}

function isClosed({ event }: HookFiring): boolean {
  const spec: HookSpec = HOOKS[event]
  return spec.kind === "gate" && spec.fails === "closed"
}

function closedReason(compiled: CompiledHook, { event }: HookFiring, failure: string): string {
  const { message, mend } = failureOf(compiled, failure)
  return `${message}. A ${event} hook that fails blocks. To go on, a person must ${mend}.`
}

/** A reply as it counts: a rewrite must change something and come in time, and a block has a reason. */
function settleReply({ hook, name }: CompiledHook, firing: HookFiring, reply: HookReply): HookReply {
  const { input, ...rest } = reply
  const who = `Hook "${name}" of plugin "${hook.plugin}"`
  if (rest.decision === "block") return { ...rest, reason: rest.reason || `${who} blocks, and gives no reason` }
  if (input === undefined || isDeepStrictEqual(input.value, firing.fields[INPUT_FIELD])) return rest
  if (firing.from.blind === undefined) return reply
  return {
    decision: "block",
    reason: `${who} rewrites an input that was rewritten before, so that no guard has seen what would run`,
  }
}

function strictest(replies: readonly HookReply[]): Pick<GateOutcome, "decision" | "reasons"> {
  const strictness = ({ decision }: HookReply) => STRICTNESS.indexOf(decision)
  const ordered = replies.filter(({ decision }) => decision !== undefined).sort((a, b) => strictness(b) - strictness(a))
  return { decision: ordered[0]?.decision ?? "pass", reasons: ordered.flatMap(({ reason }) => reason ?? []) }
}

/** Runs the hooks of a fold; one that fails changes nothing. */
export async function runFold(
  hooks: readonly CompiledHook[],
  firing: HookFiring,
  context: HookContext,
): Promise<FoldOutcome> {
  let { fields } = firing
  const injected: string[] = []
  const blocked: string[] = []
  for (const compiled of hooks) {
    const execution = await executeInOrder(compiled, fields, firing, context)
    const reply = judge(compiled, firing, execution, context)
    if (reply.inject !== undefined) injected.push(reply.inject)
    if (reply.result !== undefined) fields = { ...fields, [RESULT_FIELD]: reply.result }
    if (reply.decision === "block") blocked.push(reply.reason!)
  }
  return {
    injected,
    ...(fields === firing.fields ? {} : { result: fields[RESULT_FIELD] as string }),
    ...(blocked.length === 0 ? {} : { blocked: blocked.join("\n") }),
  }
}
