/**
 * One hook of one event: from its execution to the `hook` event that tells of it, and a warning when it failed.
 *
 * Invariant: whatever became of an execution, exactly one `hook` event says so.
 */
import type { Clock } from "./clock.ts"
import { SousError } from "./error.ts"
import type { EventBody, HookOutcome } from "./event.ts"
import type { HookEvent } from "./hook.ts"
import type { HookReply } from "./hook-answer.ts"
import type { CompiledHook } from "./hook-match.ts"
import type { RegisteredHook } from "./registry.ts"
import type { AgentIdentity, PermissionMode } from "./tool.ts"

/** For whom an event fires. */
export interface FromAgent {
  agent?: AgentIdentity
  toolUseId?: string
  sessionId: string
  /** Absolute; empty while there is none. */
  transcriptPath: string
  cwd: string
  mode: PermissionMode
  /** Calls off the handlers. Left out: the run's. */
  signal?: AbortSignal
  /** Hooks of the step, run after those of the plugins. The same array each time: it is compiled once. */
  extra?: readonly RegisteredHook[]
  /** The input was rewritten before: another rewrite blocks. */
  blind?: "no-rewrite"
  /** Hooks that have judged this input already (`GateOutcome.judged`). */
  skip?: ReadonlySet<RegisteredHook>
}

/** One event, with its payload as handlers see it. */
export interface HookFiring {
  event: HookEvent
  fields: Readonly<Record<string, unknown>>
  from: FromAgent
}

/** What all firings of a run share. */
export interface HookContext {
  emit(body: EventBody, from?: Pick<AgentIdentity, "step"> & { id?: string }): void
  /** The run's. */
  signal: AbortSignal
  clock: Clock
  /** Hooks whose failure was told before: one warning for each. */
  warned: WeakSet<RegisteredHook>
}

/** What is told about an execution. */
export interface HookReport {
  outcome: HookOutcome
  reason?: string | undefined
  durationMs: number
}

/** Emits the `hook` event of one execution. */
export function tellHook(compiled: CompiledHook, firing: HookFiring, report: HookReport, context: HookContext): void {
  const { event, from } = firing
  const { outcome, reason, durationMs } = report
  context.emit(
    {
      type: "hook",
      event,
      plugin: compiled.hook.plugin,
      hook: compiled.name,
      outcome,
      durationMs,
      ...(reason === undefined ? {} : { reason }),
      ...(from.toolUseId === undefined ? {} : { id: from.toolUseId }),
    },
    from.agent,
  )
}

/** Emits one warning for each hook that failed, however often it does. */
export function warnHook(compiled: CompiledHook, firing: HookFiring, failure: string, context: HookContext): void {
  const { hook } = compiled
  if (context.warned.has(hook)) return
  context.warned.add(hook)
  const { message, mend, code } = failureOf(compiled, failure)
  context.emit({ type: "notice", level: "warning", message: `${message}; ${mend}`, code }, firing.from.agent)
}

/** The fault of a failed hook: which one, what happened, how to mend it. */
export function failureOf({ hook, name }: CompiledHook, failure: string): SousError<"HOOK_FAILED"> {
  return new SousError("HOOK_FAILED", { plugin: hook.plugin, hook: name, reason: failure })
}

/** The one word for a reply: its decision, or what it changed. */
export function outcomeOf({ decision, input, result, inject }: HookReply): HookOutcome {
  if (decision !== undefined) return decision
  if (input !== undefined) return "rewrite"
  if (result !== undefined) return "result"
  return inject === undefined ? "pass" : "inject"
}
