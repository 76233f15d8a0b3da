/**
 * One Claude model, or one that a server offers which speaks the Messages API: requests out, raw events back.
 *
 * Invariant: a stream that ends has ended well (`message_stop` or a stop reason was seen), and every other end is thrown;
 * events that are not known pass through untouched.
 *
 * Source: https://platform.claude.com/docs/en/api/messages
 */
import type { MessageTokensCount } from "@anthropic-ai/sdk/resources/messages"
import type { ModelInfo } from "@anthropic-ai/sdk/resources/models"
import type { Stream } from "@anthropic-ai/sdk/streaming"
import {
  type Effort,
  isModelFault,
  type Model,
  type ModelEvent,
  type ModelLimits,
  type ModelOptions,
  type ModelRequest,
  type RawMessageStreamEvent,
} from "sous"
import type { Connection } from "./connection.ts"
import { abortError, faultOf, faultOfBreak, faultOfStall } from "./fault.ts"
import { type KnownModel, knownModel } from "./price.ts"
import { bodyOf, bodyText, type RequestBody } from "./request.ts"
import { apiSchema } from "./schema.ts"
import { createWatch, type Watch } from "./watch.ts"

/** What stands in for the limits of a model that nobody knows: a common window, and an output that any model has. */
const CAUTIOUS: ModelLimits = { contextWindow: 200_000, maxOutput: 8_192 }
const LIMITS_TIMEOUT_MS = 5_000

/** `id` is the API's own, no alias. Nothing is sent before the model is asked. */
export function createAnthropicModel(id: string, connection: Connection, options: ModelOptions): Model {
  const known = knownModel(id)
  const price = options.prices?.[id] ?? known?.price
  const body = (request: ModelRequest) => bodyFor(id, known, request)
  const textOf = (request: ModelRequest) =>
    bodyText({ ...body(request), stream: true }, request.cacheLast ? { cacheLast: true } : {})
  let limits: Promise<ModelLimits> | undefined
  return {
    id,
    ...(known === undefined ? {} : { knownLimits: known.limits }),
    ...(price === undefined ? {} : { price }),
    structuredOutput: known?.structuredOutput === true && ((schema) => apiSchema(schema) !== undefined),
    limits: () => (limits ??= askLimits(id, connection, { known, signal: options.signal })),
    warm: connection.warm,
    stream: (request, { signal }) => streamAnswer(connection, textOf(request), signal),
    countTokens: (request) => countTokens(connection, body(request), options.signal),
    close: connection.close,
  }
}

async function* streamAnswer(connection: Connection, body: string, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  const { settings } = connection
  const watch = createWatch(signal, settings)
  let opened = false
  let ended = false
  try {
    const opening = openStream(connection, body, watch)
    yield* watch.untilOpen(opening)
    const stream = await opening
    opened = true
    for await (const event of stream) {
      // What had come before the abort is not handed on after it.
      if (signal.aborted) break
      if (typeof event?.type !== "string") throw faultOfBreak(`${settings.baseURL} sent an event without a type`)
      ended ||= isEnd(event)
      yield event
    }
    // The SDK ends an aborted stream as if it were over.
    if (signal.aborted) throw abortError(signal)
    if (!ended) throw faultOfBreak(`The stream from ${settings.baseURL} ended too early`)
  } catch (error) {
    const stalled = watch.stalled() && !signal.aborted
    const fault = stalled
      ? faultOfStall(settings.baseURL, settings.stallMs)
      : faultOf(error, { signal, baseURL: settings.baseURL })
    // Until the response begins the SDK is the one who tries again.
    throw isModelFault(fault) && !opened ? Object.assign(fault, { retried: true }) : fault
  } finally {
    watch.close()
  }
}

/** Some servers leave out `message_stop`; a stop reason says as much. */
function isEnd(event: RawMessageStreamEvent): boolean {
  return event.type === "message_stop" || (event.type === "message_delta" && Boolean(event.delta?.stop_reason))
}

async function openStream(connection: Connection, body: string, watch: Watch): Promise<Stream<RawMessageStreamEvent>> {
  const client = await connection.client()
  // The SDK's `messages.create` does no more than this, and warns of deprecated models on the console.
  return client.post<Stream<RawMessageStreamEvent>>("/v1/messages", {
    // As text: whatever else a body might be, the SDK would ask Node for the classes of it, which take time to load.
    body,
    headers: { "content-type": "application/json" },
    stream: true,
    signal: watch.signal,
    // The watch is the clock here.
    timeout: 2 ** 31 - 1,
    fetchOptions: { watcher: watch.watcher } as object,
  })
}

/** `thinking` is asked to show itself: newer models put what they say between two calls there, and hide it otherwise. */
function bodyFor(id: string, known: KnownModel | undefined, request: ModelRequest): RequestBody {
  return bodyOf(id, request, {
    effort: (asked) => (known === undefined ? asked : nearestEffort(asked, known.efforts)),
    schema: (schema) => apiSchema(schema) ?? schema,
    thinking: known?.hidesThinking ? { type: "adaptive", display: "summarized" } : undefined,
  })
}

const EFFORTS: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"]

/** The highest effort that the model has and that is not above the asked one. */
function nearestEffort(asked: Effort, has: readonly Effort[]): Effort | undefined {
  return has.filter((one) => EFFORTS.indexOf(one) <= EFFORTS.indexOf(asked)).at(-1)
}

interface LimitsQuestion {
  known: KnownModel | undefined
  signal: AbortSignal
}

async function askLimits(id: string, connection: Connection, { known, signal }: LimitsQuestion): Promise<ModelLimits> {
  const usual = known?.limits ?? CAUTIOUS
  try {
    const client = await connection.client()
    const path = `/v1/models/${encodeURIComponent(id)}`
    const info = await client.get<ModelInfo>(path, { timeout: LIMITS_TIMEOUT_MS, maxRetries: 0, signal })
    return {
      contextWindow: info.max_input_tokens ?? usual.contextWindow,
      maxOutput: info.max_tokens ?? usual.maxOutput,
    }
  } catch {
    return usual
  }
}

async function countTokens(connection: Connection, body: RequestBody, signal: AbortSignal): Promise<number> {
  const { max_tokens: _, ...counted } = body
  try {
    const client = await connection.client()
    const count = await client.post<MessageTokensCount>("/v1/messages/count_tokens", { body: counted, signal })
    return count.input_tokens
  } catch (error) {
    throw faultOf(error, { signal, baseURL: connection.settings.baseURL })
  }
}
