/**
 * Who may answer the questions of one run: the person or host that started it, PermissionRequest hooks, classifiers; and
 * where what they grant to the project is kept.
 *
 * Invariant: whoever answers first has answered; every question is told when it is asked and when it is settled.
 */
import type { Engine } from "./engine.ts"
import { isSousError } from "./error.ts"
import type { RunOptions } from "./kit.ts"
import { within } from "./patience.ts"
import { type ApprovalSource, createApprover } from "./permission/approve.ts"
import type { ApprovalAnswer, ApprovalRequest, PermissionCall, RuleSource } from "./permission/decision.ts"
import { type AgentScope, hookSource } from "./scope.ts"

/** How long a classifier may think, ms; then it has declined. */
const CLASSIFIER_MS = 30_000

export interface RunApproverOptions {
  ask: RunOptions["ask"]
  /** Keeps rules for the project, beyond this run. */
  keep(rules: readonly string[]): Promise<void>
}

/** Makes the way to ask. */
export function createRunApprover(engine: Engine, options: RunApproverOptions): Engine["approve"] {
  const { ask } = options
  const person: ApprovalSource[] = ask ? [{ name: "the person", kind: "person", answer: ask }] : []
  const approver = createApprover({ sources: person, grants: engine.grants })
  return async (scope, request, { call, reevaluate }) => {
    engine.emit({ type: "approval_requested", request }, scope.agent)
    const settled = new AbortController()
    if (ask) notifyLate(scope, request, settled.signal)
    const hooks = engine.hooks.has("PermissionRequest", scope.hooks) ? [hookAnswers(scope)] : []
    const sources = [...hooks, ...classifierAnswers(engine, call)]
    const approving = approver.approve(request, { signal: scope.signal, sources, reevaluate })
    const answer = await approving.finally(() => settled.abort())
    if (answer?.remember === "project") await keep(engine, options, answer.granted ?? [])
    const behavior = answer?.behavior ?? "deny"
    engine.emit({ type: "approval_settled", id: request.id, behavior, by: answer?.by ?? "nobody" }, scope.agent)
    return answer
  }
}

/** How long a question waits before somebody is fetched for it, ms. */
const NOTIFY_AFTER_MS = 6000

/** Tells Notification hooks of a question that nobody has answered for a while. */
function notifyLate(scope: AgentScope, { tool, decision }: ApprovalRequest, settled: AbortSignal): void {
  const { hooks, clock } = scope.engine
  if (!hooks.has("Notification", scope.hooks)) return
  const payload = { kind: "permission_prompt", message: `${tool} waits for an answer: ${decision.reason}` }
  const late = clock
    .sleep(NOTIFY_AFTER_MS, settled)
    .then(() => hooks.observe("Notification", payload, hookSource(scope)))
  late.catch(() => {})
}

/** A grant that cannot be written down holds for this run all the same: that is what the person said. */
async function keep(engine: Engine, options: RunApproverOptions, granted: readonly RuleSource[]): Promise<void> {
  if (granted.length === 0) return
  try {
    await options.keep(granted.map(({ text }) => text))
  } catch (error) {
    const { message, mend, code } = isSousError(error) ? error : { message: String(error), mend: "", code: undefined }
    const text = `${message}; it holds for this run only${mend === "" ? "" : `: ${mend}`}`
    engine.emit({ type: "notice", level: "warning", message: text, ...(code === undefined ? {} : { code }) })
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
  const { input, rules } = answer
  return { behavior: "allow", ...(input === undefined ? {} : { input }), ...(rules === undefined ? {} : { rules }) }
}

function classifierAnswers({ registry }: Engine, call: PermissionCall): ApprovalSource[] {
  return registry.classifiers.map(({ plugin, classify }) => ({
    name: `the classifier of ${plugin}`,
    kind: "classifier",
    async answer() {
      const said = await within(CLASSIFIER_MS, `The classifier of plugin "${plugin}"`, () => classify(call))
      return said === "safe" ? { behavior: "allow" } : undefined
    },
  }))
}
