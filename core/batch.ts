/**
 * The calls of one message: neighbours that may overlap run together, all others alone, in order; some start early.
 *
 * Invariant: one result for each call, in the order asked; a failed call cancels no sibling, an abort does.
 */
import type { Called, ToolUse } from "./call.ts"
import { fitMessage, MESSAGE_LIMIT } from "./context/budget.ts"
import { callTool, findEarly, interruptedCall, mayOverlap } from "./dispatch.ts"
import type { AgentScope } from "./scope.ts"

/** Calls at work at once. */
const WIDTH = 10

/** Calls that were started while their message still streamed, by tool_use id. */
export interface EarlyCalls {
  /** Offers a call whose block has ended; it starts when every call before it did too. */
  offer(use: ToolUse): void
  /** Waits until every offered call has started or was held back. */
  settled(): Promise<ReadonlyMap<string, Promise<Called>>>
}

/** Starts calls early that read only, may overlap and need no question. */
export function createEarlyCalls(scope: AgentScope): EarlyCalls {
  const started = new Map<string, Promise<Called>>()
  let chain: Promise<boolean> = Promise.resolve(true)
  return {
    offer(use) {
      chain = chain.then(async (open) => {
        if (!open || started.size >= WIDTH) return false
        await scope.engine.refresh()
        const settled = await findEarly(scope, use)
        if (settled === undefined) return false
        started.set(use.id, callTool(scope, use, settled))
        return true
      })
    },
    async settled() {
      await chain
      return started
    },
  }
}

/** Runs the calls of a message; those that were started early are only awaited. */
export async function runCalls(
  scope: AgentScope,
  uses: readonly ToolUse[],
  early: ReadonlyMap<string, Promise<Called>> = new Map(),
): Promise<Called[]> {
  const results: Called[] = []
  for (const batch of await intoBatches(scope, uses, early)) results.push(...(await runBatch(scope, batch, early)))
  return await fitTogether(scope, results)
}

/** All results of one message together stay under their own limit. */
async function fitTogether(scope: AgentScope, calls: Called[]): Promise<Called[]> {
  const parts = calls.map(({ result, spilled }) => ({ content: result.content ?? "", ...(spilled ? { spilled } : {}) }))
  const options = { folder: scope.engine.folder, name: calls[0]?.result.tool_use_id ?? "results" }
  const fitted = await fitMessage(parts, MESSAGE_LIMIT, options)
  if (fitted === parts) return calls
  return calls.map((call, index) => ({ ...call, result: { ...call.result, content: fitted[index]!.content } }))
}

async function intoBatches(
  scope: AgentScope,
  uses: readonly ToolUse[],
  early: ReadonlyMap<string, unknown>,
): Promise<ToolUse[][]> {
  const batches: ToolUse[][] = []
  let open = false
  for (const use of uses) {
    const overlaps = early.has(use.id) || (await mayOverlap(scope, use))
    if (overlaps && open) batches.at(-1)!.push(use)
    else batches.push([use])
    open = overlaps
  }
  return batches
}

async function runBatch(
  scope: AgentScope,
  batch: readonly ToolUse[],
  early: ReadonlyMap<string, Promise<Called>>,
): Promise<Called[]> {
  const results: Called[] = []
  if (batch.some(({ id }) => !early.has(id))) await scope.engine.refresh()
  let next = 0
  const lane = async () => {
    for (let index = next++; index < batch.length; index = next++) {
      const use = batch[index]!
      const begun = early.get(use.id)
      results[index] = begun ? await begun : await runOne(scope, use)
    }
  }
  await Promise.all(Array.from({ length: Math.min(WIDTH, batch.length) }, lane))
  return results
}

async function runOne(scope: AgentScope, use: ToolUse): Promise<Called> {
  return scope.signal.aborted ? interruptedCall(use) : await callTool(scope, use)
}
