import { block, definePlugin, defineTool, inject, z } from "sous"
import { describe, expect, test } from "vitest"
import { lastResults, runPrompt } from "../harness.ts"

const always = (text: string) => ({ text, times: "always" as const })
const read = (path: string, id?: string) => ({ tool: { Read: { file_path: path } }, ...(id ? { id } : {}) })
const slowTool = (execute: (signal: AbortSignal) => Promise<string>, name = "Slow") =>
  definePlugin({
    name: "slow",
    tools: [
      defineTool({
        name,
        description: "Takes its time",
        input: z.strictObject({}),
        readOnly: true,
        concurrencySafe: false,
        execute: (_, { signal }) => execute(signal),
      }),
    ],
  })

describe("tool_use", () => {
  test("runLoop() answers all tool_uses of a message in one user message, in order", async () => {
    const { result, bodies } = await runPrompt(
      [{ content: [read("a.txt"), read("missing.txt"), read("b.txt")] }, { text: "done" }],
      { files: { "a.txt": "alpha", "b.txt": "beta" } },
    )
    expect(result).toMatchObject({ status: "ok", exit: 0, output: "done", turns: 2 })
    expect(bodies).toHaveLength(2)
    const results = lastResults(bodies[1])
    expect(results.map(({ isError }) => isError)).toEqual([false, true, false])
    expect(results[0]?.text).toContain("alpha")
    expect(results[2]?.text).toContain("beta")
    expect(bodies[1].messages).toHaveLength(3)
  })

  test("runLoop() gives arguments that are no JSON back as an error result", async () => {
    const { bodies, result } = await runPrompt([
      { content: [{ tool: "Read", raw_input: '{"file_path": "a' }] },
      { text: "ok" },
    ])
    expect(result.status).toBe("ok")
    expect(lastResults(bodies[1])[0]).toMatchObject({ isError: true, text: expect.stringContaining("not valid JSON") })
  })

  test("runLoop() names the nearest tool for one that does not exist", async () => {
    const { bodies } = await runPrompt([{ tool: { Reed: {} } }, { text: "ok" }])
    expect(lastResults(bodies[1])[0]?.text).toBe('There is no tool "Reed": write "Read"')
  })

  test("runLoop() returns thinking blocks unchanged, with their signatures, and unknown blocks untouched", async () => {
    const unknown = { type: "hologram", data: { deep: [1, 2] } }
    const { bodies } = await runPrompt(
      [{ content: [{ thinking: "Let me see", signature: "c2lnbmVk" }, unknown, read("a.txt")] }, { text: "ok" }],
      { files: { "a.txt": "x" } },
    )
    const [thinking, passed] = bodies[1].messages[1].content
    expect(thinking).toEqual({ type: "thinking", thinking: "Let me see", signature: "c2lnbmVk" })
    expect(passed).toEqual(unknown)
  })
})

describe("end_turn", () => {
  test("runLoop() goes on when a Stop hook blocks, eight times at most", async () => {
    const stubborn = definePlugin({ name: "stubborn", hooks: { Stop: () => block("not yet") } })
    const { result, bodies } = await runPrompt([always("done")], { plugins: [stubborn] })
    expect(bodies).toHaveLength(9)
    expect(bodies[8].messages.at(-1).content[0].text).toBe("not yet")
    expect(result).toMatchObject({ status: "ok", output: "done" })
  })

  test("runLoop() ends at a stop sequence as at end_turn", async () => {
    const { result, bodies } = await runPrompt([{ text: "cut here", stop_reason: "stop_sequence", stop_sequence: "#" }])
    expect(bodies).toHaveLength(1)
    expect(result).toMatchObject({ status: "ok", output: "cut here" })
  })

  test("runLoop() reads messages that a person queues after the current tool results", async () => {
    let said = () => {}
    const plugin = slowTool(async () => {
      said()
      return "slow result"
    })
    const { bodies } = await runPrompt([{ tool: { Slow: {} } }, { text: "ok" }], {
      plugins: [plugin],
      during: (run) => {
        said = () => run.queue("also look at b")
      },
    })
    const [result, queued] = bodies[1].messages.at(-1).content
    expect(result.type).toBe("tool_result")
    expect(queued).toMatchObject({ type: "text", text: "also look at b" })
  })
})

describe("max_tokens", () => {
  test("runLoop() raises the limit once, then asks to go on, three times at most", async () => {
    const cut = { text: "part ", stop_reason: "max_tokens", times: "always" as const }
    const { result, bodies } = await runPrompt([cut])
    expect(bodies.map((body) => body.max_tokens)).toEqual([32_000, 128_000, 128_000, 128_000, 128_000])
    expect(bodies[1].messages).toHaveLength(1)
    expect(bodies[2].messages).toHaveLength(3)
    expect(result).toMatchObject({ status: "failed", exit: 1, failure: { cause: "model" } })
  })

  test("runLoop() joins the parts of an answer that was continued", async () => {
    const cut = (text: string) => ({ text, stop_reason: "max_tokens" })
    const { result } = await runPrompt([cut("lost"), cut("one "), { text: "two" }])
    expect(result).toMatchObject({ status: "ok", output: "one two" })
  })

  test("runLoop() never runs a tool_use that was cut off, and runs the whole ones before it", async () => {
    const cut = {
      content: [read("a.txt"), { tool: "Write", raw_input: '{"file_path": "b.txt", "content": "half' }],
      stop_reason: "max_tokens",
    }
    const { bodies, events } = await runPrompt([cut, cut, { text: "ok" }], {
      files: { "a.txt": "alpha" },
      flags: writeAll,
    })
    const last = bodies[2].messages
    expect(last.at(-2).content.map((part: any) => part.name)).toEqual(["Read"])
    expect(lastResults(bodies[2])).toHaveLength(1)
    expect(last.at(-1).content.at(-1).text).toContain("Your call of Write was cut off")
    expect(events.filter((event) => event.type === "tool_use" && event.name === "Write")).toEqual([])
  })
})

const writeAll = { allow: { write: true as const, run: true as const }, deny: {} }

describe("pause_turn, refusal", () => {
  test("runLoop() sends the conversation again as it is after pause_turn", async () => {
    const { result, bodies } = await runPrompt([{ text: "searching", stop_reason: "pause_turn" }, { text: "found" }])
    expect(bodies[1].messages).toHaveLength(2)
    expect(bodies[1].messages[1]).toMatchObject({ role: "assistant", content: [{ type: "text", text: "searching" }] })
    expect(result).toMatchObject({ status: "ok", output: "found" })
  })

  test("runLoop() stops when the model refuses", async () => {
    const { result, bodies } = await runPrompt([{ content: [], stop_reason: "refusal" }])
    expect(bodies).toHaveLength(1)
    expect(result).toMatchObject({ status: "failed", exit: 1, failure: { cause: "model" } })
  })

  test("runLoop() hands a refused conversation over to the fallback model, once", async () => {
    const refusal = { content: [], stop_reason: "refusal" }
    const { result, bodies } = await runPrompt([refusal, { text: "fine" }], { fallbackModel: "claude-haiku-5-5" })
    expect(bodies.map((body) => body.model)).toEqual(["claude-opus-5-5", "claude-haiku-5-5"])
    expect(bodies[1].messages).toEqual(bodies[0].messages)
    expect(result).toMatchObject({ status: "ok", output: "fine" })
    const again = await runPrompt([refusal, refusal], { fallbackModel: "claude-haiku-5-5" })
    expect(again.result).toMatchObject({ status: "failed", failure: { cause: "model" } })
  })
})

describe("too long", () => {
  const rounds = Array.from({ length: 6 }, (_, i) => ({ ...read(`f${i}.txt`) }))
  const files = Object.fromEntries(rounds.map((_, i) => [`f${i}.txt`, `${i} `.repeat(2000)]))
  const tooLong = {
    text: "after",
    fault: { kind: "status" as const, status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" },
  }

  const sections = ["Goal", "Constraints", "Files", "Decisions", "Errors", "Open tasks", "Next step"]
  const summary = { text: sections.map((title) => `## ${title}\nnone`).join("\n") }

  test("runLoop() shortens the conversation once and sends it again when the prompt is too long", async () => {
    const turns = [...rounds, { ...tooLong, text: summary.text }, { text: "after" }]
    const { result, bodies, events } = await runPrompt(turns, { files, rewrites: true })
    expect(result).toMatchObject({ status: "ok", output: "after" })
    expect(bodies).toHaveLength(9)
    expect(JSON.stringify(bodies[8]).length).toBeLessThan(JSON.stringify(bodies[6]).length * 0.8)
    expect(JSON.stringify(bodies[8].messages)).toContain("Go")
    expect(events.filter(({ type }) => type === "compaction")).toMatchObject([{ ok: true, trigger: "reactive" }])
  })

  test("runLoop() stops, resumable, when it is too long even then", async () => {
    const turns = [...rounds, { ...tooLong, text: summary.text }, { ...tooLong, fault: { ...tooLong.fault, times: 2 } }]
    const { result, bodies } = await runPrompt({ unused: "ignore", turns }, { files, rewrites: true })
    expect(bodies).toHaveLength(9)
    expect(result).toMatchObject({ status: "failed", exit: 1, failure: { cause: "model" } })
  })

  test("runLoop() takes model_context_window_exceeded and a 413 the same way", async () => {
    for (const turn of [
      { text: "cut", stop_reason: "model_context_window_exceeded" },
      { text: summary.text, fault: { kind: "status" as const, status: 413 } },
    ]) {
      const asked = "fault" in turn ? [turn] : [turn, summary]
      const { result, bodies } = await runPrompt([...rounds, ...asked, { text: "after" }], { files, rewrites: true })
      expect(result).toMatchObject({ status: "ok", output: "after" })
      expect(bodies).toHaveLength(9)
    }
  })
})

describe("faults of the server", () => {
  const quick = { "retry-after-ms": "1" }

  test.each([
    ["429 with retry-after", { kind: "status", status: 429, headers: quick, times: 2 }],
    ["500", { kind: "status", status: 500, headers: quick }],
    ["529", { kind: "status", status: 529, headers: quick }],
    ["a connection that is reset before the first byte", { kind: "reset" }],
  ] as const)("runLoop() gets its answer after %s, before the first byte", async (_, fault) => {
    const { result, bodies } = await runPrompt([{ text: "fine", fault: { ...fault } }])
    expect(result).toMatchObject({ status: "ok", output: "fine", turns: 1 })
    expect(bodies).toHaveLength(("times" in fault ? fault.times : 1) + 1)
  })

  test.each([
    ["is cut", { kind: "cut", after: 3 }],
    ["ends too early", { kind: "end", after: 3 }],
    ["brings an error event", { kind: "error_event", after: 3 }],
    ["falls silent", { kind: "stall", after: 3 }],
  ] as const)("runLoop() drops the partial message and sends again when the stream %s", async (_, fault) => {
    const clock = { now: () => Date.now(), sleep: async () => {} }
    const env = { SOUS_STALL_MS: "150" }
    const { result, bodies, events } = await runPrompt(
      [{ text: "a long enough answer", chunk: 4, fault: { ...fault } }],
      {
        kit: { clock },
        env,
      },
    )
    expect(result).toMatchObject({ status: "ok", output: "a long enough answer" })
    expect(bodies).toHaveLength(2)
    expect(bodies[1]).toEqual(bodies[0])
    expect(events.some((event) => event.type === "notice" && /broke off/.test(event.message))).toBe(true)
  })

  test("runLoop() runs no tool twice when the stream breaks after a tool_use", async () => {
    const clock = { now: () => Date.now(), sleep: async () => {} }
    const turn = {
      tool: { Write: { file_path: "out.txt", content: "once" } },
      fault: { kind: "cut" as const, after: 6 },
    }
    const { bodies, events } = await runPrompt([turn, { text: "ok" }], { kit: { clock }, flags: writeAll })
    expect(bodies).toHaveLength(3)
    expect(events.filter((event) => event.type === "tool_use")).toHaveLength(1)
  })

  test("runLoop() gives up after four broken streams, and says why", async () => {
    const clock = { now: () => Date.now(), sleep: async () => {} }
    const turn = { text: "x", fault: { kind: "cut" as const, after: 2, times: 5 } }
    const { result, bodies } = await runPrompt({ unused: "ignore", turns: [turn] }, { kit: { clock } })
    expect(bodies).toHaveLength(5)
    expect(result).toMatchObject({ status: "failed", exit: 1, failure: { cause: "infra" } })
  })

  test("runLoop() does not repeat a request that is wrong", async () => {
    const { result, bodies } = await runPrompt({
      unused: "ignore",
      turns: [{ text: "x", fault: { kind: "status", status: 400, message: "bad field" } }],
    })
    expect(bodies).toHaveLength(1)
    expect(result).toMatchObject({
      status: "failed",
      failure: { cause: "model", error: expect.stringContaining("bad field") },
    })
  })
})

describe("stops of the runtime", () => {
  test("runLoop() stops at maxTurns with all results in place", async () => {
    const { result, bodies } = await runPrompt([{ ...read("a.txt"), times: "always" as const }], {
      files: { "a.txt": "x" },
      maxTurns: 3,
    })
    expect(bodies).toHaveLength(3)
    expect(result).toMatchObject({ status: "budget", exit: 5, turns: 3 })
  })

  test("runLoop() stops when the budget is spent", async () => {
    const { result, bodies } = await runPrompt([{ ...read("a.txt"), times: "always" as const }], {
      files: { "a.txt": "x" },
      budget: { turns: 2 },
    })
    expect(bodies).toHaveLength(2)
    expect(result).toMatchObject({ status: "budget", exit: 5 })
  })

  test("runLoop() stops after too many denials in a row", async () => {
    const { result, bodies } = await runPrompt([
      { tool: { Bash: { command: "npm install evil" } }, times: "always" as const },
    ])
    expect(bodies).toHaveLength(10)
    expect(result).toMatchObject({ status: "denied", exit: 4 })
    expect(result.denials).toHaveLength(10)
  })

  test("runLoop() leaves a valid conversation when it is aborted in a tool", async () => {
    let abort = () => {}
    const plugin = slowTool(
      (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("gone")))
          abort()
        }),
    )
    const { result, events } = await runPrompt([{ content: [{ tool: { Slow: {} } }, { tool: { Slow: {} } }] }], {
      plugins: [plugin],
      during: (run) => {
        abort = () => run.abort()
      },
    })
    expect(result).toMatchObject({ status: "cancelled", exit: 130 })
    const results = events.filter((event) => event.type === "tool_result")
    expect(results).toMatchObject([{ isError: true, preview: expect.stringContaining("Interrupted") }])
  })
})

describe("hooks around a turn", () => {
  test("runLoop() appends what hooks inject after all results, and never changes it later", async () => {
    const noisy = definePlugin({ name: "noisy", hooks: { PostToolUse: () => inject("remember the tests") } })
    const { bodies } = await runPrompt([read("a.txt"), read("a.txt"), { text: "ok" }], {
      plugins: [noisy],
      files: { "a.txt": "x" },
    })
    const parts = bodies[1].messages.at(-1).content.map((part: any) => part.text ?? part.type)
    expect(parts).toEqual(["tool_result", "remember the tests"])
    expect(bodies[2].messages[2].content).toHaveLength(2)
  })
})
