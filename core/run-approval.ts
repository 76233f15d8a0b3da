/**
 * Who may answer the questions of one run: the person or host that started it, and PermissionRequest hooks.
 *
 * Invariant: whoever answers first has answered; every question is told when it is asked and when it is settled.
 */
import type { Engine } from "./engine.ts"
import type { RunOptions } from "./kit.ts"
import { type ApprovalSource, createApprover } from "./permission/approve.ts"
import type { ApprovalAnswer } from "./permission/decision.ts"
import { type AgentScope, hookSource } from "./scope.ts"

/** Makes the way to ask; `reevaluate` judges a waiting call again after a grant. */
export function createRunApprover(engine: Engine, ask: RunOptions["ask"]): Engine["approve"] {
  const person: ApprovalSource[] = ask ? [{ name: "the person", kind: "person", answer: ask }] : []
  const approver = createApprover({ sources: person, grants: engine.grants })
  return async (scope, request, reevaluate) => {
    engine.emit({ type: "approval_requested", request }, scope.agent)
    const sources = engine.hooks.has("PermissionRequest", scope.hooks) ? [hookAnswers(scope)] : []
    const answer = await approver.approve(request, { signal: scope.signal, sources, reevaluate })
    const behavior = answer?.behavior ?? "deny"
    engine.emit({ type: "approval_settled", id: request.id, behavior, by: answer?.by ?? "nobody" }, scope.agent)
    return answer
  }
}

function hookAnswers(scope: AgentScope): ApprovalSource {
  return {
    name: "a hook",
    kind: "hook",
    async answer(request, signal) {
      const { tool, input, id, decision, suggestions } = request
      const fields = { tool_name: tool, tool_input: input, tool_use_id: id, reason: decision.reason, suggestions }
      const first = await scope.engine.hooks.first("PermissionRequest", fields, hookSource(scope, id), signal)
      return first && answerOf(first.answer)
    },
  }
}

function answerOf(answer: NonNullable<Awaited<ReturnType<Engine["hooks"]["first"]>>>["answer"]): ApprovalAnswer {
  if (answer.kind === "block") return { behavior: "deny", message: answer.reason }
  return { behavior: "allow", ...(answer.input === undefined ? {} : { input: answer.input }) }
}
