/**
 * A prompt or an agent as a hook: the event put to a model as a question, its `{ ok, reason }` as a reply.
 *
 * Invariant: a model's no counts for what the event's row lets a hook say, and never for more.
 */
import { HOOKS, type HookEvent } from "./hook.ts"
import type { HookReply } from "./hook-answer.ts"
import { type Heard, lateFailure, type Outside } from "./hook-ending.ts"
import type { HookJudgement } from "./hook-fire.ts"
import type { HookForm } from "./hook-source.ts"

type QuestionForm = Extract<HookForm, { type: "prompt" | "agent" }>

/** Events whose no also ends the agent, when a prompt hook does not say `continueOnBlock`. */
const ENDING: readonly HookEvent[] = ["PreToolUse", "PostToolUse", "UserPromptSubmit"]

/** Asks, and hears the answer. */
export async function askModel({ json, firing, surroundings, limits }: Outside, form: QuestionForm): Promise<Heard> {
  const { judge } = surroundings
  if (judge === undefined) return { failure: "there is no model to ask" }
  const { signal, timeoutMs } = limits
  const time = AbortSignal.timeout(timeoutMs)
  try {
    const judgement = await judge({
      prompt: fillPrompt(form.prompt, json),
      looksAround: form.type === "agent",
      from: firing.from,
      signal: AbortSignal.any([signal, time]),
      ...(form.model === undefined ? {} : { model: form.model }),
    })
    return { reply: replyOf(judgement, firing.event, form) }
  } catch (error) {
    if (signal.aborted) return { calledOff: true }
    return { failure: time.aborted ? lateFailure(timeoutMs) : (error as Error).message }
  }
}

/** `$ARGUMENTS` is the event; a prompt without it gets the event at its end. `\$` is a dollar. */
function fillPrompt(prompt: string, json: string): string {
  const filled = prompt.replace(/\\\$|\$ARGUMENTS\b/g, (found) => (found === "\\$" ? "$" : json))
  return /(?<!\\)\$ARGUMENTS\b/.test(prompt) ? filled : `${filled}\n\n${json}`
}

function replyOf({ ok, reason, impossible }: HookJudgement, event: HookEvent, form: QuestionForm): HookReply {
  if (ok) return {}
  const why = reason || "The model that was asked says no, and gives no reason"
  const answers: readonly string[] = HOOKS[event].answers
  const isStop = event === "Stop" || event === "SubagentStop"
  if (event === "PermissionRequest" || (isStop && impossible)) return {}
  if (!answers.includes("block")) return answers.includes("inject") ? { inject: why } : {}
  const ends = form.type === "prompt" && form.continueOnBlock !== true && ENDING.includes(event)
  return { decision: "block", reason: why, ...(ends ? { stop: why } : {}) }
}
