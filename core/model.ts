/**
 * The contract of a model: one streaming function over the Messages API's vocabulary, and the faults it may end with.
 *
 * Invariant: a model knows nothing of tools' execution, permissions or retries of a broken stream; the loop does.
 */
import type { JsonSchema, MessageParam, RawMessageStreamEvent, TextBlockParam } from "./message.ts"
import type { Effort } from "./tool.ts"

/** Opens models by id. */
export interface ModelProvider {
  /** anthropic, script, cassette, or a plugin's own. */
  name: string
  /** True when this provider takes the id: `claude-…`, `script:FILE`, `cassette:FILE`. The first that says so wins. */
  handles(id: string, options: Pick<ModelOptions, "env">): boolean
  /** Touches no network and loads nothing heavy: a plan opens models too. Throws a SousError. */
  open(id: string, options: ModelOptions): Model | Promise<Model>
  /** The id for runs that name no model, when the environment holds what this provider needs; the first one wins. */
  fallbackId?(options: Pick<ModelOptions, "env">): string | undefined
}

export interface ModelOptions {
  /** Absolute; relative files in an id are resolved against it. */
  cwd: string
  /** The whole environment (keys, base URL); never handed on to tools. */
  env: Readonly<Record<string, string | undefined>>
  /** Prices in USD per million tokens by model id, from settings; they beat the built-in table. */
  prices?: Readonly<Record<string, Price>>
  /** Aborts what the model does in the background when the run ends. */
  signal: AbortSignal
  /** `--record FILE`, absolute: the provider writes a cassette of what passes through. */
  record?: string
}

export interface Model {
  id: string
  /** What is known without asking; absent: nothing. A first request goes by it, so that it need not wait. */
  knownLimits?: ModelLimits
  /** May ask the network, once; never throws: what is known, or a cautious guess, stands in. */
  limits(): Promise<ModelLimits>
  /** Absent: unknown, and a `usd` budget is an error. */
  price?: Price
  /**
   * True when `outputSchema` is honoured, or a function that says so of one schema; otherwise the loop offers a submit
   * tool. Default false.
   */
  structuredOutput?: boolean | ((schema: JsonSchema) => boolean)
  /** Loads and connects ahead of the first request, in the background; for when one is certain to follow. */
  warm?(): void
  /** Throws a ModelFault (or an AbortError when `signal` fired). */
  stream(request: ModelRequest, options: { signal: AbortSignal }): AsyncIterable<ModelEvent>
  countTokens?(request: ModelRequest): Promise<number>
  /** Called once when the run ends; a cassette in replay fails here when entries were not used. */
  close?(): void | Promise<void>
}

/** In tokens. */
export interface ModelLimits {
  contextWindow: number
  maxOutput: number
}

/** USD per million tokens. */
export interface Rate {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
}

/** What a model costs. `rateFor` picks the rate of one request. */
export interface Price extends Rate {
  /** The rate of every token of a request whose prompt (cache reads and writes counted) is longer than `above` tokens. */
  longPrompt?: Rate & { above: number }
}

/** The rate of a request with a prompt of that many tokens, cache reads and writes counted. */
export function rateFor(price: Price, promptTokens: number): Rate {
  return price.longPrompt !== undefined && promptTokens > price.longPrompt.above ? price.longPrompt : price
}

/** One request, in the API's terms. Elements are never changed after they were first sent. */
export interface ModelRequest {
  system: readonly TextBlockParam[]
  tools: readonly ToolDeclaration[]
  /**
   * One array for a conversation: it grows at its end, and is another one once anything else in it has changed. Good until
   * the next append.
   */
  messages: readonly MessageParam[]
  /** True: the prompt's cache is to reach to the end of the last message. */
  cacheLast?: boolean
  /** Output tokens at most. */
  maxTokens: number
  effort?: Effort
  /** The answer's shape; sent only to models with `structuredOutput`. */
  outputSchema?: JsonSchema
}

export interface ToolDeclaration {
  name: string
  description: string
  input_schema: JsonSchema
}

/** What the API streams, and a note when the provider itself tried again before the first byte. */
export type ModelEvent = RawMessageStreamEvent | { type: "retry"; attempt: number; delayMs: number; reason: string }

/** What went wrong with a request. */
export type ModelFaultKind =
  | "rate_limit"
  | "overloaded"
  | "server"
  | "connection"
  /** The connection stood, nothing came. */
  | "stall"
  | "prompt_too_long"
  | "request_too_large"
  | "auth"
  | "billing"
  | "invalid_request"
  | "not_found"
  /** The scripted or recorded model had no answer for this request. */
  | "no_answer"

/**
 * The error a model throws. Read by shape (`isModelFault`), never by class: a plugin may bring its own copy of it.
 */
export interface ModelFault extends Error {
  fault: ModelFaultKind
  /** HTTP status, when there was one. */
  status?: number
  /** How long the server asks to wait, ms. */
  retryAfterMs?: number
  /** `prompt_too_long`: how many tokens over the window, when the server said so. */
  excessTokens?: number
  /** What a person should do, one line. */
  mend?: string
  /** True: the provider has itself tried again as often, or as long, as it is meant to; another attempt is not for now. */
  retried?: boolean
}

export interface ModelFaultDetails {
  status?: number | undefined
  retryAfterMs?: number | undefined
  excessTokens?: number | undefined
  mend?: string | undefined
  retried?: boolean | undefined
  cause?: unknown
}

/** Makes the error that `Model.stream` may throw. */
export function createModelFault(fault: ModelFaultKind, message: string, details: ModelFaultDetails = {}): ModelFault {
  const { cause, ...facts } = details
  const error = new Error(message, cause === undefined ? undefined : { cause })
  error.name = "ModelFault"
  return Object.assign(error, { fault }, Object.fromEntries(Object.entries(facts).filter(([, v]) => v !== undefined)))
}

/** True for anything shaped like a ModelFault, whichever copy of the library made it. */
export function isModelFault(error: unknown): error is ModelFault {
  return error instanceof Error && typeof (error as { fault?: unknown }).fault === "string"
}

/** What is known of a model's limits; asks only when nothing is. */
export async function limitsOf(model: Model): Promise<ModelLimits> {
  return model.knownLimits ?? (await model.limits())
}

/** True when a model gives its answer this shape by itself. */
export function honoursSchema(model: Model, schema: JsonSchema): boolean {
  const { structuredOutput } = model
  return typeof structuredOutput === "function" ? structuredOutput(schema) : (structuredOutput ?? false)
}
