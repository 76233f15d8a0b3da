import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { block } from "../../../core/hook.ts"
import {
  agent,
  each,
  parallel,
  pipeline,
  script,
  sh,
  tool,
  until,
  use,
  value,
  write,
} from "../../../core/recipe/declare.ts"
import { readJournal } from "../../../core/recipe/journal.ts"
import { recipe } from "../../../core/recipe/recipe.ts"
import { testRun } from "./engine.ts"

const start = recipe({
  name: "test",
  description: "A recipe for a test",
  params: z.object({ n: z.number().default(2) }),
})

function circle(): object {
  const value: { self?: object } = {}
  value.self = value
  return value
}

/** Lets everything that can go on by itself go on. */
const settle = () => new Promise((go) => setTimeout(go, 5))

describe("runRecipe()", () => {
  it("hands each result to the steps after it and makes the output of all", async () => {
    const { run, cwd } = testRun({ agent: (step) => `<${step.prompt}>` })
    const made = start
      .step("count", ({ params }) => sh`seq ${params.n}`)
      .step("say", ({ count }) => agent({ prompt: count.stdout.trim() }))
      .step("file", ({ say }) => write("out/a.txt", say))
      .output(({ say, file }) => ({ say, path: file.path }))
    const result = await run(made)
    expect(result).toMatchObject({
      run: "run-1",
      recipe: "test",
      status: "ok",
      exit: 0,
      output: { say: "<1\n2>", path: join(cwd, "out/a.txt") },
      steps: [
        { id: "count", ok: true },
        { id: "say", ok: true },
        { id: "file", ok: true },
      ],
      usage: { input: 100, output: 10, cacheRead: 0, cacheWrite: 0 },
      turns: 1,
      tolerated: 0,
      denials: [],
    })
    expect(await readFile(join(cwd, "out/a.txt"), "utf8")).toBe("<1\n2>")
  })

  it("gives the last step's result when a builder has no output", async () => {
    const { run } = testRun()
    expect((await run(start.step("a", () => value(1)).step("b", () => value([2])))).output).toEqual([2])
  })

  it("tells what happens, with run_finished last", async () => {
    const { run, events } = testRun({ agent: () => "fine" })
    const result = await run(start.step("say", () => agent({ prompt: "Hello\nthere" }), { title: "Greets" }))
    expect(events.map(({ type }) => type)).toEqual(["step_started", "step_finished", "run_finished"])
    expect(events[0]).toEqual({ type: "step_started", id: "say", kind: "agent", title: "Greets", step: "say" })
    expect(events[1]).toMatchObject({ id: "say", kind: "agent", ok: true, preview: "fine", usage: { input: 100 } })
    expect(events[2]).toEqual({ type: "run_finished", result })
  })

  it("checks the parameters before anything runs", async () => {
    const { run, events } = testRun()
    const wanted = start.step("a", () => value(1))
    await expect(run(wanted, { params: { m: 1 } })).rejects.toMatchObject({ code: "PARAM_UNKNOWN", mend: 'write "n"' })
    await expect(run(wanted, { params: { n: "x" } })).rejects.toMatchObject({ code: "PARAM_INVALID" })
    await expect(run(start)).rejects.toMatchObject({ code: "RECIPE_EMPTY" })
    expect(events).toEqual([])
  })

  it("skips a step whose `when` is false", async () => {
    const { run, ended } = testRun()
    const made = start
      .step("a", () => sh`echo a`, { when: ({ params }) => params.n > 5 })
      .step("b", ({ a }) => value(a === null ? "skipped" : a.stdout))
    expect((await run(made)).output).toBe("skipped")
    expect((await run(made, { params: { n: 6 } }).catch((error) => error)).code).toBe("JOURNAL_UNWRITABLE")
    expect(ended()).toEqual(["b ok"])
  })
})

describe("a failed step", () => {
  it.each([
    ["tool", "failed", 1],
    ["model", "failed", 1],
    ["infra", "failed", 1],
    ["output", "failed", 1],
    ["budget", "budget", 5],
    ["denied", "denied", 4],
    ["cancelled", "cancelled", 130],
  ] as const)("with the cause %s ends the run as %s, exit %i", async (cause, status, exit) => {
    const { run, ended } = testRun({ agent: () => ({ ok: false, cause, error: "It broke" }) })
    const result = await run(start.step("a", () => agent({ prompt: "" })).step("b", () => value(1)))
    expect(result).toMatchObject({ status, exit, failure: { step: "a", cause, error: "It broke" } })
    expect(result).not.toHaveProperty("output")
    expect(ended()).toEqual([`a ${cause}`])
  })

  it("is handed on as a result with onFail: continue, and the run is degraded", async () => {
    const { run } = testRun()
    const made = start
      .step("risky", () => sh`echo out; echo bad >&2; exit 3`, { onFail: "continue" })
      .step("fine", () => value(1), { onFail: "continue" })
      .output(({ risky, fine }) => ({ risky, fine }))
    const result = await run(made)
    expect(result).toMatchObject({ status: "degraded", exit: 6, tolerated: 1 })
    expect(result.output).toEqual({
      risky: {
        ok: false,
        cause: "tool",
        error: "The command exited with 3: bad",
        partial: { stdout: "out\n", stderr: "bad\n", code: 3 },
      },
      fine: { ok: true, value: 1 },
    })
    expect(result.steps[0]).toEqual({
      id: "risky",
      ok: false,
      failure: { cause: "tool", error: "The command exited with 3: bad" },
    })
  })

  it("of a function that throws names the step and the reason", async () => {
    const { run } = testRun()
    const made = start.step("a", () => {
      throw new TypeError("x is not a function")
    })
    expect((await run(made)).failure).toEqual({
      step: "a",
      cause: "infra",
      code: "STEP_MAKE_FAILED",
      error: 'The step "a" cannot be declared: TypeError: x is not a function',
      mend: "correct the function or the expression that declares it",
    })
  })

  it.each([
    ["undefined", undefined],
    ["a string", "ls"],
    ["a promise", Promise.resolve(value(1))],
    ["an object without a kind", {}],
  ])("that declares %s is refused", async (found, declared) => {
    const { run } = testRun()
    const result = await run(start.step("a", () => declared as never))
    expect(result.failure).toMatchObject({ code: "STEP_DECLARATION_INVALID", error: expect.stringContaining(found) })
  })

  it.each([
    ["a bigint", "value.n", { n: 1n }],
    ["a Date", "value[0]", [new Date(0)]],
    ["NaN", "value.a.b[1]", { a: { b: [1, Number.NaN] } }],
    ["a value that holds itself", "value.self", circle()],
    ["undefined", "value[1]", [1, undefined]],
    ["a function", "value.f", { f: () => 1 }],
    ["a Map", "value", new Map()],
  ])("of a result that is %s names the place", async (found, at, result) => {
    const { run } = testRun()
    const ended = await run(start.step("a", () => value(result)).step("b", () => value(1)))
    const error = `The result of step "a" cannot be kept: "${at}" is ${found}`
    expect(ended).toMatchObject({ status: "failed", steps: [{ id: "a" }] })
    expect(ended.failure).toMatchObject({
      code: "STEP_VALUE_INVALID",
      error,
      mend: expect.stringContaining("plain data"),
    })
    const lines = await readJournal(ended.folder)
    expect(lines.filter(({ type }) => type === "step_end")).toMatchObject([{ path: "a", result: { ok: false } }])
    const output = await testRun().run(start.step("a", () => value(1)).output(() => result))
    expect(output.failure).toMatchObject({ code: "STEP_VALUE_INVALID", cause: "output" })
  })

  it("of a result with an undefined field, or of none at all, is none", async () => {
    const { run } = testRun()
    expect((await run(start.step("a", () => value({ a: 1, b: undefined })))).status).toBe("ok")
    expect((await testRun().run(start.step("a", () => value(undefined)))).status).toBe("ok")
  })

  it("of an output function fails the run", async () => {
    const { run } = testRun()
    const made = start
      .step("a", () => value(1))
      .output(() => {
        throw new Error("no")
      })
    expect(await run(made)).toMatchObject({
      status: "failed",
      failure: { code: "RECIPE_OUTPUT_FAILED", cause: "output" },
    })
  })
})

describe("sh, tool, write", () => {
  it("accept the exit codes that are said to be fine", async () => {
    const { run } = testRun()
    const made = start
      .step("one", () => sh({ ok: [0, 1] })`exit ${1}`)
      .step("any", () => sh({ command: "exit 7", ok: "any" }))
      .output(({ one, any }) => [one.code, any.code])
    expect((await run(made)).output).toEqual([1, 7])
  })

  it("run a command in a folder and with variables of its own", async () => {
    const { run, cwd } = testRun()
    const made = start
      .step("file", () => write("sub/x", ""))
      .step("a", () => sh({ command: 'pwd; echo "$A"', cwd: "sub", env: { A: "1" } }))
    expect((await run(made)).output).toMatchObject({ stdout: `${join(cwd, "sub")}\n1\n` })
  })

  it("are failures with the cause denied when they are denied, and the run says so", async () => {
    const { run } = testRun({ deny: (text) => text.includes("rm") })
    const result = await run(start.step("a", () => sh`rm -rf x`))
    expect(result).toMatchObject({
      status: "denied",
      exit: 4,
      failure: { step: "a", cause: "denied", error: "No rule allows it; add --allow-run" },
      denials: [{ tool: "Shell", reason: "No rule allows it; add --allow-run" }],
    })
  })

  it("call a tool by its name and give its text and data", async () => {
    const { run } = testRun()
    const made = start.step("a", () => tool("Shell", { command: "echo a", timeout: 1 }))
    expect((await run(made)).output).toEqual({ text: "a\n", data: { stdout: "a\n", stderr: "", code: 0 } })
  })

  it("refuse a tool that does not exist, with the nearest name, and a role that nobody plays", async () => {
    const named = testRun()
    expect((await named.run(start.step("a", () => tool("Shel", {})))).failure).toMatchObject({
      code: "STEP_TOOL_UNKNOWN",
    })
    const bare = testRun({ tools: [] })
    expect((await bare.run(start.step("a", () => sh`ls`))).failure).toMatchObject({ code: "STEP_ROLE_MISSING" })
  })
})

describe("agent with verify", () => {
  it("feeds the check's failure back until it holds", async () => {
    const heard: (string | undefined)[] = []
    const { run, cwd, ended } = testRun({
      agent: async (_step, { verify }) => {
        heard.push(await verify?.("answer"))
        await writeFile(join(cwd, "fixed"), "")
        heard.push(await verify?.("answer"))
        return "done"
      },
    })
    const made = start.step("fix", () => agent({ prompt: "", verify: sh`test -e fixed || { echo missing; exit 1; }` }))
    expect((await run(made)).output).toBe("done")
    expect(heard[0]).toContain("The command exited with 1: missing\nOutput of the check:\nmissing")
    expect(heard[1]).toBeUndefined()
    expect(ended()).toEqual(["fix/verify/1 tool", "fix/verify/2 ok", "fix ok"])
  })

  it("is made of the answer when it is a function", async () => {
    const { run } = testRun({ agent: async (_step, { verify }) => (await verify?.("7")) ?? "passed" })
    const made = start.step("fix", () => agent({ prompt: "", verify: (answer) => sh`test ${answer} = 7` }))
    expect((await run(made)).output).toBe("passed")
  })

  it("fails the step when the check could not be made, and never takes that for a no", async () => {
    const { run } = testRun({
      deny: () => true,
      agent: async (_step, { verify }) => `told: ${await verify?.("x")}`,
    })
    const result = await run(start.step("fix", () => agent({ prompt: "", verify: sh`npm test` })))
    expect(result).toMatchObject({ status: "denied", failure: { cause: "denied" } })
    const thrown = await testRun({ agent: async (_step, { verify }) => `told: ${await verify?.("x")}` }).run(
      start.step("fix", () =>
        agent({
          prompt: "",
          verify: () => {
            throw new Error("oops")
          },
        }),
      ),
    )
    expect(thrown.failure).toMatchObject({ code: "STEP_MAKE_FAILED" })
  })
})

describe("each", () => {
  it("finishes every item and keeps values, failures and results apart, in order", async () => {
    const { run, events, ended } = testRun()
    const made = start.step("all", () =>
      each([0, 3, 0, 4], (code, index) => sh`exit ${code}; echo ${index}`, { key: (_, i) => `k${i}` }),
    )
    const result = await run(made)
    expect(result).toMatchObject({
      status: "failed",
      failure: { step: "all", cause: "tool", error: '2 of 4 items failed, 0 may; "k1": The command exited with 3' },
    })
    expect(ended().sort()).toEqual(["all tool", "all/k0 ok", "all/k1 tool", "all/k2 ok", "all/k3 tool"])
    expect(events[0]).toMatchObject({ type: "step_started", id: "all", items: 4 })
  })

  it("tolerates as many failures as it is told, and the run is degraded", async () => {
    const { run } = testRun()
    const made = start
      .step("all", () => each([0, 3, 0], (code) => sh`exit ${code}`, { key: (_, i) => `k${i}`, allowFailures: 1 }))
      .output(({ all }) => ({ ok: all.values.length, failed: all.failed, order: all.results.map(({ ok }) => ok) }))
    expect(await run(made)).toMatchObject({
      status: "degraded",
      exit: 6,
      tolerated: 1,
      output: {
        ok: 2,
        failed: [{ key: "k1", cause: "tool", error: "The command exited with 3" }],
        order: [true, false, true],
      },
    })
  })

  it("works on so many at once, and no more", async () => {
    let running = 0
    let most = 0
    const { run } = testRun({
      agent: async () => {
        most = Math.max(most, ++running)
        await settle()
        running--
        return "x"
      },
    })
    const items = Array.from({ length: 12 }, (_, i) => i)
    await run(start.step("all", () => each(items, (i) => agent({ prompt: `${i}` }), { concurrency: 3 })))
    expect(most).toBe(3)
  })

  it("names items by their content, and refuses two that are the same", async () => {
    const { run, ended } = testRun()
    await run(start.step("all", () => each(["src/a.ts", { deep: true }], () => value(1))))
    expect(ended().sort()).toEqual(["all ok", expect.stringMatching(/^all\/[0-9a-f]{12} ok$/), "all/src/a.ts ok"])
    const twice = await testRun().run(start.step("all", () => each(["a", "b", "a"], () => value(1))))
    expect(twice.failure).toMatchObject({ code: "STEP_KEY_DUPLICATE", error: expect.stringContaining('"a"') })
  })

  it("fails an item whose function throws, and goes on with the others", async () => {
    const { run } = testRun()
    const made = start.step("all", () =>
      each(
        [1, 2],
        (n) => {
          if (n === 1) throw new Error("not this one")
          return value(n)
        },
        { allowFailures: 1 },
      ),
    )
    expect((await run(made)).output).toMatchObject({ values: [2], failed: [{ key: "1", code: "STEP_MAKE_FAILED" }] })
  })
})

describe("pipeline", () => {
  it("takes each item through its stages without waiting for the others", async () => {
    const order: string[] = []
    let release = () => {}
    const slow = new Promise<void>((go) => {
      release = go
    })
    const { run } = testRun({
      agent: async ({ prompt }) => {
        order.push(prompt)
        if (prompt === "one a") await slow
        if (prompt === "two b") release()
        return `${prompt}!`
      },
    })
    const made = start.step("all", () =>
      pipeline(
        ["a", "b"],
        (item) => agent({ prompt: `one ${item}` }),
        (previous, item) => agent({ prompt: previous === `one ${item}!` ? `two ${item}` : "wrong" }),
      ),
    )
    expect((await run(made)).output).toMatchObject({ values: ["two a!", "two b!"] })
    expect(order).toEqual(["one a", "one b", "two b", "two a"])
  })

  it("ends an item at the stage that fails", async () => {
    const { run, ended } = testRun()
    const made = start.step("all", () =>
      pipeline(
        ["0", "1"],
        (code) => sh`exit ${code}`,
        () => value("end"),
        { allowFailures: 1 },
      ),
    )
    expect((await run(made)).output).toMatchObject({ values: ["end"], failed: [{ key: "1" }] })
    expect(ended().sort()).toEqual(["all ok", "all/0/1 ok", "all/0/2 ok", "all/1/1 tool"])
  })
})

describe("parallel", () => {
  it("gives the results by name", async () => {
    const { run } = testRun()
    expect((await run(start.step("both", () => parallel({ a: value(1), b: sh`echo b` })))).output).toEqual({
      a: 1,
      b: { stdout: "b\n", stderr: "", code: 0 },
    })
  })

  it("finishes the others when one fails, and keeps what they gave", async () => {
    const { run, cwd } = testRun()
    const made = start
      .step("both", () => parallel({ bad: sh`exit 2`, good: sh`sleep 0.05; echo done > done; echo fine` }), {
        onFail: "continue",
      })
      .output(({ both }) => both)
    expect((await run(made)).output).toMatchObject({
      ok: false,
      cause: "tool",
      error: '"bad": The command exited with 2',
      partial: { good: { stdout: "fine\n" } },
    })
    expect(await readFile(join(cwd, "done"), "utf8")).toBe("done\n")
  })

  it("ends the others at once when it is told so", async () => {
    const { run, ended } = testRun()
    const made = start.step("both", () => parallel({ bad: sh`exit 2`, slow: sh`exec sleep 30` }, { siblings: "abort" }))
    expect(await run(made)).toMatchObject({ status: "failed", failure: { cause: "tool" } })
    expect(ended()).toEqual(["both/bad tool", "both/slow cancelled", "both tool"])
  })
})

describe("until", () => {
  const fix = (max?: number) =>
    start.step("green", () =>
      until(
        sh`n=$(cat n 2>/dev/null || echo 0); echo "at $n" >&2; test "$n" -ge 2`,
        ({ check, round }) => agent({ prompt: `${round}: ${check.stderr.trim()}` }),
        max === undefined ? {} : { max },
      ),
    )

  it("repeats the body until the check holds, handing it what the last check said", async () => {
    const prompts: string[] = []
    const { run, cwd, ended } = testRun({
      agent: async ({ prompt }) => {
        prompts.push(prompt)
        await writeFile(join(cwd, "n"), `${prompts.length}`)
        return ""
      },
    })
    expect((await run(fix())).output).toEqual({ rounds: 2, check: { stdout: "", stderr: "at 2\n", code: 0 } })
    expect(prompts).toEqual(["1: at 0", "2: at 1"])
    expect(ended()).toEqual([
      "green/check/0 tool",
      "green/round/1 ok",
      "green/check/1 tool",
      "green/round/2 ok",
      "green/check/2 ok",
      "green ok",
    ])
  })

  it("fails when the bodies are used up, with the last check as its partial value", async () => {
    const { run } = testRun()
    const result = await run(fix(1).output(({ green }) => green))
    expect(result).toMatchObject({ status: "failed", failure: { cause: "tool", error: /after 1 rounds: .*at 0/ } })
  })

  it("runs no body when the check holds at once, and asks `holds` when there is one", async () => {
    const { run, ended } = testRun()
    await run(
      start.step("u", () =>
        until(sh({ command: "exit 4", ok: "any" }), () => value(1), { holds: (c) => c.code === 4 }),
      ),
    )
    expect(ended()).toEqual(["u/check/0 ok", "u ok"])
  })

  it("ends with a check that could not be made, instead of taking it for a no", async () => {
    const { run, ended } = testRun({ deny: () => true })
    expect(await run(fix())).toMatchObject({ status: "denied" })
    expect(ended()).toEqual(["green/check/0 denied", "green denied"])
  })

  it("ends with a body that failed", async () => {
    const { run } = testRun({ agent: () => ({ ok: false, cause: "model", error: "It refused" }) })
    expect(await run(fix())).toMatchObject({ status: "failed", failure: { cause: "model", error: "It refused" } })
  })
})

describe("use", () => {
  const inner = recipe({ name: "inner", description: "Inner", params: z.object({ x: z.number() }) })
    .step("double", ({ params }) => value(params.x * 2))
    .output(({ double }) => double)

  it("runs another recipe below its own path, by value or by name", async () => {
    const { run, ended } = testRun({ recipes: [inner] })
    const made = start
      .step("a", () => use(inner, { x: 2 }))
      .step("b", ({ a }) => use("inner", { x: a }))
      .output(({ a, b }) => [a, b])
    expect((await run(made)).output).toEqual([4, 8])
    expect(ended()).toEqual(["a/double ok", "a ok", "b/double ok", "b ok"])
  })

  it("refuses a name or a parameter that does not exist", async () => {
    const first = await testRun({ recipes: [inner] }).run(start.step("a", () => use("iner")))
    expect(first.failure).toMatchObject({ code: "RECIPE_UNKNOWN" })
    const second = await testRun().run(start.step("a", () => use(inner, { y: 1 } as never)))
    expect(second.failure).toMatchObject({ code: "PARAM_UNKNOWN" })
  })

  it("hands a failure up with its cause and where it happened", async () => {
    const broken = recipe({ name: "broken", description: "Broken" }).step("cmd", () => sh`exit 9`)
    expect((await testRun().run(start.step("a", () => use(broken, {})))).failure).toEqual({
      step: "a",
      cause: "tool",
      error: '"cmd": The command exited with 9',
    })
  })

  it("goes five recipes deep and no deeper", async () => {
    const nest = (depth: number): ReturnType<typeof build> => build(depth)
    function build(depth: number) {
      const head = recipe({ name: `n${depth}`, description: "Nested" })
      return head.step("in", (): any => (depth === 0 ? value("bottom") : use(nest(depth - 1), {})))
    }
    expect((await testRun().run(nest(5))).output).toBe("bottom")
    expect((await testRun().run(nest(6))).failure).toMatchObject({ code: "RECIPE_TOO_DEEP" })
  })

  it("runs under what the sub-recipe refuses besides, and under what those around it refuse", async () => {
    const seen: unknown[] = []
    const guard = (name: string, permissions: object) => recipe({ name, description: name, permissions })
    const innermost = guard("innermost", { ask: ["B"], allow: ["C"] }).step("cmd", () => sh`true`)
    const middle = guard("middle", { deny: ["A"] }).step("use", () => use(innermost, {}))
    const { run } = testRun({ deny: (_text, rules) => seen.push(rules) < 0 })
    await run(start.step("use", () => use(middle, {})).step("after", () => sh`true`))
    const rule = (text: string, behavior: string, by: string) => ({ text, behavior, by, scope: "recipe" })
    expect(seen).toEqual([[rule("A", "deny", "middle"), rule("B", "ask", "innermost")], []])
  })

  it("keeps the sub-recipe's own budget", async () => {
    const costly = recipe({ name: "costly", description: "Costly", budget: { turns: 1 } })
      .step("one", () => agent({ prompt: "1" }))
      .step("two", () => agent({ prompt: "2" }))
    const { run, engine } = testRun()
    const result = await run(
      start.step("a", () => use(costly, {}), { onFail: "continue" }).step("b", () => agent({ prompt: "3" })),
    )
    expect(result).toMatchObject({ status: "degraded", turns: 2 })
    expect(engine.spend.exhausted()).toBeUndefined()
  })
})

describe("script", () => {
  it("runs each call as a step of its own, named or numbered", async () => {
    const { run, ended, events } = testRun({ agent: ({ prompt }) => `<${prompt}>` })
    const made = start.step("code", () =>
      script(async (step) => {
        const { stdout } = await step.sh`printf %s ${"a b"}`
        const said = await step.agent({ prompt: stdout, id: "say" })
        const [x, y] = await step.parallel([() => step.run("x", value(1)), async () => 2])
        step.log("so far")
        await step.write("f", said)
        return { said, sum: x + y, code: (await step.sh({ command: "exit 2", ok: "any" })).code }
      }),
    )
    expect((await run(made)).output).toEqual({ said: "<a b>", sum: 3, code: 2 })
    expect(ended()).toEqual(["code/1 ok", "code/say ok", "code/x ok", "code/4 ok", "code/5 ok", "code ok"])
    expect(events).toContainEqual({ type: "notice", level: "info", message: "so far", step: "code" })
  })

  it("fails with the cause of the step that it did not catch, and goes on after one that it did", async () => {
    const failing = start.step("code", () => script(async (step) => void (await step.sh`exit 3`)))
    expect(await testRun({ deny: () => true }).run(failing)).toMatchObject({ status: "denied" })
    const catching = start.step("code", () => script(async (step) => await step.sh`exit 3`.catch(() => "caught")))
    expect(await testRun().run(catching)).toMatchObject({ status: "ok", output: "caught" })
  })

  it("that throws is a failure with its reason", async () => {
    const made = start.step("code", () =>
      script(async () => {
        throw new RangeError("too far")
      }),
    )
    expect((await testRun().run(made)).failure).toMatchObject({
      code: "STEP_SCRIPT_FAILED",
      error: 'The script of step "code" failed: RangeError: too far',
    })
  })

  it("two calls with one id are refused", async () => {
    const made = start.step("code", () =>
      script(async (step) => {
        await step.run("same", value(1))
        await step.run("same", value(2))
      }),
    )
    expect((await testRun().run(made)).failure).toMatchObject({ code: "STEP_KEY_DUPLICATE" })
  })
})

describe("an abort", () => {
  it("ends what runs, starts nothing more, and the run is cancelled", async () => {
    const controller = new AbortController()
    const { run, ended } = testRun({
      agent: async (_step, { signal }) => {
        await new Promise((go) => signal.addEventListener("abort", go))
        return { ok: false, cause: "cancelled", error: "Interrupted" }
      },
    })
    const made = start
      .step("all", () => each([1, 2, 3, 4], (n) => agent({ prompt: `${n}` }), { concurrency: 2, allowFailures: 9 }), {
        onFail: "continue",
      })
      .step("after", () => value(1))
    const running = run(made, { signal: controller.signal })
    setTimeout(() => controller.abort(), 20)
    const result = await running
    expect(result).toMatchObject({ status: "cancelled", exit: 130, failure: { step: "all", cause: "cancelled" } })
    expect(ended()).toEqual(["all/1 cancelled", "all/2 cancelled", "all cancelled"])
  })

  it("by SIGTERM is exit 143", async () => {
    const { run } = testRun()
    const result = await run(
      start.step("a", () => value(1)),
      { signal: AbortSignal.abort("SIGTERM") },
    )
    expect(result).toMatchObject({ status: "cancelled", exit: 143 })
  })

  it("kills a command", async () => {
    const controller = new AbortController()
    const { run } = testRun()
    const running = run(
      start.step("a", () => sh`exec sleep 30`),
      { signal: controller.signal },
    )
    setTimeout(() => controller.abort(), 50)
    expect(await running).toMatchObject({ status: "cancelled", failure: { cause: "cancelled" } })
  })

  it("does not wait for a script that waits for something else", async () => {
    const controller = new AbortController()
    const { run } = testRun()
    const running = run(
      start.step("a", () => script(() => new Promise(() => {}))),
      { signal: controller.signal },
    )
    setTimeout(() => controller.abort(), 20)
    expect(await running).toMatchObject({ status: "cancelled" })
  })
})

describe("a budget", () => {
  it("that is spent ends the run, starts nothing more and keeps what was done", async () => {
    const { run, ended } = testRun({ budget: { turns: 2 } })
    const made = start
      .step("all", () => each([1, 2, 3, 4], (n) => agent({ prompt: `${n}` }), { concurrency: 1, allowFailures: 9 }), {
        onFail: "continue",
      })
      .step("after", () => sh`echo never`)
    const result = await run(made)
    expect(result).toMatchObject({
      status: "budget",
      exit: 5,
      turns: 2,
      failure: { cause: "budget", error: expect.stringContaining("The budget of 2 turns is spent") },
    })
    expect(ended()).toEqual(["all/1 ok", "all/2 ok", "all/3 budget", "all budget"])
  })

  it("of a step or an agent limits that one alone", async () => {
    const { run } = testRun()
    const two = () =>
      parallel({
        a: agent({ prompt: "a" }),
        b: agent({ prompt: "b", budget: { tokens: 50 } }),
        c: agent({ prompt: "c" }),
      })
    const made = start
      .step("own", two, { onFail: "continue" })
      .step("step", () => each([1, 2], () => agent({ prompt: "" }), { concurrency: 1 }), {
        onFail: "continue",
        budget: { turns: 1 },
      })
      .output(({ own, step }) => [own, step])
    const result = await run(made)
    expect(result).toMatchObject({ status: "degraded", turns: 3, tolerated: 2 })
    expect(result.output).toMatchObject([
      { ok: false, cause: "budget", partial: { a: "done", c: "done" } },
      { ok: false, cause: "budget", partial: { values: ["done"] } },
    ])
  })

  it.each([
    ["run", { minutes: 1 }, {}],
    ["step", {}, { budget: { minutes: 1 } }],
  ])("of minutes of the %s ends what runs when they are over", async (_what, budget, options) => {
    const { run, clock, ended } = testRun({ budget })
    const running = run(start.step("a", () => sh`exec sleep 30`, options))
    while (clock.sleeping() === 0) await settle()
    await clock.advance(59_999)
    expect(ended()).toEqual([])
    await clock.advance(1)
    expect(await running).toMatchObject({
      status: "budget",
      exit: 5,
      failure: { step: "a", cause: "budget", error: "The budget of 1 minutes is spent" },
    })
  })

  it("of minutes leaves no timer behind", async () => {
    const { run, clock } = testRun({ budget: { minutes: 1 } })
    await run(start.step("a", () => value(1), { budget: { minutes: 1 } }))
    expect(clock.sleeping()).toBe(0)
  })
})

describe("hooks of runs and steps", () => {
  it("fire with the recipe and the step's path", async () => {
    const seen: string[] = []
    const { run } = testRun({
      hooks: {
        RunStart: (payload) => void seen.push(`RunStart ${payload.recipe}`),
        StepStart: (payload) => void seen.push(`StepStart ${payload.step_id} ${payload.kind}`),
        StepEnd: (payload) => void seen.push(`StepEnd ${payload.step_id} ${payload.ok}`),
        RunEnd: (payload) => void seen.push(`RunEnd ${payload.recipe} ${payload.status}`),
      },
    })
    await run(start.step("a", () => each(["x"], () => value(1))))
    expect(seen).toEqual([
      "RunStart test",
      "StepStart a each",
      "StepStart a/x value",
      "StepEnd a/x true",
      "StepEnd a true",
      "RunEnd test ok",
    ])
  })

  it("block a step or the whole run, as a failure of the cause tool", async () => {
    const step = testRun({ hooks: { StepStart: { matcher: "b", handler: () => block("not today") } } })
    expect(await step.run(start.step("a", () => value(1)).step("b", () => sh`touch ran`))).toMatchObject({
      status: "failed",
      failure: { step: "b", cause: "tool", error: "A hook blocked the step: not today" },
    })
    const whole = testRun({ hooks: { RunStart: () => block("closed") } })
    expect(await whole.run(start.step("a", () => value(1)))).toMatchObject({
      status: "failed",
      exit: 1,
      steps: [],
      failure: { cause: "tool", error: "A hook blocked the run: closed" },
    })
  })
})

describe("the journal of a run", () => {
  it("has each step with its key, and results of the steps that are made of no others", async () => {
    const { run, folder } = testRun()
    await run(
      start.step("a", () => each(["x"], () => value({ big: 1 }))),
      { params: { n: 3 } },
    )
    const entries = await readJournal(folder)
    const key = expect.stringMatching(/^[0-9a-f]{64}$/)
    const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
    expect(entries.map(({ ts: _, ...entry }) => entry)).toEqual([
      { type: "run_start", version: 1, run: "run-1", recipe: "test", params: { n: 3 } },
      { type: "step_start", path: "a", key, kind: "each" },
      { type: "step_start", path: "a/x", key, kind: "value" },
      { type: "step_end", path: "a/x", key, result: { ok: true, value: { big: 1 } }, usage, usd: 0, durationMs: 0 },
      { type: "step_end", path: "a", key, ok: true, usage, usd: 0, durationMs: 0 },
      { type: "run_end", status: "ok", exit: 0 },
    ])
  })
})
