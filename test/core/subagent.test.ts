import { type AgentDefinition, definePlugin, defineTool, type RunEvent, z } from "sous"
import { describe, expect, test } from "vitest"
import { lastResults, runPrompt } from "../harness.ts"

const delegate = (prompt: string, type?: string) => ({
  tool: { Agent: { description: "some work", prompt, ...(type ? { subagent_type: type } : {}) } },
})
const agents = (...definitions: AgentDefinition[]) => definePlugin({ name: "team", agents: definitions })
const asked = (text: string) => ({ last_user_contains: text })
const agentsOf = (events: RunEvent[]) => new Set(events.flatMap(({ agent }) => agent ?? []))

describe("startSubagent()", () => {
  test("hands back only the last message of a loop of its own", async () => {
    const { bodies, result, events } = await runPrompt(
      {
        turns: [
          { when: asked("Go"), ...delegate("count the files") },
          { when: asked("count the files"), tool: { Read: { file_path: "a.txt" } } },
          { when: { contains: "secret detail", not_contains: "Go" } as never, text: "there is one" },
          { when: asked("there is one"), text: "done" },
        ],
      },
      { files: { "a.txt": "secret detail" }, rewrites: true },
    )
    expect(result).toMatchObject({ status: "ok", output: "done", turns: 4 })
    expect(JSON.stringify(bodies[1].messages)).not.toContain("Go")
    expect(lastResults(bodies[3])[0]).toMatchObject({ text: "there is one", isError: false })
    expect(JSON.stringify(bodies[3])).not.toContain("secret detail")
    expect(agentsOf(events).size).toBe(2)
  })

  test("runs three in parallel", async () => {
    let open = 0
    let most = 0
    const wait = defineTool({
      name: "Wait",
      description: "Waits",
      input: z.strictObject({}),
      readOnly: true,
      async execute() {
        most = Math.max(most, ++open)
        while (most < 3) await new Promise((resolve) => setTimeout(resolve, 1))
        open--
        return "waited"
      },
    })
    const { result, bodies } = await runPrompt(
      {
        turns: [
          { when: asked("Go"), content: ["one", "two", "three"].map((name) => delegate(`work ${name}`)) },
          ...["one", "two", "three"].map((name) => ({ when: asked(`work ${name}`), tool: { Wait: {} } })),
          { when: asked("waited"), text: "finished", times: 3 },
          { when: asked("finished"), text: "all done" },
        ],
      },
      { plugins: [definePlugin({ name: "wait", tools: [wait] })], rewrites: true },
    )
    expect(most).toBe(3)
    expect(result).toMatchObject({ status: "ok", output: "all done" })
    expect(lastResults(bodies.at(-1)).map(({ text }) => text)).toEqual(["finished", "finished", "finished"])
  })

  test("nests, and refuses below the depth limit with a result", async () => {
    const depth = (n: number) => ({ when: asked(`depth ${n}`), ...delegate(`depth ${n + 1}`) })
    const { result, bodies } = await runPrompt(
      {
        turns: [
          { when: asked("Go"), ...delegate("depth 1") },
          depth(1),
          depth(2),
          depth(3),
          { when: asked("nested 3 deep"), text: "back from 3" },
          { when: asked("back from 3"), text: "back from 2" },
          { when: asked("back from 2"), text: "back from 1" },
          { when: asked("back from 1"), text: "top" },
        ],
      },
      { rewrites: true },
    )
    expect(result).toMatchObject({ status: "ok", output: "top" })
    expect(bodies).toHaveLength(8)
  })

  test("takes its definition's prompt, tools and turns, and no more than its parent has", async () => {
    const reader: AgentDefinition = {
      name: "reader",
      description: "Reads files",
      prompt: "You only read.",
      tools: ["Read", "Bash(echo *)"],
      maxTurns: 1,
    }
    const { bodies, result } = await runPrompt(
      {
        turns: [
          { when: asked("Go"), ...delegate("read it", "reader") },
          { when: asked("read it"), tool: { Bash: { command: "touch no" } } },
          { when: asked("did not finish"), text: "ok" },
        ],
      },
      {
        plugins: [agents(reader)],
        rewrites: true,
        flags: { allow: { all: true }, deny: {} },
        tools: ["Agent", "Read", "Bash", "Glob"],
      },
    )
    expect(bodies[1].system[0].text).toBe("You only read.")
    expect(bodies[1].tools.map(({ name }: { name: string }) => name)).toEqual(["Bash", "Read"])
    expect(JSON.stringify(bodies[0].messages[0])).toContain("reader: Reads files")
    expect(lastResults(bodies[2])[0]).toMatchObject({ isError: true, text: expect.stringContaining("turns") })
    expect(result.denials).toMatchObject([{ tool: "Bash", reason: expect.stringContaining("Bash(echo *)") }])
  })

  test("names the nearest kind for one that does not exist", async () => {
    const reader = { name: "reader", description: "Reads files", prompt: "Read." }
    const { bodies } = await runPrompt([delegate("x", "raeder"), { text: "ok" }], { plugins: [agents(reader)] })
    expect(lastResults(bodies[1])[0]?.text).toContain('write "reader"')
  })

  test("starts without its parent's session approvals", async () => {
    const bash = (command: string) => ({ tool: { Bash: { command } } })
    const questions: string[] = []
    const turns = [
      bash("touch a"),
      bash("touch a"),
      delegate("sub work"),
      bash("touch a"),
      { text: "sub" },
      { text: "end" },
    ]
    const { result } = await runPrompt(turns, {
      rewrites: true,
      ask: async ({ agent }) => {
        questions.push(agent.depth === 0 ? "main" : "sub")
        return { behavior: "allow", remember: "session" }
      },
    })
    expect(result.status).toBe("ok")
    expect(questions).toEqual(["main", "sub"])
  })

  test("is under its parent's deny rules and filters", async () => {
    const bash = (command: string) => ({ tool: { Bash: { command } } })
    const free: AgentDefinition = {
      name: "free",
      description: "Any work",
      prompt: "Work.",
      tools: ["Bash", "Bash(touch *)"],
    }
    const turns = [delegate("x", "free"), bash("touch a"), bash("echo secret"), { text: "sub" }, { text: "end" }]
    const { bodies } = await runPrompt(turns, {
      plugins: [agents(free)],
      rewrites: true,
      flags: { allow: { all: true }, deny: {} },
      rules: [{ text: "Bash(echo secret*)", behavior: "deny", scope: "cli" }],
      tools: ["Agent", "Bash(echo *)"],
    })
    expect(lastResults(bodies[2])[0]?.text).toContain("Bash(echo *)")
    expect(lastResults(bodies[3])[0]?.text).toContain("Bash(echo secret*)")
  })

  test("spends from its parent's budget, and ends when the parent is aborted", async () => {
    let abort = () => {}
    const hang = defineTool({
      name: "Hang",
      description: "Waits for the end",
      input: z.strictObject({}),
      readOnly: true,
      concurrencySafe: false,
      execute: (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("aborted")))
          abort()
        }),
    })
    const turns = [
      { when: asked("Go"), ...delegate("hang on") },
      { when: asked("hang on"), tool: { Hang: {} } },
    ]
    const { result, bodies } = await runPrompt(
      { turns },
      {
        plugins: [definePlugin({ name: "hang", tools: [hang] })],
        rewrites: true,
        during: (run) => {
          abort = () => run.abort()
        },
      },
    )
    expect(bodies).toHaveLength(2)
    expect(result).toMatchObject({ status: "cancelled", turns: 2 })
    const spent = await runPrompt(
      {
        turns: [
          { when: asked("Go"), ...delegate("go on") },
          { when: { contains: "go on" }, tool: { Read: { file_path: "x" } }, times: "always" },
        ],
      },
      { budget: { turns: 3 }, rewrites: true },
    )
    expect(spent.bodies).toHaveLength(3)
    expect(spent.result).toMatchObject({ status: "budget", exit: 5 })
  })
})
