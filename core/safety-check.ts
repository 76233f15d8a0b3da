/**
 * A call that auto mode leaves open → a decision, by the safety classifiers of the plugins.
 *
 * Invariant: every classifier has to allow; one that is missing, fails, is late or answers in another form stops the call.
 * A question of a rule, a protected path or a hook never comes here.
 */

import { askModel } from "./ask-model.ts"
import { reasonOf } from "./error.ts"
import { untilAborted } from "./patience.ts"
import type { Decision, PermissionFacts } from "./permission/decision.ts"
import { describeForSafety } from "./permission/safety-call.ts"
import type { Judged } from "./permit.ts"
import { rootOf } from "./plan-mode.ts"
import type { SafetyAnswer, SafetyCall, SafetyContext } from "./safety.ts"
import type { AgentScope } from "./scope.ts"
import type { Tool } from "./tool.ts"

/** How long all classifiers together may take, ms. */
const TIMEOUT_MS = 20_000

/** Settles a decision that mode auto left to the classifier; any other is returned as it is. */
export async function judgeSafety(scope: AgentScope, tool: Tool, judged: Judged): Promise<Judged> {
  const { decision, call, facts } = judged
  if (decision.behavior !== "ask" || decision.source !== "mode") return judged
  const answer = await classify(scope, describeForSafety(tool, call, facts))
  if (scope.signal.aborted) {
    return {
      ...judged,
      decision: { ...decision, behavior: "deny", source: "abort", reason: "The run is being aborted" },
    }
  }
  return { ...judged, decision: decisionOf(answer, decision, facts) }
}

function decisionOf(answer: SafetyAnswer, open: Decision, { canAsk }: PermissionFacts): Decision {
  if (answer.kind === "allow") {
    return { ...open, behavior: "allow", reason: "The mode auto lets it run: the safety classifier does not stop it" }
  }
  const reason = `The safety classifier of mode auto stopped the call: ${answer.reason}`
  if (canAsk) return { ...open, reason }
  const next = "Reach the goal by a safer way, or leave this part to the person"
  return { ...open, behavior: "deny", reason: `${reason}, and nobody can answer here. ${next}` }
}

async function classify(scope: AgentScope, call: SafetyCall): Promise<SafetyAnswer> {
  const { registry, clock } = scope.engine
  if (registry.safety.length === 0) return { kind: "stop", reason: "no plugin brings a safety classifier" }
  const late = new AbortController()
  const settled = new AbortController()
  clock.sleep(TIMEOUT_MS, settled.signal).then(
    () => late.abort(new Error(`it took more than ${TIMEOUT_MS / 1000} s`)),
    () => {},
  )
  const signal = AbortSignal.any([scope.signal, late.signal])
  const patience = untilAborted(signal)
  try {
    signal.throwIfAborted()
    return await Promise.race([askAll(scope, call, signal), patience.over])
  } catch (error) {
    const why = reasonOf(error)
    return { kind: "stop", reason: `it gave no answer (${why})` }
  } finally {
    patience.forget()
    settled.abort()
  }
}

async function askAll(scope: AgentScope, call: SafetyCall, signal: AbortSignal): Promise<SafetyAnswer> {
  const context = contextOf(scope, signal)
  for (const { classify } of scope.engine.registry.safety) {
    const answer = readAnswer(await classify(call, context))
    if (answer.kind === "stop") return answer
  }
  return { kind: "allow" }
}

function contextOf(scope: AgentScope, signal: AbortSignal): SafetyContext {
  const { request } = rootOf(scope)
  const { autoModel } = scope.engine
  if (autoModel === undefined) return { request, signal }
  return { request, signal, ask: (question) => askModel(scope, autoModel, { ...question, signal }) }
}

/** Only what says "allow" in so many words allows. */
function readAnswer(answer: SafetyAnswer): SafetyAnswer {
  if (answer?.kind === "allow") return answer
  const reason = answer?.kind === "stop" && typeof answer.reason === "string" ? answer.reason : ""
  return { kind: "stop", reason: reason === "" ? "it gave no reason" : reason }
}
