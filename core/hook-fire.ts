/**
 * One hook of one event: from its execution to the `hook` event that tells of it, and a warning when it failed.
 *
 * Invariant: whatever became of an execution, exactly one `hook` event says so.
 */
import type { Clock } from "./clock.ts"
import { maskSecrets, type Secrets } from "./env.ts"
import { SousError } from "./error.ts"
import type { EventBody, HookOutcome } from "./event.ts"
import type { HookEvent } from "./hook.ts"
import type { HookReply } from "./hook-answer.ts"
import type { CompiledHook } from "./hook-match.ts"
import type { HookDialect } from "./hook-source.ts"
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
  /** Only hooks that speak this dialect. Left out: all. */
  dialect?: HookDialect
  /** True when a permission rule fits a call; left out: there is no call. */
  fits?(rule: string, call: { name: string; input: unknown }): Promise<boolean>
  /** Takes why a hook wants the whole agent to stop. */
  stop?(reason: string): void
  /** Takes what a hook that nobody waited for adds to the conversation. `wake`: it is worth a turn of its own. */
  late?(text: string, options: { wake: boolean }): void
  /** Takes the record of an execution. */
  record?(entry: object): void
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

/** What handlers outside of the process are given. */
export interface HookSurroundings {
  /** Absolute; `CLAUDE_PROJECT_DIR`. */
  projectDir: string
  /** The run's own, absolute: for input that is too large for a variable, and output that is too long for a message. */
  folder: string
  /** The environment of child processes. */
  childEnv: Readonly<Record<string, string>>
  /** The whole environment: only headers of HTTP handlers may name something in it. */
  env: Readonly<Record<string, string | undefined>>
  /** Puts a question to a model. Left out: there is none. */
  judge?(question: HookQuestion): Promise<HookJudgement>
}

/** The question of a prompt or agent hook. */
export interface HookQuestion {
  prompt: string
  model?: string
  /** It may look around with tools that only read. */
  looksAround: boolean
  /** For the events of its turns. */
  from: FromAgent
  signal: AbortSignal
}

/** A model's answer to it. */
export interface HookJudgement {
  ok: boolean
  reason?: string | undefined
  /** Of a condition to stop: it can never be met. */
  impossible?: boolean | undefined
}

/** What all firings of a run share. */
export interface HookContext {
  emit(body: EventBody, from?: Pick<AgentIdentity, "step"> & { id?: string }): void
  /** The run's. */
  signal: AbortSignal
  clock: Clock
  /** Hooks whose failure was told before: one warning for each. */
  warned: WeakSet<RegisteredHook>
  /** Hooks that run once, and have. */
  spent: WeakSet<RegisteredHook>
  /** Values that no record may hold. */
  secrets: Secrets
  /** Left out: no hook runs outside of the process. */
  outside?: HookSurroundings
  /** Hooks at work that nobody waits for. */
  background: Set<Promise<void>>
  /** Fires when the run is over: ends those. */
  closing: AbortSignal
}

/** What is told about an execution. */
export interface HookReport {
  outcome: HookOutcome
  reason?: string | undefined
  durationMs: number
  exit?: number | undefined
  answer?: string | undefined
}

/** Emits the `hook` event of one execution, and has it recorded. */
export function tellHook(compiled: CompiledHook, firing: HookFiring, report: HookReport, context: HookContext): void {
  const { event, from } = firing
  const { outcome, reason, durationMs, exit, answer } = report
  const { source } = compiled.hook
  const told = {
    event,
    owner: compiled.owner,
    ...(source === undefined ? {} : { origin: source.origin }),
    hook: compiled.name,
    outcome,
    durationMs,
    ...(exit === undefined ? {} : { exit }),
    ...(answer ? { answer: maskSecrets(answer, context.secrets).slice(0, ANSWER_CHARS) } : {}),
    ...(reason === undefined ? {} : { reason: maskSecrets(reason, context.secrets) }),
    ...(from.toolUseId === undefined ? {} : { id: from.toolUseId }),
  }
  context.emit({ type: "hook", ...told }, from.agent)
  from.record?.(told)
}

/** How much of what a hook said is recorded, in characters. */
const ANSWER_CHARS = 2000

/** Emits one warning for each hook that failed, however often it does. */
export function warnHook(compiled: CompiledHook, firing: HookFiring, failure: string, context: HookContext): void {
  const { hook } = compiled
  if (context.warned.has(hook)) return
  context.warned.add(hook)
  const { message, mend, code } = failureOf(compiled, failure)
  context.emit({ type: "notice", level: "warning", message: `${message}; ${mend}`, code }, firing.from.agent)
}

/** The fault of a failed hook: which one, what happened, how to mend it. */
export function failureOf({ owner, name }: CompiledHook, failure: string): SousError<"HOOK_FAILED"> {
  return new SousError("HOOK_FAILED", { owner, hook: name, reason: failure })
}

/** Hands on what a reply says to the person and to the agent as a whole. */
export function passOn({ say, stop }: HookReply, { from }: HookFiring, { emit }: HookContext): void {
  if (say !== undefined) emit({ type: "notice", level: "info", message: say }, from.agent)
  if (stop !== undefined) from.stop?.(stop)
}

/** The one word for a reply: its decision, or what it changed. */
export function outcomeOf({ decision, input, result, inject, env }: HookReply): HookOutcome {
  if (decision !== undefined) return decision
  if (input !== undefined) return "rewrite"
  if (result !== undefined) return "result"
  if (inject !== undefined) return "inject"
  return env === undefined ? "pass" : "env"
}
