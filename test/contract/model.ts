/**
 * What every model must do, whichever provider opened it: a suite that each provider's tests run.
 *
 * Invariant: a model is asked through its contract alone; the subject decides how the turns get into it.
 */
import type { Model, ModelEvent, ModelRequest } from "sous"
import { isModelFault } from "sous"
import type { TurnInput } from "sous/testing"
import { describe, expect, it } from "vitest"

/** A provider under test. */
export interface ModelSubject {
  /** Opens a model that will answer `requests` with `turns`, in order. `close` ends both it and what stands behind it. */
  open(turns: TurnInput[], requests: readonly ModelRequest[]): Promise<{ model: Model; close(): Promise<void> }>
}

/** A request of one user message. */
export function request(text: string, more: Partial<ModelRequest> = {}): ModelRequest {
  const messages = [{ role: "user" as const, content: [{ type: "text" as const, text }] }]
  return { system: [], tools: [], messages, maxTokens: 1000, ...more }
}

/** All events of one answer, and what it ended with. */
export async function collect(
  model: Model,
  asked: ModelRequest = request("hi"),
  signal: AbortSignal = new AbortController().signal,
): Promise<{ events: ModelEvent[]; error?: unknown }> {
  const events: ModelEvent[] = []
  try {
    for await (const event of model.stream(asked, { signal })) events.push(event)
    return { events }
  } catch (error) {
    return { events, error }
  }
}

/** The text of an answer. */
export function textOf(events: readonly ModelEvent[]): string {
  return events
    .map((event) => (event.type === "content_block_delta" && event.delta.type === "text_delta" ? event.delta.text : ""))
    .join("")
}

/** The arguments of the block at an index, as JSON text. */
export function argumentsOf(events: readonly ModelEvent[], index: number): string {
  return events
    .map((event) =>
      event.type === "content_block_delta" && event.index === index && event.delta.type === "input_json_delta"
        ? event.delta.partial_json
        : "",
    )
    .join("")
}

/** Runs the suite for one provider. */
export function describeModel(name: string, subject: ModelSubject): void {
  const asking = async (
    turns: TurnInput[],
    use: (model: Model) => Promise<void>,
    requests: ModelRequest[] = [request("hi")],
  ) => {
    const { model, close } = await subject.open(turns, requests)
    try {
      await use(model)
    } finally {
      await close()
    }
  }

  describe(`${name} as a model`, () => {
    it("streams a text from message_start to message_stop, and no pings", () =>
      asking([{ text: "Hello there. ".repeat(20), chunk: 10, pings: 3 }], async (model) => {
        const { events, error } = await collect(model)
        expect(error).toBeUndefined()
        expect(events[0]).toMatchObject({ type: "message_start", message: { role: "assistant", content: [] } })
        expect(events.at(-1)).toEqual({ type: "message_stop" })
        expect(textOf(events)).toBe("Hello there. ".repeat(20))
        expect(events.some((event) => (event.type as string) === "ping")).toBe(false)
      }))

    it("reports usage: the input side at the start, the output at the end", () =>
      asking(
        [{ text: "x", usage: { input_tokens: 70, output_tokens: 8, cache_read_input_tokens: 5 } }],
        async (model) => {
          const { events } = await collect(model)
          const start = events.find((event) => event.type === "message_start")
          const end = events.find((event) => event.type === "message_delta")
          expect(start?.message.usage).toMatchObject({ input_tokens: 70, cache_read_input_tokens: 5 })
          expect(end?.usage).toMatchObject({ output_tokens: 8 })
        },
      ))

    it("streams arguments as text, which need not be JSON", () => {
      const content = [{ tool: { Read: { file_path: "a.txt" } } }, { tool: "Write", raw_input: '{"file_p' }]
      return asking([{ content, stop_reason: "max_tokens" }], async (model) => {
        const { events } = await collect(model)
        expect(JSON.parse(argumentsOf(events, 0))).toEqual({ file_path: "a.txt" })
        expect(argumentsOf(events, 1)).toBe('{"file_p')
        const starts = events.filter((event) => event.type === "content_block_start")
        expect(starts.map(({ content_block }) => content_block)).toMatchObject([{ name: "Read" }, { name: "Write" }])
        expect(events.find((event) => event.type === "message_delta")?.delta.stop_reason).toBe("max_tokens")
      })
    })

    it("hands on thinking with its signature, and blocks and events that nobody knows", () => {
      const strange = { type: "hologram", frames: [1, 2] }
      const content = [{ thinking: "Let me see", signature: "c2ln" }, strange, { text: "seen" }]
      return asking([{ content, events: [{ type: "weather_report", sky: "clear" }] }], async (model) => {
        const { events } = await collect(model)
        expect(events).toContainEqual({ type: "weather_report", sky: "clear" })
        expect(events).toContainEqual({ type: "content_block_start", index: 1, content_block: strange })
        const signed = events.filter((event) => event.type === "content_block_delta" && event.index === 0)
        expect(signed.at(-1)).toMatchObject({ delta: { type: "signature_delta", signature: "c2ln" } })
        expect(textOf(events)).toBe("seen")
      })
    })

    it("answers one request after another", () => {
      const requests = [request("one"), request("two")]
      return asking(
        [{ text: "first" }, { text: "second" }],
        async (model) => {
          expect(textOf((await collect(model, requests[0])).events)).toBe("first")
          expect(textOf((await collect(model, requests[1])).events)).toBe("second")
        },
        requests,
      )
    })

    it("throws an AbortError and says nothing when the signal has fired before", () =>
      asking([{ text: "never" }], async (model) => {
        const { events, error } = await collect(model, request("hi"), AbortSignal.abort())
        expect(events).toEqual([])
        expect(error).toMatchObject({ name: "AbortError" })
      }))

    it("throws an AbortError when the signal fires in the middle", () =>
      asking([{ text: "word ".repeat(50), chunk: 5 }], async (model) => {
        const controller = new AbortController()
        const seen: ModelEvent[] = []
        const reading = (async () => {
          for await (const event of model.stream(request("hi"), { signal: controller.signal })) {
            seen.push(event)
            if (seen.length === 3) controller.abort()
          }
        })()
        await expect(reading).rejects.toMatchObject({ name: "AbortError" })
        expect(seen.length).toBe(3)
      }))

    it("ends with a ModelFault when the stream carries an error", () =>
      asking(
        [{ text: "half a sentence", fault: { kind: "error_event", after: 3, message: "too busy" } }],
        async (model) => {
          const { events, error } = await collect(model)
          expect(isModelFault(error)).toBe(true)
          expect(error).toMatchObject({ fault: "overloaded", message: expect.stringContaining("too busy") })
          expect(events[0]?.type).toBe("message_start")
          expect(events.some((event) => event.type === "message_stop")).toBe(false)
        },
      ))

    it("knows its limits, and never fails to tell them", () =>
      asking(
        [],
        async (model) => {
          const limits = await model.limits()
          expect(limits.contextWindow).toBeGreaterThan(0)
          expect(limits.maxOutput).toBeGreaterThan(0)
          expect(limits.contextWindow).toBeGreaterThanOrEqual(limits.maxOutput)
          for (const rate of Object.values(model.price ?? {})) expect(rate).toBeGreaterThanOrEqual(0)
        },
        [],
      ))
  })
}
