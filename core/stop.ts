/**
 * Why a loop stopped, and what that means for its step, its run and the process: one table.
 *
 * Invariant: every stop has a cause, a status and an exit code here and nowhere else.
 */
import type { Cause, RunStatus } from "./step.ts"

/** Why a loop came to its end. */
export type LoopStop =
  | "completed"
  | "max_turns"
  | "budget"
  | "denied"
  | "aborted"
  | "refused"
  | "model_error"
  | "infra_error"
  | "output_invalid"
  | "context_exhausted"
  | "hook_stopped"

/** What a stop makes of its step. `completed` has no cause. */
export const STOPS: Readonly<Record<LoopStop, { cause?: Cause; says: string }>> = {
  completed: { says: "The model was done" },
  max_turns: { cause: "budget", says: "The turn limit was reached" },
  budget: { cause: "budget", says: "The budget was spent" },
  denied: { cause: "denied", says: "Too many calls in a row were denied" },
  aborted: { cause: "cancelled", says: "The run was interrupted" },
  refused: { cause: "model", says: "The model refused to answer" },
  model_error: { cause: "model", says: "The model could not answer" },
  infra_error: { cause: "infra", says: "The model could not be reached" },
  output_invalid: { cause: "output", says: "The answer did not have the form that was asked for" },
  context_exhausted: { cause: "model", says: "The conversation no longer fits the model's window" },
  hook_stopped: { cause: "tool", says: "A hook stopped the agent" },
}

/** What the failure of a run's step makes of the run. */
export const STATUS_OF_CAUSE: Readonly<Record<Cause, RunStatus>> = {
  model: "failed",
  tool: "failed",
  infra: "failed",
  output: "failed",
  budget: "budget",
  denied: "denied",
  cancelled: "cancelled",
}

/** Process exit codes by run status; `cancelled` by SIGTERM is 143 instead. */
export const EXIT_OF_STATUS: Readonly<Record<RunStatus, number>> = {
  ok: 0,
  failed: 1,
  waiting: 3,
  denied: 4,
  budget: 5,
  degraded: 6,
  cancelled: 130,
}
