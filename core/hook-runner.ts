/**
 * Fires events: from an event and its payload to one combined answer of all hooks that match, by the kind of its row.
 *
 * Invariant: every hook of an event is asked or the outcome says why not; without a hook an event costs a look-up.
 */
import { HOOKS, type HookEvent, type HookPayloads, type HookSpec } from "./hook.ts"
import { type FoldOutcome, type GateOutcome, runFold, runGate } from "./hook-combine.ts"
import type { FromAgent, HookContext, HookFiring, HookJudgement, HookQuestion, HookSurroundings } from "./hook-fire.ts"
import { type CompiledHook, compileHooks, type HookTable } from "./hook-match.ts"
import type { HookDialect } from "./hook-source.ts"
import { type FirstAnswer, runFirst, runObserve } from "./hook-together.ts"
import type { RegisteredHook } from "./registry.ts"

export type { FirstAnswer, FoldOutcome, FromAgent, GateOutcome, HookJudgement, HookQuestion, HookSurroundings }

/** The events whose rows are of one kind. */
export type EventOfKind<K extends HookSpec["kind"]> = {
  [E in HookEvent]: (typeof HOOKS)[E]["kind"] extends K ? E : never
}[HookEvent]

/** One function for each kind of event. None of them throws for what a handler did. */
export interface HookRunner {
  /** False: firing the event (for hooks of one dialect) would do nothing, and its payload need not be made. */
  has(event: HookEvent, extra?: readonly RegisteredHook[], dialect?: HookDialect): boolean
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
  /** Takes in more hooks, behind all others. Throws HOOK_MATCHER_INVALID, and has taken none of them then. */
  add(hooks: readonly RegisteredHook[]): void
  /** Puts these in the place of the hooks of plugins. Throws HOOK_MATCHER_INVALID, and has changed nothing then. */
  replace(ofPlugins: readonly RegisteredHook[]): void
  /** Returns when the hooks that nobody waits for are done. */
  settle(): Promise<void>
  /** Ends the hooks that nobody waits for, and returns when they are gone. */
  close(): Promise<void>
}

export interface HookRunnerOptions extends Pick<HookContext, "emit" | "signal" | "clock"> {
  secrets?: HookContext["secrets"]
  /** What external hooks are given; left out: none can run. */
  outside?: HookSurroundings
}

/** Compiles the hooks once for the run. Throws HOOK_MATCHER_INVALID. */
export function createHookRunner(hooks: readonly RegisteredHook[], options: HookRunnerOptions): HookRunner {
  let all = hooks
  let tables = createTables(all)
  const closing = new AbortController()
  const background = new Set<Promise<void>>()
  const context: HookContext = {
    secrets: { masks: new Map() },
    ...options,
    warned: new WeakSet(),
    spent: new WeakSet(),
    background,
    closing: closing.signal,
  }
  const use = (hooks: readonly RegisteredHook[]) => {
    tables = createTables(hooks)
    all = hooks
  }
  const match = (firing: HookFiring) => matching(tables(firing.from.extra), firing, context)
  return {
    has: (event, extra, dialect) => tables(extra).some((table) => hasHook(table, event, dialect)),
    async gate(event, payload, from) {
      const firing = firingOf(event, payload, from)
      return runGate(match(firing), firing, context)
    },
    async fold(event, payload, from) {
      const firing = firingOf(event, payload, from)
      return runFold(match(firing), firing, context)
    },
    async first(event, payload, from, signal) {
      const firing = firingOf(event, payload, from)
      return runFirst(match(firing), firing, { ...context, settled: signal })
    },
    async observe(event, payload, from) {
      const firing = firingOf(event, payload, from)
      await runObserve(match(firing), firing, context)
    },
    add: (more) => use([...all, ...more]),
    replace: (ofPlugins) => use([...ofPlugins, ...all.filter(({ source }) => source !== undefined)]),
    async settle() {
      await Promise.all(background)
    },
    async close() {
      closing.abort(new Error("The run is over"))
      await Promise.all(background)
    },
  }
}

function hasHook(table: HookTable, event: HookEvent, dialect: HookDialect | undefined): boolean {
  const hooks = table.get(event)
  return hooks !== undefined && (dialect === undefined || hooks.some((compiled) => compiled.dialect === dialect))
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

/** Each handler once: of those that are the same thing configured twice, the first. */
function matching(tables: HookTable[], { event, fields, from }: HookFiring, { spent }: HookContext): CompiledHook[] {
  const spec: HookSpec = HOOKS[event]
  const value = spec.matches === undefined ? "" : String(fields[spec.matches] ?? "")
  const known = new Set<string>()
  return tables
    .flatMap((table) => table.get(event) ?? [])
    .filter(({ hook, key, dialect, matches }) => {
      if (!matches(value) || (from.dialect !== undefined && from.dialect !== dialect)) return false
      if (key !== undefined && known.has(key)) return false
      if (key !== undefined) known.add(key)
      return !from.skip?.has(hook) && !(hook.source?.once && spent.has(hook))
    })
}
