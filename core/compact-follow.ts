/**
 * Strategies that take notes while a loop works → a look at the conversation for each of them, after each turn.
 *
 * Invariant: the loop never waits for them; one look at a time, and none outlives the loop.
 */
import { askedOf } from "./compact.ts"
import { compactingOptions, roomFor } from "./compact-room.ts"
import { saidIn } from "./context/compact.ts"
import type { Mark } from "./context/history.ts"
import type { Loop, LoopState } from "./loop-state.ts"
import type { MessageParam } from "./message.ts"
import { within } from "./patience.ts"
import type { CompactionRequest } from "./plugin.ts"

/** How long one look may take, ms. */
const PATIENCE_MS = 120_000

/** A conversation at the end of a turn. */
export interface Seen {
  messages: readonly MessageParam[]
  marks: readonly Mark[]
  sizes: readonly number[]
  tokens: number
}

interface Look {
  state: LoopState
  seen: Seen
}

/** Lets them look, unless they still do. */
export function followStrategies(loop: Loop, at: Look): void {
  const { compacting, scope } = loop
  const strategies = scope.engine.registry.compaction.filter(({ follow }) => follow !== undefined)
  if (strategies.length === 0 || compacting.unfollow !== undefined) return
  const over = new AbortController()
  const signal = AbortSignal.any([scope.signal, over.signal])
  compacting.unfollow = () => over.abort()
  const look = async () => {
    const request = await requestFor(loop, at, signal)
    for (const strategy of strategies)
      await within(
        PATIENCE_MS,
        `the compaction strategy ${strategy.name}`,
        async () => await strategy.follow?.(request),
      )
  }
  look()
    .catch((error) => {
      if (signal.aborted) return
      const reason = error instanceof Error ? error.message : String(error)
      const message = `The notes for a compaction were not taken: ${reason}`
      scope.engine.emit({ type: "notice", level: "warning", message }, scope.agent)
    })
    .finally(() => {
      over.abort()
      delete compacting.unfollow
    })
}

/** The messages are copied when they are first looked at: most looks end at the number of tokens. */
async function requestFor(loop: Loop, { state, seen }: Look, signal: AbortSignal): Promise<CompactionRequest> {
  const room = await roomFor(state, compactingOptions(loop))
  const asked = askedOf(loop, room, { trigger: "auto" })
  let copy: MessageParam[] | undefined
  return {
    ...asked,
    // By now the loop may be between a call and its result.
    ask: (question) => asked.ask({ messages: seen.messages, ...question }, signal),
    get messages() {
      copy ??= structuredClone([...seen.messages])
      return copy
    },
    get said() {
      return saidIn(seen)
    },
    sizes: seen.sizes,
    tokens: seen.tokens,
    budget: room.budget,
    signal,
  }
}
