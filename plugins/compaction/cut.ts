/**
 * The compaction that needs no model: old whole rounds are left out; what an earlier summary said, the
 * person's words and the newest rounds stay.
 *
 * Invariant: it always proposes something when there is a round to leave out.
 */
import { type CompactionProposal, type CompactionRequest, definePlugin } from "sous"
import { earlierText, endWithin, fileLines, INTRO, saidBefore } from "./round.ts"

/** The share of the messages that stays at the most. */
const STAYS = 0.5

export default definePlugin({
  name: "compaction-cut",
  compaction: [{ name: "cut", propose: async (request) => propose(request) }],
})

function propose(request: CompactionRequest): CompactionProposal | undefined {
  const { messages, sizes, tokens, budget } = request
  const all = sizes.reduce((sum, size) => sum + size, 0)
  const room = Math.min(all * STAYS, (budget - (tokens - all)) * 0.7)
  const keepFrom = endWithin(request, room)
  if (keepFrom === 0 || messages.length < 2) return undefined
  return { keepFrom, summary: summarise(request, keepFrom, room) }
}

function summarise(request: CompactionRequest, keepFrom: number, room: number): string {
  const most = Math.max(2000, room * 0.3)
  const earlier = earlierText(request.messages, most)
  const words = saidBefore(request, keepFrom, most).filter((text) => !earlier.includes(text))
  return [
    `${INTRO}. ${keepFrom} older messages were left out; read again what you need from them.]`,
    ...(request.focus ? [`What matters: ${request.focus}`] : []),
    ...fileLines(request, earlier),
    ...(earlier === "" ? [] : [earlier]),
    ...(words.length > 0 ? ["What the person said in them:", ...words] : []),
  ].join("\n\n")
}
