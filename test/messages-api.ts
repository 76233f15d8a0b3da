/**
 * A request's body → what the Messages API would refuse in it.
 *
 * Invariant: it knows the rules by the API's documentation alone, and nothing of how a body is made.
 */
import { checkConversation } from "sous/testing"

/** Throws where the Messages API would answer 400. */
export function checkBody(body: any): void {
  const faults: string[] = []
  if (!Number.isInteger(body.max_tokens) || body.max_tokens < 1) faults.push(`max_tokens is ${body.max_tokens}`)
  if (body.messages.length === 0) faults.push("there are no messages")
  for (const [at, { content }] of body.messages.entries()) {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content
    if (blocks.length === 0) faults.push(`message ${at} is empty`)
    for (const block of blocks) faults.push(...blockFaults(block).map((fault) => `message ${at}: ${fault}`))
    const kinds = blocks.map(({ type }: any) => type === "tool_result")
    if (kinds.lastIndexOf(true) > kinds.indexOf(false) && kinds.includes(false) && kinds.includes(true))
      faults.push(`message ${at}: a tool_result stands behind something else`)
  }
  const last = body.messages.at(-1)
  if (last?.role === "assistant" && /\s$/.test(last.content.at(-1)?.text ?? ""))
    faults.push("the last answer ends with white space")
  const json = JSON.stringify(body)
  if (/\\ud[89a-f][0-9a-f]{2}/i.test(json)) faults.push("there is half a character")
  if (json.split('"cache_control"').length - 1 > 4) faults.push("there are more than four cache breakpoints")
  if (faults.length > 0) throw new Error(faults.join("; "))
  checkConversation(body.messages)
}

function blockFaults(block: any): string[] {
  const faults: string[] = []
  if (block.type === "text" && block.text.trim() === "") faults.push("a text is blank")
  if (block.cache_control && /thinking/.test(block.type)) faults.push("cache_control on thinking")
  const inner = Array.isArray(block.content) ? block.content.flatMap(blockFaults) : []
  return [...faults, ...inner]
}
