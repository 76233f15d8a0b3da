/**
 * ExitPlanMode: a finished plan → the person's approval, with which plan mode ends.
 *
 * Invariant: it does nothing by itself; the kernel asks, and changes the mode once this call has run.
 */
import { defineTool, z } from "sous"

const input = z.strictObject({
  plan: z.string().min(1).describe("The whole plan, as the person is to read it; Markdown"),
})

/** Hands in the plan; offered in plan mode alone. */
export const exitPlanModeTool = defineTool({
  name: "ExitPlanMode",
  description:
    "Hand in your plan when plan mode is on and the plan is complete: the person reads it and approves it or says what is missing. Not for questions, nor for work that changes nothing.",
  input,
  role: "exitPlan",
  readOnly: false,
  concurrencySafe: false,
  async execute({ plan }: z.output<typeof input>, { signal }) {
    signal.throwIfAborted()
    return `The plan was approved. Carry it out as it stands:\n\n${plan}`
  },
})
