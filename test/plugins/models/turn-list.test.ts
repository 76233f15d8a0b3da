/** Which turn a request gets, what a turn expects of it, and what is left over. */
import type { MessageParam } from "sous"
import { describe, expect, it } from "vitest"
import type { RequestBody } from "../../../plugins/models/request.ts"
import type { ScriptInput, TurnInput } from "../../../plugins/models/turn.ts"
import { checkScript } from "../../../plugins/models/turn-file.ts"
import { createTurnList } from "../../../plugins/models/turn-list.ts"

const listOf = (turns: TurnInput[], more: Partial<ScriptInput> = {}) =>
  createTurnList("a.yaml", checkScript({ ...more, turns }))

function body(text: string, more: Partial<RequestBody> = {}): RequestBody {
  return { model: "m", max_tokens: 10, messages: [{ role: "user", content: text }], ...more }
}

const noted = (list: ReturnType<typeof listOf>, asked: RequestBody) => list.take(asked).turn.note

describe("take()", () => {
  it("gives turns in order, and fails loudly when none is left", () => {
    const list = listOf([{ note: "1" }, { note: "2" }])
    expect([noted(list, body("a")), noted(list, body("b"))]).toEqual(["1", "2"])
    expect(() => list.take(body("c"))).toThrow('"a.yaml" has no turn for this request of 1 messages: all 2 are spent')
  })

  it("gives turns with a condition to their requests first, whoever comes when", () => {
    const list = listOf([
      { note: "main 1" },
      { note: "a 1", when: { first_user_contains: "job a" } },
      { note: "b 1", when: { first_user_contains: "job b" } },
      { note: "a 2", when: { first_user_contains: "job a" } },
      { note: "main 2" },
    ])
    const asked = ["job b", "main", "job a", "job a", "main"]
    expect(asked.map((text) => noted(list, body(text)))).toEqual(["b 1", "main 1", "a 1", "a 2", "main 2"])
  })

  it("says whom the turns that are left wait for", () => {
    const list = listOf([{ when: { first_user_contains: "job b" } }])
    expect(() => list.take(body("job a"))).toThrow('turn 1 is for another: first_user_contains "job b" (it is "job a")')
  })

  it("gives a turn as often as it says", () => {
    const list = listOf([
      { note: "twice", times: 2 },
      { note: "ever", times: "always" },
    ])
    const notes = [1, 2, 3, 4, 5].map(() => noted(list, body("x")))
    expect(notes).toEqual(["twice", "twice", "ever", "ever", "ever"])
    list.checkSpent()
  })

  it("lets faults come first, then the answer; a turn of faults alone is spent with the last", () => {
    const list = listOf([
      { text: "a", fault: [{ kind: "reset" }, { kind: "status", status: 500, times: 2 }] },
      { fault: { kind: "cut" } },
      { text: "b" },
    ])
    const kinds = [1, 2, 3, 4, 5, 6].map(() => list.take(body("x")).fault?.kind)
    expect(kinds).toEqual(["reset", "status", "status", undefined, "cut", undefined])
    list.checkSpent()
  })

  it("makes turns from a function, each checked", () => {
    const list = createTurnList("made", (asked, n) => ({ text: `${asked.model} ${n}` }))
    expect(list.take(body("x")).turn.blocks).toEqual([{ type: "text", text: "m 1" }])
    expect(list.take(body("x")).turn.blocks).toEqual([{ type: "text", text: "m 2" }])
    expect(() => createTurnList("made", () => ({ txt: "x" }) as never).take(body("x"))).toThrow("made, turn 1")
  })
})

describe("what a turn expects", () => {
  const conversation: MessageParam[] = [
    { role: "user", content: "fix the bug" },
    { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "Bash", input: { command: "npm test" } }] },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "t1", is_error: true, content: [{ type: "text", text: "1 failed" }] },
      ],
    },
  ]
  const asked = body("", {
    messages: conversation,
    system: [{ type: "text", text: "You fix bugs" }],
    tools: [{ name: "Bash", description: "", input_schema: {} }],
    output_config: { effort: "low", format: { type: "json_schema", schema: {} } },
  })

  it.each([
    { contains: ["npm test", "You fix", "1 failed"] },
    { not_contains: "npm run" },
    { system_contains: "fix bugs" },
    { first_user_contains: "fix the bug" },
    { last_user_contains: "1 failed" },
    { last_user_not_contains: "fix the bug" },
    { tools: ["Bash"], no_tools: "Write" },
    { tool_error: true },
    { messages: 3, model: "m", effort: "low", max_tokens: 10, output_schema: true },
  ])("holds: %j", (expected) => {
    expect(() => listOf([{ expect: expected }]).take(asked)).not.toThrow()
  })

  it.each([
    [{ contains: "npm run" }, 'contains "npm run" (it is "You fix bugs'],
    [{ not_contains: "npm test" }, 'not_contains "npm test"'],
    [{ system_contains: "write" }, 'system_contains "write" (it is "You fix bugs")'],
    [{ last_user_contains: "passed" }, 'last_user_contains "passed" (it is "1 failed")'],
    [{ last_user_not_contains: "failed" }, 'last_user_not_contains "failed"'],
    [{ tools: ["Bash", "Write"] }, 'tools "Write" (it is ["Bash"])'],
    [{ no_tools: "Bash" }, 'no_tools "Bash"'],
    [{ tool_error: false }, "tool_error false (it is true)"],
    [{ messages: 1 }, "messages 1 (it is 3)"],
    [{ output_schema: false, effort: "high" }, 'effort "high" (it is "low"); output_schema false (it is true)'],
  ])("fails loudly: %j", (expected, words) => {
    const list = listOf([{ expect: expected }, {}])
    let thrown: unknown
    try {
      list.take(asked)
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ fault: "no_answer", mend: expect.any(String) })
    expect((thrown as Error).message).toContain(
      'Turn 1 of the scripted model "a.yaml" expects what the request does not hold',
    )
    expect((thrown as Error).message).toContain(words)
  })
})

describe("checkSpent()", () => {
  it("names the turns that nobody asked for", () => {
    const list = listOf([{}, { times: 2 }, { times: "always" }, {}])
    list.take(body("x"))
    list.take(body("x"))
    expect(() => list.checkSpent()).toThrow('"a.yaml" was not asked for 2 of its turns: 2, 4')
  })

  it("says nothing where that is no fault, or something worse has happened", () => {
    listOf([{}], { unused: "ignore" }).checkSpent()
    const failed = listOf([{ expect: { contains: "x" } }, {}])
    expect(() => failed.take(body("y"))).toThrow()
    failed.checkSpent()
  })
})
