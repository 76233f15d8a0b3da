/**
 * The step `until`: checks, and repeats a body until the check holds or the bodies are used up.
 *
 * Invariant: the last thing it does is to check; a check that could not be made ends it, and is never taken for a no.
 */
import type { StepResult, UntilResult, UntilStep } from "../step.ts"
import { below, declare, type Place, type RunContext } from "./context.ts"

const BODIES = 5

/** Checks at `<path>/check/<n>` from 0 up, bodies at `<path>/round/<n>` from 1 up. */
export async function runUntil(
  run: RunContext,
  step: UntilStep<any>,
  place: Place,
): Promise<StepResult<UntilResult<unknown>>> {
  const max = step.max ?? BODIES
  for (let round = 0; ; round++) {
    const checked = await run.step(step.check, below(below(place, "check"), round))
    if (!checked.ok && !isAnswer(checked)) return checked
    const check = checked.ok ? checked.value : (checked.partial ?? null)
    const holds = step.holds ? declare(place.path, () => step.holds!(check)) : checked.ok
    if (holds) return { ok: true, value: { rounds: round, check } }
    if (round >= max) {
      const why = checked.ok ? "" : `: ${checked.error}`
      const error = `The check does not hold after ${max} rounds${why}`
      return { ok: false, cause: "tool", error, partial: { rounds: round, check } }
    }
    const at = below(below(place, "round"), round + 1)
    const body = await run.step(
      declare(at.path, () => step.body({ check, round: round + 1 })),
      at,
    )
    if (!body.ok) return body
  }
}

/** A check that ran and said no: a command that exited with 1, a tool that reported an error. */
function isAnswer(failure: StepResult & { ok: false }): boolean {
  return failure.cause === "tool" && failure.code === undefined && failure.partial !== undefined
}
