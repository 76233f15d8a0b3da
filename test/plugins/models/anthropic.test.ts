/** The provider as a whole: the SDK it loads, over HTTP, against the server of sous/testing. */
import type { Model, ModelFault } from "sous"
import { createModelServer, type ModelServer, type TurnSource } from "sous/testing"
import { afterEach, describe, expect, it, vi } from "vitest"
import anthropicPlugin, { anthropicProvider } from "../../../plugins/models/anthropic.ts"
import { collect, describeModel, request, textOf } from "../../contract/model.ts"

const never = new AbortController().signal

interface Opened {
  server: ModelServer
  model: Model
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

async function open(source: TurnSource, env: Record<string, string> = {}, id = "claude-opus-5-5"): Promise<Opened> {
  const server = await createModelServer(source)
  const model = await anthropicProvider.open(id, { cwd: "/", env: { ...server.env, ...env }, signal: never })
  closing.push(async () => {
    await model.close?.()
    await server.close({ abandon: true })
  })
  return { server, model }
}

describeModel("anthropic", {
  async open(turns) {
    const { server, model } = await open(turns)
    return { model, close: async () => void server }
  },
})

describe("anthropic before the first byte", () => {
  it.each([
    { status: 429, kind: "rate_limit" },
    { status: 500, kind: "server" },
    { status: 529, kind: "overloaded" },
  ])("asks again after $status, and tells of it", async ({ status }) => {
    const { server, model } = await open([
      { text: "at last", fault: { kind: "status", status, headers: { "retry-after": "0.02" }, times: 2 } },
    ])
    const { events, error } = await collect(model)
    expect(error).toBeUndefined()
    const retries = events.filter((event) => event.type === "retry")
    expect(retries).toEqual([
      { type: "retry", attempt: 1, delayMs: 20, reason: `the server answered ${status}` },
      { type: "retry", attempt: 2, delayMs: 20, reason: `the server answered ${status}` },
    ])
    expect(textOf(events)).toBe("at last")
    expect(server.asked().map((one) => one.status)).toEqual([status, status, 200])
    expect(new Set(server.asked().map((one) => one.raw.toString())).size).toBe(1)
  })

  it("waits by itself when the server does not say how long", async () => {
    const { server, model } = await open([{ text: "x", fault: { kind: "status", status: 429 } }])
    const { events } = await collect(model)
    expect(events[0]).toMatchObject({ type: "retry", delayMs: 500 })
    const [first, second] = server.asked()
    expect(second!.at - first!.at).toBeGreaterThan(300)
  })

  it("leaves a wait of an hour to the loop", async () => {
    const { server, model } = await open([
      { fault: { kind: "status", status: 429, headers: { "retry-after": "3600" }, message: "tier limit" } },
    ])
    const { events, error } = await collect(model)
    expect(events).toEqual([])
    expect(error).toMatchObject({ fault: "rate_limit", status: 429, retryAfterMs: 3_600_000, retried: true })
    expect(server.asked()).toHaveLength(1)
  })

  it("gives up after SOUS_MAX_RETRIES, with the last answer's fault", async () => {
    const { server, model } = await open(
      [{ fault: { kind: "status", status: 529, headers: { "retry-after-ms": "1" }, times: 9 } }],
      { SOUS_MAX_RETRIES: "2" },
    )
    const { error } = await collect(model)
    expect(error).toMatchObject({ fault: "overloaded", status: 529, retried: true })
    expect(server.asked()).toHaveLength(3)
  })

  it("asks again when the connection is reset", async () => {
    const { server, model } = await open([{ text: "x", fault: { kind: "reset" } }])
    const { events, error } = await collect(model)
    expect(error).toBeUndefined()
    expect(events[0]).toMatchObject({ type: "retry", attempt: 1, reason: expect.stringContaining("ECONNRESET") })
    expect(server.asked()).toHaveLength(2)
  })

  it("asks again when nothing comes at all, and then calls it a stall", async () => {
    const turns = [{ fault: { kind: "mute" as const, times: 9 } }]
    const { server, model } = await open(turns, { SOUS_STALL_MS: "60", SOUS_MAX_RETRIES: "1" })
    const { events, error } = await collect(model)
    expect(events).toMatchObject([{ type: "retry", reason: expect.stringContaining("nothing came for 0.06 s") }])
    expect(error).toMatchObject({ fault: "stall", retried: true })
    expect(server.asked()).toHaveLength(2)
  })

  it("stops waiting when the signal fires", async () => {
    const { server, model } = await open([
      { text: "x", fault: { kind: "status", status: 529, headers: { "retry-after": "30" } } },
    ])
    const controller = new AbortController()
    const started = performance.now()
    const reading = (async () => {
      for await (const event of model.stream(request("hi"), { signal: controller.signal })) {
        if (event.type === "retry") controller.abort()
      }
    })()
    await expect(reading).rejects.toMatchObject({ name: "AbortError" })
    expect(performance.now() - started).toBeLessThan(5_000)
    expect(server.asked()).toHaveLength(1)
  })

  it("stops waiting when nobody reads any more", async () => {
    const { server, model } = await open([
      { text: "x", fault: { kind: "status", status: 529, headers: { "retry-after-ms": "50" } } },
    ])
    for await (const event of model.stream(request("hi"), { signal: never })) {
      expect(event.type).toBe("retry")
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 120))
    expect(server.asked()).toHaveLength(1)
  })

  it("says where nobody listens", async () => {
    const { server, model } = await open([], { SOUS_MAX_RETRIES: "0" })
    await server.close()
    const { error } = await collect(model)
    expect(error).toMatchObject({ fault: "connection", message: expect.stringContaining(server.url) })
    expect((error as ModelFault).message).toContain("ECONNREFUSED")
    expect((error as ModelFault).mend).toContain("ANTHROPIC_BASE_URL")
  })
})

describe("anthropic when a request is refused", () => {
  it.each([
    [400, "invalid_request", "messages.1: tool_use ids were found without tool_result blocks"],
    [400, "billing", "Your credit balance is too low to access the Anthropic API"],
    [401, "auth", "invalid x-api-key"],
    [402, "billing", "payment required"],
    [403, "auth", "not allowed for this key"],
    [404, "not_found", "model: claude-opus-9"],
    [413, "request_too_large", "Request exceeds the maximum size"],
  ])("%i is %s at the first time of asking: %s", async (status, fault, message) => {
    const { server, model } = await open([{ fault: { kind: "status", status, message } }])
    const { error } = await collect(model)
    expect(error).toMatchObject({ fault, status, message: expect.stringContaining(message) })
    expect((error as ModelFault).mend).toBeTruthy()
    expect((error as ModelFault).message).toContain("req_scripted")
    expect(server.asked()).toHaveLength(1)
  })

  it.each([
    ["prompt is too long: 210000 tokens > 200000 maximum", 10_000],
    ["input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length", 22_000],
    ["prompt is too long", undefined],
  ])("reads how much too long a prompt is: %s", async (message, excess) => {
    const { server, model } = await open([{ fault: { kind: "status", status: 400, message } }])
    const { error } = await collect(model)
    expect(error).toMatchObject({ fault: "prompt_too_long", status: 400 })
    expect((error as ModelFault).excessTokens).toBe(excess)
    expect(server.asked()).toHaveLength(1)
  })
})

describe("anthropic after the first byte", () => {
  it.each([
    { kind: "cut", fault: "connection" },
    { kind: "end", fault: "connection" },
    { kind: "garbage", fault: "connection" },
    { kind: "stall", fault: "stall" },
  ] as const)("$kind is thrown as $fault, and never asked again", async ({ kind, fault }) => {
    const { server, model } = await open([{ text: "some words", fault: { kind, after: 4 } }, { text: "not for me" }], {
      SOUS_STALL_MS: "500",
    })
    const { events, error } = await collect(model)
    expect(error).toMatchObject({ fault })
    expect((error as ModelFault).retried).toBeUndefined()
    expect(events.map(({ type }) => type)).toEqual(["message_start", "content_block_start", "content_block_delta"])
    expect(server.asked()).toHaveLength(1)
  })

  it.each([
    ["overloaded_error", "overloaded", "Overloaded"],
    ["rate_limit_error", "rate_limit", "slow down"],
    ["api_error", "server", "Internal server error"],
    ["authentication_error", "auth", "key expired"],
    ["invalid_request_error", "prompt_too_long", "prompt is too long: 1010 tokens > 1000 maximum"],
  ])("an error event of %s is thrown as %s", async (type, fault, message) => {
    const { server, model } = await open([{ text: "abc", fault: { kind: "error_event", type, message, after: 2 } }])
    const { events, error } = await collect(model)
    expect(error).toMatchObject({ fault, message: expect.stringContaining(message) })
    expect(events).toHaveLength(2)
    expect(server.asked()).toHaveLength(1)
  })

  it("takes pings for life", async () => {
    const { model } = await open([{ text: "slow", pings: 10, chunk_delay_ms: 100 }], { SOUS_STALL_MS: "700" })
    const { events, error } = await collect(model)
    expect(error).toBeUndefined()
    expect(textOf(events)).toBe("slow")
  })

  it("lets go of the connection when it is aborted", async () => {
    const { server, model } = await open([{ text: "word ".repeat(40), chunk: 5, chunk_delay_ms: 20 }])
    const controller = new AbortController()
    const reading = (async () => {
      for await (const event of model.stream(request("hi"), { signal: controller.signal })) {
        if (event.type === "content_block_delta") controller.abort()
      }
    })()
    await expect(reading).rejects.toMatchObject({ name: "AbortError" })
    await vi.waitFor(() => expect(server.asked()[0]?.doneAt).toBeDefined())
  })

  it.each(["refusal", "pause_turn", "max_tokens", "model_context_window_exceeded", "stop_sequence"])(
    "hands on the stop reason %s",
    async (stop_reason) => {
      const { model } = await open([{ text: "so far", stop_reason }])
      const { events, error } = await collect(model)
      expect(error).toBeUndefined()
      expect(events.find((event) => event.type === "message_delta")?.delta.stop_reason).toBe(stop_reason)
    },
  )
})

describe("what anthropic sends", () => {
  const schema = { type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"] }

  it("is the request as it was given", async () => {
    const { server, model } = await open([{ text: "ok" }])
    const asked = request("hi", {
      system: [{ type: "text", text: "Be brief", cache_control: { type: "ephemeral" } }],
      tools: [{ name: "Read", description: "reads", input_schema: { type: "object" } }],
    })
    await collect(model, asked)
    const { body, headers } = server.asked()[0]!
    expect(body).toEqual({
      model: "claude-opus-5-5",
      max_tokens: 1000,
      messages: asked.messages,
      system: asked.system,
      tools: asked.tools,
      thinking: { type: "adaptive", display: "summarized" },
      stream: true,
    })
    expect(headers["anthropic-beta"]).toBeUndefined()
    expect(headers["content-type"]).toBe("application/json")
  })

  it("has an effort that the model takes, and a schema that the API takes", async () => {
    const { server, model } = await open([{ json: { n: 1 } }, { text: "x" }], {}, "claude-opus-4-6")
    await collect(model, request("hi", { effort: "xhigh", outputSchema: schema }))
    expect(server.asked()[0]!.body.output_config).toEqual({
      effort: "high",
      format: {
        type: "json_schema",
        schema: {
          type: "object",
          properties: { n: { type: "integer", description: "(minimum: 1)" } },
          required: ["n"],
          additionalProperties: false,
        },
      },
    })
    expect(server.asked()[0]!.body.thinking).toBeUndefined()
  })

  it("leaves the effort out for a model that has none, and passes it to one that nobody knows", async () => {
    const old = await open([{ text: "x" }], {}, "claude-haiku-4-5-20251001")
    await collect(old.model, request("hi", { effort: "low" }))
    expect(old.server.asked()[0]!.body.output_config).toBeUndefined()
    const strange = await open([{ text: "x" }], {}, "qwen3-coder:30b")
    await collect(strange.model, request("hi", { effort: "low" }))
    expect(strange.server.asked()[0]!.body).toMatchObject({
      model: "qwen3-coder:30b",
      output_config: { effort: "low" },
    })
  })

  it("goes over one connection", async () => {
    const { server, model } = await open([{ text: "x", times: 3 }])
    for (const _ of [1, 2, 3]) await collect(model)
    expect(server.asked().map(({ connection }) => connection)).toEqual([1, 1, 1])
  })

  it("finds the connection open that warm() made", async () => {
    const { server, model } = await open([{ text: "x" }])
    model.warm?.()
    await collect(model)
    await model.limits()
    expect(server.requests.map(({ connection }) => connection)).toEqual([1, 1])
  })

  it("carries no key but the one that was handed over", async () => {
    vi.stubEnv("ANTHROPIC_API_KEY", "sk-of-the-process")
    vi.stubEnv("ANTHROPIC_AUTH_TOKEN", "token-of-the-process")
    vi.stubEnv("ANTHROPIC_CUSTOM_HEADERS", "x-of-the-process: 1")
    vi.stubEnv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    const { server, model } = await open([{ text: "x" }], {
      ANTHROPIC_API_KEY: "sk-mine",
      ANTHROPIC_CUSTOM_HEADERS: "X-Mine: yes\nX-Too: a:b",
    })
    await collect(model)
    const { headers } = server.asked()[0]!
    expect(headers).toMatchObject({
      authorization: "Bearer sk-mine",
      "x-api-key": "sk-mine",
      "x-mine": "yes",
      "x-too": "a:b",
    })
    expect(JSON.stringify(headers)).not.toContain("of-the-process")
  })

  it("is a bearer token where there is no key, and no key at all where there is neither", async () => {
    vi.stubEnv("ANTHROPIC_API_KEY", "sk-of-the-process")
    const token = await open([{ text: "x" }], { ANTHROPIC_API_KEY: "", ANTHROPIC_AUTH_TOKEN: "mine" })
    await collect(token.model)
    expect(token.server.asked()[0]!.headers).toMatchObject({ authorization: "Bearer mine" })
    const bare = await open([{ text: "x" }], { ANTHROPIC_API_KEY: "" })
    await collect(bare.model)
    expect(bare.server.asked()[0]!.headers).not.toHaveProperty("authorization")
    expect(bare.server.asked()[0]!.headers).not.toHaveProperty("x-api-key")
  })

  it("brings no warning onto the console, of a deprecated model neither", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {})
    const { model } = await open([{ text: "x" }], {}, "claude-opus-4-5")
    await collect(model)
    expect(warn).not.toHaveBeenCalled()
  })
})

describe("what anthropic knows of a model", () => {
  it("limits() asks the Models API once, and not before it is asked itself", async () => {
    const server = await createModelServer([], {
      models: { "claude-opus-5-5": { contextWindow: 5000, maxOutput: 400 } },
    })
    closing.push(() => server.close())
    const options = { cwd: "/", env: server.env, signal: never }
    const model = await anthropicProvider.open("opus", options)
    expect(model.knownLimits).toEqual({ contextWindow: 1_000_000, maxOutput: 128_000 })
    expect(server.requests).toHaveLength(0)
    const limits = await Promise.all([model.limits(), model.limits()])
    expect(limits).toEqual([
      { contextWindow: 5000, maxOutput: 400 },
      { contextWindow: 5000, maxOutput: 400 },
    ])
    expect(server.requests.map(({ path }) => path)).toEqual(["/v1/models/claude-opus-5-5"])
    const unlisted = await anthropicProvider.open("claude-haiku-4-5", options)
    expect(await unlisted.limits()).toEqual({ contextWindow: 200_000, maxOutput: 64_000 })
    const unknown = await anthropicProvider.open("claude-newest", options)
    expect(await unknown.limits()).toEqual({ contextWindow: 200_000, maxOutput: 8_192 })
    expect(unknown.knownLimits).toBeUndefined()
  })

  it("countTokens() asks the API, without an output limit", async () => {
    const { server, model } = await open([], { SOUS_MAX_RETRIES: "0" })
    expect(await model.countTokens?.(request("hi"))).toBeGreaterThan(0)
    expect(server.requests[0]).toMatchObject({ path: "/v1/messages/count_tokens" })
    expect(server.requests[0]!.body).not.toHaveProperty("max_tokens")
    await server.close()
    await expect(model.countTokens?.(request("hi"))).rejects.toMatchObject({ fault: "connection" })
  })

  it("prices from settings beat its own; a price that nobody knows is absent", async () => {
    const env = { ANTHROPIC_API_KEY: "x" }
    const mine = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 }
    const options = { cwd: "/", env, signal: never, prices: { "claude-opus-5-5": mine } }
    expect((await anthropicProvider.open("opus", options)).price).toEqual(mine)
    expect((await anthropicProvider.open("sonnet", options)).price).toMatchObject({ input: 2, output: 10 })
    expect((await anthropicProvider.open("claude-newest", options)).price).toBeUndefined()
  })

  it("structuredOutput says of each schema whether it can hold the answers", async () => {
    const { model } = await open([])
    const takes = model.structuredOutput as (schema: object) => boolean
    expect(takes({ type: "object", properties: { a: { type: "string" } } })).toBe(true)
    expect(takes({ type: "object", additionalProperties: { type: "number" } })).toBe(false)
    const strange = await open([], {}, "qwen3:8b")
    expect(strange.model.structuredOutput).toBe(false)
  })
})

describe("anthropicProvider", () => {
  const plain = { env: { ANTHROPIC_API_KEY: "x" } }
  const gateway = { env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" } }

  it("handles() its own ids, and any without a scheme when it has a server", () => {
    const own = ["claude-opus-5-5", "opus", "sonnet", "haiku", "fable", "anthropic:anything", "opus[1m]"]
    for (const id of own) expect(anthropicProvider.handles(id, plain)).toBe(true)
    for (const id of ["gpt-6", "script:a.yaml", "constructor"]) expect(anthropicProvider.handles(id, plain)).toBe(false)
    for (const id of ["gpt-6", "qwen3:8b", "llama3.1:70b"]) expect(anthropicProvider.handles(id, gateway)).toBe(true)
    for (const id of ["script:a.yaml", "my-own:x"]) expect(anthropicProvider.handles(id, gateway)).toBe(false)
  })

  it("open() turns an alias into the newest id, and takes its own scheme off", async () => {
    const options = { cwd: "/", env: { ANTHROPIC_API_KEY: "x" }, signal: never }
    expect((await anthropicProvider.open("opus", options)).id).toBe("claude-opus-5-5")
    expect((await anthropicProvider.open("anthropic:mistral:7b", options)).id).toBe("mistral:7b")
    expect((await anthropicProvider.open("opus[1m]", options)).id).toBe("claude-opus-5-5")
    const env = { ...options.env, ANTHROPIC_DEFAULT_OPUS_MODEL: "claude-opus-4-8" }
    expect((await anthropicProvider.open("opus", { ...options, env })).id).toBe("claude-opus-4-8")
    expect((await anthropicProvider.open("sonnet", { ...options, env })).id).toBe("claude-sonnet-5-5")
  })

  it("open() refuses an environment without a key", async () => {
    const opening = Promise.resolve().then(() => anthropicProvider.open("opus", { cwd: "/", env: {}, signal: never }))
    await expect(opening).rejects.toMatchObject({ code: "MODEL_KEY_MISSING" })
  })

  it.each([
    { ANTHROPIC_BASE_URL: "localhost" },
    { ANTHROPIC_BASE_URL: "file:///etc/passwd" },
    { SOUS_STALL_MS: "soon" },
    { SOUS_MAX_RETRIES: "-1" },
  ])("open() refuses %o", async (wrong) => {
    const env = { ANTHROPIC_API_KEY: "x", ...wrong }
    const opening = Promise.resolve().then(() => anthropicProvider.open("opus", { cwd: "/", env, signal: never }))
    await expect(opening).rejects.toMatchObject({
      code: "MODEL_SETTING_INVALID",
      message: expect.stringContaining(Object.values(wrong)[0]!),
    })
  })

  it("fallbackId() is what the environment names, or sonnet where there is a key", () => {
    const { fallbackId } = anthropicProvider
    expect(fallbackId?.({ env: {} })).toBeUndefined()
    expect(fallbackId?.({ env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" } })).toBeUndefined()
    expect(fallbackId?.({ env: { ANTHROPIC_API_KEY: "x" } })).toBe("sonnet")
    expect(fallbackId?.({ env: { ANTHROPIC_MODEL: "opus", ANTHROPIC_API_KEY: "x" } })).toBe("opus")
  })

  it("is what its plugin adds", () => {
    expect(anthropicPlugin).toMatchObject({ name: "anthropic", models: [anthropicProvider] })
  })
})
