/** The laws of a loop, broken one by one. */
import type { MessageParam } from "sous"
import { checkAppendOnly, checkConversation } from "sous/testing"
import { describe, expect, it } from "vitest"

const user = (...content: object[]): MessageParam => ({ role: "user", content: content as never })
const assistant = (...content: object[]): MessageParam => ({ role: "assistant", content: content as never })
const use = (id: string) => ({ type: "tool_use", id, name: "Read", input: {} })
const result = (id: string) => ({ type: "tool_result", tool_use_id: id, content: "x" })
const text = { type: "text", text: "x" }

describe("checkConversation()", () => {
  it("holds for a conversation in which each use has its result", () => {
    checkConversation([
      { role: "user", content: "go" },
      assistant(text, use("a"), use("b")),
      user(result("a"), result("b"), text),
      assistant(use("c")),
      user(result("c")),
      assistant(text),
    ])
  })

  it.each([
    [
      "a use without a message after it",
      [user(text), assistant(use("a"))],
      "Message 1 asks for tools and no user message follows",
    ],
    [
      "a use without a result",
      [user(text), assistant(use("a"), use("b")), user(result("a"))],
      'Message 2 has 0 results for the tool_use "b"',
    ],
    [
      "a use with two results",
      [user(text), assistant(use("a")), user(result("a"), result("a"))],
      'Message 2 has 2 results for the tool_use "a"',
    ],
    [
      "a result a message too late",
      [user(text), assistant(use("a")), user(text), assistant(text), user(result("a"))],
      'Message 2 has 0 results for the tool_use "a"',
    ],
    [
      "a result that nobody asked for",
      [user(text), assistant(text), user(result("z"))],
      'Message 2 has a result for "z", which message 1 does not ask for',
    ],
    [
      "an id that is used twice",
      [user(text), assistant(use("a")), user(result("a")), assistant(use("a")), user(result("a"))],
      'The tool_use id "a" stands in the conversation twice',
    ],
    ["an assistant who begins", [assistant(text)], "The conversation begins with a message of the assistant"],
  ])("breaks at %s", (_, messages, words) => {
    expect(() => checkConversation(messages as MessageParam[])).toThrow(words)
  })
})

describe("checkAppendOnly()", () => {
  const marked = { ...text, cache_control: { type: "ephemeral" } }
  const first = { system: [marked], tools: [{ name: "Read" }], messages: [user(marked)] }

  it("holds when elements are only added, wherever the breakpoints stand", () => {
    const second = { system: [text], tools: [{ name: "Read" }], messages: [user(text), assistant(text), user(marked)] }
    checkAppendOnly([first, second, { ...second, tools: [...second.tools, { name: "Write" }] }])
    checkAppendOnly([{ messages: [] }])
    checkAppendOnly([])
  })

  it.each([
    [
      "a changed message",
      { ...first, messages: [user({ type: "text", text: "other" })] },
      "Request 2 changes messages[0]",
    ],
    ["a message less", { ...first, messages: [] }, "Request 2 changes messages[0]"],
    ["another tool", { ...first, tools: [{ name: "Glob" }] }, "Request 2 changes tools[0]"],
    ["another system text", { ...first, system: "x" }, "Request 2 changes system[0]"],
  ])("breaks at %s, and shows both", (_, second, words) => {
    expect(() => checkAppendOnly([first, second])).toThrow(words)
    expect(() => checkAppendOnly([first, first, second])).toThrow("Request 3")
  })
})
