import type { MessageParam } from "sous"
import { describe, expect, it } from "vitest"
import { bodyText } from "../../../plugins/models/request.ts"

const says = (role: "user" | "assistant", text: string): MessageParam => ({ role, content: [{ type: "text", text }] })
const bodyOf = (messages: readonly MessageParam[]) => ({ model: "m", max_tokens: 1, stream: true, messages })

describe("bodyText()", () => {
  it("writes no half of a character, which the API would refuse, and changes nothing else", () => {
    const texts = ["whole \u{1f600}", "\ud83d", "a\ude00b", "said: \\ud83d", "\\\ud83d"]
    const messages = texts.map((text) => ({ role: "user" as const, content: [{ type: "text" as const, text }] }))
    const sent = JSON.parse(bodyText(bodyOf(messages))).messages.map((message: any) => message.content[0].text)
    expect(sent).toEqual(["whole \u{1f600}", "\ufffd", "a\ufffdb", "said: \\ud83d", "\\\ufffd"])
    expect(bodyText(bodyOf(messages))).not.toMatch(/[^\\](?:\\\\)*\\ud/)
  })

  it("writes what JSON.stringify would, while a conversation grows, forks, is changed and is cut", () => {
    const first = says("user", "ü\u2028 one")
    const grown = [first, says("assistant", "two"), says("user", "three"), says("assistant", "four"), says("user", "5")]
    const histories = [
      [],
      grown.slice(0, 1),
      grown.slice(0, 3),
      grown,
      [first, says("assistant", "another"), says("user", "three")],
      [first, says("assistant", "changed"), ...grown.slice(2)],
      grown.slice(0, 2),
      [says("user", "summary"), ...grown.slice(3)],
      grown,
    ]
    for (const messages of histories) expect(JSON.parse(bodyText(bodyOf(messages)))).toEqual(bodyOf(messages))
    expect(bodyText(bodyOf(grown))).toContain(JSON.stringify(grown))
  })

  it("does not write old messages out anew", () => {
    let written = 0
    const counted = (text: string) => Object.assign(says("user", text), { toJSON: () => ({ n: ++written }) })
    const messages: MessageParam[] = []
    for (let length = 1; length <= 50; length++) {
      messages.push(counted(String(length)))
      bodyText(bodyOf(messages))
    }
    expect(written).toBe(50 + 49)
  })

  it("marks the last block of the newest message for the cache, and no other", () => {
    const messages = [says("user", "one"), says("assistant", "two"), says("user", "three")]
    const marked = (text: string) => ({ type: "text", text, cache_control: { type: "ephemeral" } })
    const sent = () => JSON.parse(bodyText(bodyOf(messages), { cacheLast: true })).messages
    expect(sent()).toEqual([...messages.slice(0, 2), { role: "user", content: [marked("three")] }])
    messages.push(says("assistant", "four"), says("user", "five"))
    expect(sent()).toEqual([...messages.slice(0, 4), { role: "user", content: [marked("five")] }])
  })
})
