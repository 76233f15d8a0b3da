/**
 * Turns a scripted turn into the events that the Messages API would stream for it.
 *
 * Invariant: block and event types that are not known here go out as they were written.
 *
 * Source: https://platform.claude.com/docs/en/build-with-claude/streaming
 */
import type { RawMessageStreamEvent } from "sous"
import type { RequestBody } from "./request.ts"
import type { Turn, TurnBlock } from "./turn.ts"

/** What a turn does not know of itself. */
export interface TurnPlace {
  /** Counts from 1, over all answers of this model or server. */
  answer: number
  body: RequestBody
  /** The request's size, used where the turn states no usage. */
  inputTokens: number
}

/** An event on the wire: those of the SDK's types, pings, and whatever a turn invents. */
export type WireEvent = { type: string } & Record<string, unknown>

/** The events of one answer, in order, pings included. */
export function turnEvents(turn: Turn, place: TurnPlace): WireEvent[] {
  const usage = usageOf(turn, place.inputTokens)
  const events: WireEvent[] = [
    { type: "message_start", message: emptyMessage(place, { ...usage, output_tokens: 1 }) },
    ...turn.events,
  ]
  const pings = Array.from({ length: turn.pings }, () => ({ type: "ping" }))
  turn.blocks.forEach((block, index) => {
    const [start, ...rest] = blockEvents(withId(block, place, index), index, turn.chunk)
    events.push(start!, ...(index === 0 ? pings : []), ...rest)
  })
  if (turn.blocks.length === 0) events.push(...pings)
  events.push({ type: "message_delta", delta: stopOf(turn), usage })
  events.push({ type: "message_stop" })
  return events
}

/** The events that the SDK hands on; it keeps pings to itself. */
export function withoutPings(events: readonly WireEvent[]): RawMessageStreamEvent[] {
  return events.filter(({ type }) => type !== "ping") as unknown as RawMessageStreamEvent[]
}

/** Folds events into the message that a request without `stream` gets. */
export function foldEvents(events: readonly WireEvent[]): Record<string, unknown> {
  let message: Record<string, unknown> = {}
  const blocks: Record<string, unknown>[] = []
  for (const event of events) {
    const index = event["index"] as number
    if (event.type === "message_start") message = { ...(event["message"] as object) }
    else if (event.type === "content_block_start") blocks[index] = { ...(event["content_block"] as object) }
    else if (event.type === "content_block_delta") extend(blocks[index]!, event["delta"] as Delta)
    else if (event.type === "content_block_stop") close(blocks[index]!)
    else if (event.type === "message_delta") Object.assign(message, event["delta"], { usage: event["usage"] })
  }
  return { ...message, content: blocks }
}

/** Four characters for a token: what a scripted usage is made of when the turn states none. */
export function estimateTokens(characters: number): number {
  return Math.ceil(characters / 4)
}

function usageOf(turn: Turn, inputTokens: number) {
  return {
    input_tokens: inputTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: Math.max(1, estimateTokens(JSON.stringify(turn.blocks).length)),
    ...turn.usage,
  }
}

function emptyMessage({ answer, body }: TurnPlace, usage: object): Record<string, unknown> {
  return {
    id: `msg_${String(answer).padStart(4, "0")}`,
    type: "message",
    role: "assistant",
    model: body.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  }
}

function stopOf(turn: Turn): object {
  return {
    stop_reason: turn.stop_reason,
    stop_sequence: turn.stop_sequence ?? null,
    ...(turn.stop_details === undefined ? {} : { stop_details: turn.stop_details }),
  }
}

/** Ids tell conversation, answer and block, so that they are unique in a run and in a conversation that is resumed. */
function withId(block: TurnBlock, { answer, body }: TurnPlace, index: number): TurnBlock {
  if (block.type !== "tool_use" || block["id"] !== undefined) return block
  return { ...block, id: `toolu_${body.messages.length}_${answer}_${index + 1}` }
}

function blockEvents(block: TurnBlock, index: number, chunk: number): WireEvent[] {
  const { start, deltas } = partsOf(block, chunk)
  return [
    { type: "content_block_start", index, content_block: start },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ]
}

interface Delta {
  type: string
  text?: string
  thinking?: string
  signature?: string
  partial_json?: string
}

function partsOf(block: TurnBlock, chunk: number): { start: object; deltas: Delta[] } {
  if (block.type === "text") {
    const deltas = pieces(String(block["text"] ?? ""), chunk).map((text) => ({ type: "text_delta", text }))
    return { start: { ...block, text: "" }, deltas }
  }
  if (block.type === "thinking") {
    const thoughts = pieces(String(block["thinking"] ?? ""), chunk).map((thinking) => ({
      type: "thinking_delta",
      thinking,
    }))
    const signature = { type: "signature_delta", signature: String(block["signature"] ?? "") }
    return { start: { ...block, thinking: "", signature: "" }, deltas: [...thoughts, signature] }
  }
  if (block.type === "tool_use") {
    const { raw_input, input, ...start } = block
    const json = typeof raw_input === "string" ? raw_input : JSON.stringify(input ?? {})
    const deltas = ["", ...pieces(json, chunk)].map((partial_json) => ({ type: "input_json_delta", partial_json }))
    return { start: { ...start, input: {} }, deltas }
  }
  return { start: block, deltas: [] }
}

function pieces(text: string, length: number): string[] {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, i) => text.slice(i * length, (i + 1) * length))
}

function extend(block: Record<string, unknown>, delta: Delta): void {
  if (delta.text !== undefined) block["text"] = `${block["text"]}${delta.text}`
  if (delta.thinking !== undefined) block["thinking"] = `${block["thinking"]}${delta.thinking}`
  if (delta.signature !== undefined) block["signature"] = delta.signature
  if (delta.partial_json !== undefined) block["json"] = `${block["json"] ?? ""}${delta.partial_json}`
}

function close(block: Record<string, unknown>): void {
  if (typeof block["json"] !== "string") return
  const { json } = block
  delete block["json"]
  try {
    block["input"] = JSON.parse(json === "" ? "{}" : json)
  } catch {
    block["input"] = {}
  }
}
