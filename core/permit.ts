/**
 * Between a checked input and its execution: decide, ask, PreToolUse, and once more after every change of the input.
 *
 * Invariant: the input that comes out was allowed as it is, and every PreToolUse hook has judged exactly it.
 */
import { interruptedText, Refusal, type ToolUse } from "./call.ts"
import { decide, denyUnanswered, suggestGrants } from "./permission/decide.ts"
import type {
  ApprovalAnswer,
  ApprovalRequest,
  Decision,
  DecisionSource,
  PermissionCall,
  PermissionFacts,
} from "./permission/decision.ts"
import { createCall } from "./permission/explain.ts"
import { resolveCall } from "./permission/path.ts"
import type { RuleSet } from "./permission/rule.ts"
import { askGuards, createPassage, hookDecision, type Passage, replaceInput, weighGuards } from "./permit-guard.ts"
import { concludePlan } from "./plan-mode.ts"
import { offerPlanMode } from "./plan-offer.ts"
import { judgeSafety } from "./safety-check.ts"
import { type AgentScope, combinedMode, granteeOf, hookSource } from "./scope.ts"
import type { Tool } from "./tool.ts"

/** An input that may run, and the text that hooks add to the conversation. */
export interface Permitted {
  input: unknown
  /** What was judged, what it was judged by, and the real paths of it. */
  call: PermissionCall
  facts: PermissionFacts
  paths: PermissionFacts["paths"]
  injected: string[]
  /** For an approved plan: the mode that the person named to go on in. */
  modeAfterPlan: ApprovalAnswer["mode"]
}

/** Inputs that hooks and people may put in the place of one another, before the call is refused. */
const MOST_CHANGES = 4

/**
 * Passes a call through the permission pipeline and its guards. Throws a Refusal with the sentence for the model.
 * `first`: what was decided about this very input a moment before.
 */
export async function permitCall(scope: AgentScope, tool: Tool, use: ToolUse, first?: Judged): Promise<Permitted> {
  const passage = createPassage(scope, tool, use)
  const { injected } = passage
  try {
    for (let change = 0; change < MOST_CHANGES; change++) {
      const judged = await settleInput(passage, change === 0 ? first : undefined)
      const { input } = passage.use
      if (judged === undefined) continue
      scope.engine.breaker.allowed()
      const { call, facts } = judged
      return { input, call, facts, paths: facts.paths, injected, modeAfterPlan: passage.modeAfterPlan }
    }
    throw new Refusal(`${use.name} was not run: its input was changed ${MOST_CHANGES} times`, "denied")
  } catch (error) {
    if (error instanceof Refusal) error.injected.unshift(...injected)
    throw error
  }
}

/** A decision, and all that it went by. */
export interface Judged {
  decision: Decision
  call: PermissionCall
  facts: PermissionFacts
}

/** The decision about one input, without asking or telling anybody. */
export async function judgeCall(scope: AgentScope, tool: Tool, input: unknown): Promise<Judged> {
  const { engine } = scope
  const call = await createCall(tool, input, scope.cwd)
  const { mode, asksNobody, belowAuto } = combinedMode(scope)
  const gitRuns = call.targets.some(({ kind }) => kind === "command") ? await engine.places.openGitRuns() : undefined
  const facts: PermissionFacts = {
    aborted: scope.signal.aborted,
    mode,
    belowAuto,
    ...engine.places,
    cwd: scope.cwd,
    readRoots: [engine.folder, ...scope.readRoots],
    paths: await resolveCall(call, scope.cwd, { home: engine.places.home }),
    canAsk: engine.canAsk && !asksNobody,
    filtersReads: true,
    ...(gitRuns && { gitRuns }),
  }
  const grants = engine.grants.of(granteeOf(scope))
  return { decision: decide(call, engine.rules, facts, { grants, filters: scope.filters }), call, facts }
}

/** Sources whose denials are final: no guard is asked about them. */
const FINAL: readonly DecisionSource[] = ["abort", "floor", "deny", "plan", "rules"]

/**
 * The input as it stands, past the rules, the guards before the question, the question, the guards after it. Returns
 * what was judged; undefined when the input was changed on the way, and all of it has to happen again.
 */
async function settleInput(passage: Passage, first?: Judged): Promise<Judged | undefined> {
  const { scope } = passage
  const { rules } = scope.engine
  const judged = await judgeAndTell(passage, first)
  const { decision } = judged
  const isFinal = decision.behavior === "deny" && FINAL.includes(decision.source)
  if (!isFinal && (await askGuards(passage, "claude-code"))) return undefined
  const weighed = isFinal ? decision : weighGuards(passage, decision)
  if (weighed.source === "hook" && weighed.behavior === "allow") tell(scope, passage.use, weighed)
  if (weighed.behavior === "deny") throw await refused(scope, passage.use, { ...judged, decision: weighed })
  if (weighed.behavior === "ask" && (await isChangedByAnswer(passage, { ...judged, decision: weighed })))
    return undefined
  if (await askGuards(passage, "native")) return undefined
  const { asks } = passage
  if (asks && (await isChangedByAnswer(passage, { ...judged, decision: hookDecision(asks) }))) return undefined
  return (await areOutdated(rules, passage, decision)) ? undefined : judged
}

/** While guards and persons took their time, the settings may have become stricter. */
async function areOutdated(rules: RuleSet, { scope }: Passage, { behavior }: Decision): Promise<boolean> {
  const { engine, hooks } = scope
  if (behavior !== "allow" || engine.hooks.has("PreToolUse", hooks)) await engine.refresh()
  return engine.rules !== rules
}

/** Decides, by the safety classifier where the mode leaves it to that. */
async function judgeAndTell({ scope, tool, use }: Passage, first?: Judged): Promise<Judged> {
  const judged = await judgeSafety(scope, tool, first ?? (await judgeCall(scope, tool, use.input)))
  tell(scope, use, judged.decision)
  return judged
}

function tell({ engine, agent }: AgentScope, { id, name }: ToolUse, decision: Decision): void {
  engine.emit({ type: "permission", id, name, decision }, agent)
}

/** Asks, and returns only when the answer allows it. True: it has put another input in the place of the call's. */
async function isChangedByAnswer(passage: Passage, { decision, call, facts }: Judged): Promise<boolean> {
  const { scope, tool, use } = passage
  if (!facts.canAsk) throw await unanswered(scope, use, { decision, call, facts })
  const { engine } = scope
  const agent = granteeOf(scope)
  const grants = engine.grants.of(agent)
  const suggestions = suggestGrants(decision, call, engine.rules, facts, { grants })
  const request: ApprovalRequest = { id: use.id, tool: tool.name, input: use.input, decision, agent, suggestions }
  const reevaluate = async () => (await judgeCall(scope, tool, use.input)).decision
  const answer = await engine.approve(scope, request, { call, reevaluate })
  if (answer === undefined) throw await unanswered(scope, use, { decision, call, facts })
  if (answer.behavior !== "allow") {
    const said = answer.message ? `: ${answer.message}` : ""
    const reason = `${refusalBy(answer.by, call)}${said}. ${afterRefusal(call)}`
    throw await denied(scope, use, decision, { reason, by: answer.person ? "person" : "rules" })
  }
  const isPerson = answer.person === true
  if (isPerson && answer.mode !== undefined) passage.modeAfterPlan = answer.mode
  passage.asks = undefined
  if (answer.input !== undefined) await replaceInput(passage, answer.input)
  passage.approvedBy = isPerson ? "person" : "other"
  return answer.input !== undefined
}

function refusalBy(by: string, { leavesPlan }: PermissionCall): string {
  return `The ${leavesPlan ? "plan" : "call"} was refused by ${by}`
}

function afterRefusal({ leavesPlan }: PermissionCall): string {
  return leavesPlan
    ? "Plan mode stays on: change the plan by what was said and hand it in again, or end with your questions"
    : "Do not try to reach the same end by another way; go on without it, or ask"
}

async function unanswered(scope: AgentScope, use: ToolUse, judged: Judged): Promise<Refusal> {
  if (scope.signal.aborted) return new Refusal(interruptedText("before"), "cancelled")
  return await refused(scope, use, { ...judged, decision: denyUnanswered(judged.decision) })
}

async function refused(scope: AgentScope, use: ToolUse, { decision, call }: Judged): Promise<Refusal> {
  const ends = call.leavesPlan && decision.source === "plan" ? concludePlan(scope, use) : undefined
  return ends ?? (await denied(scope, use, decision, { reason: decision.reason, by: "rules" }))
}

async function denied(
  scope: AgentScope,
  use: ToolUse,
  decision: Decision,
  { reason, by }: { reason: string; by: "person" | "rules" },
): Promise<Refusal> {
  const { hooks, breaker } = scope.engine
  const isOffered = breaker.denied(reason, by)
  // What was a question is a denial by now.
  const decided: Decision = { ...decision, behavior: "deny", reason }
  scope.denials.push({ tool: use.name, reason, decision: decided })
  if (hooks.has("PermissionDenied", scope.hooks)) {
    const fields = { tool_name: use.name, tool_input: use.input, tool_use_id: use.id }
    await hooks.observe("PermissionDenied", { ...fields, reason }, hookSource(scope, use.id))
  }
  if (isOffered) await offerPlanMode(scope)
  return new Refusal(reason, decision.source === "abort" ? "cancelled" : "denied", { decision: decided })
}
