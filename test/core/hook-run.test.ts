import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { definePlugin, HOOKS, type HookEvent, type RunEvent, recipe, sh } from "sous"
import { describe, expect, test } from "vitest"
import type { HookSource } from "../../core/hook-source.ts"
import { folder, lastResults, runPrompt, serve, type TestOptions, testKit } from "../harness.ts"

type Dialect = HookSource["dialect"]
const all = { allow: { all: true }, deny: {} } as const
const delegate = (prompt: string) => ({ tool: { Agent: { description: "some work", prompt } } })
const asked = (text: string) => ({ last_user_contains: text })
const bash = (command: string) => ({ tool: { Bash: { command } } })

let line = 0
function source(event: HookEvent, command: string, more: Partial<HookSource> = {}): HookSource {
  const origin = { scope: "project" as const, file: ".hooks.json", line: ++line }
  return { event, dialect: "native", form: { type: "command", command }, origin, ...more }
}

const run = (turns: Parameters<typeof runPrompt>[0], hooks: HookSource[], more: TestOptions = {}) =>
  runPrompt(turns, { flags: all, ...more, kit: { hooks, ...more.kit } })
const hookEvents = (events: RunEvent[]) => events.filter((event) => event.type === "hook")

describe("external hooks in a run", () => {
  test("blocks exactly one of three parallel calls", async () => {
    const guard = source(
      "PreToolUse",
      'case "$CLAUDE_TOOL_INPUT" in *b.txt*) echo b is not for you >&2; exit 1;; esac',
      {
        matcher: "Read",
      },
    )
    const reads = ["a", "b", "c"].map((name) => ({ tool: { Read: { file_path: `${name}.txt` } } }))
    const files = { "a.txt": "alpha", "b.txt": "beta", "c.txt": "gamma" }
    const { bodies, events } = await run([{ content: reads }, { text: "ok" }], [guard], { files })
    const results = lastResults(bodies[1])
    expect(results.map(({ isError }) => isError)).toEqual([false, true, false])
    expect(results[0]!.text).toContain("alpha")
    expect(results[1]!.text).toBe("A hook blocked Read: b is not for you")
    expect(results[2]!.text).toContain("gamma")
    expect(
      hookEvents(events)
        .map((event) => event.type === "hook" && event.outcome)
        .sort(),
    ).toEqual(["block", "pass", "pass"])
  })

  test("fires the guard of the settings in a subagent of a subagent, and says whose call it is", async () => {
    const guard = source(
      "PreToolUse",
      'cat >> "$CLAUDE_PROJECT_DIR/seen"; echo >> "$CLAUDE_PROJECT_DIR/seen"; echo not here >&2; exit 2',
      {
        matcher: "Bash",
        dialect: "claude-code",
      },
    )
    const { bodies, cwd } = await run(
      [
        { when: asked("Go"), ...delegate("depth 1") },
        { when: asked("depth 1"), ...delegate("depth 2") },
        { when: asked("depth 2"), ...bash("touch made") },
        { when: asked("not here"), text: "it was blocked" },
        { when: asked("it was blocked"), text: "back in 1" },
        { when: asked("back in 1"), text: "done" },
      ],
      [guard],
      { rewrites: true },
    )
    expect(bodies).toHaveLength(6)
    expect(existsSync(join(cwd, "made"))).toBe(false)
    const [seen] = readFileSync(join(cwd, "seen"), "utf8").trim().split("\n")
    expect(JSON.parse(seen!)).toMatchObject({ tool_name: "Bash", agent_id: expect.any(String), agent_type: "general" })
  })

  test("ends the loop after eight blocks of a Stop hook, with a warning", async () => {
    const stubborn = source("Stop", "echo not yet >&2; exit 2", { dialect: "claude-code" })
    const { bodies, result, events } = await run([{ text: "done", times: "always" }], [stubborn])
    expect(bodies).toHaveLength(9)
    expect(result).toMatchObject({ status: "ok", output: "done" })
    const warnings = events.flatMap((event) => (event.type === "notice" ? [event.message] : []))
    expect(warnings).toEqual([expect.stringContaining("kept it going 8 times")])
  })

  test("never changes a message that was sent, with ten hooks injecting around every call", async () => {
    const hooks = Array.from({ length: 10 }, (_, i) =>
      source(i % 2 === 0 ? "PreToolUse" : "PostToolUse", `echo "note ${i} $(date +%N)"; exit 2`),
    )
    // runPrompt() holds every request to the one before it, byte for byte.
    const { bodies } = await run([bash("echo 1"), bash("echo 2"), bash("echo 3"), { text: "ok" }], hooks)
    expect(bodies).toHaveLength(4)
    for (const body of bodies.slice(1)) {
      const parts = body.messages.at(-1).content.map((part: any) => part.text?.slice(0, 6) ?? part.type)
      expect(parts).toEqual(["tool_result", ...[0, 2, 4, 6, 8, 1, 3, 5, 7, 9].map((i) => `note ${i}`)])
    }
  })

  test("warns once of a hook that fails at each call, and tells of each execution", async () => {
    const broken = source("PreToolUse", "exit 9", { dialect: "claude-code" })
    const { events } = await run([bash("echo 1"), bash("echo 2"), { text: "ok" }], [broken])
    expect(hookEvents(events)).toMatchObject([
      { outcome: "failed", exit: 9, origin: { file: ".hooks.json" } },
      { outcome: "failed", exit: 9 },
    ])
    expect(events.filter((event) => event.type === "notice" && event.code === "HOOK_FAILED")).toHaveLength(1)
  })

  test("stops the agent when a hook says that it is not to go on", async () => {
    const stops = source("PostToolUse", `echo '{"continue": false, "stopReason": "enough"}'`, {
      dialect: "claude-code",
    })
    // A second turn would fail: the script has none.
    const { bodies, result } = await run([bash("echo 1")], [stops])
    expect(bodies).toHaveLength(1)
    expect(result).toMatchObject({ status: "failed", exit: 1 })
  })
})

test("a guard stands before the steps of a recipe, too", async () => {
  const guard = source("PreToolUse", "echo not in a recipe >&2; exit 1", { matcher: "Bash" })
  const cwd = folder()
  const kit = await testKit(await serve([]), { cwd, kit: { hooks: [guard] } })
  const made = recipe({ name: "r", description: "Makes a file" }).step("make", () => sh`touch made`)
  const result = await kit.run(made, { flags: all }).result
  expect(result.steps).toMatchObject([
    { id: "make", ok: false, failure: { cause: "denied", error: expect.stringContaining("not in a recipe") } },
  ])
  expect(existsSync(join(cwd, "made"))).toBe(false)
})

describe("two rewriters and a guard", () => {
  const orders = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ]
  const mixes: Dialect[][] = [
    ["native", "native", "native"],
    ["claude-code", "claude-code", "claude-code"],
    ["native", "native", "claude-code"],
    ["claude-code", "claude-code", "native"],
    ["native", "claude-code", "native"],
    ["claude-code", "native", "claude-code"],
  ]

  function rewriter(dialect: Dialect, command: string): HookSource {
    const input = { command }
    const hookSpecificOutput = { hookEventName: "PreToolUse", permissionDecision: "allow", updatedInput: input }
    const answer = JSON.stringify(dialect === "native" ? { input } : { hookSpecificOutput })
    return source("PreToolUse", `cat >/dev/null; printf %s '${answer}'`, { dialect })
  }

  /** Writes down what it judges; refuses what has this word in it. */
  function guard(dialect: Dialect, word: string): HookSource {
    const script = `echo "$CLAUDE_TOOL_INPUT" >> "$CLAUDE_PROJECT_DIR/judged"; case "$CLAUDE_TOOL_INPUT" in *${word}*) echo refused >&2; exit ${dialect === "native" ? 1 : 2};; esac`
    return source("PreToolUse", script, { dialect })
  }

  /** What ran, and what the guard has judged. */
  async function outcome(mix: Dialect[], order: number[], commands: [string, string], word: string) {
    const [one, two, third] = mix as [Dialect, Dialect, Dialect]
    const made = [rewriter(one, commands[0]), rewriter(two, commands[1]), guard(third, word)]
    const { bodies, cwd } = await run(
      [bash("echo first >> ran"), { text: "ok" }],
      order.map((i) => made[i]!),
    )
    const read = (name: string) => (existsSync(join(cwd, name)) ? readFileSync(join(cwd, name), "utf8") : "")
    return { ran: read("ran").trim(), judged: read("judged"), said: lastResults(bodies[1])[0]! }
  }

  test.each(mixes.map((mix) => ({ mix })))("no input passes unjudged: $mix", async ({ mix }) => {
    for (const order of orders) {
      const [agreed, refused, torn] = await Promise.all([
        outcome(mix, order, ["echo safe >> ran", "echo safe >> ran"], "nothing"),
        outcome(mix, order, ["echo evil >> ran", "echo evil >> ran"], "evil"),
        outcome(mix, order, ["echo one >> ran", "echo two >> ran"], "nothing"),
      ])
      expect(agreed.ran, `${order}`).toBe("safe")
      expect(agreed.judged).toContain("echo safe")
      expect(refused, `${order}`).toMatchObject({ ran: "", said: { isError: true } })
      expect(refused.said.text).toContain("refused")
      expect(torn, `${order}`).toMatchObject({ ran: "", said: { isError: true } })
      expect(torn.said.text).toMatch(/rewrite/)
    }
  })
})

describe("every event", () => {
  test("is raised where it belongs, in the main agent and in subagents", async () => {
    const raised: string[] = []
    const LATER: readonly string[] = ["FileChanged", "ConfigChange", "PreCompact", "PostCompact", "Notification"]
    const hooks = Object.fromEntries(
      Object.keys(HOOKS).map((event) => [
        event,
        {
          ...(event === "UserPromptSubmit" ? { matcher: "*" } : {}),
          handler: ({ agent_id }: any) => void raised.push(agent_id ? `${event} below` : event),
        },
      ]),
    )
    await runPrompt(
      [
        {
          when: asked("Go"),
          content: [
            bash("echo hi"),
            { tool: { Read: { file_path: "missing.txt" } } },
            bash("rm -rf /"),
            bash("npm run x"),
            delegate("part"),
          ],
        },
        { when: asked("part"), ...bash("echo below") },
        { when: { last_user_contains: "below" }, text: "part done" },
        { when: asked("part done"), text: "done" },
      ],
      {
        plugins: [definePlugin({ name: "watch", hooks })],
        rewrites: true,
        flags: { allow: { tools: ["Bash(echo *)", "Agent"] }, deny: {} } as never,
      },
    )
    const wanted = Object.keys(HOOKS).filter((event) => !LATER.includes(event) && !event.startsWith("Subagent"))
    expect(wanted.filter((event) => !raised.includes(event))).toEqual([])
    for (const event of ["SubagentStart", "PreToolUse", "PostToolUse", "SubagentStop"]) {
      expect(raised).toContain(`${event} below`)
    }
  })
})

describe("prompt and agent handlers", () => {
  const judge = { contains: "You judge one event" }
  const answer = (value: object) => ({ when: judge, text: JSON.stringify(value) })

  test.each(["native", "claude-code"] as const)(
    "puts the event to a model, whose no blocks the call (%s)",
    async (dialect) => {
      const form = { type: "prompt" as const, prompt: "Is this harmless? $ARGUMENTS", continueOnBlock: true }
      const { bodies, cwd } = await run(
        [
          { when: { last_user_contains: "Go" }, ...bash("touch made") },
          answer({ ok: false, reason: "it makes a file" }),
          { when: asked("it makes a file"), text: "ok" },
        ],
        [source("PreToolUse", "", { form, dialect, matcher: "Bash" })],
        { rewrites: true },
      )
      expect(JSON.stringify(bodies[1].messages)).toContain("touch made")
      expect(bodies[1].tools ?? []).toEqual([])
      expect(existsSync(join(cwd, "made"))).toBe(false)
    },
  )

  test("lets an agent look around with what only reads, and fires no hook for that", async () => {
    const form = { type: "agent" as const, prompt: "Is the plan kept?" }
    const { bodies, events, result } = await run(
      [
        { when: asked("Go"), text: "finished" },
        { when: judge, tool: { Read: { file_path: "plan.txt" } } },
        { when: judge, text: JSON.stringify({ ok: true }) },
      ],
      [source("Stop", "", { form })],
      { files: { "plan.txt": "all of it" }, rewrites: true },
    )
    expect(result).toMatchObject({ status: "ok", output: "finished" })
    expect(bodies[1].tools.map(({ name }: { name: string }) => name)).not.toContain("Bash")
    expect(lastResults(bodies[2])[0]!.text).toContain("all of it")
    expect(hookEvents(events)).toMatchObject([{ event: "Stop", outcome: "pass" }])
  })
})

test("the person sees a hook that stepped in, in --json too", async () => {
  const guard = source("PreToolUse", "echo no >&2; exit 1", { description: "never" })
  const { events } = await run([bash("echo 1"), { text: "ok" }], [guard], { cwd: folder() })
  expect(JSON.parse(JSON.stringify(hookEvents(events)[0]))).toMatchObject({
    type: "hook",
    event: "PreToolUse",
    hook: "never",
    owner: expect.stringMatching(/^\.hooks\.json:\d+$/),
    outcome: "block",
    reason: "no",
    exit: 1,
    durationMs: expect.any(Number),
  })
})
