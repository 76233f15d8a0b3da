/**
 * The shipped safety classifier of mode auto: a small model with a fixed rubric, or without one a list of risky shapes.
 *
 * Invariant: what nobody can read is stopped before anybody is asked, and a model's answer in any other form is a stop.
 */
import { definePlugin, type SafetyAnswer, type SafetyCall, type SafetyContext } from "sous"

export default definePlugin({
  name: "permission-auto",
  permissions: { safety: judge },
})

async function judge(call: SafetyCall, { request, ask }: SafetyContext): Promise<SafetyAnswer> {
  if (call.trouble !== undefined) return { kind: "stop", reason: call.trouble }
  // Loaded when they are needed: most starts never see mode auto.
  const { findRisk } = await import("./risky.ts")
  const risk = findRisk(call)
  if (ask !== undefined) return await (await import("./rubric.ts")).askRubric(call, { request, ask, risk })
  return risk === undefined ? { kind: "allow" } : { kind: "stop", reason: risk }
}
