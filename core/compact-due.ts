/**
 * A loop before a request → whether its conversation is to be shorter first, and whether it fits then.
 *
 * Invariant: it looks at numbers only; what shortens is loaded when it is first due. Nothing is sent that is known not to
 * fit, unless it is left to the model to refuse.
 */
import { compactingOptions, type Room, roomFor } from "./compact-room.ts"
import { suggest } from "./error.ts"
import type { EventBody } from "./event.ts"
import type { Loop, LoopState, Next } from "./loop-state.ts"

/** What a loop remembers about shortening its conversation. */
export interface Compacting {
  /** In a row. */
  failures: number
  /** Times in a row that it was full again within a few turns. */
  refills: number
  /** The turn before which it was last shortened. */
  turn?: number
  /** It has been given up for this run. */
  off: boolean
  /** A person has asked for it; the text: what matters most. */
  asked?: string
  /** What was said about notes that were not taken; nothing is said twice. */
  told: Set<string>
  /** Ends what strategies do beside the loop. */
  unfollow?: () => void
}

/** Why it is shortened: a person has asked, the window is nearly full, or the cache has gone cold anyway. */
export type Due = "asked" | "full" | "cold"

/** The API forgets a prompt after so long, ms. */
const CACHE_MS = 5 * 60_000
/** The share of the window above which a cold cache is a reason. */
const COLD_SHARE = 0.25

/** Shortens if that is due. Returns why the loop has to stop, if it has to. */
export async function* keepRoom(
  loop: Loop,
  state: LoopState,
): AsyncGenerator<EventBody, Exclude<Next, LoopState> | undefined> {
  const { compacting, conversation, scope } = loop
  const room = await roomFor(state, compactingOptions(loop))
  if (compacting.asked !== undefined) yield* shortenFor("asked", { loop, state, room })
  const due = dueOf(loop, room)
  if (due !== undefined) yield* shortenFor(due, { loop, state, room })
  if (scope.signal.aborted) return { stop: "aborted" }
  const tokens = conversation.inputTokens()
  if (compactingOptions(loop).auto === false || !conversation.gauged || tokens < room.window) return undefined
  const error = `The conversation has about ${tokens} tokens, and the model's window holds ${room.window}`
  return { stop: "context_exhausted", error }
}

/** What is wrong with the settings of compaction: they name a strategy that nobody brings. */
export function strategyFault(loop: Loop): string | undefined {
  const { strategy } = compactingOptions(loop)
  const names = loop.scope.engine.registry.compaction.map(({ name }) => name)
  if (strategy === undefined || names.includes(strategy)) return undefined
  return `There is no compaction strategy "${strategy}": ${suggest(strategy, names)}. The others are tried in its place`
}

async function* shortenFor(due: Due, { loop, state, room }: { loop: Loop; state: LoopState; room: Room }) {
  const { shortenBefore } = await import("./compact.ts")
  yield* shortenBefore(loop, state, { room, due })
}

function dueOf(loop: Loop, { limit, window }: Room): Due | undefined {
  const { compacting, conversation, scope } = loop
  if (compactingOptions(loop).auto === false || compacting.off || conversation.turns === 0) return undefined
  const tokens = conversation.inputTokens()
  if (tokens > limit) return "full"
  const { answeredAt } = conversation
  const isCold = answeredAt !== undefined && scope.engine.clock.now() - answeredAt > CACHE_MS
  return isCold && tokens > window * COLD_SHARE ? "cold" : undefined
}

/** Lets strategies that take notes look at the conversation as it is now, beside the loop, unless they still do. */
export function letFollow(loop: Loop, state: LoopState): void {
  const { compacting, conversation, scope } = loop
  if (compacting.unfollow !== undefined) return
  if (scope.engine.registry.compaction.every(({ follow }) => follow === undefined)) return
  const seen = {
    messages: [...conversation.messages],
    marks: [...conversation.marks],
    sizes: conversation.sizes(),
    tokens: conversation.inputTokens(),
  }
  // The loop may end before the look begins.
  const over = new AbortController()
  compacting.unfollow = () => over.abort()
  const signal = AbortSignal.any([scope.signal, over.signal])
  void import("./compact-follow.ts")
    .then(({ followStrategies }) => followStrategies(loop, { state, seen, signal }))
    .finally(() => {
      over.abort()
      delete compacting.unfollow
    })
}
