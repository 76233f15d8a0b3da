/**
 * Shortens a conversation by the first strategy whose proposal passes the kernel's checks.
 *
 * Invariant: whatever a strategy proposes, tool_use and tool_result stay paired, the person's last words stay, and what
 * is left is smaller by at least a fifth.
 */
import type { MessageParam } from "../message.ts"
import type { Compaction, CompactionProposal, CompactionRequest } from "../plugin.ts"

/** What became of an attempt. `reasons`: why strategies were passed over. */
export type Compacted =
  | { ok: true; strategy: string; keepFrom: number; summary: string }
  | { ok: false; reasons: string[] }

/** How much smaller a conversation must become, as a share of its characters. */
const LEAST_SHRINK = 0.2

/** Asks the strategies in order; the first valid proposal wins. A strategy that throws or lies is passed over. */
export async function findCompaction(
  strategies: readonly Compaction[],
  request: CompactionRequest,
): Promise<Compacted> {
  const reasons: string[] = []
  for (const strategy of strategies) {
    try {
      const proposal = await strategy.propose(request)
      const fault = proposal === undefined ? "it proposed nothing" : faultOf(proposal, request.messages)
      if (fault === undefined) return { ok: true, strategy: strategy.name, ...proposal! }
      reasons.push(`${strategy.name}: ${fault}`)
    } catch (error) {
      reasons.push(`${strategy.name}: ${(error as Error).message}`)
    }
  }
  return { ok: false, reasons: reasons.length === 0 ? ["no compaction is installed"] : reasons }
}

/** What is wrong with a proposal, or undefined. */
export function faultOf(proposal: CompactionProposal, messages: readonly MessageParam[]): string | undefined {
  const { keepFrom, summary } = proposal
  if (!Number.isInteger(keepFrom) || keepFrom < 1 || keepFrom > messages.length)
    return "it keeps from no message that is there"
  if (typeof summary !== "string" || summary.trim() === "") return "its summary is empty"
  const kept = messages.slice(keepFrom)
  if (kept[0]?.role === "user" && hasToolResult(kept[0])) return "it parts a tool_use from its tool_result"
  const lastWords = messages.findLastIndex(isPersonal)
  if (lastWords >= 0 && lastWords < keepFrom && !summary.includes(wordsOf(messages[lastWords]!))) {
    return "it drops the person's last message"
  }
  const before = JSON.stringify(messages).length
  const after = JSON.stringify(kept).length + summary.length
  return after > before * (1 - LEAST_SHRINK) ? "it saves less than a fifth" : undefined
}

/** The plain words of a message. */
export function wordsOf(message: MessageParam): string {
  if (typeof message.content === "string") return message.content
  return message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")
}

/** True for a user message that brings tool results. */
export function hasToolResult(message: MessageParam): boolean {
  return typeof message.content !== "string" && message.content.some((block) => block.type === "tool_result")
}

function isPersonal(message: MessageParam): boolean {
  return message.role === "user" && !hasToolResult(message)
}
