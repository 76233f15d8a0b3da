/**
 * What an agent would be told at its start, without starting it.
 *
 * Invariant: nothing runs but the context sources; nothing is written.
 */
import { assembleOpening, assembleSystem, type ContextScope, declareTools } from "./context/assemble.ts"
import { type Conversation, createConversation } from "./context/conversation.ts"
import type { History } from "./context/history.ts"
import { offeredTools } from "./plan-mode.ts"
import type { PermissionMode } from "./tool.ts"

export interface OpeningOptions {
  mode: PermissionMode
  system?: string
  appendSystem?: string
}

/** A transcript that keeps nothing. */
const NOWHERE = { append: () => "", flush: async () => {} }

/** Lays into an empty history what stands before the prompt of a first request; hooks are not asked. */
export async function layOpening(history: History, scope: ContextScope, options: OpeningOptions): Promise<void> {
  const frame = {
    system: assembleSystem(options.system, options.appendSystem),
    tools: declareTools(offeredTools({ tools: scope.tools, mode: options.mode }, { offerPlanMode: undefined })),
  }
  const { content, pins } = await assembleOpening(scope)
  createConversation(frame, NOWHERE, { history }).append("user", content, { pins })
}

/** A stored conversation as it is, to be looked at; what is done to it is kept nowhere. */
export function viewConversation(history: History): Conversation {
  return createConversation({ system: history.system, tools: history.tools }, NOWHERE, { history })
}
