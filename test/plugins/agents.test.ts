import { describe, expect, test } from "vitest"
import type { SubagentRequest } from "../../core/tool.ts"
import agents from "../../plugins/agents.ts"
import { createToolContext, runTool } from "../contract/tool.ts"

const agentTool = agents.tools![0]!
const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 }
const finder = { name: "finder", description: "finds things", prompt: "Find." }

function contextWith(answer: { ok: boolean; text: string; error?: string }) {
  const asked: SubagentRequest[] = []
  const subagent = async (request: SubagentRequest) => {
    asked.push(request)
    return { agentId: "a1", turns: 2, usage, ...answer }
  }
  return { asked, context: createToolContext({ subagent, agents: [finder] }) }
}

const work = { description: "count files", prompt: "Count the files" }

describe("Agent", () => {
  test("returns the final text alone, with its usage beside it", async () => {
    const { asked, context } = contextWith({ ok: true, text: "three" })
    const result = await runTool(agentTool, { ...work, subagent_type: "finder", model: "m" }, context)
    expect(result).toMatchObject({ text: "three", isError: false, data: { agentId: "a1", turns: 2, usage } })
    expect(asked).toEqual([{ prompt: "Count the files", type: "finder", model: "m" }])
    await context.release()
  })

  test("takes the general kind without a definition", async () => {
    const { asked, context } = contextWith({ ok: true, text: "x" })
    for (const type of [undefined, "general", "general-purpose"]) {
      await runTool(agentTool, { ...work, ...(type ? { subagent_type: type } : {}) }, context)
    }
    expect(asked).toEqual(Array(3).fill({ prompt: "Count the files" }))
    await context.release()
  })

  test("refuses an unknown kind and lists those that there are", async () => {
    const { asked, context } = contextWith({ ok: true, text: "x" })
    const { text, isError } = await runTool(agentTool, { ...work, subagent_type: "findr" }, context)
    expect(isError).toBe(true)
    expect(text).toBe(
      'There is no subagent_type "findr": write "finder". They are\n- general: any work\n- finder: finds things',
    )
    expect(asked).toEqual([])
    await context.release()
  })

  test("tells why a subagent did not finish, and what it said last", async () => {
    const { context } = contextWith({ ok: false, text: "so far", error: "its turns were used up" })
    const { text, isError } = await runTool(agentTool, work, context)
    expect(isError).toBe(true)
    expect(text).toBe("The subagent did not finish: its turns were used up\nIts last message:\nso far")
    await context.release()
  })

  test("lets rules name the kind and the model, and overlaps with its neighbours", () => {
    const targets = agentTool.targets?.({ ...work, subagent_type: "finder", model: "m" }, { cwd: "/" })
    expect(targets).toEqual([{ kind: "name", name: "finder", params: { model: "m" } }])
    expect(agentTool.targets?.(work, { cwd: "/" })).toEqual([{ kind: "name", name: "general" }])
    expect(agentTool.concurrencySafe).toBe(true)
  })
})
