/**
 * Turns what the SDK throws, and what the API answers, into the kernel's ModelFault.
 *
 * Invariant: errors are read by shape and text, never by class, so that a second copy of the SDK is understood too; an
 * error that is none of the network or the API is passed on as it is.
 *
 * Source: https://platform.claude.com/docs/en/api/errors
 */
import { createModelFault, isModelFault, type ModelFault, type ModelFaultKind } from "sous"

/** The API's error type for a status. */
export function errorTypeOf(status: number): string {
  return TYPE_OF_STATUS[status] ?? (status >= 500 ? "api_error" : "invalid_request_error")
}

/** What the API said when it refused a request, before or in the stream. */
export interface ApiRefusal {
  status?: number | undefined
  type?: string | undefined
  message?: string | undefined
  requestId?: string | undefined
  headers?: { get(name: string): string | null } | undefined
  cause?: unknown
}

/** The fault for a refusal; `excessTokens` is read from its text. */
export function faultOfRefusal(refusal: ApiRefusal): ModelFault {
  const { status, message = "no reason given", requestId } = refusal
  const type = refusal.type ?? (status === undefined ? "api_error" : errorTypeOf(status))
  const long = tooLong(message)
  const kind = long ? "prompt_too_long" : kindOf(status, type, message)
  const request = requestId ? ` (request ${requestId})` : ""
  const said = status === undefined ? `sent an error in its stream, ${type}` : `answered ${status} ${type}`
  return createModelFault(kind, `The model's server ${said}: ${message}${request}`, {
    status,
    retryAfterMs: retryAfterOf(refusal.headers),
    excessTokens: long?.excess,
    mend: MENDS[kind],
    cause: refusal.cause,
  })
}

/** The fault for anything that was thrown while a model was asked. `signal` decides whether it was an abort. */
export function faultOf(error: unknown, { signal, baseURL }: { signal: AbortSignal; baseURL: string }): Error {
  if (signal.aborted) return abortError(signal)
  if (isModelFault(error)) return error
  if (!(error instanceof Error)) return new Error(String(error))
  const thrown = error as ThrownBySdk
  if ("apiMessage" in thrown && !/^APIConnection/.test(thrown.name)) return faultOfRefusal(refusalOf(thrown))
  if (error instanceof SyntaxError) {
    return faultOfBreak(`The model's server at ${baseURL} sent an event that is not JSON`, error)
  }
  const reason = networkReason(error)
  return reason === undefined ? error : faultOfBreak(`The connection to ${baseURL} failed: ${reason}`, error)
}

/** The fault for a connection that was lost, or never came to be. */
export function faultOfBreak(message: string, cause?: unknown): ModelFault {
  return createModelFault("connection", message, { mend: MENDS.connection, cause })
}

/** The fault for a connection on which nothing comes. */
export function faultOfStall(baseURL: string, stallMs: number): ModelFault {
  const seconds = Math.round(stallMs / 100) / 10
  return createModelFault("stall", `The model's server at ${baseURL} sent nothing for ${seconds} s`, {
    mend: MENDS.stall,
  })
}

/** What a model throws when it was told to stop. */
export function abortError(signal: AbortSignal): Error {
  const error = new Error("The request was aborted", { cause: signal.reason })
  error.name = "AbortError"
  return error
}

/** ms until the server wants to be asked again, from `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function retryAfterOf(headers: ApiRefusal["headers"]): number | undefined {
  const exact = Number.parseFloat(headers?.get("retry-after-ms") ?? "")
  if (exact > 0) return exact
  const value = headers?.get("retry-after") ?? ""
  const seconds = /^\s*[\d.]+\s*$/.test(value) ? Number.parseFloat(value) * 1000 : Date.parse(value) - Date.now()
  return seconds > 0 ? seconds : undefined
}

const TYPE_OF_STATUS: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  409: "conflict_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
}

const KIND_OF_TYPE: Readonly<Record<string, ModelFaultKind>> = {
  authentication_error: "auth",
  permission_error: "auth",
  billing_error: "billing",
  not_found_error: "not_found",
  request_too_large: "request_too_large",
  rate_limit_error: "rate_limit",
  overloaded_error: "overloaded",
  invalid_request_error: "invalid_request",
}

const MENDS: Readonly<Record<ModelFaultKind, string>> = {
  rate_limit: "wait, or run fewer agents at once",
  overloaded: "try again later, or name another model",
  server: "try again; if it lasts, look at status.claude.com",
  connection: "check the network, and ANTHROPIC_BASE_URL if it is set",
  stall: "try again; for a server that thinks long before it speaks, raise SOUS_STALL_MS",
  prompt_too_long: "shorten the prompt, or name a model with a larger window",
  request_too_large: "send fewer or smaller files",
  auth: "check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, and what it may use",
  billing: "check balance and spend limits in the Claude Console",
  invalid_request: "correct what the server names, or report it when nothing of yours is meant",
  not_found: "name a model that this server has, with --model",
  no_answer: "correct the script or the cassette",
}

function kindOf(status: number | undefined, type: string, message: string): ModelFaultKind {
  if (/credit balance is too low|spend limit|(?:reached|exceeded)\b.*\busage limits?/i.test(message)) return "billing"
  const byType = KIND_OF_TYPE[type]
  if (byType !== undefined && byType !== "invalid_request") return byType
  if (status === 408 || status === 409 || (status ?? 500) >= 500) return "server"
  return "invalid_request"
}

/** What Anthropic's API, and servers that speak like it, say of a prompt beyond the window. */
function tooLong(message: string): { excess?: number } | undefined {
  const prompt = /prompt is too long(?::\s*(\d+) tokens > (\d+) maximum)?/i.exec(message)
  if (prompt) return prompt[1] === undefined ? {} : { excess: Number(prompt[1]) - Number(prompt[2]) }
  const both = /exceed context limit:\s*(\d+)\s*\+?\s*(\d+)\s*>\s*(\d+)/i.exec(message)
  if (both) return { excess: Number(both[1]) + Number(both[2]) - Number(both[3]) }
  return /exceeds? the (?:available )?context (?:size|window|length)|maximum context length/i.test(message)
    ? {}
    : undefined
}

interface ThrownBySdk extends Error {
  status?: number
  type?: string | null
  apiMessage?: string | null
  requestID?: string | null
  headers?: { get(name: string): string | null }
}

function refusalOf(thrown: ThrownBySdk): ApiRefusal {
  return {
    status: thrown.status,
    type: thrown.type ?? undefined,
    message: thrown.apiMessage ?? thrown.message,
    requestId: thrown.requestID ?? undefined,
    headers: thrown.headers,
    cause: thrown,
  }
}

/** Codes of the system, of TLS, of the HTTP parser and of a broken compression. */
const NETWORK_CODE = /^(?:E(?!RR_)[A-Z0-9]+|ERR_(?:TLS|SSL|STREAM)_\w+|HPE_\w+|Z_\w+|\w*(?:CERT|SIGNATURE)\w*)$/

/** The code of a failed connection, from an error or what caused it; undefined when it is an error of another kind. */
function networkReason(error: Error): string | undefined {
  const { code } = error as NodeJS.ErrnoException
  if (typeof code === "string" && NETWORK_CODE.test(code)) {
    return error.message.includes(code) ? error.message : `${code} ${error.message}`
  }
  if (!/^APIConnection/.test(error.name)) return undefined
  return error.cause instanceof Error ? (networkReason(error.cause) ?? error.cause.message) : error.message
}
