import fc from "fast-check"
import type { CompactionRequest, MessageParam } from "sous"
import { checkConversation } from "sous/testing"
import { describe, expect, test } from "vitest"
import cut from "../../../plugins/compaction/cut.ts"
import { afterwards, anyConversation, requestFor, round, said } from "./requests.ts"

const [strategy] = cut.compaction!
const rounds = (count: number) => Array.from({ length: count }, () => round()).flat()
const textOf = ({ content }: MessageParam) =>
  typeof content === "string" ? content : content.map((block) => (block.type === "text" ? block.text : "")).join("")

/** What it proposes, with all text of user messages taken for what the person said. */
function propose(messages: readonly MessageParam[], given: Partial<CompactionRequest> = {}) {
  const words = messages.flatMap((message, index) =>
    message.role === "user" && textOf(message) !== "" ? [{ message: index, text: textOf(message) }] : [],
  )
  return strategy!.propose(requestFor(messages, { said: words, ...given }))
}

describe("propose() of cut", () => {
  test("leaves out old rounds and says so, with the person's words, the files and the focus", async () => {
    const messages = [said("Mend the parser"), ...rounds(20)]
    const files = { read: ["/src/a.ts"], changed: ["/src/b.ts"] }
    const { keepFrom, summary } = (await propose(messages, { files, focus: "the lexer" }))!
    expect(keepFrom).toBe(21)
    expect(summary).toMatch(/^\[The conversation became too long\. 21 older messages were left out/)
    for (const part of [
      "Mend the parser",
      "Files read: /src/a.ts",
      "Files changed: /src/b.ts",
      "What matters: the lexer",
    ])
      expect(summary).toContain(part)
  })

  test("keeps the first words and as many of the last as there is room for", async () => {
    const words = Array.from({ length: 20 }, (_, at) => [said(`Word ${at}: ${"w".repeat(300)}`), ...round()]).flat()
    const { summary } = (await propose([...words, ...rounds(40)]))!
    expect(summary).toContain("Word 0:")
    expect(summary).toContain("Word 19:")
    expect(summary).not.toContain("Word 1:")
  })

  test("keeps what an earlier summary said, however often it is cut again", async () => {
    const summed = "[The conversation became too long, and so on.]\n\n## Goal\nMend all.\n\nFiles read: /old.ts"
    let messages: MessageParam[] = [said(summed), ...rounds(20)]
    for (const word of ["first", "second", "third"]) {
      const proposal = (await propose([...messages, said(word), ...rounds(20)], {
        said: [{ message: 1, text: word }],
      }))!
      expect(proposal.summary).toContain("## Goal\nMend all.")
      expect(proposal.summary).not.toContain("/old.ts")
      messages = [...afterwards(messages, proposal), ...rounds(20)]
    }
    for (const word of ["first", "second", "third"]) expect(textOf(messages[0]!).split(word)).toHaveLength(2)
    expect(textOf(messages[0]!).match(/became too long/g)).toHaveLength(1)
  })

  test("fits the budget, parts no pair and keeps the last words, whatever was said", async () => {
    await fc.assert(
      fc.asyncProperty(anyConversation, fc.integer({ min: 2000, max: 8000 }), async (messages, budget) => {
        const proposal = await propose(messages, { budget })
        if (proposal === undefined) return
        const left = afterwards(messages, proposal)
        checkConversation(left)
        const last = textOf(messages.findLast((message) => message.role === "user" && textOf(message) !== "")!)
        expect(left.some((message) => textOf(message).includes(last))).toBe(true)
        // The frame of these requests has 1000 tokens, and the words beside the rounds have their own bound.
        expect(requestFor(left.slice(1)).tokens).toBeLessThanOrEqual(budget)
      }),
      { numRuns: process.env["SOUS_TEST_FULL"] === "1" ? 10_000 : 200 },
    )
  })
})
