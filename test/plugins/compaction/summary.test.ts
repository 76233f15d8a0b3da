import fc from "fast-check"
import type { CompactionRequest, MessageParam } from "sous"
import { checkConversation } from "sous/testing"
import { describe, expect, test } from "vitest"
import { lacking, SECTIONS } from "../../../plugins/compaction/sections.ts"
import summary from "../../../plugins/compaction/summary.ts"
import { afterwards, answering, anyConversation, requestFor, round, said } from "./requests.ts"

const [strategy] = summary.compaction!
const propose = (request: CompactionRequest) => strategy!.propose(request)
const NAMES = Object.keys(SECTIONS)
const whole = NAMES.map((name) => `## ${name}\nAbout it.`).join("\n")
const conversation = (rounds: number) => [said("Mend it"), ...Array.from({ length: rounds }, () => round()).flat()]

describe("propose() of summary", () => {
  test("asks once behind the conversation as it is, for seven sections", async () => {
    const ask = answering(whole)
    const messages = conversation(10)
    const proposal = (await propose(requestFor(messages, { ask })))!
    expect(ask.asked).toHaveLength(1)
    expect(ask.asked[0]!.messages).toBeUndefined()
    for (const name of NAMES) expect(ask.asked[0]!.text).toContain(`## ${name}\n`)
    expect(proposal.summary).toContain(whole)
    expect(proposal.keepFrom).toBe(messages.length - 2)
  })

  test("asks once more for the sections that lack, then no more", async () => {
    const part = whole.replace("## Errors\nAbout it.", "")
    const ask = answering(part, whole)
    expect((await propose(requestFor(conversation(10), { ask })))!.summary).toContain("## Errors")
    expect(ask.asked[1]!.text).toContain("lacked these sections: Errors.")
    const never = answering(part)
    await expect(propose(requestFor(conversation(10), { ask: never }))).rejects.toThrow("the summary lacks Errors")
    expect(never.asked).toHaveLength(2)
  })

  test("hands the focus on, and adds the files that the summary does not name", async () => {
    const ask = answering(whole.replace("## Files\nAbout it.", "## Files\n/src/a.ts"))
    const files = { read: ["/src/a.ts", "/src/b.ts"], changed: ["/src/c.ts"] }
    const proposal = await propose(requestFor(conversation(10), { ask, files, focus: "the lexer" }))
    expect(ask.asked[0]!.text).toContain("What matters most: the lexer")
    expect(proposal!.summary).toContain("Files changed: /src/c.ts\n\nFiles read: /src/b.ts")
  })

  test("asks behind the first message and what fits of the end once the model has said that it is too long", async () => {
    const ask = answering(whole)
    const messages = conversation(40)
    await propose(requestFor(messages, { ask, trigger: "reactive", budget: 3000 }))
    const sent = ask.asked[0]!.messages!
    expect(sent[0]).toEqual(messages[0])
    expect(sent.slice(1)).toEqual(messages.slice(1 - sent.length))
    expect(requestFor(sent).tokens - 1000).toBeLessThanOrEqual(3000)
    checkConversation(sent)
  })

  test("keeps a last round that is larger than what should stay, while it leaves room", async () => {
    const ask = answering(whole)
    const messages = [...conversation(4), ...round(4000)]
    expect((await propose(requestFor(messages, { ask })))!.keepFrom).toBe(messages.length - 2)
    expect((await propose(requestFor(messages, { ask, budget: 1000 })))!.keepFrom).toBe(messages.length)
  })

  test("leaves pairs whole and no more than should stay but one round, whatever was said", async () => {
    await fc.assert(
      fc.asyncProperty(anyConversation, fc.nat(3000), fc.boolean(), async (messages, keep, isLate) => {
        const ask = answering(whole)
        const trigger = isLate ? "reactive" : "auto"
        const proposal = await propose(requestFor(messages, { ask, keep, trigger, budget: 2000 }))
        if (proposal === undefined) return
        checkConversation(afterwards(messages, proposal))
        if (isLate) checkConversation(ask.asked[0]!.messages as MessageParam[])
      }),
      { numRuns: process.env["SOUS_TEST_FULL"] === "1" ? 10_000 : 200 },
    )
  })
})

describe("lacking()", () => {
  test.each([
    ["headings of any depth", whole.replaceAll("## ", "#### "), []],
    ["bold headings", whole.replaceAll(/## (.*)/g, "**$1**"), []],
    ["numbers and text on the same line", NAMES.map((name, at) => `## ${at + 1}. ${name}: none`).join("\n"), []],
    ["an empty section", whole.replace("Errors\nAbout it.", "Errors\n\n"), ["Errors"]],
    ["a heading that only begins like one", whole.replace("## Goal", "## Goals of others"), ["Goal"]],
    ["names in running text", NAMES.join(", "), NAMES],
    ["nothing", "", NAMES],
  ])("knows %s", (_, text, missing) => {
    expect(lacking(text)).toEqual(missing)
  })
})
