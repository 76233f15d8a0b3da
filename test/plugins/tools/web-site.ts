/**
 * A real server on loopback for the tests of WebFetch, and a context whose rules name what the test says.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Tool } from "../../../core/tool.ts"
import { createToolContext, runTool, type Settled, type TestContext } from "../../contract/tool.ts"

/** How the server answers one path. */
export type Handler = (response: ServerResponse, request: IncomingMessage) => void

export interface Site {
  /** `http://127.0.0.1:PORT`. */
  origin: string
  port: number
  /** `METHOD path` of every request, in order. */
  seen: string[]
  /** Headers of the last request. */
  headers(): IncomingMessage["headers"]
  pages: Record<string, Handler>
  close(): Promise<void>
}

/** Starts a server; `pages` may be added to. */
export async function createSite(pages: Record<string, Handler> = {}): Promise<Site> {
  let headers: IncomingMessage["headers"] = {}
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    headers = request.headers
    const page = pages[new URL(request.url!, "http://x").pathname]
    if (page) page(response, request)
    else response.writeHead(404, { "content-type": "text/plain" }).end("There is no such page")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    seen,
    headers: () => headers,
    pages,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** Answers with a body of a type. */
export function page(type: string, body: string | Buffer, headers: Record<string, string> = {}): Handler {
  return (response) =>
    response.writeHead(200, { ...(type === "" ? {} : { "content-type": type }), ...headers }).end(body)
}

/** Answers with a redirect. */
export function redirect(location: string, status = 302): Handler {
  return (response) => response.writeHead(status, { location }).end()
}

/** A context in which rules name these hosts and guard these addresses. */
export function webContext(names: readonly string[] = ["127.0.0.1"], guarded: readonly string[] = []): TestContext {
  return createToolContext({
    web: { names: (host) => names.includes(host), guards: (url) => guarded.some((part) => url.includes(part)) },
  })
}

/** Calls the tool. */
export function fetchPage(tool: Tool, url: string, context: TestContext): Promise<Settled> {
  return runTool(tool, { url, prompt: "What is it?" }, context)
}
