/**
 * One agent's messages: grows at its end, is written down as it grows, and becomes the body of each request.
 *
 * Invariant: what was sent once is sent again byte for byte; only compaction replaces messages, and it is counted.
 */
import type { ContentBlockParam, JsonSchema, MessageParam, TextBlockParam, Usage } from "../message.ts"
import type { ModelRequest, ToolDeclaration } from "../model.ts"
import type { Transcript } from "../session/transcript.ts"
import type { Effort } from "../tool.ts"

/** The parts of a request that stay the same for a whole conversation. */
export interface RequestFrame {
  system: readonly TextBlockParam[]
  tools: readonly ToolDeclaration[]
  effort?: Effort
  outputSchema?: JsonSchema
}

export interface Conversation {
  readonly messages: readonly MessageParam[]
  append(role: "user" | "assistant", content: ContentBlockParam[]): void
  /** Shows the model tools that it has not been shown yet, behind those that it has. */
  declare(tools: readonly ToolDeclaration[]): void
  /**
   * Shows the model these tools in the place of all that it was shown; true when that changes what is sent. What stays as
   * it is keeps its place.
   */
  redeclare(tools: readonly ToolDeclaration[]): boolean
  /** The next request. Its messages array is only good until the next append. */
  request(maxTokens: number): ModelRequest
  /** Remembers what the API counted for the last request and its answer. */
  counted(usage: Usage): void
  /** Tokens at the most of the next request's input: what was counted, and one for each byte that is new. */
  worstInputTokens(): number
  /** Tokens of the window in use, as last counted. */
  contextTokens(): number
  /** Puts a shorter stand-in in the place of all messages before `keepFrom`. */
  compact(keepFrom: number, summary: string): void
  /** Takes the thinking out of earlier answers, for a model that did not think it. */
  forgetThinking(): void
  flush(): Promise<void>
}

/** Opens an empty conversation that is written to a transcript. */
export function createConversation(frame: RequestFrame, transcript: Transcript): Conversation {
  let messages: MessageParam[] = []
  let counted = { tokens: 0, upTo: -1 }
  let { tools } = frame
  return {
    get messages() {
      return messages
    },
    declare(more) {
      const added = more.filter(({ name }) => !tools.some((tool) => tool.name === name))
      if (added.length === 0) return
      tools = [...tools, ...added]
      counted.tokens += byteLength(added)
    },
    redeclare(fresh) {
      const named = new Map(fresh.map((tool) => [tool.name, tool]))
      const kept = tools.flatMap(({ name }) => named.get(name) ?? [])
      const next = [...kept, ...fresh.filter(({ name }) => !tools.some((tool) => tool.name === name))]
      if (JSON.stringify(next) === JSON.stringify(tools)) return false
      counted.tokens += Math.max(0, byteLength(next) - byteLength(tools))
      tools = next
      return true
    },
    append(role, content) {
      if (content.length === 0) return
      const message: MessageParam = { role, content }
      // An answer's own tokens were counted with it.
      if (role === "assistant" && counted.upTo === messages.length) counted.upTo++
      messages.push(message)
      transcript.append(role, { message })
    },
    request(maxTokens) {
      return { ...frame, tools, messages: withBreakpoint(messages), maxTokens }
    },
    counted(usage) {
      const tokens = usage.input + usage.cacheRead + usage.cacheWrite + usage.output
      counted = { tokens, upTo: messages.length }
      transcript.append("usage", { usage })
    },
    worstInputTokens() {
      if (counted.upTo < 0) return byteLength([frame.system, tools, messages])
      return counted.tokens + byteLength(messages.slice(counted.upTo))
    },
    contextTokens: () => counted.tokens,
    compact(keepFrom, summary) {
      messages = [{ role: "user", content: [{ type: "text", text: summary }] }, ...messages.slice(keepFrom)]
      counted = { tokens: 0, upTo: -1 }
      transcript.append("compaction", { keepFrom, summary })
    },
    forgetThinking() {
      messages = messages.flatMap(withoutThinking)
      transcript.append("thinking_forgotten", {})
    },
    flush: () => transcript.flush(),
  }
}

/** The same messages, with the cache breakpoint on the last block of the last one. */
function withBreakpoint(messages: readonly MessageParam[]): readonly MessageParam[] {
  const last = messages.at(-1)
  if (last === undefined || typeof last.content === "string") return messages
  const block = last.content.at(-1)!
  if (block.type === "thinking" || block.type === "redacted_thinking") return messages
  const marked = { ...block, cache_control: { type: "ephemeral" } } as ContentBlockParam
  return messages.with(-1, { ...last, content: [...last.content.slice(0, -1), marked] } as MessageParam)
}

function withoutThinking(message: MessageParam): MessageParam[] {
  if (message.role !== "assistant" || typeof message.content === "string") return [message]
  const content = message.content.filter(({ type }) => type !== "thinking" && type !== "redacted_thinking")
  if (content.length === message.content.length) return [message]
  return content.length === 0 ? [] : [{ ...message, content }]
}

function byteLength(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
