import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type Clock, createClock } from "../../core/clock.ts"
import type { EventBody } from "../../core/event.ts"
import { allow, ask, block, type HookEvent, type HookHandler, inject, pass, rewrite } from "../../core/hook.ts"
import { createHookRunner, type FromAgent } from "../../core/hook-runner.ts"
import type { PluginHook, RegisteredHook } from "../../core/registry.ts"

const FROM: FromAgent = { sessionId: "s1", transcriptPath: "/t.jsonl", cwd: "/work", mode: "default" }
const CALL = { tool_name: "Bash", tool_input: { command: "ls" }, tool_use_id: "t1" }

function hook(event: HookEvent, handler: HookHandler<any>, more: Partial<PluginHook> = {}): PluginHook {
  return { event, plugin: "guard", handler, ...more }
}

function setUp(hooks: RegisteredHook[], more: { clock?: Clock } = {}) {
  const events: EventBody[] = []
  const run = new AbortController()
  const emit = (body: EventBody) => void events.push(body)
  const runner = createHookRunner(hooks, { emit, signal: run.signal, clock: more.clock ?? createClock() })
  const told = () => events.flatMap((body) => (body.type === "hook" ? [body.outcome] : []))
  const warnings = () => events.flatMap((body) => (body.type === "notice" ? [body.message] : []))
  return { runner, run, events, told, warnings }
}

function gate(handlers: HookHandler<"PreToolUse">[], from: Partial<FromAgent> = {}) {
  const { runner } = setUp(handlers.map((handler) => hook("PreToolUse", handler)))
  return runner.gate("PreToolUse", CALL, { ...FROM, ...from })
}

/** A handler that never answers, and tells when its own signal fires. */
function hanging() {
  let aborted!: () => void
  const stopped = new Promise<void>((resolve) => {
    aborted = resolve
  })
  const handler: HookHandler<any> = (_, { signal }) => {
    signal.addEventListener("abort", aborted)
    return new Promise(() => {})
  }
  return { handler, stopped }
}

describe("has()", () => {
  it("is true for events with a hook, the step's own included", () => {
    const { runner } = setUp([hook("Stop", pass)])
    expect(runner.has("Stop")).toBe(true)
    expect(runner.has("PreToolUse")).toBe(false)
    expect(runner.has("PreToolUse", [hook("PreToolUse", pass)])).toBe(true)
  })
})

describe("gate()", () => {
  it("passes when no hook matches, and tells nothing", async () => {
    const { runner, events } = setUp([hook("PreToolUse", () => block("no"), { matcher: "Edit" })])
    const outcome = await runner.gate("PreToolUse", CALL, FROM)
    expect(outcome).toEqual({ decision: "pass", reasons: [], injected: [], judged: new Set() })
    expect(events).toEqual([])
  })

  it("takes the strictest answer and keeps all reasons, its own first", async () => {
    const answers = [allow("fine"), ask("sure?"), block("no"), pass(), block("never")]
    const outcome = await gate(answers.map((answer) => () => answer))
    expect(outcome.decision).toBe("block")
    expect(outcome.reasons).toEqual(["no", "never", "sure?", "fine"])
    expect((await gate([() => allow("fine"), () => ask("sure?")])).decision).toBe("ask")
    expect((await gate([() => allow("fine"), () => pass()])).decision).toBe("allow")
  })

  it("decides the same in whatever order the answers come", async () => {
    const answer = fc.constantFrom(pass(), allow(), ask("sure?"), block("no"))
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { maxLength: 5 }), async (answers) => {
        const decide = async (list: typeof answers) => (await gate(list.map((item) => () => item))).decision
        expect(await decide(answers)).toBe(await decide([...answers].reverse()))
      }),
      { numRuns: 50 },
    )
  })

  it("shows each handler the input as rewritten so far", async () => {
    const seen: unknown[] = []
    const prefix =
      (word: string): HookHandler<"PreToolUse"> =>
      (payload) => {
        const { command } = payload.tool_input as { command: string }
        seen.push(command)
        return rewrite({ command: `${word} ${command}` })
      }
    const outcome = await gate([prefix("nice"), prefix("timeout 9")])
    expect(seen).toEqual(["ls", "nice ls"])
    expect(outcome.input).toEqual({ command: "timeout 9 nice ls" })
    expect(outcome.decision).toBe("pass")
  })

  it("names the hooks that have judged the final input, and skips them when told to", async () => {
    const seen: string[] = []
    const hooks = ["a", "b", "c"].map((plugin) =>
      hook(
        "PreToolUse",
        (payload) => {
          seen.push(plugin)
          return plugin === "b" && payload.tool_input.command === "ls" ? rewrite({ command: "ls -a" }) : undefined
        },
        { plugin },
      ),
    )
    const { runner } = setUp(hooks)
    const { judged, input } = await runner.gate("PreToolUse", CALL, FROM)
    expect([...judged].map(({ plugin }) => plugin)).toEqual(["b", "c"])
    await runner.gate("PreToolUse", { ...CALL, tool_input: input }, { ...FROM, blind: "no-rewrite", skip: judged })
    expect(seen).toEqual(["a", "b", "c", "a"])
  })

  it("forgets an allow that was given to the input before it was rewritten", async () => {
    const outcome = await gate([() => allow("fine"), () => rewrite({ command: "rm -rf /" })])
    expect(outcome.decision).toBe("pass")
    expect((await gate([() => rewrite({ command: "ls -a" }), () => allow("fine")])).decision).toBe("allow")
  })

  it("does not call an equal input rewritten", async () => {
    const outcome = await gate([() => rewrite({ command: "ls" })], { blind: "no-rewrite" })
    expect(outcome).toMatchObject({ decision: "pass" })
    expect(outcome).not.toHaveProperty("input")
  })

  it("blocks a second rewrite and names the hook", async () => {
    const outcome = await gate([() => rewrite({ command: "rm" })], { blind: "no-rewrite" })
    expect(outcome.decision).toBe("block")
    expect(outcome.reasons[0]).toContain('Hook "PreToolUse" of plugin "guard" rewrites')
    expect(outcome).not.toHaveProperty("input")
  })

  it("keeps the input from handlers that change their payload", async () => {
    const call = structuredClone(CALL)
    const { runner } = setUp([
      hook("PreToolUse", (payload) => {
        payload.tool_input.command = "rm -rf /"
      }),
      hook("PreToolUse", (payload) => inject(payload.tool_input.command)),
    ])
    const outcome = await runner.gate("PreToolUse", call, FROM)
    expect(outcome.injected).toEqual(["ls"])
    expect(outcome).not.toHaveProperty("input")
    expect(call).toEqual(CALL)
  })

  it.each<[string, HookHandler<any>, string]>([
    ["throws", () => Promise.reject(new Error("boom")), 'it threw "boom"'],
    [
      "throws at once",
      () => {
        throw new Error("boom")
      },
      'it threw "boom"',
    ],
    ["answers what nobody knows", () => ({ kind: "deny" }) as never, 'it answered "deny"'],
    ["ends with an unknown exit", () => ({ exit: 127, stderr: "not found" }), "exit 127: not found"],
    ["hangs", () => new Promise(() => {}), "it did not answer within 0.01 s"],
  ])("blocks when a closed hook %s, and names plugin and hook", async (_, handler, clause) => {
    const { runner, told, warnings } = setUp([hook("PreToolUse", handler, { timeoutMs: 10, description: "No push" })])
    const outcome = await runner.gate("PreToolUse", CALL, FROM)
    expect(outcome.decision).toBe("block")
    expect(outcome.reasons[0]).toContain('Hook "No push" of plugin "guard" failed')
    expect(outcome.reasons[0]).toContain(clause)
    expect(told()).toEqual(["failed"])
    expect(warnings()).toEqual([])
  })

  it("goes on when an open hook fails, and warns once for each hook", async () => {
    const broken = hook("Stop", () => {
      throw new Error("boom")
    })
    const { runner, told, events } = setUp([broken])
    const payload = { last_message: "done", stop_hook_active: false }
    expect((await runner.gate("Stop", payload, FROM)).decision).toBe("pass")
    await runner.gate("Stop", payload, FROM)
    expect(told()).toEqual(["failed", "failed"])
    const notices = events.filter(({ type }) => type === "notice")
    expect(notices).toHaveLength(1)
    expect(notices[0]).toMatchObject({ level: "warning", code: "HOOK_FAILED" })
  })

  it("tells a hook that takes too long by its signal", async () => {
    const { handler, stopped } = hanging()
    const { runner } = setUp([hook("PreToolUse", handler, { timeoutMs: 5 })])
    await runner.gate("PreToolUse", CALL, FROM)
    await stopped
  })

  it("does not wait for a handler when the run is aborted, and does not let the call through", async () => {
    const { handler, stopped } = hanging()
    const { runner, run } = setUp([hook("PreToolUse", handler)])
    const outcome = runner.gate("PreToolUse", CALL, FROM)
    run.abort()
    expect((await outcome).decision).toBe("block")
    await stopped
    expect((await runner.gate("PreToolUse", CALL, FROM)).decision).toBe("block")
  })

  it("asks the step's own hooks after those of the plugins", async () => {
    const { runner } = setUp([hook("PreToolUse", () => inject("plugin"))])
    const extra = [hook("PreToolUse", () => inject("step"))]
    expect((await runner.gate("PreToolUse", CALL, { ...FROM, extra })).injected).toEqual(["plugin", "step"])
    expect((await runner.gate("PreToolUse", CALL, FROM)).injected).toEqual(["plugin"])
  })

  it("hands over the wire fields, and who the agent is in subagents only", async () => {
    const payloads: unknown[] = []
    const { runner } = setUp([hook("PreToolUse", (payload) => void payloads.push(payload))])
    const agent = { id: "a1", type: "explorer", depth: 1 }
    await runner.gate("PreToolUse", CALL, { ...FROM, agent: { ...agent, depth: 0 } })
    await runner.gate("PreToolUse", CALL, { ...FROM, agent })
    const common = { session_id: "s1", transcript_path: "/t.jsonl", cwd: "/work", permission_mode: "default" }
    const main = { ...common, ...CALL, hook_event_name: "PreToolUse" }
    expect(payloads).toEqual([main, { ...main, agent_id: "a1", agent_type: "explorer" }])
  })

  it("tells each execution with its plugin, hook, outcome, reason and call", async () => {
    const { runner, events } = setUp([
      hook("PreToolUse", () => block("no"), { description: "No push" }),
      hook("PreToolUse", () => ({ exit: 2, stdout: "note" }), { plugin: "notes" }),
    ])
    await runner.gate("PreToolUse", CALL, { ...FROM, toolUseId: "t1" })
    const common = { type: "hook", event: "PreToolUse", id: "t1", durationMs: expect.any(Number) }
    expect(events).toEqual([
      { ...common, owner: 'plugin "guard"', hook: "No push", outcome: "block", reason: "no" },
      { ...common, owner: 'plugin "notes"', hook: "PreToolUse", outcome: "inject" },
    ])
  })
})

describe("fold()", () => {
  const used = { ...CALL, tool_response: "raw" }

  it("shows each handler the result as replaced so far", async () => {
    const seen: unknown[] = []
    const append = (text: string) =>
      hook("PostToolUse", ({ tool_response }) => {
        seen.push(tool_response)
        return { kind: "result", content: `${tool_response}+${text}` }
      })
    const { runner } = setUp([append("a"), append("b"), hook("PostToolUse", () => inject("note"))])
    const outcome = await runner.fold("PostToolUse", used, FROM)
    expect(seen).toEqual(["raw", "raw+a"])
    expect(outcome).toEqual({ injected: ["note"], result: "raw+a+b" })
  })

  it("keeps what the others said when one fails, and warns", async () => {
    const { runner, warnings } = setUp([
      hook("PostToolUse", () => ({ kind: "result", content: "short" })),
      hook("PostToolUse", () => Promise.reject(new Error("boom"))),
      hook("PostToolUse", () => block("lint fails")),
      hook("PostToolUse", () => block("")),
    ])
    const outcome = await runner.fold("PostToolUse", used, FROM)
    expect(outcome.result).toBe("short")
    expect(outcome.blocked).toMatch(/^lint fails\nHook "PostToolUse #4" of plugin "guard" blocks/)
    expect(warnings()).toEqual([expect.stringContaining('it threw "boom"')])
  })
})

describe("first()", () => {
  const question = { ...CALL, reason: "no rule", suggestions: [] }
  const first = (hooks: RegisteredHook[], signal = new AbortController().signal) =>
    setUp(hooks).runner.first("PermissionRequest", question, FROM, signal)

  it("starts all, takes the first decision and calls off the others", async () => {
    const slow = hanging()
    const { runner, told } = setUp([
      hook("PermissionRequest", slow.handler),
      hook("PermissionRequest", () => pass()),
      hook("PermissionRequest", async () => ({ kind: "allow", input: { command: "ls -a" } }), { plugin: "answers" }),
    ])
    const answer = await runner.first("PermissionRequest", question, FROM, new AbortController().signal)
    expect(answer).toEqual({ owner: 'plugin "answers"', answer: { kind: "allow", input: { command: "ls -a" } } })
    await slow.stopped
    expect(told()).toEqual(["pass", "allow", "pass"])
  })

  it("has no answer when none decides, and warns of one that failed", async () => {
    const { runner, warnings } = setUp([
      hook("PermissionRequest", () => ({ exit: 0 })),
      hook("PermissionRequest", () => ask("sure?")),
    ])
    expect(await runner.first("PermissionRequest", question, FROM, new AbortController().signal)).toBeUndefined()
    expect(warnings()).toEqual([expect.stringContaining('it answered "ask"')])
  })

  it("reads exit 1 as a refusal", async () => {
    const answer = await first([hook("PermissionRequest", () => ({ exit: 1, stderr: "not today" }))])
    expect(answer?.answer).toEqual({ kind: "block", reason: "not today" })
  })

  it("lets go when somebody else has answered", async () => {
    const slow = hanging()
    const elsewhere = new AbortController()
    const answer = first([hook("PermissionRequest", slow.handler)], elsewhere.signal)
    elsewhere.abort()
    expect(await answer).toBeUndefined()
    await slow.stopped
  })
})

describe("observe()", () => {
  it("starts all at once, waits for all and warns of those that failed", async () => {
    const order: string[] = []
    let release!: () => void
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const { runner, warnings } = setUp([
      hook("RunEnd", async () => {
        await released
        order.push("first")
      }),
      hook("RunEnd", () => {
        order.push("second")
        release()
      }),
      hook("RunEnd", () => inject("nobody reads this")),
    ])
    await runner.observe("RunEnd", { recipe: "green", status: "ok" }, FROM)
    expect(order).toEqual(["second", "first"])
    expect(warnings()).toEqual([expect.stringContaining("RunEnd takes no answer")])
  })

  it("still fires when the run was aborted before, for 5 s at most", async () => {
    const slept: number[] = []
    const clock = { now: () => 0, sleep: async (ms: number) => void slept.push(ms) }
    const seen: unknown[] = []
    const { runner, run, told } = setUp(
      [
        hook("RunEnd", ({ status }) => void seen.push(status)),
        hook("RunEnd", (_, { signal }) => new Promise<never>((_, no) => signal.addEventListener("abort", no))),
      ],
      { clock },
    )
    run.abort()
    await runner.observe("RunEnd", { recipe: "green", status: "cancelled" }, FROM)
    expect(seen).toEqual(["cancelled"])
    expect(slept).toEqual([5_000])
    expect(told()).toEqual(["pass", "failed"])
  })
})
