/**
 * A stored conversation and one strategy → what it would become, and what that would save.
 *
 * Invariant: the conversation that is stored is not touched; what a strategy asks a model counts against the budget.
 */
import type { AskingScope } from "./ask-model.ts"
import { createAsk } from "./compact-ask.ts"
import { keepOf, type Room } from "./compact-room.ts"
import type { ContextScope } from "./context/assemble.ts"
import { assembleOpening } from "./context/assemble.ts"
import { shorten } from "./context/compact.ts"
import type { Conversation } from "./context/conversation.ts"
import { collectScene, touchedFiles } from "./context/remind.ts"
import type { ContentBlockParam } from "./message.ts"
import type { Compaction } from "./plugin.ts"

/** Where it is tried. */
export interface TrialStage {
  scope: ContextScope & AskingScope
  /** It is changed; its transcript leads nowhere. */
  conversation: Conversation
  room: Room
  focus?: string
}

/** What came of it. `reason`: why the strategy was passed over. */
export type TrialOutcome =
  | { ok: false; reason: string }
  | {
      ok: true
      /** Messages that stay, and that go. */
      kept: number
      gone: number
      /** What stands for those that go; empty when none do. */
      opening: ContentBlockParam[]
      /** The lines in the place of results. */
      dropped: string[]
    }

/** Lets a strategy shorten the conversation as a person's /compact would; hooks are not asked. */
export async function tryStrategy(strategy: Compaction, stage: TrialStage): Promise<TrialOutcome> {
  const { scope, conversation, room, focus } = stage
  const { messages, marks, sizeOf, notes } = conversation
  const view = { messages, marks, sizeOf, sizes: conversation.sizes() }
  const found = await shorten(
    [strategy],
    { ...view, tokens: conversation.inputTokens(), budget: room.budget },
    {
      asked: {
        trigger: "manual",
        ...{ keep: keepOf(room, "manual", conversation.inputTokens()), files: touchedFiles(conversation), notes },
        ask: createAsk(scope, room.model, conversation),
        ...(focus === undefined ? {} : { focus }),
      },
      signal: scope.signal,
      scenery: async () => ({ start: await assembleOpening(scope), scene: await collectScene(scope, conversation) }),
    },
  )
  if (!found.ok) return { ok: false, reason: found.reasons.join("; ") }
  const { keepFrom, opening, mark, dropped } = found
  const kept = messages.length - keepFrom
  if (keepFrom > 0) conversation.compact({ keepFrom, opening, strategy: strategy.name, ...mark })
  if (dropped.length > 0) conversation.drop({ results: dropped, strategy: strategy.name })
  return { ok: true, kept, gone: keepFrom, opening, dropped: dropped.map(({ text }) => text) }
}
