/**
 * The SDK's `fetch` over Node's own HTTP: kept connections, one opened ahead, and a watcher that sees every byte.
 *
 * It stands in for the global `fetch` because that one shows neither pings nor the attempts that came to nothing, cannot
 * connect ahead, and costs half as much again in each request.
 *
 * Invariant: it sends what it is given and adds nothing; what an aborted request holds is let go at once.
 */
import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http"
import { Agent as HttpsAgent, request as httpsRequest } from "node:https"
import { isIP, type Socket } from "node:net"
import { Headers } from "./headers.ts"

/** What a request tells while it is under way. */
export interface TransportWatcher {
  /** An attempt leaves; `drop` gives it up, and the SDK may try again. */
  sent(drop: (error: Error) => void): void
  /** A byte, or the head of the response, has come. */
  alive(): void
  /** The response has been read to its end, or the attempt has failed. */
  settled(): void
  /** An attempt failed before its stream. False forbids another. */
  failed(reason: string, response?: { status: number; headers: Headers }): boolean
}

/** `fetch`, as far as the SDK uses it. `watcher` rides on the request's options. */
export type TransportInit = Omit<RequestInit, "body"> & { body?: string | null; watcher?: TransportWatcher }

export interface Transport {
  fetch(url: string, init?: TransportInit): Promise<Response>
  /** Connects to the server, so that the next request finds it open. */
  connect(): void
  /** Ends all idle connections. */
  close(): void
}

/** `proxy`: the environment that names one (`HTTPS_PROXY` and so on); heeded by Node 24 and newer. */
export function createTransport(
  baseURL: string,
  options: { proxy?: Record<string, string | undefined> } = {},
): Transport {
  const url = new URL(baseURL)
  const secure = url.protocol === "https:"
  const agent = createAgent(secure, options.proxy)
  return {
    fetch: (target, init = {}) => send(new URL(target), init, agent, secure),
    connect: () => agent.openAhead(url),
    close: () => agent.destroy(),
  }
}

type AheadAgent = HttpAgent & { openAhead(url: URL): void }

function createAgent(secure: boolean, proxy: Record<string, string | undefined> | undefined): AheadAgent {
  const Base = secure ? HttpsAgent : HttpAgent
  class Ahead extends Base {
    #ahead: Socket | undefined

    openAhead(url: URL): void {
      const isOpen = this.#ahead !== undefined || Object.keys(this.freeSockets).length > 0
      if (isOpen || proxy !== undefined) return
      const port = Number(url.port || (secure ? 443 : 80))
      const host = url.hostname.replace(/^\[|\]$/g, "")
      const named = secure && isIP(host) === 0 ? { servername: host } : {}
      const socket = super.createConnection({ host, port, noDelay: true, ...named } as never) as unknown as Socket
      socket.unref()
      socket.once("error", () => socket.destroy())
      socket.once("close", () => {
        if (this.#ahead === socket) this.#ahead = undefined
      })
      this.#ahead = socket
    }

    override createConnection(...given: Parameters<HttpAgent["createConnection"]>) {
      const socket = this.#ahead
      if (socket === undefined || socket.destroyed) return super.createConnection(...given)
      this.#ahead = undefined
      return socket.ref()
    }

    override destroy(): void {
      this.#ahead?.destroy()
      super.destroy()
    }
  }
  const proxied = proxy === undefined ? {} : { proxyEnv: proxy }
  return new Ahead({ keepAlive: true, scheduling: "lifo", ...proxied } as object)
}

function send(url: URL, init: TransportInit, agent: HttpAgent, secure: boolean): Promise<Response> {
  const body = typeof init.body === "string" ? Buffer.from(init.body) : undefined
  const headers = Object.fromEntries(new Headers(init.headers as never))
  if (body !== undefined) headers["content-length"] = String(body.length)
  const options = { agent, method: init.method ?? "GET", headers }
  const begin = () => (secure ? httpsRequest(url, options) : httpRequest(url, options))
  const attempt = async (again: boolean) => {
    if (init.signal?.aborted) throw abortReason()
    return exchange(begin(), { body, init, url, again })
  }
  return attempt(false).catch((error: StaleError) => {
    // A kept connection that the server closed in the meantime is no fault of this request, which was never read.
    if (error.stale !== true) throw error
    return attempt(true)
  })
}

type StaleError = NodeJS.ErrnoException & { stale?: boolean }

interface Exchange {
  body: Buffer | undefined
  init: TransportInit
  url: URL
  /** True for the second attempt of one request, whose failure is told. */
  again: boolean
}

function exchange(request: ClientRequest, { body, init, url, again }: Exchange): Promise<Response> {
  const { signal, watcher } = init
  return new Promise((resolve, reject) => {
    let begun = false
    // Once the response has begun its socket may be on the way back to the pool, where nobody listens for an error.
    const abort = () => request.destroy(begun ? undefined : abortReason())
    signal?.addEventListener("abort", abort, { once: true })
    const release = () => signal?.removeEventListener("abort", abort)
    request.on("error", (error: StaleError) => {
      release()
      error.stale = !again && request.reusedSocket && /^(?:ECONNRESET|EPIPE)$/.test(error.code ?? "")
      if (!begun && !error.stale && !signal?.aborted) watcher?.failed(error.code ?? error.message)
      reject(error)
    })
    request.once("response", (incoming) => {
      begun = true
      incoming.once("close", release)
      // Who reads gets the error from the reading; without a reader it must not end the process.
      incoming.on("error", () => {})
      watcher?.alive()
      resolve(responseOf(incoming, { url, watcher }))
    })
    watcher?.sent((error) => request.destroy(error))
    request.end(body)
  })
}

function abortReason(): Error {
  const error = new Error("The request was aborted")
  error.name = "AbortError"
  return error
}

/** The members of a Response that the SDK reads. */
function responseOf(
  incoming: IncomingMessage,
  { url, watcher }: { url: URL; watcher: TransportWatcher | undefined },
): Response {
  const status = incoming.statusCode ?? 0
  const headers = new Headers(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]))
  const ok = status >= 200 && status < 300
  if (!ok && watcher?.failed(`${status}`, { status, headers }) === false) headers.set("x-should-retry", "false")
  const body = { [Symbol.asyncIterator]: () => chunksOf(incoming, watcher) }
  const text = async () => {
    const parts: Buffer[] = []
    for await (const chunk of body) parts.push(chunk)
    return Buffer.concat(parts).toString("utf8")
  }
  const json = async () => JSON.parse(await text())
  return { ok, status, headers, url: url.href, body, text, json } as unknown as Response
}

/** Reading that is given up before it began lets the rest run dry, so that the connection can be kept. */
function chunksOf(incoming: IncomingMessage, watcher: TransportWatcher | undefined): AsyncIterableIterator<Buffer> {
  const chunks = readChunks(incoming, watcher)
  let begun = false
  return {
    next() {
      begun = true
      return chunks.next()
    },
    return(value) {
      if (!begun) incoming.resume()
      return chunks.return(value)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

async function* readChunks(incoming: IncomingMessage, watcher: TransportWatcher | undefined): AsyncGenerator<Buffer> {
  const { "content-encoding": encoding } = incoming.headers
  try {
    for await (const chunk of encoding ? await decoded(incoming, encoding) : incoming) {
      watcher?.alive()
      yield chunk
    }
  } finally {
    watcher?.settled()
  }
}

/** Nothing compressed is asked for; a gateway may send it all the same. */
async function decoded(incoming: IncomingMessage, encoding: string): Promise<AsyncIterable<Buffer>> {
  const { createBrotliDecompress, createUnzip } = await import("node:zlib")
  const decoder = encoding === "br" ? createBrotliDecompress() : createUnzip()
  incoming.once("error", (error) => decoder.destroy(error))
  return incoming.pipe(decoder)
}
