/**
 * What a compaction strategy proposes → why it does not do, or the lines that stand for the results it drops.
 *
 * Invariant: nothing of a proposal is believed; a result becomes one line only beside its call, which stays.
 */
import type { ContentBlockParam, MessageParam } from "../message.ts"
import type { Shortenable } from "./compact.ts"

/** What is wrong with a proposal by itself; undefined: it has the right form and parts no pair. */
export function checkProposal(proposal: unknown, messages: readonly MessageParam[]): string | undefined {
  if (typeof proposal !== "object" || proposal === null) return "it proposed no object"
  const { keepFrom, summary, dropped = [] } = proposal as Record<string, unknown>
  if (!Number.isInteger(keepFrom) || (keepFrom as number) < 0 || (keepFrom as number) > messages.length)
    return "it keeps from no message that is there"
  if (!Array.isArray(dropped) || dropped.some((id) => typeof id !== "string"))
    return "what it drops is no list of tool_use ids"
  if (typeof summary !== "string") return "its summary is no text"
  const from = keepFrom as number
  if (from === 0 && dropped.length === 0) return "it keeps everything"
  if (from > 0 && summary.trim() === "") return "its summary is empty"
  const first = messages[from]
  if (first !== undefined && from > 0 && hasToolResult(first)) return "it parts a tool_use from its tool_result"
  const results = new Set(
    messages
      .slice(from)
      .flatMap(resultsOf)
      .map(({ tool_use_id }) => tool_use_id),
  )
  const unknown = dropped.find((id) => !results.has(id as string))
  return unknown === undefined ? undefined : `it drops a result that is not there: ${unknown}`
}

/** Characters of a call's input that its line tells. */
const INPUT_CHARS = 160

/** The lines in the place of dropped results, and how many tokens they save. Results shorter than their line stay. */
export function stubsOf(dropped: ReadonlySet<string>, { messages, sizeOf }: Pick<Shortenable, "messages" | "sizeOf">) {
  const results: { id: string; text: string }[] = []
  let saved = 0
  if (dropped.size === 0) return { results, saved }
  const calls = new Map<string, string>()
  for (const message of messages) {
    for (const block of blocks(message)) if (block.type === "tool_use") calls.set(block.id, describe(block))
    for (const result of resultsOf(message)) {
      const id = result.tool_use_id
      const call = calls.get(id)
      if (!dropped.has(id) || call === undefined) continue
      const text = `[The result of ${call} was left out to save room. Make the call again if it is needed and safe to repeat.]`
      const gain = sizeOf({ role: "user", content: [result] }) - sizeOf(resultWith(id, text))
      if (gain <= 0) continue
      results.push({ id, text })
      // Each size is rounded up, so that their difference may be a token too large.
      saved += gain - 1
    }
  }
  return { results, saved }
}

/** True for a user message that brings tool results. */
export function hasToolResult(message: MessageParam): boolean {
  return resultsOf(message).length > 0
}

type Result = Extract<ContentBlockParam, { type: "tool_result" }>

function resultsOf(message: MessageParam): Result[] {
  return blocks(message).filter((block): block is Result => block.type === "tool_result")
}

function blocks({ content }: MessageParam): readonly ContentBlockParam[] {
  return typeof content === "string" ? [] : content
}

function resultWith(id: string, text: string): MessageParam {
  return { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: text }] }
}

function describe({ name, input }: { name: string; input: unknown }): string {
  const text = JSON.stringify(input) ?? ""
  return `${name} ${text.length > INPUT_CHARS ? `${text.slice(0, INPUT_CHARS)}…` : text}`
}
