/**
 * The words of a conversation: the Messages API's own block types, imported as types only.
 *
 * Invariant: the kernel adds no block type of its own and drops none it does not know.
 */
import type {
  ContentBlock as ApiContentBlock,
  ContentBlockParam,
  MessageParam,
  RawMessageStreamEvent,
  StopReason,
  TextBlockParam,
  ToolResultBlockParam,
  ToolUseBlock,
} from "@anthropic-ai/sdk/resources/messages"

export type { ContentBlockParam, MessageParam, RawMessageStreamEvent, StopReason, TextBlockParam, ToolUseBlock }

/** A block of a model's answer, as the API sent it. */
export type ContentBlock = ApiContentBlock

/** The answer to one tool_use, as it goes back to the model. */
export type ToolResult = ToolResultBlockParam

/** What a tool may put into its result: text, images, documents. */
export type ToolResultContent = NonNullable<ToolResult["content"]>

/** Tokens of one or more requests, as the API reports them. */
export interface Usage {
  /** Tokens read neither from nor into the cache. */
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
}

/** JSON Schema as plain data (draft 2020-12, the dialect `z.toJSONSchema` writes). */
export type JsonSchema = { [key: string]: unknown }
