/**
 * Strategies that take notes while a loop works → a look at the conversation for each of them, after each turn.
 *
 * Invariant: the loop never waits for them; one look at a time, and none outlives the loop.
 */
import { setMaxListeners } from "node:events"
import { askedOf } from "./compact.ts"
import { compactingOptions, roomFor } from "./compact-room.ts"
import { saidIn } from "./context/compact.ts"
import type { Mark } from "./context/history.ts"
import { reasonOf } from "./error.ts"
import type { Loop, LoopState } from "./loop-state.ts"
import type { MessageParam } from "./message.ts"
import { untilAborted, within } from "./patience.ts"
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
  /** Fires when nobody waits for it any more. */
  signal: AbortSignal
}

/** Lets each of them look, one after the other; what one of them does wrong is told, and the others look as well. */
export async function followStrategies(loop: Loop, at: Look): Promise<void> {
  const { engine, agent } = loop.scope
  const { told } = loop.compacting
  const { signal } = at
  // As many questions as a strategy likes may wait at once.
  setMaxListeners(0, signal)
  const patience = untilAborted(signal)
  for (const strategy of engine.registry.compaction) {
    if (strategy.follow === undefined || signal.aborted) continue
    try {
      const look = async () => await Promise.race([strategy.follow?.(await requestFor(loop, at)), patience.over])
      await within(PATIENCE_MS, `the compaction strategy ${strategy.name}`, look)
    } catch (error) {
      if (signal.aborted) break
      const message = `The notes for a compaction were not taken: ${reasonOf(error)}`
      if (told.has(message)) continue
      told.add(message)
      engine.emit({ type: "notice", level: "warning", message }, agent)
    }
  }
  patience.forget()
}

/** The messages are copied when they are first looked at: most looks end at the number of tokens. */
async function requestFor(loop: Loop, { state, seen, signal }: Look): Promise<CompactionRequest> {
  const room = await roomFor(state, compactingOptions(loop))
  const asked = askedOf(loop, room, { trigger: "auto" })
  let copy: MessageParam[] | undefined
  return {
    ...asked,
    // By now the loop may be between a call and its result.
    ask: (question) => asked.ask({ ...question, messages: question.messages ?? seen.messages }, signal),
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
