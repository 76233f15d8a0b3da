/**
 * How many subagents work at once, counted at each depth by itself.
 *
 * Invariant: a parent that waits for its child holds no slot that the child needs, so nesting cannot lock up.
 */
import type { Engine } from "./engine.ts"

/** Makes the slots of a run, `width` at each depth. */
export function createSlots(width: number): Engine["subagentSlots"] {
  const depths = new Map<number, { free: number; queue: (() => void)[] }>()
  return {
    async acquire(depth, signal) {
      const slots = depths.get(depth) ?? { free: width, queue: [] }
      depths.set(depth, slots)
      signal.throwIfAborted()
      if (slots.free > 0) slots.free--
      else await waitForSlot(slots.queue, signal)
      let held = true
      return () => {
        if (!held) return
        held = false
        const next = slots.queue.shift()
        if (next) next()
        else slots.free++
      }
    },
  }
}

async function waitForSlot(queue: (() => void)[], signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const give = () => {
      signal.removeEventListener("abort", leave)
      resolve()
    }
    const leave = () => {
      queue.splice(queue.indexOf(give), 1)
      reject(signal.reason)
    }
    signal.addEventListener("abort", leave, { once: true })
    queue.push(give)
  })
}
