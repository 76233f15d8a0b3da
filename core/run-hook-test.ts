/**
 * A sample event in the place of a kit → what its hooks answer, one by one and together; for trying hooks out.
 *
 * Invariant: the hooks run as in a run, and nothing else does: no tool, no model; what they say changes nothing.
 */
import { randomUUID } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { childEnvironment, secretValues } from "./env.ts"
import type { EventBody } from "./event.ts"
import { HOOKS, type HookEvent } from "./hook.ts"
import { createHookRunner, type FirstAnswer, type FromAgent, type HookRunner } from "./hook-runner.ts"
import { type HookDialect, suppressionOf } from "./hook-source.ts"
import type { KitParts, RunOptions } from "./kit.ts"
import { createCall } from "./permission/explain.ts"
import { fitsRule } from "./permission/fits.ts"
import { resolveCall } from "./permission/path.ts"
import { type RegisteredHook, registerSources } from "./registry.ts"
import { startMode } from "./run-mode.ts"
import { findPlaces, type RunPlaces } from "./run-place.ts"
import { compileRunRules } from "./run-rule.ts"

/** What came of a sample event. */
export interface HookTrial {
  /** One for each hook that ran, in the order in which they ended. */
  executions: Extract<EventBody, { type: "hook" }>[]
  /** What people would be told: failures, and what hooks say to them. */
  notices: string[]
  /** All answers together, as the kind of the event combines them. */
  outcome: HookTrialOutcome
}

/** Fields that the event's kind has no use for are left out. */
export interface HookTrialOutcome {
  decision: "pass" | "block" | "allow" | "ask"
  reasons: string[]
  /** The rewritten input. */
  input?: unknown
  /** What is added to the conversation. */
  injected: string[]
  /** What stands in for the tool's result. */
  result?: string
  env?: Readonly<Record<string, string>>
  /** Why a hook ends the whole agent. */
  stop?: string
}

/** The event's own fields; common ones among them take the place of the sample's. */
export type SamplePayload = Readonly<Record<string, unknown>>

/** Fires one event. Throws HOOK_MATCHER_INVALID. */
export async function testHooks(
  kit: KitParts,
  event: HookEvent,
  payload: SamplePayload,
  options: RunOptions,
): Promise<HookTrial> {
  const folder = await mkdtemp(join(tmpdir(), "sous-hooks-"))
  const trial: HookTrial = { executions: [], notices: [], outcome: { decision: "pass", reasons: [], injected: [] } }
  const places = await findPlaces(kit)
  const runner = createHookRunner(hooksOf(kit), {
    emit: (body) => note(body, trial),
    signal: options.signal ? AbortSignal.any([options.signal, kit.signal]) : kit.signal,
    clock: kit.clock,
    ...surroundingsOf(kit, options, { folder, cwd: places.cwd }),
  })
  try {
    await fire(runner, event, payload, { from: fromOf(kit, options, { places, trial }), trial })
    // Hooks that nobody waits for are waited for here: what they come to is what the person wants to see.
    await runner.settle()
  } finally {
    await runner.close()
    await rm(folder, { recursive: true, force: true })
  }
  return trial
}

/** The hooks of plugins and of the configuration but those that put a question to a model. */
function hooksOf({ registry, options }: KitParts): RegisteredHook[] {
  return [...registry.hooks, ...registerSources((options.hooks ?? []).filter(isTestable))]
}

/** False for a hook that puts a question to a model, and for one that nothing starts. */
export function isTestable(source: Parameters<typeof suppressionOf>[0]): boolean {
  return suppressionOf(source) === undefined && source.form.type !== "prompt" && source.form.type !== "agent"
}

function surroundingsOf(kit: KitParts, options: RunOptions, { folder, cwd }: { folder: string; cwd: string }) {
  const { env, projectDir = cwd } = kit.options
  const all = { ...env, ...kit.settings.env }
  const set = { ...kit.settings.env, SOUS_SESSION_ID: "test" }
  const childEnv = childEnvironment(env, { pass: options.flags?.allow?.env ?? [], set })
  return { secrets: secretValues(all), outside: { projectDir, folder, childEnv, env: all } }
}

function note(body: EventBody, { executions, notices }: HookTrial): void {
  if (body.type === "hook") executions.push(body)
  if (body.type === "notice") notices.push(body.message)
}

function fromOf(
  kit: KitParts,
  options: RunOptions,
  { places, trial }: { places: RunPlaces; trial: HookTrial },
): FromAgent {
  const { anchors } = compileRunRules(kit, { name: "hooks" }, { ...options, places })
  const { mode } = startMode(kit.settings, options.mode)
  return {
    sessionId: randomUUID(),
    transcriptPath: "",
    cwd: places.cwd,
    mode,
    async fits(rule, { name, input }) {
      const tool = kit.registry.tools.get(name)
      if (tool === undefined) return true
      const call = await createCall(tool, input, places.cwd)
      const paths = await resolveCall(call, places.cwd, { home: places.home })
      return fitsRule(rule, call, { ...places, aborted: false, mode, readRoots: [], paths, canAsk: false }, anchors)
    },
    stop: (reason) => {
      trial.outcome.stop ??= reason
    },
    late: (text) => void trial.outcome.injected.push(text),
  }
}

async function fire(
  runner: HookRunner,
  event: HookEvent,
  payload: SamplePayload,
  { from, trial }: { from: FromAgent; trial: HookTrial },
): Promise<void> {
  const { outcome } = trial
  const { kind } = HOOKS[event]
  if (kind === "gate") await fireGate(runner, event, payload, { from, outcome })
  else if (kind === "fold") {
    const { blocked, injected, ...rest } = await runner.fold(event as never, payload as never, from)
    const decided = blocked === undefined ? {} : { decision: "block" as const, reasons: [blocked] }
    Object.assign(outcome, rest, decided, { injected: [...outcome.injected, ...injected] })
  } else if (kind === "first") {
    const first = await runner.first(event as never, payload as never, from, new AbortController().signal)
    if (first) Object.assign(outcome, decidedFirst(first))
  } else await runner.observe(event as never, payload as never, from)
}

/** As before a call: those that stand before the question first, then the others, with what the first have made. */
async function fireGate(
  runner: HookRunner,
  event: HookEvent,
  payload: SamplePayload,
  { from, outcome }: { from: FromAgent; outcome: HookTrialOutcome },
): Promise<void> {
  const dialects: (HookDialect | undefined)[] = event === "PreToolUse" ? ["claude-code", "native"] : [undefined]
  let seen = payload
  for (const dialect of dialects) {
    if (outcome.decision === "block") return
    const fired = { ...from, ...(dialect === undefined ? {} : { dialect }) }
    const { decision, reasons, injected, ...made } = await runner.gate(event as never, seen as never, fired)
    if (decision !== "pass") Object.assign(outcome, { decision, reasons })
    outcome.injected.push(...injected)
    if (!("input" in made)) continue
    outcome.input = made.input
    seen = { ...seen, tool_input: made.input }
  }
}

function decidedFirst({ answer }: FirstAnswer): Pick<HookTrialOutcome, "decision" | "reasons" | "input"> {
  const { kind, reason } = answer
  const input = "input" in answer ? { input: answer.input } : {}
  return { decision: kind, reasons: reason === undefined ? [] : [reason], ...input }
}
