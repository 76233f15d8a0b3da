/**
 * A checked address → what its server answers, decompressed, within bounds of time and size.
 *
 * Invariant: the connection goes to an address that was checked, never to what a second lookup says; no cookie, key or
 * proxy is used; no more bytes are held than the bound.
 */
import type { LookupAddress } from "node:dns"
import { request as httpRequest, type IncomingMessage } from "node:http"
import { request as httpsRequest } from "node:https"
import { isIP, type LookupFunction } from "node:net"
import type { Transform } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import { Refused } from "./refusal.ts"

/** What a server answered. */
export interface WebAnswer {
  status: number
  /** The value of `content-type`, lower case up to its parameters; empty when there is none. */
  type: string
  /** Where a redirect leads, as the server wrote it. */
  location?: string
  /** Empty for a redirect. */
  body: Buffer
}

/** How one request is to be done. */
export interface RequestOptions {
  addresses: readonly LookupAddress[]
  /** Bytes of the body, as they come and decompressed. */
  maxBytes: number
  signal: AbortSignal
  /** Throws when a body of that type is not wanted, before it is read. */
  checkType(type: string): void
}

const REDIRECTS = [301, 302, 303, 307, 308]

/** Sends one GET request. Throws Refused when the answer cannot be used, and what the network throws. */
export async function requestPage(url: URL, options: RequestOptions): Promise<WebAnswer> {
  const response = await send(url, options)
  try {
    const { statusCode: status = 0, headers } = response
    const type = (headers["content-type"] ?? "").trim()
    const { location } = headers
    if (REDIRECTS.includes(status) && location !== undefined) return { status, type, location, body: Buffer.alloc(0) }
    options.checkType(type)
    return { status, type, body: await readBody(response, options) }
  } finally {
    response.destroy()
  }
}

function send(url: URL, { addresses, signal }: RequestOptions): Promise<IncomingMessage> {
  const request = url.protocol === "https:" ? httpsRequest : httpRequest
  const host = url.hostname.replace(/^\[|\]$/g, "")
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      // A connection of its own, so that none is shared with a host of the same name at another address.
      agent: false,
      lookup: pinnedTo(addresses),
      signal,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      headers: {
        accept: "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5",
        "accept-encoding": "gzip, br",
        "user-agent": "sous",
      },
    })
    sent.once("response", (response) => {
      // Whoever reads it is told; nobody else has to be.
      response.on("error", () => {})
      resolve(response)
    })
    sent.on("error", reject)
    sent.end()
  })
}

/** Answers with the checked addresses, whatever is asked. */
function pinnedTo(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, done) => {
    const [first] = addresses
    if (options.all) done(null, [...addresses])
    else done(null, first!.address, first!.family)
  }
}

async function readBody(response: IncomingMessage, { maxBytes, signal }: RequestOptions): Promise<Buffer> {
  const declared = Number(response.headers["content-length"] ?? 0)
  if (declared > maxBytes) throw tooLarge(maxBytes)
  const decoder = decoderFor(response.headers["content-encoding"])
  const chunks: Buffer[] = []
  const keep = async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) chunks.push(chunk)
  }
  const bound = bounded(maxBytes)
  // Bounded twice: what comes over the wire, and what it becomes.
  if (decoder === undefined) await pipeline(response, bound, keep, { signal })
  else await pipeline(response, bound, decoder, bounded(maxBytes), keep, { signal })
  return Buffer.concat(chunks)
}

function bounded(maxBytes: number) {
  return async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0
    for await (const chunk of source) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      yield chunk
    }
  }
}

function decoderFor(encoding = ""): Transform | undefined {
  const name = encoding.trim().toLowerCase()
  if (name === "" || name === "identity") return undefined
  if (name === "gzip" || name === "x-gzip") return createGunzip()
  if (name === "br") return createBrotliDecompress()
  if (name === "deflate") return createInflate()
  throw new Refused(`Its content encoding "${name.slice(0, 50)}" was not asked for and is not understood`)
}

function tooLarge(maxBytes: number): Refused {
  const size = `${(maxBytes / 1e6).toLocaleString("en-US")} MB`
  return new Refused(
    `It has more than ${size}, the most that is fetched: find a smaller page, or download it with a shell`,
  )
}
