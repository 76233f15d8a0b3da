/**
 * ExitPlanMode: a finished plan → the person's approval, with which plan mode ends.
 *
 * Invariant: it changes no mode; the kernel asks, and does that once this call has run. What was approved outlives a
 * compaction.
 */
import { type ContextSource, defineTool, type Notebook, z } from "sous"
import { frame } from "./frame.ts"

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
  async execute({ plan }: z.output<typeof input>, { signal, notes }) {
    signal.throwIfAborted()
    planOf(notes).set(APPROVED, plan)
    return `The plan was approved. Carry it out as it stands:\n\n${plan}`
  },
})

/** Sets the plan again that was approved last. */
export const planSource: ContextSource = {
  name: "plan",
  scene({ notes }) {
    const plan = planOf(notes).get(APPROVED)
    return plan === undefined ? undefined : frame("plan", `The plan that was approved last:\n\n${plan}`)
  },
}

const APPROVED = "approved"

function planOf(notes: Notebook) {
  return notes<string>("plan")
}
