/**
 * A strategy's question → a request behind the conversation, as much of it as fits → the text of the answer.
 *
 * Invariant: question, conversation and answer fit the model's window together, as near as can be told; what does not fit
 * loses the middle of its longest results first, then whole rounds from behind the first message on.
 */
import { type AskingScope, askBehind } from "./ask-model.ts"
import { fairShare } from "./context/budget.ts"
import type { Conversation } from "./context/conversation.ts"
import { withoutThinking } from "./context/history.ts"
import { mostTokens } from "./context/usage.ts"
import type { ContentBlockParam, MessageParam } from "./message.ts"
import { limitsOf, type Model } from "./model.ts"
import type { CompactionQuestion } from "./plugin.ts"

/** Output tokens of an answer that sums a conversation up, and the share of a window that it takes at most. */
const SUMMARY = { tokens: 20_000, share: 0.1 }
/** The share of a window that estimates may fill. */
const SURE = 0.98

/** Makes `ask` of a strategy. `model`: the one of the conversation. Throws what `askBehind` throws. */
export function createAsk(scope: AskingScope, model: Model, conversation: Conversation) {
  return async (question: CompactionQuestion, signal: AbortSignal): Promise<string> => {
    signal.throwIfAborted()
    checkQuestion(question)
    const asked = question.model === undefined ? model : await scope.engine.openModel(question.model)
    const { contextWindow, maxOutput } = await limitsOf(asked)
    const text: MessageParam = { role: "user", content: [{ type: "text", text: question.text }] }
    const most = Math.floor(contextWindow * SUMMARY.share)
    const maxTokens = Math.max(1, Math.floor(Math.min(question.maxTokens ?? SUMMARY.tokens, maxOutput, most)))
    const room = contextWindow * SURE - maxTokens - conversation.sizeOf(text)
    const before = question.messages ?? whatFits(conversation, room)
    const messages = [...(asked.id === model.id ? before : thoughtless(before)), text]
    const request = { ...conversation.request(maxTokens), messages }
    // What this model has counted need not be reserved byte by byte.
    const isWhole = asked.id === model.id && before === conversation.messages
    const worstInputTokens = isWhole ? () => conversation.worstInputTokens() + mostTokens([text]) : undefined
    // Behind no messages, neither the tools nor what the agent was told it is matter.
    const alone = question.messages?.length === 0 ? { system: [], tools: [] } : {}
    return await askBehind(scope, asked, { ...request, ...alone }, { signal, worstInputTokens })
  }
}

/** A budget reckons with what is asked for: what is no number of tokens must not reach it. */
function checkQuestion(question: unknown): void {
  const { text, messages, maxTokens, model } = (question ?? {}) as Partial<Record<keyof CompactionQuestion, unknown>>
  const fault = (what: string) => new Error(`The question of the strategy cannot be asked: ${what}`)
  if (typeof text !== "string" || text.trim() === "") throw fault("its text says nothing")
  if (messages !== undefined && !Array.isArray(messages)) throw fault("its messages are no list")
  if (maxTokens !== undefined && !(typeof maxTokens === "number" && maxTokens >= 1))
    throw fault("its maxTokens is no number from 1 on")
  if (model !== undefined && typeof model !== "string") throw fault("its model is no id")
}

/** Thinking is signed for the model that thought it, and means nothing to another. */
function thoughtless(messages: readonly MessageParam[]): MessageParam[] {
  return messages.flatMap((message) => withoutThinking(message) ?? [])
}

/** All messages; where they do not fit, without the middle of long results, and if need be without old rounds. */
function whatFits(conversation: Conversation, room: number): readonly MessageParam[] {
  const { messages, sizeOf } = conversation
  const over = conversation.inputTokens() - room
  if (over <= 0) return messages
  const charsOfToken = SAMPLE.length / sizeOf({ role: "user", content: SAMPLE })
  const clipped = withShortResults(messages, Math.ceil(over * charsOfToken))
  const sizes = clipped.map(sizeOf)
  const saved = sum(conversation.sizes()) - sum(sizes)
  let left = over - saved
  let from = 1
  while (from < clipped.length && (left > 0 || (from > 1 && clipped[from]!.role !== "assistant")))
    left -= sizes[from++]!
  return [clipped[0]!, ...clipped.slice(from)]
}

const SAMPLE = "x".repeat(10_000)
/** What stands for the middle of a result. */
const GAP = "\n[…]\n"
/** Characters that each result keeps at least. */
const LEAST_RESULT = 400

/** The messages with so many characters less in their longest results; those of them that have so many. */
function withShortResults(messages: readonly MessageParam[], excess: number): MessageParam[] {
  const lengths = messages.flatMap(resultsOf).map((text) => text.length)
  const share = fairShare(lengths, Math.max(0, sum(lengths) - excess - lengths.length * GAP.length))
  if (share === undefined) return [...messages]
  const most = Math.max(LEAST_RESULT, share)
  return messages.map((message) => {
    if (!resultsOf(message).some((text) => text.length > most)) return message
    const content = (message.content as ContentBlockParam[]).map((block) =>
      block.type === "tool_result" && typeof block.content === "string"
        ? { ...block, content: withoutMiddle(block.content, most) }
        : block,
    )
    return { ...message, content } as MessageParam
  })
}

function resultsOf({ content }: MessageParam): string[] {
  if (typeof content === "string") return []
  return content.flatMap((block) =>
    block.type === "tool_result" && typeof block.content === "string" ? [block.content] : [],
  )
}

function withoutMiddle(text: string, most: number): string {
  if (text.length <= most + GAP.length) return text
  return `${text.slice(0, Math.ceil(most * 0.6))}${GAP}${text.slice(-Math.floor(most * 0.4))}`
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
