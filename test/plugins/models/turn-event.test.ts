/** Turns as events, and events folded back: nothing is lost on the way, whatever the pieces. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { foldEvents, turnEvents, withoutPings } from "../../../plugins/models/turn-event.ts"
import { checkTurn } from "../../../plugins/models/turn-file.ts"

const place = {
  answer: 7,
  inputTokens: 40,
  body: { model: "m", max_tokens: 10, messages: [{ role: "user" as const, content: "x" }] },
}

describe("turnEvents()", () => {
  it("are what a stream consists of, in its order", () => {
    const events = turnEvents(checkTurn({ thinking: "ab", text: "cdef", tool: { Read: { a: 1 } }, chunk: 2 }), place)
    expect(events.map(({ type, index }) => (index === undefined ? type : `${type} ${index}`))).toEqual([
      "message_start",
      "content_block_start 0",
      "ping",
      "content_block_delta 0",
      "content_block_delta 0",
      "content_block_stop 0",
      "content_block_start 1",
      "content_block_delta 1",
      "content_block_delta 1",
      "content_block_stop 1",
      "content_block_start 2",
      ...Array.from({ length: 5 }, () => "content_block_delta 2"),
      "content_block_stop 2",
      "message_delta",
      "message_stop",
    ])
    expect(withoutPings(events).some(({ type }) => (type as string) === "ping")).toBe(false)
  })

  it("give each tool_use an id of its own, and leave a given one", () => {
    const content = [{ tool: { Read: {} } }, { tool: { Read: {} } }, { tool: { Read: {} }, id: "toolu_mine" }]
    const message = foldEvents(turnEvents(checkTurn({ content }), place))
    expect((message["content"] as { id: string }[]).map(({ id }) => id)).toEqual([
      "toolu_1_7_1",
      "toolu_1_7_2",
      "toolu_mine",
    ])
  })

  it("state the usage that the turn states, and estimate the rest", () => {
    const message = foldEvents(turnEvents(checkTurn({ text: "x", usage: { cache_read_input_tokens: 9 } }), place))
    expect(message["usage"]).toMatchObject({
      input_tokens: 40,
      cache_read_input_tokens: 9,
      cache_creation_input_tokens: 0,
    })
  })

  it("carry stop reason, stop sequence and details", () => {
    const turn = checkTurn({ stop_reason: "refusal", stop_sequence: "END", stop_details: { category: "cyber" } })
    const events = turnEvents(turn, place)
    expect(events.find(({ type }) => type === "message_delta")?.["delta"]).toEqual({
      stop_reason: "refusal",
      stop_sequence: "END",
      stop_details: { category: "cyber" },
    })
  })

  it("fold back into the blocks they came from, in whatever pieces", () => {
    const block = fc.oneof(
      fc.record({ text: fc.string() }),
      fc.record({ thinking: fc.string(), signature: fc.string() }),
      fc.record({ tool: fc.constant("Read"), id: fc.uuid() }),
      fc.record({ type: fc.constant("hologram"), data: fc.jsonValue() }),
    )
    fc.assert(
      fc.property(fc.array(block, { maxLength: 4 }), fc.integer({ min: 1, max: 9 }), (content, chunk) => {
        const turn = checkTurn({ content: content as never, chunk })
        const folded = foldEvents(turnEvents(turn, place))["content"]
        expect(folded).toEqual(turn.blocks)
      }),
      { numRuns: 200 },
    )
  })

  it("fold broken arguments into none", () => {
    const message = foldEvents(turnEvents(checkTurn({ content: [{ tool: "Read", raw_input: '{"a' }] }), place))
    expect(message["content"]).toMatchObject([{ type: "tool_use", name: "Read", input: {} }])
  })
})
