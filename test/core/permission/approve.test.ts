import { describe, expect, it } from "vitest"
import { type ApprovalSource, createApprover } from "../../../core/permission/approve.ts"
import type {
  ApprovalAnswer,
  ApprovalRequest,
  Decision,
  DecisionSource,
  RuleSource,
} from "../../../core/permission/decision.ts"

const decision = (source: DecisionSource, behavior: Decision["behavior"] = "ask"): Decision => ({
  behavior,
  source,
  reason: "because",
  trace: [],
})

function request(id: string, agent = "main", source: DecisionSource = "approval"): ApprovalRequest {
  const who = { id: agent, type: "main", depth: 0 }
  return { id, tool: "Bash", input: {}, decision: decision(source), agent: who, suggestions: [`Bash(${id})`] }
}

/** A source whose answers the test gives, and which notes when it is called off. */
function source(name: string, kind: ApprovalSource["kind"] = "person") {
  const asked: { id: string; signal: AbortSignal; settle: (answer?: ApprovalAnswer) => void; fail: () => void }[] = []
  const made: ApprovalSource = {
    name,
    kind,
    answer: ({ id }, signal) =>
      new Promise((resolve, reject) =>
        asked.push({ id, signal, settle: resolve, fail: () => reject(new Error(name)) }),
      ),
  }
  return { ...made, asked }
}

const started = () => new Promise((resolve) => setImmediate(resolve))
const live = () => new AbortController().signal
const answering = (name: string, kind: ApprovalSource["kind"], answer?: ApprovalAnswer): ApprovalSource => ({
  name,
  kind,
  answer: async () => answer,
})

describe("createApprover()", () => {
  it("starts all sources together; the first answer settles, the others are called off and change nothing", async () => {
    const [person, hook] = [source("terminal"), source("hook", "hook")]
    const approver = createApprover({ sources: [person], grants: new Map() })
    const settled = approver.approve(request("a"), { signal: live(), sources: [hook] })
    await started()
    expect([person.asked.length, hook.asked.length]).toEqual([1, 1])
    hook.asked[0]!.settle({ behavior: "allow" })
    expect(await settled).toEqual({ behavior: "allow", by: "hook", person: false })
    expect(person.asked[0]!.signal.aborted).toBe(true)
    person.asked[0]!.settle({ behavior: "deny" })
    expect(approver.open()).toEqual([])
  })

  it("takes a source that fails or declines as no answer", async () => {
    const throwing: ApprovalSource = { name: "x", kind: "hook", answer: () => Promise.reject(new Error("x")) }
    const sources = [throwing, answering("y", "hook"), answering("z", "person", { behavior: "deny", message: "no" })]
    const approver = createApprover({ sources, grants: new Map() })
    expect(await approver.approve(request("a"), { signal: live() })).toMatchObject({
      behavior: "deny",
      message: "no",
      by: "z",
    })
  })

  it("says nothing when all have declined, when there is nobody, and when the run is aborted", async () => {
    const grants = new Map()
    expect(
      await createApprover({ sources: [answering("x", "person")], grants }).approve(request("a"), { signal: live() }),
    ).toBeUndefined()
    expect(await createApprover({ sources: [], grants }).approve(request("a"), { signal: live() })).toBeUndefined()
    const run = new AbortController()
    const silent = source("terminal")
    const waiting = createApprover({ sources: [silent], grants }).approve(request("a"), { signal: run.signal })
    await started()
    run.abort()
    expect(await waiting).toBeUndefined()
    expect(silent.asked[0]!.signal.aborted).toBe(true)
  })

  it.each(["ask", "protected", "hook"] as const)("lets only a person allow what %s asks about", async (from) => {
    const yes: ApprovalAnswer = { behavior: "allow" }
    const helpers = [answering("hook", "hook", yes), answering("classifier", "classifier", yes)]
    const approver = createApprover({ sources: helpers, grants: new Map() })
    expect(await approver.approve(request("a", "main", from), { signal: live() })).toBeUndefined()
    const denying = createApprover({ sources: [answering("hook", "hook", { behavior: "deny" })], grants: new Map() })
    expect(await denying.approve(request("a", "main", from), { signal: live() })).toMatchObject({ behavior: "deny" })
    const person = createApprover({ sources: [...helpers, answering("person", "person", yes)], grants: new Map() })
    expect(await person.approve(request("a", "main", from), { signal: live() })).toMatchObject({ by: "person" })
  })

  it("does not take a classifier's refusal for an answer", async () => {
    const sources = [answering("classifier", "classifier", { behavior: "deny" })]
    const approver = createApprover({ sources, grants: new Map() })
    expect(await approver.approve(request("a"), { signal: live() })).toBeUndefined()
  })

  it("keeps several questions open, answered in any order and from outside", async () => {
    const approver = createApprover({ sources: [source("terminal")], grants: new Map() })
    const [a, b, c] = ["a", "b", "c"].map((id) => approver.approve(request(id), { signal: live() }))
    await started()
    expect(approver.open().map(({ id }) => id)).toEqual(["a", "b", "c"])
    expect(approver.answer("b", { behavior: "deny" }, "cli")).toBe(true)
    expect(approver.answer("a", { behavior: "allow" }, "cli")).toBe(true)
    expect(await b).toEqual({ behavior: "deny", by: "cli", person: true })
    expect(await a).toEqual({ behavior: "allow", by: "cli", person: true })
    expect(approver.answer("a", { behavior: "deny" }, "cli")).toBe(false)
    expect(approver.open().map(({ id }) => id)).toEqual(["c"])
    approver.answer("c", { behavior: "allow" }, "cli")
    expect((await c)?.by).toBe("cli")
  })

  it("keeps what was shown as a grant of that agent, and judges its waiting calls again", async () => {
    const grants = new Map<string, RuleSource[]>()
    const approver = createApprover({ sources: [source("terminal")], grants })
    const judge = (agent: string, text: string) => () => {
      const granted = grants.get(agent)?.some((rule) => rule.text === text)
      return decision("allow", granted ? "allow" : "ask")
    }
    const first = approver.approve(request("x", "one"), { signal: live(), reevaluate: judge("one", "Bash(x)") })
    const same = approver.approve(request("x", "one"), { signal: live(), reevaluate: judge("one", "Bash(x)") })
    const other = approver.approve(request("y", "one"), { signal: live(), reevaluate: judge("one", "Bash(y)") })
    const child = approver.approve(request("x", "two"), { signal: live(), reevaluate: judge("two", "Bash(x)") })
    await started()
    approver.answer("x", { behavior: "allow", remember: "session" }, "terminal")
    expect((await first)?.by).toBe("terminal")
    expect(await same).toEqual({ behavior: "allow", by: "grant" })
    expect(grants).toEqual(new Map([["one", [{ text: "Bash(x)", behavior: "allow", scope: "session" }]]]))
    await started()
    expect(approver.open().map(({ id, agent }) => `${id} ${agent.id}`)).toEqual(["y one", "x two"])
    for (const id of ["y", "x"]) approver.answer(id, { behavior: "deny" }, "terminal")
    expect([(await other)?.behavior, (await child)?.behavior]).toEqual(["deny", "deny"])
  })

  it("keeps no grant for a denial or for an input that the answer changed", async () => {
    const grants = new Map<string, RuleSource[]>()
    for (const answer of [{ behavior: "deny" }, { behavior: "allow", input: {} }] as const) {
      const sources = [answering("person", "person", { ...answer, remember: "session" })]
      await createApprover({ sources, grants }).approve(request("a"), { signal: live() })
    }
    expect(grants.size).toBe(0)
  })
})
