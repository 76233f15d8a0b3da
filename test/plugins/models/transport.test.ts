/** The transport against a plain HTTP server: connections kept, connections gone stale, bodies let go. */
import { createServer, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import { afterEach, describe, expect, it } from "vitest"
import { createTransport, type Transport, type TransportWatcher } from "../../../plugins/models/transport.ts"

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

async function serve(listener: RequestListener): Promise<{ server: Server; url: string; transport: Transport }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const transport = createTransport(url)
  closing.push(() => {
    transport.close()
    server.closeAllConnections()
    server.close()
  })
  return { server, url, transport }
}

function watching(): { watcher: TransportWatcher; told: string[] } {
  const told: string[] = []
  return {
    told,
    watcher: {
      sent: () => void told.push("sent"),
      alive: () => void told.push("alive"),
      settled: () => void told.push("settled"),
      failed(reason) {
        told.push(`failed ${reason}`)
        return true
      },
    },
  }
}

describe("createTransport()", () => {
  it("sends what it is given, with its length, and reads the answer", async () => {
    const { url, transport } = await serve((request, response) => {
      const seen = { method: request.method, headers: request.headers }
      request.setEncoding("utf8")
      let text = ""
      request.on("data", (chunk) => (text += chunk))
      request.on("end", () => response.end(JSON.stringify({ ...seen, text })))
    })
    const response = await transport.fetch(url, { method: "POST", headers: { "X-Mine": "1" }, body: "größe" })
    expect([response.ok, response.status, response.headers.get("connection")]).toEqual([true, 200, "keep-alive"])
    expect(await response.json()).toMatchObject({
      method: "POST",
      text: "größe",
      headers: { "x-mine": "1", "content-length": "7" },
    })
  })

  it("sends once more over a new connection when a kept one has gone stale, and tells of no failure", async () => {
    let requests = 0
    const { url, transport } = await serve((request, response) => {
      requests += 1
      if (requests === 2) request.socket.destroy()
      else response.end("ok")
    })
    await (await transport.fetch(url)).text()
    const { watcher, told } = watching()
    expect(await (await transport.fetch(url, { watcher })).text()).toBe("ok")
    expect(requests).toBe(3)
    expect(told).toEqual(["sent", "sent", "alive", "alive", "settled"])
  })

  it("does not send again over a new connection that is reset", async () => {
    let requests = 0
    const { url, transport } = await serve((request) => {
      requests += 1
      request.socket.destroy()
    })
    const { watcher, told } = watching()
    await expect(transport.fetch(url, { watcher })).rejects.toMatchObject({ code: "ECONNRESET" })
    expect([requests, told]).toEqual([1, ["sent", "failed ECONNRESET"]])
  })

  it("keeps the connection when an error's body is not read", async () => {
    const sockets = new Set<unknown>()
    const { url, transport } = await serve((request, response) => {
      sockets.add(request.socket)
      response.writeHead(500).end("sorry")
    })
    for (const _ of [1, 2, 3]) {
      const response = await transport.fetch(url)
      const body = response.body as unknown as AsyncIterable<Buffer>
      await body[Symbol.asyncIterator]().return?.()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(sockets.size).toBe(1)
  })

  it("reads a body that a gateway has compressed", async () => {
    const { url, transport } = await serve((_, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("squeezed"))
    })
    expect(await (await transport.fetch(url)).text()).toBe("squeezed")
  })

  it("gives up before and during a request when the signal fires", async () => {
    const { url, transport } = await serve((_, response) => void response.writeHead(200).write("first"))
    await expect(transport.fetch(url, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: "AbortError" })
    const controller = new AbortController()
    const response = await transport.fetch(url, { signal: controller.signal })
    const reading = (async () => {
      for await (const _ of response.body as unknown as AsyncIterable<Buffer>) controller.abort()
    })()
    await expect(reading).rejects.toThrow()
  })

  it("connects ahead, once, and holds no process open for it", async () => {
    const { server, url, transport } = await serve((_, response) => void response.end("ok"))
    const connected = new Promise<void>((resolve) => server.once("connection", () => resolve()))
    let connections = 0
    server.on("connection", () => {
      connections += 1
    })
    transport.connect()
    transport.connect()
    await connected
    await (await transport.fetch(url)).text()
    await new Promise((resolve) => setTimeout(resolve, 20))
    transport.connect()
    await (await transport.fetch(url)).text()
    expect(connections).toBe(1)
  })
})
