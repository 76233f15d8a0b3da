/**
 * The step `agent`: one agent loop, with a step of its own that must succeed before the loop may stop.
 *
 * Invariant: a check that could not be made (denied, interrupted, broken) is no reason to go on: it fails the step.
 */
import type { AgentStep, StepResult } from "../step.ts"
import { below, declare, type Failure, failureOf, type Place, type RunContext } from "./context.ts"

/** Runs an agent; its `verify` steps run at `<path>/verify/1` and so on. */
export async function runAgentStep(run: RunContext, step: AgentStep<any>, place: Place): Promise<StepResult> {
  const { engine, path, each, spend, signal } = place
  const verify = step.verify === undefined ? undefined : createVerify(run, step, place)
  const outcome = await run.parts.runAgent(engine, {
    step,
    path,
    spend,
    signal,
    ...(each === undefined ? {} : { each }),
    ...(verify ? { verify: verify.ask } : {}),
    ...(run.inbox ? { inbox: run.inbox } : {}),
  })
  run.denials.push(...outcome.denials)
  return verify?.broken() ?? outcome.result
}

function createVerify(run: RunContext, step: AgentStep<any>, place: Place) {
  let attempt = 0
  let broken: Failure | undefined
  return {
    /** Why the check could not be made. */
    broken: () => broken,
    /** The reason to go on, for the model. Without one the loop ends. */
    async ask(answer: unknown): Promise<string | undefined> {
      const at = below(below(place, "verify"), ++attempt)
      const result = await check(run, step, { answer, at })
      if (result.ok) return undefined
      if (result.cause === "tool" || result.cause === "output") return feedback(result)
      broken = result
      return undefined
    },
  }
}

async function check(
  run: RunContext,
  { verify }: AgentStep<any>,
  { answer, at }: { answer: unknown; at: Place },
): Promise<StepResult> {
  try {
    const declared = declare(at.path, () => (typeof verify === "function" ? verify(answer) : verify!))
    return await run.step(declared, at)
  } catch (error) {
    return failureOf(error, at.signal)
  }
}

/** What a check's output is cut to, characters; its end says most. */
const FEEDBACK_CHARS = 8000

function feedback({ error, partial }: Failure): string {
  const { stdout, stderr } = (partial ?? {}) as { stdout?: unknown; stderr?: unknown }
  const output = [stdout, stderr].filter((text) => typeof text === "string" && text.trim() !== "").join("\n")
  const head = `The result does not pass its check yet. ${error}`
  return output === "" ? head : `${head}\nOutput of the check:\n${output.trimEnd().slice(-FEEDBACK_CHARS)}`
}
