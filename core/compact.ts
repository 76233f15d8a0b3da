/**
 * A loop's conversation, and why it is to be shorter → the shorter one, with all that is done around it: hooks, the scene
 * set again, breakers.
 *
 * Invariant: every way to shorten is bounded, and one that has come to its bound is said once. Loaded when it is first due.
 */
import { createAsk } from "./compact-ask.ts"
import type { Compacting, Due } from "./compact-due.ts"
import { compactingOptions, keepOf, type Room, roomFor } from "./compact-room.ts"
import { assembleOpening } from "./context/assemble.ts"
import { type Asked, shorten } from "./context/compact.ts"
import { collectScene, touchedFiles } from "./context/remind.ts"
import { reasonOf } from "./error.ts"
import type { EventBody } from "./event.ts"
import type { Loop, LoopState, Next } from "./loop-state.ts"
import { planReminder } from "./plan-mode.ts"
import type { Compaction, CompactionRequest } from "./plugin.ts"
import { hookSource } from "./scope.ts"

/** Failures in a row, and refills in a row, after which it is given up for the run. */
const BREAKER = 3
/** Full again within so many turns counts as a refill. */
const REFILL_TURNS = 3

type Stop = Exclude<Next, LoopState>
type Trigger = CompactionRequest["trigger"]

/** Does what is due before a request. */
export async function* shortenBefore(
  loop: Loop,
  state: LoopState,
  { room, due }: { room: Room; due: Due },
): AsyncGenerator<EventBody, void> {
  if (due === "full") return yield* shortenInTime(loop, state, room)
  if (due === "cold") return void (yield* attempt(loop, room, { trigger: "auto", cheap: true }))
  const focus = loop.compacting.asked ?? ""
  delete loop.compacting.asked
  const failed = yield* attempt(loop, room, { trigger: "manual", focus })
  if (failed !== undefined && !loop.scope.signal.aborted)
    yield warning(`The conversation was not compacted: ${failed.reason}`)
}

async function* shortenInTime(loop: Loop, state: LoopState, room: Room): AsyncGenerator<EventBody, void> {
  const { compacting } = loop
  if (isRefilled(compacting, state.turn)) return yield giveUp(loop, REFILLED)
  const failed = yield* attempt(loop, room, { trigger: "auto" })
  if (failed === undefined) return succeeded(compacting, state.turn)
  if (!failed.isFault) return
  compacting.failures++
  if (compacting.failures >= BREAKER)
    yield giveUp(loop, `it failed ${BREAKER} times in a row, last because: ${failed.reason}`)
}

const REFILLED = `it was full again within ${REFILL_TURNS} turns, ${BREAKER} times in a row`

/**
 * After the model has said that the conversation is too long: shortens by more than the excess (tokens) that it told.
 * Once for each turn; what is too long again right after is not sent a second time.
 */
export async function* shortenForModel(
  loop: Loop,
  state: LoopState,
  excessTokens: number | undefined,
): AsyncGenerator<EventBody, Stop | undefined> {
  const { compacting } = loop
  const exhausted = (error: string): Stop => ({ stop: "context_exhausted", error })
  if (state.compactedAt === state.turn)
    return exhausted("The conversation is too long for the model even after it was shortened")
  if (compacting.off)
    return exhausted("The conversation is too long for the model, and shortening it was given up before")
  if (isRefilled(compacting, state.turn)) {
    yield giveUp(loop, REFILLED)
    return exhausted(`The conversation is too long for the model: ${REFILLED}`)
  }
  const room = await roomFor(state, compactingOptions(loop))
  const failed = yield* attempt(loop, room, { trigger: "reactive", excessTokens })
  if (loop.scope.signal.aborted) return { stop: "aborted" }
  if (failed === undefined) {
    succeeded(compacting, state.turn)
    return undefined
  }
  return exhausted(`The conversation is too long for the model and could not be shortened: ${failed.reason}`)
}

/** Why and how it is to be shortened. */
interface Attempt {
  trigger: Trigger
  focus?: string
  excessTokens?: number | undefined
  /** Only strategies that ask no model. */
  cheap?: boolean
}

/** Why it was not shortened. */
interface Failure {
  reason: string
  /** False: a hook or a person did not let it happen, which says nothing of the next time. */
  isFault: boolean
}

/** Shortens once, hooks included. Returns why it could not. */
async function* attempt(loop: Loop, room: Room, how: Attempt): AsyncGenerator<EventBody, Failure | undefined> {
  const { scope, conversation } = loop
  const { hooks } = scope.engine
  const { trigger } = how
  const from = hookSource(scope)
  const gate = hooks.has("PreCompact", scope.hooks) ? await hooks.gate("PreCompact", { trigger }, from) : undefined
  if (gate?.decision === "block")
    return { reason: `a hook kept it from being shortened: ${gate.reasons.join("; ")}`, isFault: false }
  const focus = [how.focus, ...(gate?.injected ?? [])].filter(Boolean).join("\n")
  const asked = askedOf(loop, room, { ...how, ...(focus === "" ? {} : { focus }) })
  const found = await shorten(strategiesFor(loop, how), viewOf(loop, room, how), {
    asked,
    signal: scope.signal,
    scenery: async () => await sceneryOf(loop),
  }).catch((error: unknown) => ({ ok: false as const, reasons: [reasonOf(error)] }))
  if (!found.ok) {
    const reason = found.reasons.join("; ")
    if (scope.signal.aborted) return { reason, isFault: false }
    // A cold cache is only a chance: that nothing is worth dropping is no news.
    if (!how.cheap) yield { type: "compaction", trigger, strategy: "none", ok: false, reason }
    return { reason, isFault: true }
  }
  const { strategy, keepFrom, opening, mark, dropped, before } = found
  if (keepFrom > 0) conversation.compact({ keepFrom, opening, strategy, ...mark })
  if (dropped.length > 0) conversation.drop({ results: dropped, strategy })
  yield { type: "compaction", trigger, strategy, ok: true, before, after: conversation.inputTokens() }
  if (hooks.has("PostCompact", scope.hooks)) await hooks.observe("PostCompact", { trigger }, from)
  if (keepFrom > 0) await startAgain(loop)
  return undefined
}

/** What SessionStart hooks say to a conversation that starts over behind its summary. */
async function startAgain({ scope, conversation }: Loop): Promise<void> {
  const { hooks } = scope.engine
  if (scope.agent.depth > 0 || !hooks.has("SessionStart", scope.hooks)) return
  const { injected, env } = await hooks.fold("SessionStart", { source: "compact" }, hookSource(scope))
  if (env !== undefined) scope.env = { ...scope.env, ...env }
  conversation.append(
    "user",
    injected.map((text) => ({ type: "text", text })),
  )
}

async function sceneryOf({ scope, conversation }: Loop) {
  const { content, pins } = await assembleOpening(scope)
  const plan = planReminder(scope)
  // What is kept may no longer say that plan mode is on.
  const start = { content: plan === undefined ? content : [...content, { type: "text" as const, text: plan }], pins }
  return { start, scene: await collectScene(scope, conversation) }
}

function viewOf({ conversation }: Loop, { budget, window }: Room, { excessTokens = 0, trigger }: Attempt) {
  const { messages, marks, sizeOf } = conversation
  const tokens = conversation.inputTokens()
  // The model counts otherwise than was estimated: what it said is a share of what there is.
  const share = Math.min(0.6, (0.8 * window) / (window + excessTokens))
  const most = trigger === "reactive" ? Math.min(budget, tokens * share) : budget
  return { messages, marks, sizes: conversation.sizes(), sizeOf, tokens, budget: Math.floor(most) }
}

/** What strategies are asked, beside the conversation. */
export function askedOf(loop: Loop, room: Room, { trigger, focus, excessTokens }: Attempt): Asked {
  const { scope, conversation } = loop
  return {
    trigger,
    keep: keepOf(room, trigger, conversation.inputTokens()),
    files: touchedFiles(conversation),
    notes: conversation.notes,
    ask: createAsk(scope, room.model, conversation),
    ...(excessTokens === undefined ? {} : { excessTokens }),
    ...(focus === undefined ? {} : { focus }),
  }
}

/** The one that is set first; a person who asks wants more than cheap ones do. */
function strategiesFor(loop: Loop, { trigger, cheap }: Attempt): Compaction[] {
  const all = loop.scope.engine.registry.compaction
  const wanted = compactingOptions(loop).strategy
  const first = ({ name, cheap, follow }: Compaction) => {
    if (name === wanted) return 0
    if (cheap) return trigger === "manual" ? 4 : 1
    // What was noted as the conversation went on waits for no model.
    return follow === undefined ? 3 : 2
  }
  return all.filter((strategy) => !cheap || strategy.cheap).sort((a, b) => first(a) - first(b))
}

/** Times in a row that it is full again within a few turns, with this one. */
function refillsWith(compacting: Compacting, turn: number): number {
  const soon = compacting.turn !== undefined && turn - compacting.turn < REFILL_TURNS
  return soon ? compacting.refills + 1 : 0
}

function isRefilled(compacting: Compacting, turn: number): boolean {
  return refillsWith(compacting, turn) >= BREAKER
}

function succeeded(compacting: Compacting, turn: number): void {
  compacting.refills = refillsWith(compacting, turn)
  compacting.turn = turn
  compacting.failures = 0
}

function giveUp({ compacting }: Loop, why: string): EventBody {
  compacting.off = true
  return warning(
    `The conversation is no longer compacted in this run: ${why}. It goes on while it fits; then it can be resumed after sous compact`,
  )
}

function warning(message: string): EventBody & { type: "notice" } {
  return { type: "notice", level: "warning", message }
}
