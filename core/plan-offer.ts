/**
 * After several denials by a person: the offer to go on in plan mode.
 *
 * Invariant: only a person's yes switches; whoever does not answer has not said yes.
 */
import { enterPlanMode, mayEnterPlanMode } from "./plan-mode.ts"
import type { AgentScope } from "./scope.ts"

/** Offers plan mode for the conversation of an agent, where there is somebody to ask and something to switch. */
export async function offerPlanMode(scope: AgentScope): Promise<void> {
  const { engine, signal, caller, agent } = scope
  if (engine.offerPlanMode === undefined || caller !== "model" || !mayEnterPlanMode(scope) || signal.aborted) return
  const taken = await engine.offerPlanMode(signal).catch(() => false)
  if (taken !== true || signal.aborted) return
  enterPlanMode(scope)
  engine.emit(
    { type: "notice", level: "info", message: "Plan mode: nothing is changed until a plan is approved" },
    agent,
  )
}
