/**
 * Fires events: from an event and its payload to one combined answer of all hooks that match, by the kind of its row.
 *
 * Invariant: every hook of an event is asked or the outcome says why not; without a hook an event costs a look-up.
 */
import { HOOKS, type HookEvent, type HookPayloads, type HookSpec } from "./hook.ts"
import { type FoldOutcome, type GateOutcome, runFold, runGate } from "./hook-combine.ts"
import type { FromAgent, HookContext, HookFiring } from "./hook-fire.ts"
import { type CompiledHook, compileHooks, type HookTable } from "./hook-match.ts"
import { type FirstAnswer, runFirst, runObserve } from "./hook-together.ts"
import type { RegisteredHook } from "./registry.ts"

export type { FirstAnswer, FoldOutcome, FromAgent, GateOutcome }

/** The events whose rows are of one kind. */
export type EventOfKind<K extends HookSpec["kind"]> = {
  [E in HookEvent]: (typeof HOOKS)[E]["kind"] extends K ? E : never
}[HookEvent]

/** One function for each kind of event. None of them throws for what a handler did. */
export interface HookRunner {
  /** False: firing the event would do nothing, and its payload need not be made. */
  has(event: HookEvent, extra?: readonly RegisteredHook[]): boolean
  /** In order; each handler sees the input as rewritten so far. */
  gate<E extends EventOfKind<"gate">>(event: E, payload: HookPayloads[E], from: FromAgent): Promise<GateOutcome>
  /** In order; each handler sees the result as replaced so far. */
  fold<E extends EventOfKind<"fold">>(event: E, payload: HookPayloads[E], from: FromAgent): Promise<FoldOutcome>
  /** All together; the first decision wins and calls off the others. `signal` calls off all: somebody else answered. */
  first<E extends EventOfKind<"first">>(
    event: E,
    payload: HookPayloads[E],
    from: FromAgent,
    signal: AbortSignal,
  ): Promise<FirstAnswer | undefined>
  /** All together; returns when all have settled. Fires also in a run that was aborted, then for 5 s at most. */
  observe<E extends EventOfKind<"observe">>(event: E, payload: HookPayloads[E], from: FromAgent): Promise<void>
}

/** Compiles the hooks once for the run. Throws HOOK_MATCHER_INVALID. */
export function createHookRunner(
  hooks: readonly RegisteredHook[],
  options: Pick<HookContext, "emit" | "signal" | "clock">,
): HookRunner {
  const tables = createTables(hooks)
  const context: HookContext = { ...options, warned: new WeakSet() }
  return {
    has: (event, extra) => tables(extra).some((table) => table.has(event)),
    async gate(event, payload, from) {
      const firing = firingOf(event, payload, from)
      return runGate(matching(tables(from.extra), firing), firing, context)
    },
    async fold(event, payload, from) {
      const firing = firingOf(event, payload, from)
      return runFold(matching(tables(from.extra), firing), firing, context)
    },
    async first(event, payload, from, signal) {
      const firing = firingOf(event, payload, from)
      return runFirst(matching(tables(from.extra), firing), firing, { ...context, settled: signal })
    },
    async observe(event, payload, from) {
      const firing = firingOf(event, payload, from)
      await runObserve(matching(tables(from.extra), firing), firing, context)
    },
  }
}

/** The tables to look into: the run's, and that of a step's own hooks. */
function createTables(hooks: readonly RegisteredHook[]): (extra?: readonly RegisteredHook[]) => HookTable[] {
  const shared = compileHooks(hooks)
  const known = new WeakMap<readonly RegisteredHook[], HookTable[]>()
  return (extra = hooks) => {
    let tables = known.get(extra)
    if (tables === undefined) {
      tables = extra === hooks || extra.length === 0 ? [shared] : [shared, compileHooks(extra)]
      known.set(extra, tables)
    }
    return tables
  }
}

/** The payload as handlers see it. Who the agent is, only a subagent's hooks are told. */
function firingOf(event: HookEvent, payload: object, from: FromAgent): HookFiring {
  const { agent } = from
  const fields = {
    session_id: from.sessionId,
    transcript_path: from.transcriptPath,
    cwd: from.cwd,
    permission_mode: from.mode,
    ...(agent && agent.depth > 0 ? { agent_id: agent.id, agent_type: agent.type } : {}),
    ...payload,
    hook_event_name: event,
  }
  return { event, fields, from }
}

function matching(tables: HookTable[], { event, fields, from }: HookFiring): CompiledHook[] {
  const spec: HookSpec = HOOKS[event]
  const value = spec.matches === undefined ? "" : String(fields[spec.matches] ?? "")
  return tables
    .flatMap((table) => table.get(event) ?? [])
    .filter(({ hook, matches }) => matches(value) && !from.skip?.has(hook))
}
