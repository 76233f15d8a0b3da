/**
 * A kit, the entries of a conversation and the name of a strategy → what the strategy would make of it.
 *
 * Invariant: nothing is written and no hook runs; a strategy that asks a model asks it here as well.
 */
import { viewConversation } from "./agent-view.ts"
import { roomFor } from "./compact-room.ts"
import { type TrialOutcome, tryStrategy } from "./compact-try.ts"
import { type ContextSurvey, surveyHistory } from "./context/survey.ts"
import { SousError, suggest } from "./error.ts"
import type { KitParts } from "./kit.ts"
import { FIRST_OUTPUT_LIMIT } from "./loop-state.ts"
import type { Usage } from "./message.ts"
import { limitsOf } from "./model.ts"
import { type ContextOptions, openStage, readEntries } from "./run-context.ts"
import type { TranscriptEntry } from "./session/transcript.ts"

/** What is tried. */
export interface TrialOptions extends ContextOptions {
  entries: readonly TranscriptEntry[]
  /** What matters most, in a person's words. */
  focus?: string
}

/** What came of it. */
export type CompactionTrial = TrialOutcome & {
  strategy: string
  before: ContextSurvey
  /** The same as `before` when it was passed over. */
  after: ContextSurvey
  /** What the strategy asked a model for; all zero when it asked none. */
  usage: Usage
  usd?: number
  warnings: readonly string[]
}

/** Tries a strategy. Throws COMPACTION_UNKNOWN, MODEL_NOT_CONFIGURED and what opening the model throws. */
export async function tryCompaction(kit: KitParts, name: string, options: TrialOptions): Promise<CompactionTrial> {
  const strategies = kit.registry.compaction
  const strategy = strategies.find((one) => one.name === name)
  if (strategy === undefined) {
    const known = strategies.map((one) => one.name)
    throw new SousError("COMPACTION_UNKNOWN", { name, mend: suggest(name, known) })
  }
  const stage = await openStage(kit, options)
  const history = readEntries(options.entries)
  const id = options.model ?? history.model ?? stage.defaultModel
  if (id === undefined) throw new SousError("MODEL_NOT_CONFIGURED", {})
  const model = await stage.scope.engine.openModel(id)
  const maxTokens = Math.min((await limitsOf(model)).maxOutput, FIRST_OUTPUT_LIMIT)
  const room = await roomFor({ model, maxTokens }, kit.settings.compact)
  const before = surveyHistory(history, { isCompacted: options.entries.some(({ type }) => type === "compaction") })
  const { focus } = options
  const on = {
    scope: stage.scope,
    conversation: viewConversation(history),
    room,
    ...(focus === undefined ? {} : { focus }),
  }
  const outcome = await tryStrategy(strategy, on)
  // A script or a cassette that was asked nothing has nothing to complain about.
  await (async () => await model.close?.())().catch((error) => {
    if (stage.spent().usage.output > 0) throw error
  })
  const after = outcome.ok ? surveyHistory(history, { isCompacted: outcome.gone > 0 }) : before
  return { ...outcome, strategy: name, before, after, ...stage.spent(), warnings: stage.warnings }
}
