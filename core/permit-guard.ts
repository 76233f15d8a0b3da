/**
 * The PreToolUse guards of one call: those of one dialect are asked about its input, and what they said is kept with it.
 *
 * Invariant: what was said about an input ends with that input: after a change every guard that has not judged the new
 * one is asked again, without the right to rewrite it.
 */
import { Refusal, type ToolUse } from "./call.ts"
import type { GateOutcome } from "./hook-runner.ts"
import type { HookDialect } from "./hook-source.ts"
import { needsPerson } from "./permission/approve.ts"
import type { ApprovalAnswer, Decision } from "./permission/decision.ts"
import type { RegisteredHook } from "./registry.ts"
import { type AgentScope, hookSource } from "./scope.ts"
import type { Tool } from "./tool.ts"
import { checkInput } from "./tool-input.ts"

/** One call on its way from a checked input to one that may run. */
export interface Passage {
  readonly scope: AgentScope
  readonly tool: Tool
  /** With the input as it stands now. */
  use: ToolUse
  /** The guards that have judged this input, or made it. */
  judged: ReadonlySet<RegisteredHook>
  /** A guard has rewritten the input: no other may. */
  rewritten: boolean
  /** Who has allowed this very input in an answer. */
  approvedBy: "person" | "other" | undefined
  /** A guard of the claude-code dialect allows this input. */
  allowed: boolean
  /** Guards want a person to decide; their reasons. */
  asks: string[] | undefined
  /** For an approved plan: the mode that the person named to go on in. */
  modeAfterPlan: ApprovalAnswer["mode"]
  /** Text that guards add to the conversation. */
  readonly injected: string[]
}

/** A call with an input that nobody has judged yet. */
export function createPassage(scope: AgentScope, tool: Tool, use: ToolUse): Passage {
  return {
    scope,
    tool,
    use,
    judged: new Set(),
    rewritten: false,
    approvedBy: undefined,
    allowed: false,
    asks: undefined,
    modeAfterPlan: undefined,
    injected: [],
  }
}

/** Asks the guards of a dialect. True: the input was rewritten. Throws a Refusal when one blocks. */
export async function askGuards(passage: Passage, dialect: HookDialect): Promise<boolean> {
  const { scope, use } = passage
  const { hooks } = scope.engine
  if (!hooks.has("PreToolUse", scope.hooks, dialect)) return false
  const payload = { tool_name: use.name, tool_input: use.input, tool_use_id: use.id }
  const outcome = await hooks.gate("PreToolUse", payload, {
    ...hookSource(scope, use.id),
    dialect,
    skip: passage.judged,
    ...(passage.rewritten ? { blind: "no-rewrite" } : {}),
  })
  passage.injected.push(...outcome.injected)
  if (outcome.decision === "block") {
    throw new Refusal(`A hook blocked ${use.name}: ${outcome.reasons.join("; ")}`, "denied")
  }
  if (outcome.decision === "ask") passage.asks = [...new Set([...(passage.asks ?? []), ...outcome.reasons])]
  const allows = dialect === "claude-code" && outcome.decision === "allow"
  if (!("input" in outcome)) return keep(passage, outcome, allows)
  await replaceInput(passage, outcome.input)
  passage.rewritten = true
  passage.judged = outcome.judged
  passage.allowed = allows
  return true
}

function keep(passage: Passage, { judged }: GateOutcome, allows: boolean): false {
  passage.judged = new Set([...passage.judged, ...judged])
  passage.allowed ||= allows
  return false
}

/** Puts another input in the place of the call's: checked, and neither judged nor approved. Throws a Refusal. */
export async function replaceInput(passage: Passage, input: unknown): Promise<void> {
  const { tool, use } = passage
  passage.use = { ...use, input: await checkInput(tool, { ...use, input }) }
  passage.judged = new Set()
  passage.approvedBy = undefined
  passage.allowed = false
}

/** What guards and answers make of a decision about this very input. */
export function weighGuards(passage: Passage, decision: Decision): Decision {
  const { asks, allowed, approvedBy } = passage
  if (approvedBy !== undefined && decision.behavior === "ask") {
    if (approvedBy === "other" && needsPerson(decision)) {
      return { ...decision, behavior: "deny", reason: `Only a person may allow the changed input: ${decision.reason}` }
    }
    return weighGuards({ ...passage, approvedBy: undefined }, { ...decision, behavior: "allow" })
  }
  const open = decision.source === "mode" || decision.source === "approval"
  if (asks !== undefined && decision.behavior === "ask" && !open) {
    return { ...decision, reason: [decision.reason, ...asks].join("; ") }
  }
  if (asks !== undefined) return decision.behavior === "deny" ? decision : hookDecision(asks)
  if (!allowed || !open || decision.behavior === "allow") return decision
  return { ...decision, behavior: "allow", source: "hook", reason: "A hook allows what no rule speaks of" }
}

/** A question that guards want answered. */
export function hookDecision(reasons: readonly string[]): Decision {
  const reason = ["A hook wants a person to decide", ...reasons].join(": ")
  return { behavior: "ask", source: "hook", reason, trace: [] }
}
