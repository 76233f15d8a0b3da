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
  handles(id: string): boolean
  open(id: string, options: ModelOptions): Model | Promise<Model>
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
  limits(): Promise<ModelLimits>
  /** Absent: unknown, and a `usd` budget is an error. */
  price?: Price
  /** True when `outputSchema` is honoured; otherwise the loop offers a submit tool. Default false. */
  structuredOutput?: boolean
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
export interface Price {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
}

/** One request, in the API's terms. Elements are never changed after they were first sent. */
export interface ModelRequest {
  system: readonly TextBlockParam[]
  tools: readonly ToolDeclaration[]
  messages: readonly MessageParam[]
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
}

export interface ModelFaultDetails {
  status?: number | undefined
  retryAfterMs?: number | undefined
  excessTokens?: number | undefined
  mend?: string | undefined
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
