/**
 * The content of a message in a session file of Claude Code → the blocks of it that every model takes.
 *
 * Invariant: one odd block never ends the requests of a whole conversation: it is left out, or told as its JSON.
 */
import type { ContentBlockParam } from "../message.ts"

type Fields = Readonly<Record<string, unknown>>
type ResultContent = NonNullable<Extract<ContentBlockParam, { type: "tool_result" }>["content"]>

/** A text as a block; none where there is nothing to read in it, which the Messages API refuses. */
export function textBlocks(text: unknown): ContentBlockParam[] {
  return typeof text === "string" && text.trim() !== "" ? [{ type: "text", text }] : []
}

/** The blocks that can be sent; thinking and what else is of no use to another model stays, to be passed over. */
export function takenBlocks(content: unknown): readonly ContentBlockParam[] {
  if (!Array.isArray(content)) return []
  return content.flatMap((block) => (isObject(block) && typeof block.type === "string" ? take(block) : []))
}

/** What the Messages API takes for the id of a call and the name of a tool. */
const ID = /^[\w-]+$/
const NAME = /^[\w-]{1,128}$/

function take(block: Fields): ContentBlockParam[] {
  const whole = [block as unknown as ContentBlockParam]
  if (block.type === "text") return textBlocks(block.text)
  if (block.type === "tool_use") {
    const { id, name, input } = block
    if (typeof id !== "string" || !ID.test(id) || typeof name !== "string" || !NAME.test(name)) return []
    return [{ type: "tool_use", id, name, input: isObject(input) ? input : {} }]
  }
  if (block.type === "tool_result") {
    const { content, tool_use_id: id, is_error: isError } = block
    if (typeof id !== "string") return []
    const given = content === undefined ? {} : { content: textual(content) }
    return [{ type: "tool_result", tool_use_id: id, ...given, ...(isError === true ? { is_error: true } : {}) }]
  }
  if (block.type === "image" || block.type === "document") return hasSource(block) ? whole : []
  return whole
}

function textual(content: unknown): ResultContent {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return JSON.stringify(content)
  const isTaken = (block: unknown) => {
    if (!isObject(block)) return false
    if (block.type === "text") return textBlocks(block.text).length > 0
    return (block.type === "image" || block.type === "document") && hasSource(block)
  }
  return content.map((block) => (isTaken(block) ? block : { type: "text", text: JSON.stringify(block) }))
}

function hasSource({ source }: Fields): boolean {
  if (!isObject(source)) return false
  if (source.type === "url") return typeof source.url === "string" && /^https?:\/\//.test(source.url)
  if (source.type === "content") return Array.isArray(source.content)
  return (source.type === "base64" || source.type === "text") && [source.data, source.media_type].every(isText)
}

function isText(value: unknown): boolean {
  return typeof value === "string"
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
