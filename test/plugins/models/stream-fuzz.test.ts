/** Broken streams of every kind: a whole answer or a ModelFault, never anything else. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import fc from "fast-check"
import { isModelFault } from "sous"
import { afterAll, beforeAll, expect, it } from "vitest"
import { anthropicProvider } from "../../../plugins/models/anthropic.ts"
import { turnEvents } from "../../../plugins/models/turn-event.ts"
import { checkTurn } from "../../../plugins/models/turn-file.ts"
import { collect, textOf } from "../../contract/model.ts"

const place = { answer: 1, inputTokens: 1, body: { model: "m", max_tokens: 1, messages: [] } }
const events = turnEvents(checkTurn({ thinking: "hm", text: "größe ✓ ".repeat(9), tool: { Read: { a: 1 } } }), place)
const lines = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
const whole = Buffer.from(lines.join(""))

let reply: { status: number; chunks: Buffer[] } = { status: 200, chunks: [] }
const server = createServer((_, response) => {
  response.writeHead(reply.status, { "content-type": "text/event-stream" })
  for (const chunk of reply.chunks) response.write(chunk)
  response.end()
})
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

async function ask() {
  const env = {
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    SOUS_MAX_RETRIES: "0",
    SOUS_STALL_MS: "2000",
  }
  const model = await anthropicProvider.open("opus", { cwd: "/", env, signal: new AbortController().signal })
  try {
    return await collect(model)
  } finally {
    await model.close?.()
  }
}

const split = (bytes: Buffer, at: number[]) => {
  const cuts = [0, ...at.map((one) => one % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return cuts.slice(1).map((end, i) => bytes.subarray(cuts[i], end))
}

it("an answer is the same in whatever pieces its bytes come", () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.nat(), { maxLength: 6 }), async (cuts) => {
      reply = { status: 200, chunks: split(whole, cuts) }
      const { events: seen, error } = await ask()
      expect(error).toBeUndefined()
      expect(textOf(seen)).toBe("größe ✓ ".repeat(9))
    }),
    { numRuns: 40 },
  ))

it("an answer that is cut anywhere is a fault", () =>
  fc.assert(
    fc.asyncProperty(fc.nat({ max: whole.length - lines.slice(-2).join("").length - 1 }), async (length) => {
      reply = { status: 200, chunks: [whole.subarray(0, length)] }
      const { error } = await ask()
      expect(isModelFault(error)).toBe(true)
    }),
    { numRuns: 40 },
  ))

it("whatever a server sends is an answer or a fault", () => {
  const line = fc.oneof(
    fc.constantFrom(...lines),
    fc.tuple(fc.string(), fc.json()).map(([name, data]) => `event: ${name}\ndata: ${data}\n\n`),
    fc.constantFrom(
      "event: message_start\ndata: null\n\n",
      "event: error\ndata: null\n\n",
      "event: error\ndata: {\n\n",
    ),
    fc.string(),
  )
  const status = fc.constantFrom(200, 200, 200, 400, 404, 500, 529)
  return fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 8 }), status, async (sent, code) => {
      reply = { status: code, chunks: sent.map((text) => Buffer.from(text)) }
      const { error } = await ask()
      if (error !== undefined) expect(isModelFault(error), String((error as Error)?.stack)).toBe(true)
    }),
    { numRuns: 80 },
  )
})
