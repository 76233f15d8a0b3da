/**
 * The compaction that asks the model: what came before becomes a summary with fixed sections, the newest rounds stay.
 *
 * Invariant: a summary without one of its sections is asked for once more, and then not proposed.
 */
import { type CompactionProposal, type CompactionRequest, definePlugin, type MessageParam } from "sous"
import { endWithin, fileLines, INTRO, lastRound } from "./round.ts"
import { headings, lacking } from "./sections.ts"

export default definePlugin({
  name: "compaction-summary",
  compaction: [{ name: "summary", propose }],
})

async function propose(request: CompactionRequest): Promise<CompactionProposal | undefined> {
  if (request.messages.length < 2) return undefined
  const keepFrom = keptFrom(request)
  const before = messagesToAskBehind(request)
  const text = await ask(request, before, questionFor(request.focus))
  const missing = lacking(text)
  if (missing.length === 0) return { keepFrom, summary: wrap(text, request) }
  const again = `${questionFor(request.focus)}\n\nA first summary lacked these sections: ${missing.join(", ")}. Write all seven.`
  const second = await ask(request, before, again)
  const still = lacking(second)
  if (still.length > 0) throw new Error(`the summary lacks ${still.join(", ")}`)
  return { keepFrom, summary: wrap(second, request) }
}

function ask({ ask }: CompactionRequest, messages: readonly MessageParam[] | undefined, text: string): Promise<string> {
  return ask({ text, ...(messages === undefined ? {} : { messages }) })
}

/** The newest rounds, and the last one also when it is larger, as long as it leaves room. */
function keptFrom(request: CompactionRequest): number {
  const { messages, sizes, keep, budget } = request
  const from = endWithin(request, keep)
  if (from < messages.length) return from
  const last = lastRound(messages)
  const size = sizes.slice(last).reduce((sum, next) => sum + next, 0)
  return size <= budget / 3 ? last : messages.length
}

/** What the model is asked behind, where the whole conversation no longer fits: its first message and its end. */
function messagesToAskBehind(request: CompactionRequest): MessageParam[] | undefined {
  const { messages, sizes, budget, trigger } = request
  if (trigger !== "reactive") return undefined
  const from = endWithin(request, budget - sizes[0]!)
  return [messages[0]!, ...messages.slice(Math.max(1, from))]
}

function questionFor(focus: string | undefined): string {
  return [
    "The conversation is about to be shortened: all that will be left of it is what you write now. Call no tools. Write a",
    "summary from which the work can be taken up without loss, with exactly these sections and headings:",
    "",
    headings(),
    ...(focus ? ["", `What matters most: ${focus}`] : []),
  ].join("\n")
}

function wrap(text: string, request: CompactionRequest): string {
  const intro = `${INTRO}, and what came before was summed up. Go on from here.]`
  return [intro, text.trim(), ...fileLines(request, text)].join("\n\n")
}
