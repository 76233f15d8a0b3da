/**
 * The words of one call: what the model asked, what became of it, and why it did not run.
 *
 * Invariant: a refusal is a result like any other; it carries the sentence for the model and the cause for a recipe.
 */
import type { Spilled } from "./context/budget.ts"
import type { ToolResult } from "./message.ts"
import type { Decision } from "./permission/decision.ts"
import type { Cause } from "./step.ts"

/** A tool_use as the loop hands it over. `broken`: its arguments were no JSON; why. */
export interface ToolUse {
  id: string
  name: string
  input: unknown
  broken?: string
}

/** What became of a call. */
export interface Called {
  result: ToolResult
  /** The text of the result. */
  text: string
  isError: boolean
  data?: unknown
  /** The file that holds the whole text, when only a part of it goes to the model. */
  spilled?: Spilled
  /** The decision that refused it. */
  denied?: Decision
  /** Why it failed, for a step of a recipe. */
  cause?: Cause
  /** Text that hooks add to the conversation, after all results of the message. */
  injected: string[]
}

/** A call that does not run: what the model is told. */
export class Refusal extends Error {
  readonly reason: Cause
  readonly decision: Decision | undefined
  readonly injected: string[]
  constructor(
    text: string,
    reason: Cause,
    options: { decision?: Decision; injected?: string[]; cause?: unknown } = {},
  ) {
    super(text, { cause: options.cause })
    this.reason = reason
    this.decision = options.decision
    this.injected = options.injected ?? []
  }
}

/** What the model is told of a call that was stopped before or while it ran. */
export function interruptedText(state: "before" | "while"): string {
  return state === "before"
    ? "Not run: the run was interrupted before this call started"
    : "Interrupted: the run was stopped while this call was running; what it had done by then stays done"
}
