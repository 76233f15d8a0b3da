import fc from "fast-check"
import type { MessageParam } from "sous"
import { describe, expect, test } from "vitest"
import micro from "../../../plugins/compaction/micro.ts"
import { anyConversation, requestFor, round, said } from "./requests.ts"

const [strategy] = micro.compaction!
const drops = async (messages: readonly MessageParam[], keep = 0) =>
  (await strategy!.propose(requestFor(messages, { keep })))?.dropped

const idsOf = (messages: readonly MessageParam[]) =>
  messages.flatMap(({ content }) =>
    typeof content === "string" ? [] : content.flatMap((block) => (block.type === "tool_use" ? [block.id] : [])),
  )

describe("propose() of micro", () => {
  test("drops old results of calls that can be made again and keeps every message", async () => {
    const rounds = Array.from({ length: 9 }, () => round(2000))
    const proposal = await strategy!.propose(requestFor([said("Go"), ...rounds.flat()], { keep: 0 }))
    expect(proposal).toEqual({ keepFrom: 0, summary: "", dropped: idsOf(rounds.slice(0, 4).flat()) })
    expect(strategy!.cheap).toBe(true)
  })

  test("leaves results of other tools, small ones and errors as they are", async () => {
    const failed = round(2000).map((message) => withError(message))
    const old = [...round(2000, { tool: "Deploy" }), ...round(100), ...failed]
    const dropped = round(2000, { tool: "Grep" })
    const recent = Array.from({ length: 5 }, () => round(2000)).flat()
    expect(await drops([said("Go"), ...old, ...dropped, ...recent])).toEqual(idsOf(dropped))
  })

  test("leaves the end of the conversation that should stay", async () => {
    const rounds = Array.from({ length: 12 }, () => round(2000))
    const messages = [said("Go"), ...rounds.flat()]
    const { sizes } = requestFor(messages)
    const keep = sizes.slice(-16).reduce((sum, size) => sum + size, 0)
    expect(await drops(messages, keep)).toEqual(idsOf(rounds.slice(0, 4).flat()))
  })

  test("proposes nothing when nothing can go", async () => {
    expect(await drops([said("Go"), ...Array.from({ length: 5 }, () => round(9000)).flat()])).toBeUndefined()
  })

  test("drops nothing twice, nothing unknown and none of the newest five, whatever was said", async () => {
    await fc.assert(
      fc.asyncProperty(anyConversation, fc.nat(3000), async (messages, keep) => {
        const dropped = (await drops(messages, keep)) ?? []
        const ids = idsOf(messages)
        expect(new Set(dropped).size).toBe(dropped.length)
        expect(ids.slice(0, -5)).toEqual(expect.arrayContaining([...dropped]))
      }),
      { numRuns: process.env["SOUS_TEST_FULL"] === "1" ? 10_000 : 200 },
    )
  })
})

function withError(message: MessageParam): MessageParam {
  if (typeof message.content === "string") return message
  const content = message.content.map((block) => (block.type === "tool_result" ? { ...block, is_error: true } : block))
  return { ...message, content } as MessageParam
}
