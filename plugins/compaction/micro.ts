/**
 * The cheapest compaction: old results of calls that can be made again become one line each.
 *
 * Invariant: the newest results stay, and so does every result that tells of an error.
 */
import { type CompactionProposal, type CompactionRequest, type ContentBlockParam, definePlugin } from "sous"

/** Tools whose calls give the same again, or the same as it is now. */
const REPEATABLE = new Set(["Read", "Grep", "Glob", "Bash", "BashOutput", "WebFetch", "WebSearch"])
/** So many of the newest results stay, whatever they hold. */
const STAY = 5
/** A result this small (characters) is not worth its line. */
const SMALL = 600

export default definePlugin({
  name: "compaction-micro",
  compaction: [{ name: "micro", cheap: true, propose: async (request) => propose(request) }],
})

function propose({ messages, sizes, keep }: CompactionRequest): CompactionProposal | undefined {
  const names = new Map<string, string>()
  const results: { id: string; message: number; isWorthIt: boolean }[] = []
  for (const [index, message] of messages.entries()) {
    for (const block of typeof message.content === "string" ? [] : message.content) {
      if (block.type === "tool_use") names.set(block.id, block.name)
      else if (block.type === "tool_result")
        results.push({ id: block.tool_use_id, message: index, isWorthIt: isWorthIt(block, names) })
    }
  }
  const recent = recentFrom(sizes, keep)
  const dropped = results
    .slice(0, -STAY)
    .filter(({ message, isWorthIt }) => isWorthIt && message < recent)
    .map(({ id }) => id)
  return dropped.length === 0 ? undefined : { keepFrom: 0, summary: "", dropped }
}

function isWorthIt(block: ContentBlockParam & { type: "tool_result" }, names: ReadonlyMap<string, string>): boolean {
  const { tool_use_id, content, is_error } = block
  if (is_error || !REPEATABLE.has(names.get(tool_use_id) ?? "")) return false
  return (typeof content === "string" ? content.length : JSON.stringify(content ?? "").length) > SMALL
}

/** The first message of the end that should stay as it is. */
function recentFrom(sizes: readonly number[], keep: number): number {
  let from = sizes.length
  for (let sum = sizes.at(-1) ?? 0; from > 0 && sum <= keep; sum += sizes[from - 1] ?? 0) from--
  return from
}
