/**
 * What a run may use: a tree of budgets in which the worst case of each request is reserved before it is sent.
 *
 * Invariant: at every node, what was used and what is reserved together never exceed a limit; so whatever requests run
 * at once, they cannot jointly overshoot. Pure: no I/O, the clock is handed in.
 */
import type { Usage } from "../message.ts"
import type { Budget } from "../step.ts"
import {
  type Amount,
  costOf,
  describe,
  inputOf,
  NOTHING,
  type Node,
  outputThatFits,
  type SpendRequest,
  type Spent,
  type TokenRate,
  timeIsUp,
  worstRate,
  worstUsage,
} from "./spend-limit.ts"

export type { SpendRequest, Spent }
export { costOf }

/** One node of the tree: a run, a step, an agent. Everything used here is used by all nodes above it too. */
export interface Spend {
  readonly budget: Readonly<Budget>
  /** A node below this one; without a budget it only counts. Its minutes begin now. */
  child(budget?: Budget): Spend
  /**
   * Reserves the worst case of one request here and above, waiting while the reservations of others are in the way.
   * Throws BUDGET_PRICE_UNKNOWN.
   */
  reserve(request: SpendRequest): Promise<Reservation | Spent>
  /** The limit that has refused a request, or has run out, here or above: then nothing new should start. */
  exhausted(): Spent | undefined
  /** When the minutes of this node or of one above it end, ms since the epoch. */
  deadline(): number | undefined
  /** What was used here and below. */
  totals(): SpendTotals
}

/** Leave to send one request. Settle it exactly once; what comes later is ignored. */
export interface Reservation {
  /** Output tokens to ask for: as wanted, or what still fits, at least 1,024. */
  maxOutput: number
  /**
   * Counts a turn (none, for a request that was no agent's turn) and what it really used; without usage no turn, but all
   * that was reserved: the request died on its way.
   */
  settle(usage?: Usage, turns?: 0): void
  /** Gives it back unused: the request was never sent. */
  release(): void
}

export interface SpendTotals {
  usage: Usage
  /** USD; absent when something was used whose price is unknown. */
  usd?: number
  turns: number
}

/** Output tokens below which a request is not worth sending. */
const LEAST_OUTPUT = 1024

interface Tree {
  now: () => number
  queue: Waiter[]
}
interface Waiter {
  attempt: (busy: ReadonlySet<Node>) => Outcome
  resolve: (outcome: Reservation | Spent) => void
}
type Outcome = { done: Reservation | Spent } | { waitsFor: readonly Node[] }

/** Makes the root of a tree. */
export function createSpend(budget: Budget, options: { clock: { now(): number } }): Spend {
  const tree: Tree = { now: () => options.clock.now(), queue: [] }
  return createNode(tree, budget, undefined)
}

function createNode(tree: Tree, budget: Budget, parent: Node | undefined): Spend {
  const node: Node = {
    budget: Object.freeze({ ...budget }),
    parent,
    deadline: budget.minutes === undefined ? undefined : tree.now() + budget.minutes * 60_000,
    used: { usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, usd: 0, priced: true, turns: 0 },
    held: { tokens: 0, usd: 0, turns: 0 },
    refused: undefined,
  }
  const chain = [...ancestry(node)]
  return {
    budget: node.budget,
    child: (below = {}) => createNode(tree, below, node),
    reserve: (request) => reserve(tree, chain, request),
    exhausted: () => firstOf(chain, (each) => each.refused ?? timeIsUp(each, tree.now())),
    deadline: () => earliest(chain),
    totals: () => totalsOf(node),
  }
}

function* ancestry(node: Node | undefined): Generator<Node> {
  for (let at = node; at !== undefined; at = at.parent) yield at
}

function firstOf<T>(chain: readonly Node[], find: (node: Node) => T | undefined): T | undefined {
  for (const node of chain) {
    const found = find(node)
    if (found !== undefined) return found
  }
  return undefined
}

function earliest(chain: readonly Node[]): number | undefined {
  const ends = chain.flatMap((node) => node.deadline ?? [])
  return ends.length === 0 ? undefined : Math.min(...ends)
}

function totalsOf({ used }: Node): SpendTotals {
  return { usage: { ...used.usage }, turns: used.turns, ...(used.priced ? { usd: used.usd } : {}) }
}

async function reserve(tree: Tree, chain: readonly Node[], request: SpendRequest): Promise<Reservation | Spent> {
  const limited = chain.filter(({ budget, deadline }) => Object.keys(budget).length > 0 || deadline !== undefined)
  if (limited.length === 0) return createReservation(tree, chain, request, { output: request.maxOutput })
  const input = inputOf(request)
  const rate = worstRate(limited, request, input)
  if (request.signal?.aborted) return INTERRUPTED
  return await new Promise((resolve) => {
    const attempt = (busy: ReadonlySet<Node>) => tryToReserve({ tree, chain, limited, request, input, rate }, busy)
    const onAbort = () => {
      tree.queue.splice(tree.queue.indexOf(waiter), 1)
      resolve(INTERRUPTED)
      serve(tree)
    }
    const waiter: Waiter = {
      attempt,
      resolve(outcome) {
        request.signal?.removeEventListener("abort", onAbort)
        resolve(outcome)
      },
    }
    request.signal?.addEventListener("abort", onAbort, { once: true })
    tree.queue.push(waiter)
    serve(tree)
  })
}

const INTERRUPTED: Spent = { spent: "The run was interrupted while a request waited for its budget" }

/** Answers whoever can be answered, first come first served at each node. */
function serve(tree: Tree): void {
  const busy = new Set<Node>()
  for (const waiter of [...tree.queue]) {
    const outcome = waiter.attempt(busy)
    if ("waitsFor" in outcome) {
      for (const node of outcome.waitsFor) busy.add(node)
      continue
    }
    tree.queue.splice(tree.queue.indexOf(waiter), 1)
    waiter.resolve(outcome.done)
  }
}

interface Wish {
  tree: Tree
  chain: readonly Node[]
  limited: readonly Node[]
  request: SpendRequest
  input: number
  rate: TokenRate
}

function tryToReserve(wish: Wish, busy: ReadonlySet<Node>): Outcome {
  const { tree, chain, limited, request } = wish
  let output = request.maxOutput
  const least = Math.min(LEAST_OUTPUT, output)
  for (const node of limited) {
    const fit = outputThatFits(node, wish, NOTHING)
    const spent = timeIsUp(node, tree.now()) ?? (fit.output < least ? describe(node, fit.limit) : undefined)
    if (spent) {
      node.refused = spent
      return { done: spent }
    }
    output = Math.min(output, fit.output)
  }
  const waitsFor = limited.filter((node) => busy.has(node) || outputThatFits(node, wish, node.held).output < output)
  if (waitsFor.length > 0) return { waitsFor }
  return { done: createReservation(tree, chain, request, { output, input: wish.input, rate: wish.rate }) }
}

function createReservation(
  tree: Tree,
  chain: readonly Node[],
  request: SpendRequest,
  held: { output: number; input?: number; rate?: TokenRate },
): Reservation {
  const amount: Amount = {
    turns: 1,
    tokens: (held.input ?? 0) + held.output,
    usd: held.rate === undefined ? 0 : (held.input ?? 0) * held.rate.input + held.output * held.rate.output,
  }
  for (const node of chain) hold(node, amount, 1)
  let open = true
  const close = (use?: () => void) => {
    if (!open) return
    open = false
    for (const node of chain) hold(node, amount, -1)
    use?.()
    serve(tree)
  }
  return {
    maxOutput: held.output,
    settle: (usage, turns) =>
      close(() => count(chain, request, usage ?? worstUsage(request, held), usage ? (turns ?? 1) : 0)),
    release: () => close(),
  }
}

function hold({ held }: Node, amount: Amount, sign: 1 | -1): void {
  held.turns += sign * amount.turns
  held.tokens += sign * amount.tokens
  held.usd += sign * amount.usd
  if (held.turns === 0) held.usd = 0
}

function count(chain: readonly Node[], { price }: SpendRequest, usage: Usage, turns: number): void {
  const usd = price === undefined ? undefined : costOf(usage, price)
  for (const { used } of chain) {
    used.turns += turns
    used.usage.input += usage.input
    used.usage.output += usage.output
    used.usage.cacheRead += usage.cacheRead
    used.usage.cacheWrite += usage.cacheWrite
    used.usd += usd ?? 0
    used.priced &&= usd !== undefined
  }
}
