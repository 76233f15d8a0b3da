/**
 * A conversation and the strategies that may shorten it → the shorter one, made of the first proposal that holds.
 *
 * Invariant: whatever a strategy proposes, tool_use and tool_result stay paired, pinned blocks stay byte for byte, the
 * person's last words stay, the result fits, and it is smaller by at least a fifth.
 */
import { setMaxListeners } from "node:events"
import { reasonOf } from "../error.ts"
import type { ContentBlockParam, MessageParam, TextBlockParam } from "../message.ts"
import { within } from "../patience.ts"
import type { Compaction, CompactionProposal, CompactionQuestion, CompactionRequest } from "../plugin.ts"
import { checkProposal, stubsOf } from "./check-proposal.ts"
import type { Mark, Pin } from "./history.ts"

/** What is shortened. */
export interface Shortenable {
  messages: readonly MessageParam[]
  /** One for each message. */
  marks: readonly Mark[]
  /** Tokens of each message. */
  sizes: readonly number[]
  /** Tokens that such a message would have. */
  sizeOf(message: MessageParam): number
  /** Tokens of the whole next request: system, tools and messages. */
  tokens: number
  /** Tokens that it may hold afterwards. */
  budget: number
}

/** What the conversation opens with after it was shortened, beside the summary. */
export interface Scenery {
  /** What the context sources say at a start, and which of it is pinned. */
  start: { content: readonly TextBlockParam[]; pins: readonly Pin[] }
  /** What the next step needs, most important first; told as far as it fits. */
  scene: readonly string[]
}

/** What is asked of strategies, beside what the conversation itself says. A question ends with its strategy's `signal`. */
export type Asked = Omit<CompactionRequest, "messages" | "sizes" | "tokens" | "budget" | "said" | "signal" | "ask"> & {
  ask(question: CompactionQuestion, signal: AbortSignal): Promise<string>
}

export interface ShortenOptions {
  asked: Asked
  signal: AbortSignal
  /** Asked for once a proposal is sound. */
  scenery: () => Promise<Scenery>
  /** How long a strategy may take, ms. Default: two minutes. */
  patienceMs?: number
}

/** A conversation's shorter form: what `Conversation.compact` and `drop` are given. */
export interface Shortened {
  ok: true
  strategy: string
  /** Messages from here on stay; 0: all of them. */
  keepFrom: number
  opening: ContentBlockParam[]
  mark: Mark
  dropped: { id: string; text: string }[]
  /** Tokens of the next request, estimated, as it was and as it will be. */
  before: number
  after: number
}

/** How long a strategy may take, ms: it may wait for a model's long answer. */
const PATIENCE_MS = 120_000

/**
 * Asks the strategies in order; the first proposal that holds wins. A strategy that throws, lies, hangs or proposes
 * nonsense is passed over, and `reasons` say why. Throws only when `signal` fires.
 */
export async function shorten(
  strategies: readonly Compaction[],
  view: Shortenable,
  options: ShortenOptions,
): Promise<Shortened | { ok: false; reasons: string[] }> {
  const reasons: string[] = []
  for (const strategy of strategies) {
    options.signal.throwIfAborted()
    try {
      const proposal = await propose(strategy, view, options)
      const made = proposal === undefined ? "it proposed nothing" : await accept(proposal, view, options)
      if (typeof made !== "string") return { ...made, strategy: strategy.name }
      reasons.push(`${strategy.name}: ${made}`)
    } catch (error) {
      reasons.push(`${strategy.name}: ${reasonOf(error)}`)
    }
  }
  options.signal.throwIfAborted()
  return { ok: false, reasons: reasons.length === 0 ? ["no strategy is installed"] : reasons }
}

/** What a strategy proposes, as a copy of its own. */
async function propose(strategy: Compaction, view: Shortenable, options: ShortenOptions): Promise<unknown> {
  const { asked, patienceMs = PATIENCE_MS } = options
  const over = new AbortController()
  const signal = AbortSignal.any([options.signal, over.signal])
  // As many questions as a strategy likes may wait at once.
  setMaxListeners(0, signal)
  const request: CompactionRequest = {
    ...asked,
    files: structuredClone(asked.files),
    ask: (question) => asked.ask(question, signal),
    messages: structuredClone(view.messages) as MessageParam[],
    sizes: [...view.sizes],
    tokens: view.tokens,
    budget: view.budget,
    said: saidIn(view),
    signal,
  }
  try {
    const stopped = new Promise<never>((_, reject) => {
      options.signal.addEventListener("abort", () => reject(options.signal.reason), { once: true, signal: over.signal })
    })
    stopped.catch(() => {})
    const proposing = () => Promise.race([strategy.propose(request), stopped])
    return structuredClone(await within(patienceMs, `the compaction strategy ${strategy.name}`, proposing))
  } finally {
    over.abort()
  }
}

async function accept(proposal: unknown, view: Shortenable, options: ShortenOptions) {
  const fault = checkProposal(proposal, view.messages)
  if (fault !== undefined) return fault
  const sound = proposal as CompactionProposal
  return compose(sound, view, sound.keepFrom === 0 ? NO_SCENERY : await options.scenery())
}

const NO_SCENERY: Scenery = { start: { content: [], pins: [] }, scene: [] }
/** How much smaller the messages must become, as a share. */
const LEAST_SHRINK = 0.2

/** The shorter form that a sound proposal leads to, or why it does not do. */
export function compose(
  { keepFrom, summary, dropped = [] }: CompactionProposal,
  view: Shortenable,
  scenery: Scenery,
): Omit<Shortened, "strategy"> | string {
  const stubs = stubsOf(new Set(dropped), view)
  const messages = view.sizes.reduce((sum, size) => sum + size, 0)
  // Each message and each result is rounded by itself: what goes may have been a token smaller.
  const frame = Math.max(0, view.tokens - messages) + keepFrom + stubs.results.length
  const kept = view.sizes.slice(keepFrom).reduce((sum, size) => sum + size, 0) - stubs.saved
  const { content, mark } = keepFrom === 0 ? { content: [], mark: {} } : openingOf(keepFrom, summary, view, scenery)
  let size = kept + sizeOfOpening(content, view)
  for (const text of keepFrom === 0 ? [] : scenery.scene) {
    const block = { type: "text" as const, text }
    const more = sizeOfOpening([block], view)
    if (frame + size + more > view.budget || size + more > messages * (1 - LEAST_SHRINK)) continue
    content.push(block)
    size += more
  }
  if (size > messages * (1 - LEAST_SHRINK)) return "it saves less than a fifth"
  if (frame + size > view.budget) return `what is left has about ${frame + size} tokens, ${view.budget} would fit`
  const after = frame + size
  return { ok: true, keepFrom, opening: content, mark, dropped: stubs.results, before: view.tokens, after }
}

function sizeOfOpening(content: ContentBlockParam[], { sizeOf }: Shortenable): number {
  return content.length === 0 ? 0 : sizeOf({ role: "user", content })
}

/** What stands for the messages that go: what is pinned, the summary, and the person's last words if they go too. */
function openingOf(keepFrom: number, summary: string, view: Shortenable, { start }: Scenery) {
  const content: ContentBlockParam[] = [...start.content]
  const pins = [...start.pins]
  const again = new Set(pins.map(({ source }) => source))
  for (const { source, block } of pinnedBefore(keepFrom, view)) {
    // What a source says at a start it has just said again.
    if (again.has(source)) continue
    pins.push({ block: content.length, source })
    content.push(block)
  }
  content.push({ type: "text", text: summary })
  const words = view.marks.findLastIndex(({ said }) => said?.length)
  const said: number[] = []
  if (words >= 0 && words < keepFrom) {
    for (const block of saidBlocks(view, words)) {
      said.push(content.length)
      content.push(block)
    }
  }
  return { content, mark: { ...(pins.length ? { pins } : {}), ...(said.length ? { said } : {}) } }
}

function pinnedBefore(keepFrom: number, { messages, marks }: Shortenable) {
  return marks.slice(0, keepFrom).flatMap(({ pins = [] }, index) =>
    pins.flatMap(({ block, source }) => {
      const found = blocksOf(messages[index]!)[block]
      return found === undefined ? [] : [{ source, block: found }]
    }),
  )
}

function saidBlocks({ messages, marks }: Pick<Shortenable, "messages" | "marks">, index: number): ContentBlockParam[] {
  const blocks = blocksOf(messages[index]!)
  return (marks[index]!.said ?? []).flatMap((block) => blocks[block] ?? [])
}

/** What the person said, oldest first, with the index of its message. */
export function saidIn(view: Pick<Shortenable, "messages" | "marks">): { message: number; text: string }[] {
  return view.marks.flatMap((_, message) =>
    saidBlocks(view, message).flatMap((block) => (block.type === "text" ? [{ message, text: block.text }] : [])),
  )
}

function blocksOf({ content }: MessageParam): readonly ContentBlockParam[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content
}
