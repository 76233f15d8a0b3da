import { type ApprovalRequest, agent, mergeSettings, type Plugin, type RunEvent, recipe } from "sous"
import { describe, expect, test } from "vitest"
import { folder, lastResults, runPrompt, serve, type TestOptions, testKit } from "../../harness.ts"

const bash = (command: string) => ({ tool: { Bash: { command } } })
const done = { text: "done" }
const settings = (permissions: object, more: object = {}) =>
  mergeSettings([{ scope: "user", base: "/", values: { permissions, ...more } }])
const decisions = (events: RunEvent[]) =>
  events.flatMap((event) => (event.type === "permission" ? [event.decision] : []))

describe("mode auto without a model", () => {
  const auto = (turns: any[], options: TestOptions = {}) => runPrompt({ turns }, { mode: "auto", ...options })

  test("runs what matches no risky shape, and says who let it", async () => {
    const { events, bodies } = await auto([bash("mkdir made && echo x > made/x.txt && cat made/x.txt"), done])
    expect(lastResults(bodies[1])[0]).toEqual({ text: "x", isError: false })
    expect(decisions(events)).toMatchObject([
      { behavior: "allow", source: "mode", reason: expect.stringContaining("safety classifier does not stop it") },
    ])
  })

  test("denies a risky shape with its reason when nobody can answer", async () => {
    const { bodies, result } = await auto([bash("git push"), done])
    const [refused] = lastResults(bodies[1])
    expect(refused?.isError).toBe(true)
    expect(refused?.text).toMatch(/safety classifier of mode auto stopped the call: it publishes commits, and nobody/)
    expect(result.denials).toMatchObject([{ tool: "Bash" }])
  })

  test("asks the person about it, who may let it run", async () => {
    const requests: ApprovalRequest[] = []
    const ask = async (request: ApprovalRequest) => {
      requests.push(request)
      return { behavior: "allow" as const }
    }
    const { bodies } = await auto([bash("rm -rf src && echo gone"), done], { ask, files: { "src/a.ts": "" } })
    expect(lastResults(bodies[1])[0]?.text).toBe("gone")
    expect(requests).toMatchObject([
      { decision: { behavior: "ask", source: "mode", reason: expect.stringContaining('deletes "src"') } },
    ])
  })

  test("a broad rule does not bypass it, a narrow one does", async () => {
    const turns = [bash("git push --dry-run"), bash("python3 -c 'print(1)'"), bash("rm -rf src"), done]
    const allow = ["Bash(*)", "Bash(python3 *)", "Bash(rm -rf src)"]
    const { bodies } = await auto(turns, { kit: { settings: settings({ allow }) }, files: { "src/a.ts": "" } })
    expect([1, 2, 3].map((at) => lastResults(bodies[at])[0]?.isError)).toEqual([true, true, false])
  })

  test("a question of a rule and a protected path are not for the classifier", async () => {
    const asked: unknown[] = []
    const watch: Plugin = {
      name: "watch",
      permissions: {
        safety: (call) => {
          asked.push(call.input)
          return { kind: "allow" }
        },
      },
    }
    const turns = [bash("make x"), bash("echo x > .npmrc"), bash("true; mytool"), done]
    const { bodies } = await auto(turns, { plugins: [watch], kit: { settings: settings({ ask: ["Bash(make *)"] }) } })
    expect(lastResults(bodies[1])[0]?.text).toContain("asks about")
    expect(lastResults(bodies[2])[0]?.text).toContain("needs a person's answer")
    expect(asked).toEqual([{ command: "true; mytool" }])
  })

  test("a hook's question goes to a person even when the classifier has nothing against the call", async () => {
    const asks: Plugin = { name: "asks", hooks: { PreToolUse: () => ({ kind: "ask", reason: "look at it" }) } }
    const { bodies } = await auto([bash("mytool"), done], { plugins: [asks] })
    expect(lastResults(bodies[1])[0]?.text).toContain("A hook wants a person to decide: look at it")
  })

  test.each<[string, Plugin["permissions"]]>([
    ["throws", { safety: () => Promise.reject(new Error("broken")) }],
    ["answers nothing", { safety: () => undefined as never }],
    ["answers in another form", { safety: () => ({ kind: "yes" }) as never }],
    ["stops without a reason", { safety: () => ({ kind: "stop" }) as never }],
  ])("a further classifier that %s stops the call", async (_, permissions) => {
    const { bodies } = await auto([bash("mkdir x"), done], {
      plugins: [{ name: "further", permissions: permissions! }],
    })
    expect(lastResults(bodies[1])[0]).toMatchObject({
      isError: true,
      text: expect.stringContaining("stopped the call"),
    })
  })
})

describe("mode auto above a stricter one", () => {
  test("suspends broad rules in a step that asks for default mode", async () => {
    const server = await serve({ turns: [bash("mytool"), done] })
    const kit = await testKit(server, { cwd: folder(), kit: { settings: settings({ allow: ["Bash(*)"] }) } })
    const stricter = recipe({ name: "stricter", description: "x" })
      .step("work", () => agent({ prompt: "Go", mode: "default" }))
      .output(({ work }) => work)
    const { denials } = await kit.run(stricter, { model: "claude-opus-5-5", mode: "auto" }).result
    expect(denials).toMatchObject([{ reason: expect.stringContaining("No rule allows") }])
  })
})

describe("mode auto with a model", () => {
  const judging = '"noted"'
  /** The turns of the agent, and the answers of the small model. */
  async function judged(turns: any[], verdicts: any[], options: TestOptions = {}) {
    const small = verdicts.map((verdict) => ({ when: { last_user_contains: judging }, ...verdict }))
    const { kit, ...rest } = options
    return await runPrompt(
      { turns: [...small, ...turns] },
      {
        mode: "auto",
        prompt: "Tidy up, and push to origin",
        rewrites: true,
        kit: { settings: settings({ autoModel: "claude-haiku-4-5" }), ...kit },
        ...rest,
      },
    )
  }
  const agentTurn = (turn: object) => ({ when: { not_contains: judging }, ...turn })
  const verdict = (kind: string, reason = "it is what was asked for") => ({
    text: JSON.stringify({ decision: kind, reason }),
  })

  test("asks it by a fixed rubric with the call and the person's words, and nothing of the conversation", async () => {
    const turns = [agentTurn(bash("git push --dry-run; true")), agentTurn(done)]
    const { bodies, events, result } = await judged(turns, [verdict("allow")])
    const [, question, next] = bodies
    expect(question.model).toBe("claude-haiku-4-5")
    expect(question.tools).toBeUndefined()
    expect(question.messages).toHaveLength(1)
    expect(JSON.parse(question.messages[0].content[0].text)).toMatchObject({
      request: "Tidy up, and push to origin",
      call: { tool: "Bash", input: { command: "git push --dry-run; true" } },
      noted: "it publishes commits",
    })
    expect(lastResults(next)[0]?.isError).toBe(false)
    expect(decisions(events)).toMatchObject([{ behavior: "allow", source: "mode" }])
    // Counted with the run's tokens, and no turn of an agent.
    const usages = events.flatMap((event) => (event.type === "usage" ? [event] : []))
    expect(usages.map(({ turn, model }) => [turn, model])).toEqual([
      [1, "claude-opus-5-5"],
      [0, "claude-haiku-4-5"],
      [2, "claude-opus-5-5"],
    ])
    expect(result.turns).toBe(2)
    expect(result.usage.output).toBe(usages.reduce((sum, { usage }) => sum + usage.output, 0))
  })

  test("its stop is the reason that the agent reads", async () => {
    const turns = [agentTurn(bash("mytool")), agentTurn(done)]
    const { bodies } = await judged(turns, [verdict("stop", "it reaches far beyond the request.")])
    expect(lastResults(bodies[2])[0]?.text).toContain("stopped the call: it reaches far beyond the request, and nobody")
  })

  test.each([
    ["prose", "Sure, allow it."],
    ["a fence", '```json\n{"decision":"allow","reason":"x"}\n```'],
    ["more than was asked for", '{"decision":"allow","reason":"x","also":1}'],
    ["another word", '{"decision":"ok","reason":"x"}'],
    ["no reason", '{"decision":"allow"}'],
    ["nothing", " "],
  ])("%s is a stop", async (_, text) => {
    const { bodies } = await judged([agentTurn(bash("mytool")), agentTurn(done)], [{ text }])
    expect(lastResults(bodies[2])[0]).toMatchObject({ isError: true, text: expect.stringContaining("no answer") })
  })

  test("a model that fails is a stop", async () => {
    const broken = { text: "x", fault: { kind: "status", status: 400, message: "bad field" }, times: "always" }
    const { bodies } = await judged([agentTurn(bash("mytool")), agentTurn(done)], [broken])
    expect(lastResults(bodies.at(-1))[0]?.text).toMatch(/stopped the call: it gave no answer \(.*bad field/)
  })

  test("an answer that was cut is a stop", async () => {
    const cut = { ...verdict("allow"), stop_reason: "max_tokens" }
    const { bodies } = await judged([agentTurn(bash("mytool")), agentTurn(done)], [cut])
    expect(lastResults(bodies.at(-1))[0]?.text).toContain("it ended with max_tokens")
  })

  test("a verdict that does not come in time is a stop", async () => {
    const clock = { now: () => Date.now(), sleep: async () => {} }
    const silent: Plugin = { name: "silent", permissions: { safety: () => new Promise(() => {}) } }
    const turns = [agentTurn(bash("mytool")), agentTurn(done)]
    const { bodies } = await judged(turns, [], { plugins: [silent], kit: { clock } })
    expect(lastResults(bodies.at(-1))[0]?.text).toContain("it took more than 20 s")
  })

  test("reading and edits inside never reach it", async () => {
    const turns = [
      agentTurn(bash("ls && git status || true")),
      agentTurn({ tool: { Write: { file_path: "x.txt", content: "x" } } }),
      agentTurn(done),
    ]
    const { bodies } = await judged(turns, [])
    expect(bodies).toHaveLength(3)
    expect(lastResults(bodies[2])[0]?.isError).toBe(false)
  })

  test("a budget that has no room for it stops the call", async () => {
    const turns = [agentTurn(bash("mytool")), agentTurn(done)]
    const { result } = await judged(turns.slice(0, 1), [], { budget: { turns: 1 } })
    expect(result.status).toBe("budget")
    expect(result.denials).toMatchObject([{ reason: expect.stringContaining("The budget of 1 turns is spent") }])
  })
})
