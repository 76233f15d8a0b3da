/**
 * How many tokens a conversation has: what the API counted is exact, only what came after it is estimated.
 *
 * Invariant: each message is measured once; the ratio of characters to tokens follows what this model has counted so far.
 */
import type { MessageParam } from "../message.ts"
import { mediaTokens } from "./media.ts"

/** What a message weighs: characters of text and JSON, and tokens of what is no text. */
export interface Weight {
  chars: number
  /** Tokens of images and documents. */
  media: number
}

/** How many characters a token has, by what was counted so far. Plain data: it is written down with each count. */
export interface Gauge {
  ratio: number
  /** Characters that it has learned from. */
  learned: number
}

/** Characters for each token before anything was counted; cautious for code and JSON. */
export const FIRST_GAUGE: Gauge = { ratio: 3.2, learned: 0 }
/** Nothing is learned from less, characters. */
const LEAST_CHARS = 2_000
/** What a ratio can be: dense scripts and base64 on one side, long runs of spaces on the other. */
const BOUNDS = { least: 1, most: 6 }

/** Tokens of that much text and media, estimated. */
export function tokensOf({ chars, media }: Weight, { ratio }: Gauge): number {
  return Math.ceil(chars / ratio + media)
}

/** The gauge after the API counted `tokens` for a weight. */
export function learn(gauge: Gauge, { chars, media }: Weight, tokens: number): Gauge {
  if (chars < LEAST_CHARS || tokens <= media) return gauge
  const { ratio, learned } = gauge
  const seen = Math.min(BOUNDS.most, Math.max(BOUNDS.least, chars / (tokens - media)))
  // Later ones weigh by their length, so that one odd result does not turn it round.
  const share = learned === 0 ? 1 : Math.min(0.5, chars / (learned + chars))
  return { ratio: ratio + (seen - ratio) * share, learned: learned + chars }
}

/** What one message weighs. */
export function weigh(message: MessageParam): Weight {
  const weight: Weight = { chars: 20, media: 0 }
  if (typeof message.content === "string") weight.chars += message.content.length
  else for (const block of message.content) weighBlock(block as unknown as Block, weight)
  return weight
}

/** Tokens of messages at the very most: one for each byte of text, and for media what the most demanding model takes. */
export function mostTokens(messages: readonly MessageParam[]): number {
  let most = 0
  for (const { content } of messages) {
    most += 30
    if (typeof content === "string") most += bytesOf(content)
    else for (const block of content) most += mostOfBlock(block as unknown as Block)
  }
  return most
}

/** How many times the usual number of tokens an image can take at a model with a finer view. */
const FINEST_VIEW = 3

function mostOfBlock(block: Block): number {
  const { content } = block
  if (block.type === "tool_result" && Array.isArray(content)) {
    const inner = (content as Block[]).reduce((sum, one) => sum + mostOfBlock(one), 0)
    return bytesOf({ ...block, content: [] }) + inner
  }
  const kind = isMedia(block) ? block.source?.type : undefined
  if (kind === undefined || kind === "text" || kind === "content") return bytesOf(block)
  return mediaTokens(block) * FINEST_VIEW + bytesOf({ ...block, source: {} })
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "")
}

/** The sum of some weights. */
export function addWeights(weights: Iterable<Weight>): Weight {
  const sum = { chars: 0, media: 0 }
  for (const { chars, media } of weights) {
    sum.chars += chars
    sum.media += media
  }
  return sum
}

interface Block {
  type: string
  text?: unknown
  thinking?: unknown
  content?: unknown
  source?: { type?: unknown; data?: unknown; content?: unknown }
}

function weighBlock(block: Block, weight: Weight): void {
  weight.chars += 30
  if (typeof block.text === "string") weight.chars += block.text.length
  else if (typeof block.thinking === "string") weight.chars += block.thinking.length
  else if (isMedia(block)) weighMedia(block, weight)
  else if (block.type === "tool_result") weighContent(block.content, weight)
  else weight.chars += JSON.stringify(block).length
}

function isMedia({ type, source }: Block): boolean {
  return (type === "image" || type === "document") && typeof source === "object" && source !== null
}

function weighMedia(block: Block, weight: Weight): void {
  weight.media += mediaTokens(block)
  if (block.source?.type === "text") weighContent(block.source.data, weight)
  if (block.source?.type === "content") weighContent(block.source.content, weight)
}

function weighContent(content: unknown, weight: Weight): void {
  if (typeof content === "string") weight.chars += content.length
  else if (Array.isArray(content)) for (const inner of content as Block[]) weighBlock(inner, weight)
}
