/**
 * Folds what a model streams into one answer, telling of text as it comes and of each tool_use as its block ends.
 *
 * Invariant: blocks come out as they were sent, unknown ones too; arguments are parsed once, when their block ends.
 */
import type { ToolUse } from "./call.ts"
import type { EventBody } from "./event.ts"
import type { ContentBlock, ContentBlockParam, StopReason, Usage } from "./message.ts"
import { createModelFault, type ModelEvent } from "./model.ts"

/** One whole answer of a model. */
export interface Answer {
  content: ContentBlockParam[]
  /** The tool_use blocks, in order. */
  uses: ToolUse[]
  stopReason: StopReason | null
  usage: Usage
}

/** What a stream has brought so far; kept by the caller, so that it survives a stream that breaks. */
export interface Progress {
  /** True once the model has sent anything at all. */
  begun: boolean
  usage: Usage
}

/** Reads one stream to its end. Throws what the stream throws, and a ModelFault when it does not make a message. */
export async function* readAnswer(
  events: AsyncIterable<ModelEvent>,
  progress: Progress,
  onToolUse: (use: ToolUse) => void,
): AsyncGenerator<EventBody, Answer> {
  const blocks = new Map<number, OpenBlock>()
  const answer: Answer = { content: [], uses: [], stopReason: null, usage: progress.usage }
  for await (const event of events) {
    if (event.type === "retry") {
      const seconds = (event.delayMs / 1000).toFixed(1)
      yield { type: "notice", level: "warning", message: `The model is asked again in ${seconds} s: ${event.reason}` }
      continue
    }
    progress.begun = true
    if (event.type === "message_start") countUsage(progress.usage, event.message.usage)
    else if (event.type === "content_block_start") openBlock(blocks, event.index, event.content_block)
    else if (event.type === "content_block_delta") {
      const told = applyDelta(blocks.get(event.index), event.delta as Delta)
      if (told) yield told
    } else if (event.type === "content_block_stop") closeBlock(blocks.get(event.index), answer, onToolUse)
    else if (event.type === "message_delta") {
      answer.stopReason = event.delta.stop_reason
      countUsage(progress.usage, event.usage)
    }
  }
  // A block that nobody ended would be a tool_use without a result.
  for (const open of blocks.values()) closeBlock(open, answer, onToolUse)
  answer.content = [...blocks.values()].map(({ block }) => block as unknown as ContentBlockParam)
  return answer
}

interface OpenBlock {
  block: ContentBlock
  /** Arguments so far, as JSON text. */
  json: string
  closed: boolean
}

function openBlock(blocks: Map<number, OpenBlock>, index: number, block: ContentBlock): void {
  if (blocks.has(index)) throw garbled(`two blocks with the index ${index}`)
  blocks.set(index, { block: { ...block }, json: "", closed: false })
}

/** A stream that is no message: worth asking again, and nothing of it is kept. */
function garbled(what: string): Error {
  return createModelFault("server", `The model's stream is garbled: it has ${what}`)
}

/** The deltas that change a block; others (of blocks that the kernel does not know) change nothing. */
interface Delta {
  type: string
  text?: string
  thinking?: string
  signature?: string
  partial_json?: string
  citation?: unknown
}

function applyDelta(open: OpenBlock | undefined, delta: Delta): EventBody | undefined {
  if (open === undefined) return undefined
  const block = open.block as unknown as Record<string, unknown>
  if (delta.type === "text_delta") {
    block["text"] = `${block["text"] ?? ""}${delta.text}`
    return { type: "text", text: delta.text ?? "" }
  }
  if (delta.type === "thinking_delta") {
    block["thinking"] = `${block["thinking"] ?? ""}${delta.thinking}`
    return { type: "thinking", text: delta.thinking ?? "" }
  }
  if (delta.type === "signature_delta") block["signature"] = delta.signature
  else if (delta.type === "input_json_delta") open.json += delta.partial_json ?? ""
  else if (delta.type === "citations_delta") {
    block["citations"] = [...((block["citations"] as unknown[] | null) ?? []), delta.citation]
  }
  return undefined
}

function closeBlock(open: OpenBlock | undefined, answer: Answer, onToolUse: (use: ToolUse) => void): void {
  if (open === undefined || open.closed) return
  open.closed = true
  if (!("input" in open.block)) return
  const parsed = parseArguments(open.json, open.block.input)
  open.block.input = parsed.input
  if (open.block.type !== "tool_use") return
  const { id, name } = open.block
  if (typeof id !== "string" || id === "") throw garbled("a tool_use without an id")
  if (answer.uses.some((other) => other.id === id)) throw garbled(`two tool_uses with the id "${id}"`)
  const use: ToolUse = { id, name, ...parsed }
  answer.uses.push(use)
  onToolUse(use)
}

function parseArguments(json: string, sent: unknown): { input: unknown; broken?: string } {
  if (json.trim() === "") return { input: sent ?? {} }
  if (isTooDeep(json)) return { input: {}, broken: `it is nested more than ${DEEPEST} deep` }
  try {
    return { input: JSON.parse(json) }
  } catch (error) {
    return { input: {}, broken: (error as Error).message }
  }
}

/** Levels of arguments; deeper ones cannot be written down again. */
const DEEPEST = 500

function isTooDeep(json: string): boolean {
  let depth = 0
  let inText = false
  for (let index = 0; index < json.length; index++) {
    const character = json[index]
    if (character === '"') inText = !inText
    else if (inText && character === "\\") index++
    else if (!inText && (character === "{" || character === "[")) depth++
    else if (!inText && (character === "}" || character === "]")) depth--
    if (depth > DEEPEST) return true
  }
  return false
}

interface ApiUsage {
  input_tokens?: number | null
  output_tokens?: number | null
  cache_read_input_tokens?: number | null
  cache_creation_input_tokens?: number | null
}

/** Output is cumulative in `message_delta`, and the input side is repeated there when the API has counted it anew. */
function countUsage(usage: Usage, api: ApiUsage | null | undefined): void {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = api ?? {}
  usage.input = tokens(input_tokens, usage.input)
  usage.cacheRead = tokens(cache_read_input_tokens, usage.cacheRead)
  usage.cacheWrite = tokens(cache_creation_input_tokens, usage.cacheWrite)
  usage.output = tokens(output_tokens, usage.output)
}

/** A count that is none would switch every budget off; what was counted before stands. */
function tokens(counted: number | null | undefined, before: number): number {
  return typeof counted === "number" && Number.isFinite(counted) && counted >= 0 ? counted : before
}
