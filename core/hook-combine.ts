/**
 * Gates and folds: from the replies of hooks, in their order, to the strictest decision or to a changed value.
 *
 * Invariant: a hook that failed never passes for one that agreed, and no input leaves a gate that was changed after a
 * later hook had judged it.
 */
import type { HookReply } from "./hook-answer.ts"
import { type HookContext, type HookFiring, warnHook } from "./hook-fire.ts"
import { INPUT_FIELD, judge, type Made, whoIs } from "./hook-judge.ts"
import type { CompiledHook } from "./hook-match.ts"
import { executeInOrder } from "./hook-order.ts"
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
  /** Variables for the commands of the conversation. */
  env?: Readonly<Record<string, string>>
  /** Why it was blocked; the reasons of all that did, a line each. */
  blocked?: string
}

/** The payload's field that a replaced result stands in for. */
const RESULT_FIELD = "tool_response"

const STRICTNESS: readonly HookReply["decision"][] = ["allow", "ask", "block"]

/** Runs the hooks of a gate; all are asked, also after one has blocked. */
export async function runGate(
  hooks: readonly CompiledHook[],
  firing: HookFiring,
  context: HookContext,
): Promise<GateOutcome> {
  const at = { fields: firing.fields }
  let judged = new Set<RegisteredHook>()
  const injected: string[] = []
  let replies: HookReply[] = []
  let made: Made | undefined
  for await (const { compiled, execution, seen } of executeInOrder(hooks, firing, context, at)) {
    const reply = judge(compiled, { ...firing, fields: seen }, execution, { context, made })
    if (reply.inject !== undefined) injected.push(reply.inject)
    if (reply.input !== undefined && made === undefined) {
      at.fields = { ...at.fields, [INPUT_FIELD]: reply.input.value }
      judged = new Set()
      // What was allowed before is not what would run now.
      replies = replies.filter(({ decision }) => decision !== "allow")
      if (compiled.hook.source) made = { by: compiled, input: reply.input.value }
    }
    const isForFinal = seen === at.fields || reply.input !== undefined
    if (isForFinal) judged.add(compiled.hook)
    if (isForFinal || reply.decision !== "allow") replies.push(reply)
  }
  const input = at.fields === firing.fields ? {} : { input: at.fields[INPUT_FIELD] }
  return { ...strictest(replies), ...input, injected, judged }
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
  const at = { fields: firing.fields }
  const injected: string[] = []
  const blocked: string[] = []
  let env: FoldOutcome["env"]
  let replacedBy: CompiledHook | undefined
  for await (const { compiled, execution, seen } of executeInOrder(hooks, firing, context, at)) {
    const reply = judge(compiled, { ...firing, fields: seen }, execution, { context })
    if (reply.inject !== undefined) injected.push(reply.inject)
    if (reply.decision === "block") blocked.push(reply.reason!)
    if (reply.env !== undefined) env = { ...env, ...reply.env }
    if (reply.result === undefined) continue
    if (seen === at.fields) {
      at.fields = { ...at.fields, [RESULT_FIELD]: reply.result }
      replacedBy = compiled
    } else {
      const failure = `it replaces the result at the same time as ${whoIs(replacedBy!).replace("Hook", "hook")}, which comes first`
      warnHook(compiled, firing, failure, context)
    }
  }
  return {
    injected,
    ...(at.fields === firing.fields ? {} : { result: at.fields[RESULT_FIELD] as string }),
    ...(env === undefined ? {} : { env }),
    ...(blocked.length === 0 ? {} : { blocked: blocked.join("\n") }),
  }
}
