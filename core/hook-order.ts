/**
 * The order in which the hooks of one event run: those of the process one after the other, each with what the ones before
 * it made; then all external ones together, with what came out of that.
 *
 * Invariant: executions come out in the order of configuration, whichever ended first; a hook that nobody waits for holds
 * up none of them.
 */
import { startBackground } from "./hook-background.ts"
import type { Execution } from "./hook-ending.ts"
import { executeHook } from "./hook-execute.ts"
import type { HookContext, HookFiring } from "./hook-fire.ts"
import type { CompiledHook } from "./hook-match.ts"

/** One hook that ran, and the payload that it was given. */
export interface Executed {
  compiled: CompiledHook
  execution: Execution
  seen: HookFiring["fields"]
}

/** Runs the hooks. What reads them may put other fields into `at`: those that follow are given them. */
export async function* executeInOrder(
  hooks: readonly CompiledHook[],
  firing: HookFiring,
  context: HookContext,
  at: { fields: HookFiring["fields"] },
): AsyncGenerator<Executed> {
  const signal = firing.from.signal ?? context.signal
  const execute = (compiled: CompiledHook, seen: HookFiring["fields"]) =>
    executeHook(compiled, { ...firing, fields: seen }, context, { signal, timeoutMs: compiled.timeoutMs })
  const outside: CompiledHook[] = []
  for (const compiled of hooks) {
    if (compiled.hook.source) outside.push(compiled)
    else yield { compiled, seen: at.fields, execution: await execute(compiled, at.fields) }
  }
  if (outside.length === 0) return
  const seen = at.fields
  const waited = await waitedFor(outside, { ...firing, fields: seen }, context)
  const running = waited.map((compiled) => execute(compiled, seen))
  for (const [i, compiled] of waited.entries()) yield { compiled, seen, execution: await running[i]! }
}

/** Of these hooks, those that the call fits and that are waited for; those that are not are started here. */
export async function waitedFor(
  hooks: readonly CompiledHook[],
  firing: HookFiring,
  context: HookContext,
): Promise<CompiledHook[]> {
  const waited: CompiledHook[] = []
  for (const compiled of hooks) {
    const { source } = compiled.hook
    if (source?.if !== undefined && !(await fits(source.if, firing))) continue
    // Once the run is over, nothing is left that it could go on beside.
    if (source?.async && !context.closing.aborted) startBackground(compiled, firing, context)
    else waited.push(compiled)
  }
  return waited
}

async function fits(rule: string, { fields, from }: HookFiring): Promise<boolean> {
  return (await from.fits?.(rule, { name: String(fields.tool_name), input: fields.tool_input })) ?? false
}
