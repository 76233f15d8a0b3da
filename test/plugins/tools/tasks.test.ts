import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { taskSource, todoWriteTool } from "../../../plugins/tools/tasks.ts"
import { createToolContext, runTool, type TestContext } from "../../contract/tool.ts"
import { createMoment, type TestMoment } from "./moment.ts"

let context: TestContext
let moment: TestMoment
beforeEach(() => {
  context = createToolContext()
  moment = createMoment(context)
})
afterEach(() => context.release())

type Status = "pending" | "in_progress" | "completed"
const write = (...todos: [content: string, status: Status][]) =>
  runTool(todoWriteTool, { todos: todos.map(([content, status]) => ({ content, status })) }, context)
const remindAt = (turn: number) => {
  moment.turn = turn
  return moment.remind(taskSource)
}

describe("TodoWrite", () => {
  test("replaces the list and counts what is open", async () => {
    expect(await write(["Look", "in_progress"], ["Mend", "pending"])).toMatchObject({
      text: "2 tasks, 2 open",
      data: { tasks: 2, open: 2 },
    })
    expect((await write(["Look", "completed"])).text).toBe("1 task, 0 open")
    expect(await moment.scene(taskSource)).toEqual([])
  })

  test("takes what other harnesses taught models to send", async () => {
    const todos = [{ content: "Look", status: "pending", activeForm: "Looking" }]
    expect((await runTool(todoWriteTool, { todos }, context)).isError).toBe(false)
  })
})

describe("taskSource", () => {
  test("reminds of open tasks when the list lay untouched for ten turns, and every ten turns after", async () => {
    await write(["Look", "in_progress"], ["Mend", "pending"], ["Read", "completed"])
    for (let turn = 1; turn <= 10; turn++) expect(await remindAt(turn)).toEqual([])
    const [text] = await remindAt(11)
    expect(text).toContain("not touched for 10 turns")
    expect(text).toContain("[>] Look\n[ ] Mend\n[x] Read")
    for (let turn = 12; turn <= 20; turn++) expect(await remindAt(turn)).toEqual([])
    expect(await remindAt(21)).toHaveLength(1)
  })

  test("starts to count again when the list is written", async () => {
    await write(["Look", "pending"])
    await remindAt(1)
    await write(["Look", "in_progress"])
    await remindAt(9)
    expect(await remindAt(18)).toEqual([])
    expect(await remindAt(19)).toHaveLength(1)
  })

  test("says nothing of an empty list, and of one that is done", async () => {
    expect(await remindAt(50)).toEqual([])
    await write(["Look", "completed"])
    expect(await remindAt(100)).toEqual([])
    expect(await moment.scene(taskSource)).toEqual([])
  })

  test("sets the list again after a compaction, and does not remind of it right after", async () => {
    await write(["Look", "completed"], ["Mend", "in_progress"])
    await remindAt(1)
    await remindAt(11)
    moment.compacted()
    moment.turn = 12
    const [text] = await moment.scene(taskSource)
    expect(text).toBe("<tasks>\nYour task list:\n[x] Look\n[>] Mend\n</tasks>")
    expect(await remindAt(21)).toEqual([])
    expect(await remindAt(22)).toHaveLength(1)
  })
})
