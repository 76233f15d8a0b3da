/**
 * Where a conversation can be cut, and what a person said in it.
 *
 * Invariant: a round begins with an answer of the model, so that a cut before it parts no tool_use from its result.
 */
import type { CompactionRequest, MessageParam } from "sous"

/** The first message of the longest end that holds at most `tokens` and begins with a round; `messages.length`: none does. */
export function endWithin({ messages, sizes }: Pick<CompactionRequest, "messages" | "sizes">, tokens: number): number {
  let from = messages.length
  let sum = 0
  for (let index = messages.length - 1; index > 0; index--) {
    sum += sizes[index]!
    if (sum > tokens) break
    if (messages[index]!.role === "assistant") from = index
  }
  return from
}

/** Where the last round begins; `messages.length` when there is none. */
export function lastRound(messages: readonly MessageParam[]): number {
  const found = messages.findLastIndex(({ role }, index) => index > 0 && role === "assistant")
  return found < 0 ? messages.length : found
}

/** Characters of one thing that a person said. */
const MOST_SAID = 4000

/** What a person said before a message, the first words and the newest ones, at most `chars` characters. */
export function saidBefore({ said }: Pick<CompactionRequest, "said">, index: number, chars: number): string[] {
  const words = [...new Set(said.filter(({ message }) => message < index).map(({ text }) => text))]
  // The first says what all of it is for; of the others the last ones count.
  const order = [...words.keys()].slice(1).reverse()
  const chosen = new Map<number, string>()
  let left = chars
  for (const at of words.length > 0 ? [0, ...order] : []) {
    const text = words[at]!
    const clipped = text.length > MOST_SAID ? `${text.slice(0, MOST_SAID)} […]` : text
    if (clipped.length > left) break
    left -= clipped.length
    chosen.set(at, clipped)
  }
  return [...chosen].sort(([a], [b]) => a - b).map(([, text]) => text)
}

/** So many files of each kind are named. */
const MOST_FILES = 50

/** One line for each kind of files that calls have touched, without those that a text names already. */
export function fileLines({ files }: Pick<CompactionRequest, "files">, text = ""): string[] {
  const line = (title: string, paths: readonly string[]) => {
    const untold = paths.filter((path) => !text.includes(path)).slice(-MOST_FILES)
    return untold.length === 0 ? [] : [`${title}: ${untold.join(", ")}`]
  }
  return [...line("Files changed", files.changed), ...line("Files read", files.read)]
}

/** How every text begins that stands for what came before. */
export const INTRO = "[The conversation became too long"

/** What such a text in the first message says, at most `chars` characters, without what is told anew; "" if there is none. */
export function earlierText([first]: readonly MessageParam[], chars: number): string {
  if (first === undefined || typeof first.content === "string") return ""
  const found = first.content.find((block) => block.type === "text" && block.text.startsWith(INTRO))
  if (found?.type !== "text") return ""
  const told = found.text.split("\n\n").slice(1)
  const text = told.filter((part) => !/^(?:Files changed|Files read|What matters): /.test(part)).join("\n\n")
  return text.length > chars ? `${text.slice(0, chars)} […]` : text
}
