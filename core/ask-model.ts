/**
 * One question to a model, beside a conversation or behind it → the text of its answer; its cost is reserved and counted
 * like a turn's.
 *
 * Invariant: it runs no tools and leaves nothing in the conversation; an answer that did not arrive whole is none.
 */
import { mostTokens } from "./context/usage.ts"
import type { Engine } from "./engine.ts"
import type { StopReason, Usage } from "./message.ts"
import { honoursSchema, type Model, type ModelRequest } from "./model.ts"
import { costOf, type Reservation } from "./recipe/spend.ts"
import type { SafetyQuestion } from "./safety.ts"
import type { AgentScope } from "./scope.ts"
import { type Progress, readAnswer } from "./stream.ts"

/** What of an agent is needed to ask for it. */
export type AskingScope = Pick<AgentScope, "agent" | "spend"> & { engine: Pick<Engine, "emit" | "openModel"> }

/** Output tokens that the answer may have: a answer and a sentence, and some thought of models that think. */
const MAX_OUTPUT = 1024

/** Asks. Throws what the model throws, and when the budget is spent or the answer has no end. */
export async function askModel(
  scope: AskingScope,
  id: string,
  question: SafetyQuestion & { signal: AbortSignal },
): Promise<string> {
  const { engine } = scope
  const model = await engine.openModel(id)
  const request = requestOf(model, question)
  return await send(scope, { model, request, signal: question.signal })
}

/** What bounds a question behind a conversation. */
export interface BehindOptions {
  signal: AbortSignal
  /** Tokens at the most of its input, where more is known than its bytes. */
  worstInputTokens?: (() => number) | undefined
}

/** Asks with a conversation's own system text and tools, so that the prompt's cache serves it too. Throws like `askModel`. */
export async function askBehind(
  scope: AskingScope,
  model: Model,
  { system, tools, messages, maxTokens }: ModelRequest,
  options: BehindOptions,
): Promise<string> {
  return await send(scope, { model, request: { system, tools, messages, cacheLast: true, maxTokens }, ...options })
}

async function send(scope: AskingScope, { model, request, signal, worstInputTokens }: Unreserved): Promise<string> {
  const byBytes = () => Buffer.byteLength(JSON.stringify({ ...request, messages: [] })) + mostTokens(request.messages)
  const reservation = await scope.spend.reserve({
    inputTokens: worstInputTokens ?? byBytes,
    maxOutput: request.maxTokens,
    price: model.price,
    model: model.id,
    signal,
  })
  if ("spent" in reservation) throw new Error(reservation.spent)
  const maxTokens = reservation.maxOutput
  return await receive(scope, { model, request: { ...request, maxTokens }, reservation, signal })
}

function requestOf(model: Model, { system, prompt, schema }: SafetyQuestion): ModelRequest {
  return {
    system: [{ type: "text", text: system, cache_control: { type: "ephemeral" } }],
    tools: [],
    messages: [{ role: "user", content: [{ type: "text", text: prompt }] }],
    maxTokens: MAX_OUTPUT,
    ...(schema && honoursSchema(model, schema) ? { outputSchema: schema } : {}),
  }
}

interface Unreserved extends BehindOptions {
  model: Model
  request: ModelRequest
}

interface Sent extends Omit<Unreserved, "worstInputTokens"> {
  reservation: Reservation
}

async function receive(scope: AskingScope, { model, request, reservation, signal }: Sent): Promise<string> {
  const progress: Progress = { begun: false, usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }
  try {
    const answering = readAnswer(model.stream(request, { signal }), progress, () => {})
    let next = await answering.next()
    while (!next.done) next = await answering.next()
    const { content, stopReason } = next.value
    reservation.settle(progress.usage, 0)
    scope.engine.emit(usageEvent(model, progress.usage, stopReason), scope.agent)
    if (stopReason !== "end_turn" && stopReason !== "stop_sequence") throw new Error(`it ended with ${stopReason}`)
    return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("")
  } catch (error) {
    // A request that died settles at what was reserved for it; after a settlement these do nothing.
    if (progress.begun) reservation.settle()
    else reservation.release()
    throw error
  }
}

function usageEvent(model: Model, usage: Usage, stopReason: StopReason | null) {
  const usd = model.price && costOf(usage, model.price)
  return {
    type: "usage" as const,
    turn: 0,
    model: model.id,
    usage,
    ...(usd === undefined ? {} : { usd }),
    stopReason,
    contextTokens: 0,
  }
}
