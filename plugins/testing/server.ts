/**
 * A server on this machine that speaks the Messages API and says what a script tells it to: for tests and benchmarks.
 *
 * Invariant: it listens on 127.0.0.1 alone, adds no delay of its own, and keeps every request as it came.
 *
 * Source: https://platform.claude.com/docs/en/api/messages, …/messages-count-tokens, …/models
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { isModelFault } from "sous"
import type { RequestBody } from "../models/request.ts"
import type { Script, ScriptInput, TurnInput } from "../models/turn.ts"
import { estimateTokens } from "../models/turn-event.ts"
import { checkScript } from "../models/turn-file.ts"
import { createTurnList, type TurnList, type TurnMaker } from "../models/turn-list.ts"
import { sendError, sendJson, sendTurn } from "./reply.ts"

/** Turns, a whole script, what `loadScript` has read, or a function that makes a turn for each request. */
export type TurnSource = readonly TurnInput[] | ScriptInput | Script | TurnMaker

export interface ModelServerOptions {
  /** What the Models API says, by id, in tokens. Left out: a million in, 128,000 out, whatever the id. */
  models?: Record<string, { contextWindow: number; maxOutput: number }>
  /** `none`: requests are kept without body and bytes, for long runs. Default `all`. */
  keep?: "all" | "none"
}

/** One request as it came in. */
export interface ServedRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** The body, parsed; undefined when there was none, or it was no JSON. */
  body: any
  /** The body's bytes. */
  raw: Buffer
  /** ms since the server started: when its last byte had come, and when the response was over. */
  at: number
  doneAt?: number
  status?: number
  /** Numbers the connection that it came on, from 1. */
  connection: number
}

export interface ModelServer {
  /** `http://127.0.0.1:PORT`, for ANTHROPIC_BASE_URL. */
  url: string
  /** The environment that leads a model here. */
  env: { ANTHROPIC_BASE_URL: string; ANTHROPIC_API_KEY: string }
  /** Every request so far, in order. */
  requests: ServedRequest[]
  /** Those to `/v1/messages`. */
  asked(): ServedRequest[]
  /** What a turn expected and a request did not hold; each was answered with status 400 too. */
  failures: string[]
  /** Replaces the turns. */
  use(source: TurnSource): void
  /** Ends all connections. Throws MODEL_TURNS_UNUSED when turns were not asked for; not with `abandon`. */
  close(options?: { abandon?: boolean }): Promise<void>
}

/** Starts to listen on a free port. Throws MODEL_SCRIPT_INVALID. */
export async function createModelServer(
  source: TurnSource = [],
  options: ModelServerOptions = {},
): Promise<ModelServer> {
  const state: State = { list: listOf(source), requests: [], failures: [], answers: 0, options }
  const started = performance.now()
  const connections = new WeakMap<Socket, number>()
  let connected = 0
  const server = createServer({ keepAliveTimeout: 60_000, noDelay: true }, async (request, response) => {
    const connection = connections.get(request.socket) ?? 0
    const served = await readRequest(request, { connection, started, keep: options.keep ?? "all" })
    state.requests.push(served)
    response.once("close", () => {
      served.doneAt = performance.now() - started
      served.status = response.statusCode
    })
    await answer(state, served, response)
    if (options.keep === "none") Object.assign(served, { body: undefined, raw: Buffer.alloc(0) })
  })
  server.on("connection", (socket) => {
    connected += 1
    connections.set(socket, connected)
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", resolve)
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-scripted" },
    requests: state.requests,
    asked: () => state.requests.filter(({ path }) => path === "/v1/messages"),
    failures: state.failures,
    use(next) {
      state.list = listOf(next)
    },
    async close({ abandon = false } = {}) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
      if (!abandon) state.list.checkSpent()
    },
  }
}

interface State {
  list: TurnList
  requests: ServedRequest[]
  failures: string[]
  answers: number
  options: ModelServerOptions
}

function listOf(source: TurnSource): TurnList {
  const name = "of the server"
  if (typeof source === "function") return createTurnList(name, source)
  return createTurnList(name, checkScript(isTurns(source) ? { turns: [...source] } : source, name))
}

/** True for bare turns, false for a whole script. */
export function isTurns(source: readonly TurnInput[] | ScriptInput): source is readonly TurnInput[] {
  return Array.isArray(source)
}

async function readRequest(
  request: IncomingMessage,
  { connection, started }: { connection: number; started: number; keep: string },
): Promise<ServedRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const raw = Buffer.concat(chunks)
  const { method = "", url = "", headers } = request
  const path = new URL(url, "http://127.0.0.1").pathname.replace(/(.)\/+$/, "$1")
  return { method, path, headers, body: parseJson(raw), raw, at: performance.now() - started, connection }
}

function parseJson(raw: Buffer): unknown {
  try {
    return raw.length === 0 ? undefined : JSON.parse(raw.toString("utf8"))
  } catch {
    return undefined
  }
}

async function answer(state: State, served: ServedRequest, response: ServerResponse): Promise<void> {
  const { method, path } = served
  if (method === "POST" && path === "/v1/messages") await answerMessages(state, served, response)
  else if (method === "POST" && path === "/v1/messages/count_tokens") answerCount(served, response)
  else if (method === "GET" && /^\/v1\/models(?:\/|$)/.test(path)) answerModels(state, path, response)
  else sendError(response, 404, { message: `there is no ${method} ${path}` })
}

function answerCount({ body, raw }: ServedRequest, response: ServerResponse): void {
  if (body === undefined) sendError(response, 400, { message: "the body is not JSON" })
  else sendJson(response, 200, { input_tokens: estimateTokens(raw.length) })
}

async function answerMessages(state: State, { body, raw }: ServedRequest, response: ServerResponse): Promise<void> {
  const problem = problemOf(body)
  if (problem !== undefined) return sendError(response, 400, { message: problem })
  try {
    const taken = state.list.take(body as RequestBody)
    state.answers += 1
    await sendTurn(response, taken, { answer: state.answers, body, inputTokens: estimateTokens(raw.length) })
  } catch (error) {
    if (!isModelFault(error)) throw error
    state.failures.push(error.message)
    sendError(response, 400, { message: error.message })
  }
}

/** What the API would refuse at once. */
function problemOf(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null) return "the body is not a JSON object"
  const { model, max_tokens, messages } = body as Partial<RequestBody>
  if (typeof model !== "string") return "model: Field required"
  if (typeof max_tokens !== "number") return "max_tokens: Field required"
  if (!Array.isArray(messages) || messages.length === 0) return "messages: at least one message is required"
  return undefined
}

function answerModels({ options }: State, path: string, response: ServerResponse): void {
  const id = decodeURIComponent(path.split("/")[3] ?? "")
  const { models } = options
  if (id === "") {
    const data = Object.keys(models ?? {}).map((one) => modelInfo(one, models?.[one]))
    const [first, last] = [data[0]?.id ?? null, data.at(-1)?.id ?? null]
    sendJson(response, 200, { data, has_more: false, first_id: first, last_id: last })
  } else if (models !== undefined && !(id in models)) {
    sendError(response, 404, { message: `model: ${id}` })
  } else {
    sendJson(response, 200, modelInfo(id, models?.[id]))
  }
}

function modelInfo(id: string, limits = { contextWindow: 1_000_000, maxOutput: 128_000 }) {
  return {
    type: "model",
    id,
    display_name: id,
    created_at: "2026-01-01T00:00:00Z",
    lifecycle: "active",
    max_input_tokens: limits.contextWindow,
    max_tokens: limits.maxOutput,
    capabilities: null,
  }
}
