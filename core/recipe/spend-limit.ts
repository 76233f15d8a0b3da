/**
 * The arithmetic of budgets: what still fits under the limits of one node, what a request may cost at the worst.
 *
 * Invariant: pure; the worst case is never less than what the API can bill for the request.
 */
import { SousError } from "../error.ts"
import type { Usage } from "../message.ts"
import { type Price, type Rate, rateFor } from "../model.ts"
import type { Budget } from "../step.ts"

/** The worst case of one request. */
export interface SpendRequest {
  /** Input tokens at the most; a function is called only if a limit wants to know. */
  inputTokens: number | (() => number)
  /** Output tokens asked for. */
  maxOutput: number
  /** Absent: unknown. */
  price?: Price | undefined
  /** The model's id, for the error about its price. */
  model?: string
  /** Ends the waiting; the answer is then a Spent that says so. */
  signal?: AbortSignal
}

/** There is nothing left to reserve. */
export interface Spent {
  /** One sentence that names the limit. */
  spent: string
  limit?: keyof Budget
}

/** One node of the tree of budgets. */
export interface Node {
  budget: Readonly<Budget>
  parent: Node | undefined
  deadline: number | undefined
  used: { usage: Usage; usd: number; priced: boolean; turns: number }
  held: Amount
  /** The answer to a request that it had no room for. */
  refused: Spent | undefined
}

/** What is reserved, or one reservation. */
export interface Amount {
  tokens: number
  usd: number
  turns: number
}

/** USD per token. */
export interface TokenRate {
  input: number
  output: number
}

/** What a request costs in USD. */
export function costOf(usage: Usage, price: Price): number {
  const rate = rateFor(price, usage.input + usage.cacheRead + usage.cacheWrite)
  const { input, output, cacheRead, cacheWrite } = usage
  const sum = input * rate.input + output * rate.output + cacheRead * rate.cacheRead + cacheWrite * rate.cacheWrite
  return sum / 1e6
}

/** Input tokens at the most. */
export function inputOf({ inputTokens }: SpendRequest): number {
  return typeof inputTokens === "number" ? inputTokens : inputTokens()
}

/** What a token costs at the most, or zeros where no limit is in USD. Throws BUDGET_PRICE_UNKNOWN. */
export function worstRate(limited: readonly Node[], request: SpendRequest, input: number): TokenRate {
  if (!limited.some((node) => node.budget.usd !== undefined)) return { input: 0, output: 0 }
  if (request.price === undefined) throw new SousError("BUDGET_PRICE_UNKNOWN", { model: request.model ?? "this model" })
  const rate = rateFor(request.price, input)
  return { input: dearestInput(rate) / 1e6, output: rate.output / 1e6 }
}

function dearestInput(rate: Rate): number {
  return Math.max(rate.input, rate.cacheWrite, rate.cacheRead)
}

/** No reservation. */
export const NOTHING: Amount = { tokens: 0, usd: 0, turns: 0 }

/** Output tokens that still fit beside the input and what is held; negative when not even the input does. */
export function outputThatFits(
  node: Node,
  { input, rate }: { input: number; rate: TokenRate },
  held: Amount,
): { output: number; limit: keyof Budget } {
  const { budget, used } = node
  const left = {
    turns: budget.turns !== undefined && budget.turns - used.turns - held.turns < 1 ? -1 : Number.POSITIVE_INFINITY,
    tokens: (budget.tokens ?? Number.POSITIVE_INFINITY) - tokensOf(used.usage) - held.tokens - input,
    usd: tokensFor((budget.usd ?? Number.POSITIVE_INFINITY) - used.usd - held.usd - input * rate.input, rate.output),
  }
  const limit = (["turns", "tokens", "usd"] as const).reduce((a, b) => (left[b] < left[a] ? b : a))
  return { output: Math.floor(left[limit]), limit }
}

/** Output tokens for that much USD; a grain is allowed for what adding up fractions loses. */
function tokensFor(usd: number, rate: number): number {
  if (usd < -GRAIN) return -1
  return rate === 0 ? Number.POSITIVE_INFINITY : (usd + GRAIN) / rate
}
const GRAIN = 1e-9

function tokensOf(usage: Usage): number {
  return usage.input + usage.output + usage.cacheRead + usage.cacheWrite
}

/** The answer of a node whose minutes are over. */
export function timeIsUp(node: Node, now: number): Spent | undefined {
  return node.deadline !== undefined && now >= node.deadline ? describe(node, "minutes") : undefined
}

/** Names the limit that is used up. */
export function describe({ budget, used }: Node, limit: keyof Budget): Spent {
  const soFar = {
    usd: ` (${used.usd.toFixed(4)} used)`,
    tokens: ` (${tokensOf(used.usage)} used)`,
    turns: "",
    minutes: "",
  }
  const unit = limit === "usd" ? "USD" : limit
  return { spent: `The budget of ${budget[limit]} ${unit} is spent${soFar[limit]}`, limit }
}

/** The usage of a request that died: all input at the dearest price: as a cache write where those cost more. */
export function worstUsage(request: SpendRequest, held: { output: number; input?: number }): Usage {
  const input = held.input ?? inputOf(request)
  const written = request.price !== undefined && request.price.cacheWrite > request.price.input
  return {
    input: written ? 0 : input,
    output: held.output,
    cacheRead: 0,
    cacheWrite: written ? input : 0,
  }
}
