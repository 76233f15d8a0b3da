import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  agent,
  type Contribution,
  createKit,
  definePlugin,
  each,
  mergeSettings,
  parallel,
  type Recipe,
  type RunEvent,
  type RunOptions,
  type RunResult,
  recipe,
  sh,
} from "sous"
import type { TurnSource } from "sous/testing"
import { describe, expect, test } from "vitest"
import { grantsFile } from "../../core/session/grants.ts"
import { defaultPlugins } from "../../plugins/default.ts"
import { after, folder, lastResults, runPrompt, serve } from "../harness.ts"

interface Ran {
  result: RunResult<any>
  events: RunEvent[]
  cwd: string
  state: string
}

interface RanOptions extends RunOptions {
  cwd?: string
  state?: string
  adds?: Contribution
  turns?: Extract<TurnSource, readonly unknown[]>
  denialLimit?: number
}

/** Runs a recipe with real tools; without turns no model is asked. */
async function runSteps(steps: Recipe<any, any>, options: RanOptions = {}): Promise<Ran> {
  const { cwd = folder(), state = folder(), adds = {}, turns = [], ...run } = options
  const server = await serve(turns)
  const home = folder()
  const kit = await createKit({
    plugins: [...defaultPlugins, definePlugin({ name: "adds", ...adds })],
    cwd,
    state,
    home,
    strict: true,
    env: { PATH: process.env["PATH"], HOME: home, ...server.env },
  })
  after(() => kit.close())
  const events: RunEvent[] = []
  const model = turns.length === 0 ? {} : { model: "claude-opus-5-5" }
  const result = await kit.run(steps, { ...model, ...run, onEvent: (event) => events.push(event) }).result
  return { result, events, cwd, state }
}

const touch = (name: string) => sh({ command: `touch ${name}` })
const touches = (...names: string[]) =>
  recipe({ name: "touches", description: "Makes files" }).step("make", () =>
    parallel(Object.fromEntries(names.map((name) => [name, touch(name)]))),
  )

/** A host that keeps every question until the test answers it. */
function host() {
  const open = new Map<
    string,
    { answer(answer?: ApprovalAnswer): void; request: ApprovalRequest; signal: AbortSignal }
  >()
  const ask = (request: ApprovalRequest, signal: AbortSignal) =>
    new Promise<ApprovalAnswer | undefined>((answer) => {
      open.set((request.input as { command: string }).command, { answer, request, signal })
    })
  const asked = (...commands: string[]) =>
    expect.poll(() => [...open.keys()].sort(), { interval: 2 }).toEqual([...commands].sort())
  return { ask, asked, open }
}

const bash = (command: string) => ({ tool: { Bash: { command } } })

describe("several questions at once", () => {
  test("are answered in any order, each for itself", async () => {
    const { ask, asked, open } = host()
    const running = runSteps(touches("a", "b", "c"), { ask })
    await asked("touch a", "touch b", "touch c")
    open.get("touch c")!.answer({ behavior: "allow" })
    open.get("touch a")!.answer({ behavior: "deny", message: "not a" })
    open.get("touch b")!.answer({ behavior: "allow" })
    const { result, cwd } = await running
    expect(["a", "b", "c"].map((name) => existsSync(join(cwd, name)))).toEqual([false, true, true])
    expect(result).toMatchObject({ status: "denied", exit: 4 })
    expect(result.denials).toMatchObject([{ tool: "Bash", reason: expect.stringContaining("not a") }])
  })

  test("a grant answers those that it fits, and only those", async () => {
    const { ask, asked, open } = host()
    const steps = recipe({ name: "twice", description: "Asks thrice" }).step("make", () =>
      parallel({ one: sh`touch a`, two: sh({ command: "touch a && true" }), three: sh`touch ab` }),
    )
    const running = runSteps(steps, { ask })
    await asked("touch a", "touch a && true", "touch ab")
    open.get("touch a")!.answer({ behavior: "allow", remember: "session" })
    await expect.poll(() => open.get("touch a && true")!.signal.aborted, { interval: 2 }).toBe(true)
    expect(open.get("touch ab")!.signal.aborted).toBe(false)
    open.get("touch a && true")!.answer({ behavior: "deny" })
    open.get("touch ab")!.answer({ behavior: "allow" })
    const { result, events } = await running
    expect(result.status).toBe("ok")
    const settled = events.flatMap((event) => (event.type === "approval_settled" ? [event.by] : []))
    expect(settled.sort()).toEqual(["grant", "the person", "the person"])
  })
})

describe("the race", () => {
  test("a late answer grants nothing", async () => {
    const late: ApprovalAnswer = { behavior: "allow", remember: "session" }
    let answered = () => {}
    const settled = new Promise<void>((resolve) => {
      answered = resolve
    })
    const questions: string[] = []
    const { result } = await runSteps(
      recipe({ name: "late", description: "d" })
        .step("a", () => sh`touch a`)
        .step("b", () => sh`touch a`),
      {
        ask: async ({ agent: { step = "" } }, signal) => {
          questions.push(step)
          if (step === "b") return { behavior: "allow" }
          await new Promise((resolve) => signal.addEventListener("abort", resolve))
          answered()
          return late
        },
        adds: {
          hooks: {
            PermissionRequest: async ({ session_id }) => {
              if (questions.length > 1) return await new Promise(() => {})
              return session_id === "" ? undefined : { kind: "allow" }
            },
          },
        },
      },
    )
    await settled
    expect(result.status).toBe("ok")
    expect(questions).toEqual(["a", "b"])
  })

  test("an answer after the run was aborted runs nothing and keeps nothing", async () => {
    const run = new AbortController()
    const { ask, asked, open } = host()
    const running = runSteps(touches("a"), { ask, signal: run.signal })
    await asked("touch a")
    run.abort()
    open.get("touch a")!.answer({ behavior: "allow", remember: "project" })
    const { result, cwd, state } = await running
    expect(result.status).toBe("cancelled")
    expect(existsSync(join(cwd, "a"))).toBe(false)
    expect(existsSync(grantsFile(state, cwd))).toBe(false)
  })

  test("an input that an answer changed is checked and decided again", async () => {
    const deny = [{ text: "Bash(touch evil)", behavior: "deny" as const, scope: "cli" as const }]
    const changing = (command: unknown) => async () =>
      ({ behavior: "allow", remember: "session", input: { command } }) as ApprovalAnswer
    const denied = await runPrompt([bash("touch a"), { text: "ok" }], { ask: changing("touch evil"), rules: deny })
    expect(lastResults(denied.bodies[1])[0]).toMatchObject({
      isError: true,
      text: expect.stringContaining("touch evil"),
    })
    const broken = await runPrompt([bash("touch a"), { text: "ok" }], { ask: changing(7) })
    expect(lastResults(broken.bodies[1])[0]).toMatchObject({ isError: true, text: expect.stringContaining("command") })
    const fine = await runPrompt([bash("touch a"), bash("touch b"), { text: "ok" }], { ask: changing("touch b") })
    expect(existsSync(join(fine.cwd, "b"))).toBe(true)
    // What was asked about is not what ran: neither was granted.
    expect(fine.events.filter(({ type }) => type === "approval_requested")).toHaveLength(2)
  })

  test("is lost by all: the denial names the rule to add", async () => {
    const { bodies } = await runPrompt([bash("npm test"), { text: "ok" }], {
      ask: async () => undefined,
      plugins: [
        definePlugin({ name: "broken", hooks: { PermissionRequest: () => Promise.reject(new Error("gone")) } }),
      ],
    })
    expect(lastResults(bodies[1])[0]?.text).toMatch(
      /nobody answered: run again with --allow-run=npm, or add the rule "Bash\(npm test\)"/,
    )
  })

  test("a hook's answer may bring a rule for the conversation", async () => {
    let asked = 0
    const hooks: Contribution["hooks"] = {
      PermissionRequest: () => {
        asked++
        return { kind: "allow", rules: ["Bash(touch *)"] }
      },
    }
    const steps = recipe({ name: "two", description: "d" })
      .step("a", () => sh`touch a`)
      .step("b", () => sh`touch b`)
    expect((await runSteps(steps, { adds: { hooks } })).result.status).toBe("ok")
    expect(asked).toBe(1)
  })

  test("a classifier may only say that a call is plainly safe, and never about what a rule asks", async () => {
    const seen: string[] = []
    const classify = async ({ input }: { input: unknown }) => {
      const { command } = input as { command: string }
      seen.push(command)
      if (command === "touch broken") throw new Error("no idea")
      return command === "touch safe" ? ("safe" as const) : undefined
    }
    const ask = [{ text: "Bash(touch guarded)", behavior: "ask" as const, scope: "cli" as const }]
    const { result, cwd } = await runSteps(touches("safe", "unsafe", "broken", "guarded"), {
      adds: { permissions: { classify } },
      rules: ask,
    })
    expect(result.status).toBe("denied")
    expect(["safe", "unsafe", "broken", "guarded"].filter((name) => existsSync(join(cwd, name)))).toEqual(["safe"])
    expect(seen.sort()).toEqual(["touch broken", "touch safe", "touch unsafe"])
  })
})

describe("an answer for the project", () => {
  const always =
    (questions: string[]) =>
    async (request: ApprovalRequest): Promise<ApprovalAnswer> => {
      questions.push(request.agent.step ?? "")
      return { behavior: "allow", remember: "project" }
    }

  test("holds for later runs and for the folders below, and leaves nothing in the project", async () => {
    const cwd = folder({ ".git/HEAD": "", "sub/x": "" })
    const state = folder()
    const questions: string[] = []
    const first = await runSteps(touches("a"), { cwd, state, ask: always(questions) })
    expect(first.result.status).toBe("ok")
    const second = await runSteps(touches("a"), { cwd: join(cwd, "sub"), state })
    expect(second.result.status).toBe("ok")
    expect(questions).toEqual(["make/a"])
    const file = grantsFile(state, cwd)
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ project: cwd, grants: [{ rule: "Bash(touch a)" }] })
    const decisions = second.events.flatMap((event) => (event.type === "permission" ? [event.decision] : []))
    expect(decisions).toMatchObject([{ source: "allow", rule: { scope: "local", file, line: 5 } }])
    expect(decisions[0]!.reason).toMatch(
      /^The rule "Bash\(touch a\)" \(local grant of \d{4}-\d\d-\d\d, .*grants\.json:5\)/,
    )
    const other = await runSteps(touches("a"), { state })
    expect(other.result.status).toBe("denied")
  })

  test("never beats a rule that asks or denies", async () => {
    const state = folder()
    const cwd = folder()
    await runSteps(touches("a"), { cwd, state, ask: always([]) })
    for (const behavior of ["ask", "deny"] as const) {
      const rules = [{ text: "Bash(touch *)", behavior, scope: "user" as const }]
      expect((await runSteps(touches("a"), { cwd, state, rules })).result.status).toBe("denied")
    }
  })

  test("is kept by every run that gives one at the same time", async () => {
    const state = folder()
    const cwd = folder()
    const names = ["a", "b", "c", "d", "e"]
    await Promise.all(names.map((name) => runSteps(touches(name), { cwd, state, ask: always([]) })))
    expect((await runSteps(touches(...names), { cwd, state })).result.status).toBe("ok")
  })

  test("is not taken from a broken file, which is said once and kept as it is", async () => {
    const state = folder()
    const cwd = folder()
    const questions: string[] = []
    await runSteps(touches("a"), { cwd, state, ask: always([]) })
    writeFileSync(grantsFile(state, cwd), "{")
    const { result, events } = await runSteps(touches("a", "b"), { cwd, state, ask: always(questions) })
    expect(result.status).toBe("ok")
    expect(questions).toHaveLength(2)
    const notices = events.flatMap((event) => (event.type === "notice" ? [`${event.level} ${event.code}`] : []))
    // Said at the start, and for each grant that could not be kept.
    expect(notices).toEqual(Array.from({ length: 3 }, () => "warning PERMISSION_GRANTS_UNREADABLE"))
    expect(readFileSync(grantsFile(state, cwd), "utf8")).toBe("{")
  })
})

describe("an answer for the step of a fan-out", () => {
  test("holds for all its items, and for no other step", async () => {
    const questions: string[] = []
    const fan = () => each(["1", "2", "3"], () => sh`touch a`, { key: (item) => `src/${item}`, concurrency: 1 })
    const steps = recipe({ name: "fans", description: "d" })
      .step("first", fan)
      .step("second", fan)
      .step("third", () => sh`touch a`)
    const { result } = await runSteps(steps, {
      ask: async ({ agent: { step = "", each: fanOut } }) => {
        questions.push(`${step} of ${fanOut}`)
        return { behavior: "allow", remember: "step" }
      },
    })
    expect(result.status).toBe("ok")
    expect(questions).toEqual(["first/src/1 of first", "second/src/1 of second", "third of undefined"])
  })
})

describe("denials in a row", () => {
  const limit = (denialLimit: number) => {
    const values = { permissions: { denialLimit } }
    return { kit: { settings: mergeSettings([{ scope: "user", base: "/", values }]) } }
  }

  test("are counted for the whole run: a fan-out that tolerates failures is stopped", async () => {
    const items = Array.from({ length: 14 }, (_, i) => String(i))
    const steps = recipe({ name: "fan", description: "d" })
      .step("fan", () => each(items, (item) => touch(item), { allowFailures: 14, concurrency: 1 }))
      .step("after", () => sh`ls`)
    const { result, events } = await runSteps(steps)
    expect(result).toMatchObject({ status: "denied", exit: 4 })
    expect(events.filter(({ type }) => type === "permission")).toHaveLength(10)
    expect(result.failure?.error).toContain("10 calls in a row were denied")
  })

  test("of a subagent stop the agent that started it, and an allowed call starts the count anew", async () => {
    const npm = bash("npm i x")
    const sub = { tool: { Agent: { prompt: "work", description: "d", subagent_type: "general" } } }
    const turns = [npm, npm, npm, bash("ls"), npm, npm, npm, sub, npm, npm, npm, npm]
    const { result, bodies } = await runPrompt(turns, { rewrites: true, ...limit(4) })
    expect(result).toMatchObject({ status: "denied", exit: 4 })
    expect(bodies).toHaveLength(turns.length)
  })

  test("by a person offer plan mode after three, and stop nothing", async () => {
    const offers: number[] = []
    let questions = 0
    const turns = [...Array.from({ length: 11 }, () => bash("touch a")), { text: "ok" }]
    const { result } = await runPrompt(turns, {
      ask: async () => {
        questions++
        return { behavior: "deny" }
      },
      offerPlanMode: async () => {
        offers.push(questions)
        return false
      },
    })
    expect(result.status).toBe("ok")
    expect(questions).toBe(11)
    expect(offers).toEqual([3, 6, 9])
  })

  test("and a yes to the offer puts the conversation into plan mode", async () => {
    let questions = 0
    const { bodies, events } = await runPrompt([...Array.from({ length: 4 }, () => bash("touch a")), { text: "ok" }], {
      rewrites: true,
      ask: async () => {
        questions++
        return { behavior: "deny", message: `no ${questions}` }
      },
      offerPlanMode: async () => true,
    })
    expect(questions).toBe(3)
    expect(lastResults(bodies[3])[0]?.text).toContain("no 3")
    expect(JSON.stringify(bodies[3].messages.at(-1))).toContain("Plan mode is on")
    expect(lastResults(bodies[4])[0]?.text).toContain("plan mode")
    expect(events.some((event) => event.type === "notice" && event.message.startsWith("Plan mode"))).toBe(true)
  })

  test("of a step of a recipe offer nothing, and a host that cannot be reached has not said yes", async () => {
    let offered = 0
    const steps = recipe({ name: "no", description: "d" }).step("make", () =>
      each(["1", "2", "3"], (item) => touch(item), { allowFailures: 3, concurrency: 1 }),
    )
    const offerPlanMode = async () => {
      offered++
      throw new Error("gone")
    }
    await runSteps(steps, { ask: async () => ({ behavior: "deny" }), offerPlanMode })
    expect(offered).toBe(0)
    const agents = recipe({ name: "agents", description: "d" }).step("work", () => agent({ prompt: "Go" }))
    const turns = [...Array.from({ length: 4 }, () => bash("touch a")), { text: "ok" }]
    const { events } = await runSteps(agents, { ask: async () => ({ behavior: "deny" }), offerPlanMode, turns })
    expect(offered).toBe(1)
    expect(events.filter(({ type }) => type === "approval_requested")).toHaveLength(4)
  })
})
