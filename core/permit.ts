/**
 * Between a checked input and its execution: decide, ask, PreToolUse, and once more after every change of the input.
 *
 * Invariant: the input that comes out was allowed as it is, and every PreToolUse hook has judged exactly it.
 */
import { interruptedText, Refusal, type ToolUse } from "./call.ts"
import type { GateOutcome } from "./hook-runner.ts"
import { needsPerson } from "./permission/approve.ts"
import { decide, denyUnanswered, suggestGrants } from "./permission/decide.ts"
import type { ApprovalRequest, Decision, PermissionCall, PermissionFacts } from "./permission/decision.ts"
import { resolveTargets } from "./permission/path.ts"
import type { RegisteredHook } from "./registry.ts"
import { type AgentScope, granteeOf, hookSource } from "./scope.ts"
import { isReadOnly, type Tool } from "./tool.ts"
import { checkInput } from "./tool-input.ts"

/** An input that may run, and the text that hooks add to the conversation. */
export interface Permitted {
  input: unknown
  /** The real paths that were judged. */
  paths: PermissionFacts["paths"]
  injected: string[]
}

/** An input that was decided about, and the real paths that the decision went by. */
interface Settled {
  input: unknown
  paths: PermissionFacts["paths"]
}

/** Inputs that hooks and people may put in the place of one another, before the call is refused. */
const MOST_CHANGES = 4

/** Passes a call through the permission pipeline and its guards. Throws a Refusal with the sentence for the model. */
export async function permitCall(scope: AgentScope, tool: Tool, use: ToolUse): Promise<Permitted> {
  const injected: string[] = []
  let settled = await settleInput(scope, tool, use)
  let judged: ReadonlySet<RegisteredHook> = new Set()
  let rewritten = false
  for (let change = 0; change < MOST_CHANGES; change++) {
    const { input } = settled
    const outcome = await guard(scope, { ...use, input }, { judged, rewritten })
    injected.push(...outcome.injected)
    const asks = outcome.decision === "ask" ? outcome.reasons : undefined
    if (outcome.input === undefined && asks === undefined) return { ...settled, injected }
    rewritten ||= outcome.input !== undefined
    const current = outcome.input === undefined ? input : await checkInput(tool, { ...use, input: outcome.input })
    settled = await settleInput(scope, tool, { ...use, input: current }, asks)
    // What an answer has changed, no guard has seen yet.
    judged = settled.input === current ? outcome.judged : new Set()
    if (settled.input === input) return { ...settled, injected }
  }
  throw new Refusal(`${use.name} was not run: its input was changed ${MOST_CHANGES} times`, "denied", { injected })
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
  const targets = tool.targets?.(input as never, { cwd: scope.cwd }) ?? []
  const call: PermissionCall = {
    tool: tool.name,
    ruleName: tool.ruleName ?? tool.name,
    input,
    readOnly: isReadOnly(tool, input),
    targets,
  }
  const facts: PermissionFacts = {
    aborted: scope.signal.aborted,
    mode: scope.mode,
    ...engine.places,
    cwd: scope.cwd,
    readRoots: [engine.folder],
    paths: await resolveTargets(targets, scope.cwd, { home: engine.places.home }),
    canAsk: engine.canAsk,
  }
  const grants = engine.grants.get(granteeOf(scope)) ?? []
  return { decision: decide(call, engine.rules, facts, { grants, filters: scope.filters }), call, facts }
}

/** Decides, and asks when the decision or a hook says so. An answer may bring another input. */
async function settleInput(scope: AgentScope, tool: Tool, use: ToolUse, hookAsks?: string[]): Promise<Settled> {
  const judged = await judgeAndTell(scope, tool, use)
  const { decision, facts } = judged
  if (decision.behavior === "deny") throw await denied(scope, use, decision, decision.reason)
  if (decision.behavior === "allow" && hookAsks === undefined) {
    scope.denialsInARow = 0
    return { input: use.input, paths: facts.paths }
  }
  const question = decision.behavior === "ask" ? decision : hookDecision(hookAsks!)
  const changed = await requestApproval(scope, tool, use, { ...judged, decision: question })
  return changed === undefined ? { input: use.input, paths: facts.paths } : await takeChangedInput(scope, tool, changed)
}

async function judgeAndTell(scope: AgentScope, tool: Tool, use: ToolUse) {
  const judged = await judgeCall(scope, tool, use.input)
  scope.engine.emit({ type: "permission", id: use.id, name: use.name, decision: judged.decision }, scope.agent)
  return judged
}

function hookDecision(reasons: string[]): Decision {
  const reason = ["A hook wants a person to decide", ...reasons].join(": ")
  return { behavior: "ask", source: "hook", reason, trace: [] }
}

/** A call as an answer changed it. */
type Changed = ToolUse & { byPerson: boolean }

/** Asks. Returns the call as the answer changed it, or undefined when it may go on as it is. */
async function requestApproval(
  scope: AgentScope,
  tool: Tool,
  use: ToolUse,
  { decision, call, facts }: Judged,
): Promise<Changed | undefined> {
  const { engine } = scope
  // Approvals are kept, and waiting questions looked at again, under this id.
  const agent = { ...scope.agent, id: granteeOf(scope) }
  const grants = engine.grants.get(granteeOf(scope)) ?? []
  const suggestions = suggestGrants(decision, call, engine.rules, facts, { grants })
  const request: ApprovalRequest = { id: use.id, tool: tool.name, input: use.input, decision, agent, suggestions }
  const again = async () => (await judgeCall(scope, tool, use.input)).decision
  const answer = await engine.approve(scope, request, again)
  if (answer === undefined) throw await unanswered(scope, use, decision)
  if (answer.behavior !== "allow") {
    const said = answer.message ? `: ${answer.message}` : ""
    const next = "Do not try to reach the same end by another way; go on without it, or ask"
    throw await denied(scope, use, decision, `The call was refused by ${answer.by}${said}. ${next}`)
  }
  scope.denialsInARow = 0
  return answer.input === undefined ? undefined : { ...use, input: answer.input, byPerson: answer.person === true }
}

async function unanswered(scope: AgentScope, use: ToolUse, asked: Decision): Promise<Refusal> {
  if (scope.signal.aborted) return new Refusal(interruptedText("before"), "cancelled")
  const decision = denyUnanswered(asked)
  return await denied(scope, use, decision, decision.reason)
}

/** An input that came with an answer: whoever gave it has approved it, but no rule that denies it is lifted by that. */
async function takeChangedInput(scope: AgentScope, tool: Tool, use: Changed): Promise<Settled> {
  const input = await checkInput(tool, use)
  const { decision, facts } = await judgeAndTell(scope, tool, { ...use, input })
  if (decision.behavior === "deny") throw await denied(scope, use, decision, decision.reason)
  if (decision.behavior === "ask" && needsPerson(decision) && !use.byPerson) {
    throw await denied(scope, use, decision, `Only a person may allow the changed input: ${decision.reason}`)
  }
  return { input, paths: facts.paths }
}

async function denied(scope: AgentScope, use: ToolUse, decision: Decision, reason: string): Promise<Refusal> {
  const { hooks } = scope.engine
  scope.denialsInARow++
  scope.denials.push({ tool: use.name, reason, decision })
  if (hooks.has("PermissionDenied", scope.hooks)) {
    const fields = { tool_name: use.name, tool_input: use.input, tool_use_id: use.id }
    await hooks.observe("PermissionDenied", { ...fields, reason }, hookSource(scope, use.id))
  }
  return new Refusal(reason, decision.source === "abort" ? "cancelled" : "denied", { decision })
}

/** Asks the guards that have not judged this input yet. Once one has rewritten it, no other may. */
async function guard(
  scope: AgentScope,
  use: ToolUse,
  options: { judged: ReadonlySet<RegisteredHook>; rewritten: boolean },
): Promise<GateOutcome> {
  const { hooks } = scope.engine
  if (!hooks.has("PreToolUse", scope.hooks)) return NO_GUARDS
  const from = { ...hookSource(scope, use.id), skip: options.judged }
  const payload = { tool_name: use.name, tool_input: use.input, tool_use_id: use.id }
  const outcome = await hooks.gate("PreToolUse", payload, options.rewritten ? { ...from, blind: "no-rewrite" } : from)
  if (outcome.decision === "block") {
    const reason = `A hook blocked ${use.name}: ${outcome.reasons.join("; ")}`
    throw new Refusal(reason, "denied", { injected: outcome.injected })
  }
  return outcome
}

const NO_GUARDS: GateOutcome = { decision: "pass", reasons: [], injected: [], judged: new Set() }
