/**
 * Messages → text for a model that is to take notes of them: who said what, long parts without their middle.
 *
 * Invariant: the text is bounded, however long the messages are; a tag in it can close none around it.
 */
import type { MessageParam } from "sous"

/** Characters of the whole excerpt, about. */
const MOST_CHARS = 120_000
/** Characters of one call, result or answer. */
const PART_CHARS = 3000
/** What people say is kept that much longer. */
const WORDS_SHARE = 4

type Block = Exclude<MessageParam["content"], string>[number]

/** The messages as text, the oldest first. */
export function excerptOf(messages: readonly MessageParam[]): string {
  const parts = messages.flatMap(({ role, content }) =>
    (typeof content === "string" ? [{ type: "text" as const, text: content }] : content).map((block) => ({
      role,
      block,
    })),
  )
  const most = Math.min(PART_CHARS, Math.ceil(MOST_CHARS / Math.max(1, parts.length)))
  return parts
    .flatMap(({ role, block }) => textOf(role, block, most) ?? [])
    .join("\n\n")
    .replaceAll("</", "<\\/")
}

function textOf(role: MessageParam["role"], block: Block, most: number): string | undefined {
  switch (block.type) {
    case "text":
      return role === "user" ? `User: ${clip(block.text, most * WORDS_SHARE)}` : `Agent: ${clip(block.text, most)}`
    case "tool_use":
      return `Call of ${block.name}: ${clip(JSON.stringify(block.input) ?? "", most)}`
    case "tool_result":
      return `${block.is_error ? "Failure" : "Result"}: ${clip(resultText(block.content), most)}`
    case "thinking":
    case "redacted_thinking":
      return undefined
    default:
      return `[${block.type}]`
  }
}

function resultText(content: Extract<Block, { type: "tool_result" }>["content"]): string {
  if (content === undefined || typeof content === "string") return content ?? ""
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n")
}

function clip(text: string, most: number): string {
  if (text.length <= most) return text
  const half = Math.floor(most / 2)
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters …]\n${text.slice(-half)}`
}
