/**
 * Opens the way to a server that speaks the Messages API: what the environment says, the SDK's client, the transport.
 *
 * Invariant: keys, address and headers come from the environment that was handed over; the SDK reads none by itself, and
 * nothing is loaded or connected before it is asked for.
 */
import type { BaseAnthropic } from "@anthropic-ai/sdk/client"
import { SousError } from "sous"
import { createTransport, type Transport } from "./transport.ts"

type Environment = Readonly<Record<string, string | undefined>>

/** What the environment says about the server. */
export interface ConnectionSettings {
  baseURL: string
  /** True when `ANTHROPIC_BASE_URL` is set: a gateway, or a local server. */
  ownServer: boolean
  apiKey?: string
  authToken?: string
  /** `ANTHROPIC_CUSTOM_HEADERS`, one `Name: value` a line. */
  headers: Record<string, string>
  /** ms without a byte after which a request counts as stalled; 0: never. `SOUS_STALL_MS`. */
  stallMs: number
  /** How often the SDK tries again before the first byte. `SOUS_MAX_RETRIES`. */
  maxRetries: number
  /** Set when the environment names a proxy and the server is not on this machine. */
  proxy?: Record<string, string | undefined>
}

/** Throws MODEL_SETTING_INVALID. */
export function connectionSettings(env: Environment): ConnectionSettings {
  const baseURL = env["ANTHROPIC_BASE_URL"]?.trim() || undefined
  const url = parseUrl(baseURL ?? "https://api.anthropic.com")
  const apiKey = env["ANTHROPIC_API_KEY"]?.trim()
  const authToken = env["ANTHROPIC_AUTH_TOKEN"]?.trim()
  return {
    baseURL: url.href.replace(/\/+$/, ""),
    ownServer: baseURL !== undefined,
    // The SDK takes one of the two; a key is preferred, as it does.
    ...(apiKey ? { apiKey } : authToken ? { authToken } : {}),
    headers: customHeaders(env["ANTHROPIC_CUSTOM_HEADERS"] ?? ""),
    stallMs: wholeNumber(env, "SOUS_STALL_MS", 120_000),
    maxRetries: wholeNumber(env, "SOUS_MAX_RETRIES", 4),
    ...(hasProxy(env) && !isLoopback(url) ? { proxy: env } : {}),
  }
}

/** A client, made at the first use, and its transport. */
export interface Connection {
  settings: ConnectionSettings
  client(): Promise<BaseAnthropic>
  /** Starts to load the SDK and to connect. */
  warm(): void
  close(): void
}

/** Loads and connects nothing yet. */
export function createConnection(settings: ConnectionSettings): Connection {
  let transport: Transport | undefined
  let client: Promise<BaseAnthropic> | undefined
  const useTransport = () => (transport ??= createTransport(settings.baseURL, settings))
  const open = () => (client ??= createClient(settings, useTransport()))
  return {
    settings,
    client: open,
    warm() {
      useTransport().connect()
      // A failure shows at the first request, which waits for the same promise.
      open().catch(() => {})
    },
    close: () => transport?.close(),
  }
}

async function createClient(settings: ConnectionSettings, transport: Transport): Promise<BaseAnthropic> {
  const { BaseAnthropic } = await import("./sdk.ts")
  const { apiKey, authToken, ownServer } = settings
  const bare = apiKey === undefined && authToken === undefined
  const defaultHeaders = {
    // Servers of other makers look for a key where it stood before the SDK sent it as a bearer.
    ...(ownServer && apiKey !== undefined ? { "x-api-key": apiKey } : {}),
    ...(bare ? { authorization: null } : {}),
    ...settings.headers,
  }
  const client = new BaseAnthropic({
    baseURL: settings.baseURL,
    // Any credential keeps the SDK from looking for one; without a key it is taken out again by the null above.
    ...(authToken === undefined ? { apiKey: apiKey ?? "none" } : { authToken }),
    webhookKey: null,
    defaultHeaders,
    maxRetries: settings.maxRetries,
    logLevel: "off",
    openTelemetry: false,
    fetch: transport.fetch as never,
  })
  // The SDK has mixed in the ANTHROPIC_CUSTOM_HEADERS of the process itself.
  const given = client as unknown as { _options: { defaultHeaders: object } }
  given._options.defaultHeaders = defaultHeaders
  return client
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url
  throw new SousError("MODEL_SETTING_INVALID", {
    name: "ANTHROPIC_BASE_URL",
    value: text,
    wanted: "an http or https address",
  })
}

function wholeNumber(env: Environment, name: string, usual: number): number {
  const value = env[name]
  if (value === undefined || value === "") return usual
  if (/^\d{1,9}$/.test(value)) return Number(value)
  throw new SousError("MODEL_SETTING_INVALID", { name, value, wanted: "a whole number" })
}

function customHeaders(text: string): Record<string, string> {
  const lines = text.split("\n").map((line) => /^([^:]+):(.*)$/.exec(line))
  return Object.fromEntries(
    lines.flatMap((parts) => (parts ? [[parts[1]!.trim().toLowerCase(), parts[2]!.trim()]] : [])),
  )
}

function hasProxy(env: Environment): boolean {
  return ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].some((name) => Boolean(env[name]))
}

function isLoopback({ hostname }: URL): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
}
