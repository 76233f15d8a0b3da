/**
 * A kit and the entries of a conversation, or none → what occupies the window of its next request.
 *
 * Invariant: no hook and no tool runs, nothing is asked of a model and nothing is written; without entries it is what a
 * first request here would hold before its prompt.
 */
import { selectTools } from "./agent-setup.ts"
import { layOpening } from "./agent-view.ts"
import { reserveOf } from "./compact-room.ts"
import type { TrialStage } from "./compact-try.ts"
import { applyEntry, createHistory, type History } from "./context/history.ts"
import { type ContextSurvey, surveyHistory } from "./context/survey.ts"
import type { Engine } from "./engine.ts"
import type { KitParts, RunOptions } from "./kit.ts"
import { FIRST_OUTPUT_LIMIT } from "./loop-state.ts"
import type { Usage } from "./message.ts"
import { limitsOf, type Model, type ModelProvider } from "./model.ts"
import { within } from "./patience.ts"
import { createSpend } from "./recipe/spend.ts"
import { startMode } from "./run-mode.ts"
import { modelsOf } from "./run-model.ts"
import { findPlaces } from "./run-place.ts"
import { compileRunRules } from "./run-rule.ts"
import type { TranscriptEntry } from "./session/transcript.ts"
import type { PermissionMode } from "./tool.ts"
import { addUsage } from "./turn.ts"

/** A conversation to look at. */
export interface ContextOptions extends RunOptions {
  /** Those that count of a stored one, oldest first. Left out: a new one. */
  entries?: readonly TranscriptEntry[]
  system?: string
  appendSystem?: string
  tools?: string[]
}

/** What occupies a window, and what is left of it. All in tokens. */
export interface WindowSurvey extends ContextSurvey {
  /** The model's id; undefined: none is configured. */
  model: string | undefined
  window: number
  /** The model does not say how large its window is, so that a usual one is taken. */
  isGuess: boolean
  /** At the end of the window, for an answer; beyond it a conversation is compacted. */
  reserve: number
  free: number
  /** What is odd, one sentence each. */
  warnings: readonly string[]
}

/** The window of most models, tokens. */
const USUAL_WINDOW = 200_000
/** How long a model may take to say how large its window is, ms. */
const LIMITS_MS = 3_000

/** Surveys a window. Throws PERMISSION_RULE_INVALID, CLI_BYPASS_REFUSED and TOOL_UNKNOWN. */
export async function surveyContext(kit: KitParts, options: ContextOptions): Promise<WindowSurvey> {
  const stage = await openStage(kit, options)
  const history = readEntries(options.entries ?? [])
  if (options.entries === undefined) await layOpening(history, stage.scope, { ...options, mode: stage.mode })
  const isCompacted = (options.entries ?? []).some(({ type }) => type === "compaction")
  const id = options.model ?? history.model ?? stage.defaultModel
  const limits = await limitsFor(id, stage)
  const survey = surveyHistory(history, { isCompacted })
  return {
    ...survey,
    ...roomIn(survey, kit, limits),
    model: id,
    isGuess: limits === undefined,
    warnings: stage.warnings,
  }
}

/** What an agent would stand on, without a run. */
export interface Stage extends Pick<Engine, "defaultModel"> {
  scope: TrialStage["scope"]
  mode: PermissionMode
  warnings: readonly string[]
  /** What models were asked for so far. */
  spent(): { usage: Usage; usd?: number }
}

/** Sets it up as a start here would. */
export async function openStage(kit: KitParts, options: ContextOptions): Promise<Stage> {
  const { registry, settings, clock } = kit
  const [places, start] = [await findPlaces(kit), startMode(settings, options.mode)]
  const rules = compileRunRules(kit, { name: "context" }, { ...options, places })
  const told = createListener([...start.warnings, ...places.warnings, ...rules.warnings])
  const signal = options.signal ? AbortSignal.any([options.signal, kit.signal]) : kit.signal
  const opened = { models: new Map(), providers: new Set<ModelProvider>() }
  const env = { ...kit.options.env, ...settings.env }
  const models = modelsOf(kit, {}, { ...options, signal, env, opened, registry: () => registry })
  const { cwd, roots, context: contextPlaces } = places
  const { openModel, defaultModel } = models
  const engine = { registry, agents: registry.agents, rules, contextPlaces, places, roots, emit: told.emit, openModel }
  const { tools } = selectTools(engine, registry.tools, options.tools)
  const agent = { id: "context", type: "main", depth: 0 }
  const spend = createSpend({ ...settings.budget, ...options.budget }, { clock })
  const scope = { engine, agent, cwd, startedIn: cwd, signal, tools, spend }
  return { scope, defaultModel, mode: start.mode, warnings: told.warnings, spent: told.spent }
}

function createListener(warnings: string[]) {
  const usage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  let usd: number | undefined
  const emit: Engine["emit"] = (body) => {
    if (body.type === "notice") warnings.push(body.message)
    if (body.type !== "usage") return
    addUsage(usage, body.usage)
    if (body.usd !== undefined) usd = (usd ?? 0) + body.usd
  }
  return { warnings, emit, spent: () => ({ usage, ...(usd === undefined ? {} : { usd }) }) }
}

/** The conversation that entries make. */
export function readEntries(entries: readonly TranscriptEntry[]): History {
  const history = createHistory()
  for (const { type, ...fields } of entries) applyEntry(history, type, fields)
  return history
}

async function limitsFor(id: string | undefined, { scope }: Stage) {
  if (id === undefined) return undefined
  const ask = async () => await limitsOf(await scope.engine.openModel(id))
  return await within(LIMITS_MS, `the limits of the model "${id}"`, ask).catch(() => undefined)
}

function roomIn(
  { tokens }: ContextSurvey,
  { settings }: KitParts,
  limits: Awaited<ReturnType<Model["limits"]>> | undefined,
) {
  const { contextWindow: window, maxOutput } = limits ?? { contextWindow: USUAL_WINDOW, maxOutput: FIRST_OUTPUT_LIMIT }
  const { threshold } = settings.compact
  const reserve =
    threshold === undefined
      ? reserveOf(window, Math.min(maxOutput, FIRST_OUTPUT_LIMIT))
      : Math.ceil(window * (1 - threshold))
  return { window, reserve, free: Math.max(0, window - reserve - tokens) }
}
