/**
 * The compaction that needs no model: old whole rounds are left out, the person's words and the newest rounds stay.
 *
 * Invariant: it always proposes something when there is more than one round to keep.
 */
import { type CompactionRequest, definePlugin, type MessageParam } from "sous"

/** How much of the conversation's characters is kept at the end when nothing says how much has to go. */
const KEEP = 0.5
/** Characters a token stands for at the least, when tokens over the window are known. */
const CHARS_PER_TOKEN = 4

export default definePlugin({
  name: "compaction-cut",
  compaction: [{ name: "cut", propose: async (request) => propose(request) }],
})

function propose({ messages, excessTokens, focus }: CompactionRequest) {
  const sizes = messages.map((message) => JSON.stringify(message).length)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const goal = Math.max(total * (1 - KEEP), (excessTokens ?? 0) * CHARS_PER_TOKEN * 1.2)
  let dropped = 0
  for (let index = 0; index < messages.length; index++) {
    if (dropped >= goal && startsRound(messages, index))
      return { keepFrom: index, summary: summarise(messages, index, focus) }
    dropped += sizes[index]!
  }
  const lastRound = messages.findLastIndex((_, index) => startsRound(messages, index))
  return lastRound > 0 ? { keepFrom: lastRound, summary: summarise(messages, lastRound, focus) } : undefined
}

/** A round starts with an answer of the model: everything before it can go without parting a pair. */
function startsRound(messages: readonly MessageParam[], index: number): boolean {
  return index > 0 && messages[index]?.role === "assistant"
}

function summarise(messages: readonly MessageParam[], keepFrom: number, focus: string | undefined): string {
  const words = messages.slice(0, keepFrom).filter(isPersonal).map(wordsOf)
  const kept = words.length > 3 ? [words[0]!, ...words.slice(-2)] : words
  return [
    `[The conversation became too long. ${keepFrom} older messages were left out; read again what you need from them.]`,
    ...(focus ? [`What matters: ${focus}`] : []),
    "What the person said in them:",
    ...kept,
  ].join("\n\n")
}

function isPersonal(message: MessageParam): boolean {
  if (message.role !== "user") return false
  return typeof message.content === "string" || !message.content.some((block) => block.type === "tool_result")
}

function wordsOf(message: MessageParam): string {
  if (typeof message.content === "string") return message.content
  return message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")
}
