import { type ApprovalAnswer, type ApprovalRequest, agent, type Plugin, recipe, z } from "sous"
import { describe, expect, test } from "vitest"
import { enterPlanMode, leavePlanMode, mayEnterPlanMode } from "../../core/plan-mode.ts"
import { type AgentScope, createScope } from "../../core/scope.ts"
import { folder, lastResults, runPrompt, serve, type TestOptions, testKit } from "../harness.ts"

const PLAN = "1. Write a.txt\n2. Read it again"
const handIn = { tool: { ExitPlanMode: { plan: PLAN } } }
const write = { tool: { Write: { file_path: "a.txt", content: "x" } } }
const toolsOf = (body: any) => body.tools.map(({ name }: { name: string }) => name)
const wordsOf = (body: any) => JSON.stringify(body.messages.at(-1))

/** Runs in plan mode; the person gives these answers in turn. */
async function plan(turns: any[], answers: ApprovalAnswer[], options: TestOptions = {}) {
  const requests: ApprovalRequest[] = []
  const ask = async (request: ApprovalRequest) => {
    requests.push(request)
    return answers[requests.length - 1]
  }
  const run = await runPrompt({ turns }, { mode: "plan", ask, ...options })
  return { ...run, requests }
}

describe("plan mode", () => {
  test("shows the plan to the person; approved, the mode is the one from before, and the model is told", async () => {
    const turns = [write, handIn, write, { text: "done" }]
    const { result, requests, bodies } = await plan(turns, [{ behavior: "allow" }, { behavior: "deny" }])
    expect(lastResults(bodies[1])[0]).toMatchObject({
      isError: true,
      text: expect.stringContaining("This is plan mode"),
    })
    expect(requests[0]).toMatchObject({
      tool: "ExitPlanMode",
      input: { plan: PLAN },
      decision: { behavior: "ask", source: "plan" },
      suggestions: [],
    })
    expect(lastResults(bodies[2])[0]?.text).toContain(PLAN)
    expect(wordsOf(bodies[2])).toContain("Plan mode is off. The mode is default now")
    // Writing needs an answer again, as it does by default.
    expect(requests[1]).toMatchObject({ tool: "Write", decision: { source: "approval" } })
    expect(result.status).toBe("ok")
  })

  test("goes on in acceptEdits when the person says so", async () => {
    const answers: ApprovalAnswer[] = [{ behavior: "allow", mode: "acceptEdits" }]
    const { requests, bodies } = await plan([handIn, write, { text: "done" }], answers)
    expect(requests).toHaveLength(1)
    expect(wordsOf(bodies[1])).toContain("The mode is acceptEdits now")
    expect(lastResults(bodies[2])[0]?.isError).toBe(false)
  })

  test("stays on after a no, and the person's sentence reaches the model", async () => {
    const answers: ApprovalAnswer[] = [{ behavior: "deny", message: "name the tests too" }, { behavior: "allow" }]
    const { bodies } = await plan([handIn, write, handIn, { text: "done" }], answers)
    expect(lastResults(bodies[1])[0]?.text).toMatch(/plan was refused by .*: name the tests too\. Plan mode stays on/)
    expect(lastResults(bodies[2])[0]?.text).toContain("This is plan mode")
    expect(wordsOf(bodies[3])).toContain("Plan mode is off")
  })

  test("runs a plan as the person changed it", async () => {
    const answers: ApprovalAnswer[] = [{ behavior: "allow", input: { plan: "only step 2" } }]
    const { bodies } = await plan([handIn, { text: "done" }], answers)
    expect(lastResults(bodies[1])[0]?.text).toContain("only step 2")
  })

  test("with nobody to ask, ends with the plan as its answer", async () => {
    const { result, bodies } = await runPrompt({ turns: [handIn] }, { mode: "plan" })
    expect(bodies).toHaveLength(1)
    expect(result).toMatchObject({ status: "ok", output: PLAN, denials: [] })
  })

  test("with somebody who never answers, too", async () => {
    const { result } = await plan([handIn], [])
    expect(result).toMatchObject({ status: "ok", output: PLAN })
  })

  test("with nobody to ask and an answer of a declared shape, lets the model give that answer", async () => {
    const output = z.object({ steps: z.number() })
    const { result, bodies } = await runPrompt({ turns: [handIn, { text: '{"steps":2}' }] }, { mode: "plan", output })
    expect(lastResults(bodies[1])[0]).toMatchObject({
      isError: true,
      text: expect.stringContaining("Nobody can approve"),
    })
    expect(result.output).toEqual({ steps: 2 })
  })

  test("a hook may refuse a plan, and approve none", async () => {
    const answering = (answer: object): Plugin => ({
      name: "answers",
      hooks: { PermissionRequest: () => answer as never },
    })
    const approving = { mode: "plan" as const, plugins: [answering({ kind: "allow" })] }
    expect((await runPrompt({ turns: [handIn] }, approving)).result.output).toBe(PLAN)
    const refusing = { mode: "plan" as const, plugins: [answering({ kind: "block", reason: "too long" })] }
    const { bodies } = await runPrompt({ turns: [handIn, { text: "done" }] }, refusing)
    expect(lastResults(bodies[1])[0]?.text).toContain("The plan was refused by a hook: too long")
  })

  test("a guard that blocks the call leaves plan mode on", async () => {
    const guard: Plugin = { name: "guard", hooks: { PreToolUse: () => ({ kind: "block", reason: "not yet" }) } }
    const { bodies } = await plan([handIn, write, { text: "done" }], [{ behavior: "allow" }], { plugins: [guard] })
    expect(wordsOf(bodies[1])).not.toContain("Plan mode is off")
    expect(lastResults(bodies[2])[0]?.text).toContain("This is plan mode")
  })

  test("offers the tool and says so in plan mode alone", async () => {
    const planned = await runPrompt({ turns: [{ text: "done" }] }, { mode: "plan" })
    expect(toolsOf(planned.bodies[0])).toContain("ExitPlanMode")
    expect(wordsOf(planned.bodies[0])).toMatch(/Plan mode is on.*hand the plan in with ExitPlanMode/)
    const plain = await runPrompt({ turns: [handIn, { text: "done" }] })
    expect(toolsOf(plain.bodies[0])).not.toContain("ExitPlanMode")
    expect(wordsOf(plain.bodies[0])).not.toContain("Plan mode")
    expect(lastResults(plain.bodies[1])[0]?.text).toContain("There is no plan mode to leave")
  })

  test("a subagent in it hands its plan to its parent", async () => {
    const asked = (text: string) => ({ last_user_contains: text })
    const { bodies, result } = await runPrompt(
      {
        turns: [
          { when: asked("Go"), tool: { Agent: { description: "look", prompt: "look around" } } },
          { when: asked("look around"), ...handIn },
          { when: asked("There is no tool"), text: "my plan" },
          { when: asked("my plan"), text: "done" },
        ],
      },
      { mode: "plan", rewrites: true },
    )
    const child = bodies[1]
    expect(toolsOf(child)).not.toContain("ExitPlanMode")
    expect(wordsOf(child)).toContain("end with the plan as your answer")
    expect(result.output).toBe("done")
  })

  test("that a step declares ends with its plan, and no person is asked about it", async () => {
    const server = await serve({ turns: [handIn, write, { text: "the plan" }] })
    const kit = await testKit(server, { cwd: folder() })
    const planned = recipe({ name: "planned", description: "x" })
      .step("plan", () => agent({ prompt: "Plan", mode: "plan" }))
      .output(({ plan }) => plan)
    const asked: string[] = []
    const result = await kit.run(planned, {
      model: "claude-opus-5-5",
      mode: "acceptEdits",
      ask: async ({ tool }) => void asked.push(tool),
    }).result
    const bodies = server.asked().map(({ body }) => body as any)
    expect(toolsOf(bodies[0])).not.toContain("ExitPlanMode")
    expect(lastResults(bodies[2])[0]?.text).toContain("This is plan mode")
    expect(result.output).toBe("the plan")
    expect(asked).toEqual([])
  })
})

describe("enterPlanMode()", () => {
  test("in the middle of a run is told with the next results, and changes nothing that was sent", async () => {
    const turns = [write, write, write, { ...write }, handIn, write, { text: "done" }]
    const no: ApprovalAnswer = { behavior: "deny" }
    const answers: ApprovalAnswer[] = [no, no, no, { behavior: "allow", mode: "acceptEdits" }]
    const { bodies, requests } = await plan(turns, answers, { mode: "default", offerPlanMode: async () => true })
    expect(toolsOf(bodies[0])).toContain("ExitPlanMode")
    for (const body of bodies) expect(toolsOf(body)).toEqual(toolsOf(bodies[0]))
    expect(wordsOf(bodies[3])).toContain("Plan mode is on")
    expect(lastResults(bodies[4])[0]?.text).toContain("This is plan mode")
    expect(requests.map(({ tool }) => tool)).toEqual(["Write", "Write", "Write", "ExitPlanMode"])
    expect(lastResults(bodies[6])[0]?.isError).toBe(false)
  })

  const options = { agent: { id: "a", type: "main", depth: 0 }, caller: "model" as const, spend: {} as never }
  const scope = (more: Partial<Parameters<typeof createScope>[1]> = {}): AgentScope =>
    createScope({ registry: { tools: new Map() }, runId: "r", cwd: "/", childEnv: {}, barredModes: [] } as never, {
      ...options,
      mode: "acceptEdits",
      signal: new AbortController().signal,
      ...more,
    })

  test("puts the agent, those above it and those below it into plan mode, once", () => {
    const root = scope()
    const child = scope({ parent: root })
    const other = scope({ parent: root, asked: ["default"] })
    expect([child.mode, other.mode]).toEqual(["acceptEdits", "default"])
    expect(mayEnterPlanMode(child)).toBe(true)
    enterPlanMode(child)
    enterPlanMode(root)
    expect([root.mode, child.mode, other.mode]).toEqual(["plan", "plan", "plan"])
    expect(mayEnterPlanMode(other)).toBe(false)
    expect([root.reminders.length, child.reminders.length]).toEqual([1, 1])
  })

  test("goes back to the mode from before, and never to a looser one than files ask for", () => {
    const root = scope({ asked: ["dontAsk"] })
    enterPlanMode(root)
    leavePlanMode(root, "acceptEdits")
    expect([root.given, root.mode]).toEqual(["acceptEdits", "dontAsk"])
    const bypass = scope({ mode: "bypassPermissions" })
    enterPlanMode(bypass)
    leavePlanMode(bypass)
    expect(bypass.mode).toBe("bypassPermissions")
    leavePlanMode(bypass, "acceptEdits")
    expect(bypass.mode).toBe("bypassPermissions")
  })
})
