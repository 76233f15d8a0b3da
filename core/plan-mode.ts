/**
 * Entering and leaving plan mode: a conversation's mode, and what its model is told of the change.
 *
 * Invariant: plan mode is a matter of a whole conversation, subagents included; it ends only by a person's leave and goes
 * back to no looser mode than the one before, unless that person says so. Plan mode that a file asked for does not end.
 */
import { Refusal, type ToolUse } from "./call.ts"
import type { Engine } from "./engine.ts"
import type { ApprovalAnswer } from "./permission/decision.ts"
import type { AgentScope } from "./scope.ts"
import type { Tool } from "./tool.ts"

/** True when plan mode can be offered: the conversation is not in it yet. */
export function mayEnterPlanMode(scope: AgentScope): boolean {
  return scope.mode !== "plan"
}

/** Puts the whole conversation, above and below this agent, into plan mode from its next call on. */
export function enterPlanMode(scope: AgentScope): void {
  const root = rootOf(scope)
  if (root.given === "plan") return
  root.beforePlan = root.given
  root.given = "plan"
  for (const agent of new Set([root, scope])) remind(agent, planText(agent))
}

/** Ends plan mode after its plan was approved. `to`: the mode that the person named. */
export function leavePlanMode(scope: AgentScope, to?: ApprovalAnswer["mode"]): void {
  const root = rootOf(scope)
  if (root.given !== "plan") return
  root.given = to ?? root.beforePlan
  remind(root, `Plan mode is off. The mode is ${root.mode} now.`)
}

/**
 * A plan that nobody can approve becomes the answer of its agent. Undefined when the call holds no plan, or there is no
 * plan mode that it could end.
 */
export function concludePlan(scope: AgentScope, { input }: ToolUse): Refusal | undefined {
  const { plan } = (input ?? {}) as { plan?: unknown }
  if (typeof plan !== "string" || scope.mode !== "plan") return undefined
  scope.conclusion = plan
  return new Refusal("Nobody can approve a plan here, so that plan mode stays on. The plan is your answer", "denied")
}

/** Tells the model of an agent that plan mode is on; nothing in any other mode. For the start, and after a compaction. */
export function planReminder(scope: AgentScope): string | undefined {
  return scope.mode === "plan" ? wrap(planText(scope)) : undefined
}

/** The tools that an agent of this kind can ever use: a subagent hands its plan to its parent, not to a person. */
export function withoutPlanExit(tools: ReadonlyMap<string, Tool>): ReadonlyMap<string, Tool> {
  return new Map([...tools].filter(([, { role }]) => role !== "exitPlan"))
}

/**
 * The tools that the model is shown. The one that ends plan mode is among them from the start wherever plan mode can
 * begin, so that a change of mode changes nothing that was sent.
 */
export function offeredTools(
  { tools, mode }: Pick<AgentScope, "tools" | "mode">,
  { offerPlanMode }: Pick<Engine, "offerPlanMode">,
): Tool[] {
  const mayBegin = mode === "plan" || offerPlanMode !== undefined
  return [...tools.values()].filter(({ role }) => mayBegin || role !== "exitPlan")
}

/** The agent at the top of the conversation, which the person speaks with. */
export function rootOf(scope: AgentScope): AgentScope {
  let root = scope
  while (root.parent !== undefined) root = root.parent
  return root
}

function planText(scope: AgentScope): string {
  const exit = [...scope.tools.values()].find(({ role }) => role === "exitPlan")
  const end = exit
    ? `hand the plan in with ${exit.name}. Once it is approved, carry it out`
    : "end with the plan as your answer. Somebody else carries it out"
  return `Plan mode is on. Change nothing: calls that are not read-only are refused, and no rule helps.
Read what you need, settle what is open, then ${end}.
The plan says what will change, file by file where it can, in which order, and how the result is checked.`
}

function remind(scope: AgentScope, text: string): void {
  scope.reminders.push(wrap(text))
}

function wrap(text: string): string {
  return `<system-reminder>\n${text}\n</system-reminder>`
}
