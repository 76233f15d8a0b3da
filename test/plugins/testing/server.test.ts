/** The server beside its use by the provider: whole answers, other endpoints, what it keeps, how it ends. */
import { Anthropic } from "@anthropic-ai/sdk"
import { createModelServer, type ModelServer, type TurnSource } from "sous/testing"
import { afterEach, describe, expect, it } from "vitest"

const servers: ModelServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close({ abandon: true })
})

async function serve(source: TurnSource, options = {}): Promise<{ server: ModelServer; client: Anthropic }> {
  const server = await createModelServer(source, options)
  servers.push(server)
  const client = new Anthropic({ baseURL: server.url, apiKey: "x", maxRetries: 0, logLevel: "off" })
  return { server, client }
}

const params = { model: "claude-opus-5-5", max_tokens: 10, messages: [{ role: "user" as const, content: "hi" }] }

describe("createModelServer()", () => {
  it("gives a whole message to who wants no stream", async () => {
    const { client } = await serve([
      { thinking: "hm", text: "yes", tool: { Read: { file_path: "a" } }, usage: { output_tokens: 3 } },
    ])
    const message = await client.messages.create(params)
    expect(message).toMatchObject({
      role: "assistant",
      model: "claude-opus-5-5",
      stop_reason: "tool_use",
      usage: { output_tokens: 3 },
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "yes" },
        { type: "tool_use", name: "Read", input: { file_path: "a" } },
      ],
    })
  })

  it("streams to the SDK's own helper, in the same form", async () => {
    const { client } = await serve([{ text: "yes ".repeat(30), tool: { Read: { file_path: "a" } }, chunk: 7 }])
    const message = await client.messages.stream(params).finalMessage()
    expect(message.content).toMatchObject([
      { type: "text", text: "yes ".repeat(30) },
      { type: "tool_use", name: "Read", input: { file_path: "a" } },
    ])
  })

  it("keeps every request as it came", async () => {
    const { server, client } = await serve([{ text: "x", times: 2 }])
    await client.messages.create(params)
    await client.messages.create({ ...params, max_tokens: 11 })
    await client.models.retrieve("m")
    const [first, second] = server.asked()
    expect(first).toMatchObject({ method: "POST", path: "/v1/messages", status: 200, body: params })
    expect(JSON.parse(first!.raw.toString())).toEqual(params)
    expect(first!.headers["anthropic-version"]).toBeDefined()
    expect(second!.at).toBeGreaterThanOrEqual(first!.doneAt!)
    expect(server.requests).toHaveLength(3)
    expect(server.requests[2]).toMatchObject({ method: "GET", path: "/v1/models/m" })
  })

  it("keeps no bodies when it is told so", async () => {
    const { server, client } = await serve([{ text: "x" }], { keep: "none" })
    await client.messages.create(params)
    expect(server.requests[0]).toMatchObject({ path: "/v1/messages", status: 200, body: undefined })
    expect(server.requests[0]!.raw).toHaveLength(0)
  })

  it("counts tokens, and tells of models", async () => {
    const limits = { small: { contextWindow: 100, maxOutput: 10 } }
    const { client } = await serve([], { models: limits })
    expect(
      (await client.messages.countTokens({ model: "small", messages: params.messages })).input_tokens,
    ).toBeGreaterThan(5)
    expect(await client.models.retrieve("small")).toMatchObject({ id: "small", max_input_tokens: 100, max_tokens: 10 })
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(["small"])
    await expect(client.models.retrieve("large")).rejects.toMatchObject({ status: 404 })
    const { client: any } = await serve([])
    expect(await any.models.retrieve("whatever")).toMatchObject({ max_input_tokens: 1_000_000 })
  })

  it("refuses what the API would refuse", async () => {
    const { server } = await serve([])
    const post = (body: string, path = "/v1/messages") => fetch(server.url + path, { method: "POST", body })
    expect((await post("{")).status).toBe(400)
    expect(await (await post(JSON.stringify({ ...params, messages: [] }))).json()).toMatchObject({
      type: "error",
      error: { type: "invalid_request_error", message: "messages: at least one message is required" },
    })
    expect(await (await post(JSON.stringify({ model: "m", messages: params.messages }))).json()).toMatchObject({
      error: { message: "max_tokens: Field required" },
    })
    expect((await post("{", "/v1/messages/count_tokens")).status).toBe(400)
    expect((await post("{}", "/v1/complete")).status).toBe(404)
  })

  it("answers 400 to what a turn does not expect, and remembers it", async () => {
    const { server, client } = await serve([{ text: "x", expect: { contains: "bye" } }])
    await expect(client.messages.create(params)).rejects.toMatchObject({ status: 400 })
    expect(server.failures).toEqual([expect.stringContaining('contains "bye"')])
    await server.close()
  })

  it("breaks a whole answer where it would break a stream", async () => {
    const { client } = await serve([
      { fault: { kind: "error_event", status: 529, message: "busy" } },
      { fault: { kind: "cut", after: 2 } },
    ])
    await expect(client.messages.create(params)).rejects.toMatchObject({ status: 529 })
    await expect(client.messages.create(params)).rejects.toMatchObject({ name: "APIConnectionError" })
  })

  it("takes new turns, and a function in their place", async () => {
    const { server, client } = await serve([])
    server.use((body, n) => ({ text: `${body.model} ${n}` }))
    expect((await client.messages.create(params)).content).toMatchObject([{ text: "claude-opus-5-5 1" }])
    server.use([{ text: "again" }])
    expect((await client.messages.create(params)).content).toMatchObject([{ text: "again" }])
  })

  it("says at its close which turns nobody asked for, and lets go of silent connections", async () => {
    const server = await createModelServer([{ fault: { kind: "mute" } }, { text: "x" }])
    const asked = fetch(`${server.url}/v1/messages`, { method: "POST", body: JSON.stringify(params) })
    asked.catch(() => {})
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
    await expect(server.close()).rejects.toMatchObject({ code: "MODEL_TURNS_UNUSED", details: { turns: [2] } })
    await expect(asked).rejects.toThrow()
  })

  it("refuses a wrong script before it listens", async () => {
    await expect(createModelServer([{ txt: "x" } as never])).rejects.toMatchObject({ code: "MODEL_SCRIPT_INVALID" })
  })
})
