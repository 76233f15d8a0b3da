/**
 * Hooks that nobody waits for: started, bounded in number, ended with the run; what they add comes with a later turn.
 *
 * Invariant: none of them decides anything, and none outlives the run.
 */
import { executeHook } from "./hook-execute.ts"
import { type HookContext, type HookFiring, outcomeOf, tellHook, warnHook } from "./hook-fire.ts"
import type { CompiledHook } from "./hook-match.ts"

/** How many may be at work in one run. */
const MOST_AT_WORK = 16

/** Starts a hook, and tells of it when it has ended. */
export function startBackground(compiled: CompiledHook, firing: HookFiring, context: HookContext): void {
  const { background } = context
  if (background.size >= MOST_AT_WORK) {
    const failure = `${MOST_AT_WORK} hooks that nobody waits for are at work already`
    tellHook(compiled, firing, { outcome: "failed", reason: failure, durationMs: 0 }, context)
    warnHook(compiled, firing, failure, context)
    return
  }
  const work = run(compiled, firing, context).finally(() => background.delete(work))
  background.add(work)
}

async function run(compiled: CompiledHook, firing: HookFiring, context: HookContext): Promise<void> {
  const signal = AbortSignal.any([firing.from.signal ?? context.signal, context.closing])
  const execution = await executeHook(compiled, firing, context, { signal, timeoutMs: compiled.timeoutMs })
  const { durationMs, exit, answer } = execution
  if ("failure" in execution) {
    tellHook(compiled, firing, { outcome: "failed", reason: execution.failure, durationMs, exit, answer }, context)
    return warnHook(compiled, firing, execution.failure, context)
  }
  if (!("reply" in execution)) {
    const reason = "it was ended with the run"
    return tellHook(compiled, firing, { outcome: "failed", reason, durationMs }, context)
  }
  const { reply } = execution
  tellHook(compiled, firing, { outcome: outcomeOf(reply), reason: reply.reason, durationMs, exit, answer }, context)
  const blocks = reply.decision === "block"
  const wakes = compiled.hook.source?.async === "rewake" && (blocks || reply.inject !== undefined)
  const texts = [reply.inject, reply.say, wakes && blocks ? reply.reason : undefined].filter(Boolean)
  if (texts.length > 0) firing.from.late?.(texts.join("\n"), { wake: wakes })
}
