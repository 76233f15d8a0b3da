import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type ApprovalSource, createApprover } from "../../../core/permission/approve.ts"
import type { ApprovalAnswer, ApprovalRequest, Decision, DecisionSource } from "../../../core/permission/decision.ts"
import { createGrants } from "../../../core/permission/grant.ts"

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

const noGrants = () => createGrants({ now: () => 0 })
const textsOf = (grants: ReturnType<typeof noGrants>, id: string) =>
  grants.of({ id, type: "main", depth: 0 }).map(({ text }) => text)

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
    const approver = createApprover({ sources: [person], grants: noGrants() })
    const settled = approver.approve(request("a"), { signal: live(), sources: [hook] })
    await started()
    expect([person.asked.length, hook.asked.length]).toEqual([1, 1])
    hook.asked[0]!.settle({ behavior: "allow" })
    expect(await settled).toEqual({ behavior: "allow", by: "hook", person: false })
    expect(person.asked[0]!.signal.aborted).toBe(true)
    person.asked[0]!.settle({ behavior: "deny" })
    expect(approver.open()).toEqual([])
  })

  it.each([
    ["whose no comes later", "deny", { behavior: "deny", by: "terminal", person: true }],
    ["who declines after all", undefined, { behavior: "allow", by: "hook", person: false }],
  ] as const)("lets nobody overtake a person who has begun to answer, %s", async (_, answers, settles) => {
    const hook = source("hook", "hook")
    let finish = () => {}
    const person: ApprovalSource = {
      name: "terminal",
      kind: "person",
      answer: async (_, __, floor) => {
        const release = floor.hold()
        await new Promise<void>((resolve) => {
          finish = resolve
        })
        if (answers !== undefined) return { behavior: answers }
        release()
        return undefined
      },
    }
    const approver = createApprover({ sources: [person], grants: noGrants() })
    const settled = approver.approve(request("a"), { signal: live(), sources: [hook] })
    await started()
    hook.asked[0]!.settle({ behavior: "allow" })
    await started()
    expect(approver.open()).toHaveLength(1)
    finish()
    expect(await settled).toEqual(settles)
  })

  it("takes a source that fails or declines as no answer", async () => {
    const throwing: ApprovalSource = { name: "x", kind: "hook", answer: () => Promise.reject(new Error("x")) }
    const sources = [throwing, answering("y", "hook"), answering("z", "person", { behavior: "deny", message: "no" })]
    const approver = createApprover({ sources, grants: noGrants() })
    expect(await approver.approve(request("a"), { signal: live() })).toMatchObject({
      behavior: "deny",
      message: "no",
      by: "z",
    })
  })

  it("says nothing when all have declined, when there is nobody, and when the run is aborted", async () => {
    const grants = noGrants()
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
    const approver = createApprover({ sources: helpers, grants: noGrants() })
    expect(await approver.approve(request("a", "main", from), { signal: live() })).toBeUndefined()
    const denying = createApprover({ sources: [answering("hook", "hook", { behavior: "deny" })], grants: noGrants() })
    expect(await denying.approve(request("a", "main", from), { signal: live() })).toMatchObject({ behavior: "deny" })
    const person = createApprover({ sources: [...helpers, answering("person", "person", yes)], grants: noGrants() })
    expect(await person.approve(request("a", "main", from), { signal: live() })).toMatchObject({ by: "person" })
  })

  it("does not take a classifier's refusal for an answer", async () => {
    const sources = [answering("classifier", "classifier", { behavior: "deny" })]
    const approver = createApprover({ sources, grants: noGrants() })
    expect(await approver.approve(request("a"), { signal: live() })).toBeUndefined()
  })

  it("keeps several questions open, answered in any order and from outside", async () => {
    const approver = createApprover({ sources: [source("terminal")], grants: noGrants() })
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

  it("keeps what was shown as a grant of that agent, and judges waiting calls again", async () => {
    const grants = noGrants()
    const approver = createApprover({ sources: [source("terminal")], grants })
    const judge = (agent: string, text: string) => () =>
      decision("allow", textsOf(grants, agent).includes(text) ? "allow" : "ask")
    const first = approver.approve(request("x", "one"), { signal: live(), reevaluate: judge("one", "Bash(x)") })
    const same = approver.approve(request("x", "one"), { signal: live(), reevaluate: judge("one", "Bash(x)") })
    const other = approver.approve(request("y", "one"), { signal: live(), reevaluate: judge("one", "Bash(y)") })
    const child = approver.approve(request("x", "two"), { signal: live(), reevaluate: judge("two", "Bash(x)") })
    await started()
    approver.answer("x", { behavior: "allow", remember: "session" }, "terminal")
    const granted = { text: "Bash(x)", behavior: "allow", scope: "session", granted: "1970-01-01T00:00:00.000Z" }
    expect(await first).toMatchObject({ by: "terminal", granted: [granted] })
    expect(await same).toEqual({ behavior: "allow", by: "grant" })
    expect(textsOf(grants, "one")).toEqual(["Bash(x)"])
    await started()
    expect(approver.open().map(({ id, agent }) => `${id} ${agent.id}`)).toEqual(["y one", "x two"])
    for (const id of ["y", "x"]) approver.answer(id, { behavior: "deny" }, "terminal")
    expect([(await other)?.behavior, (await child)?.behavior]).toEqual(["deny", "deny"])
  })

  it.each(["ask", "protected", "rules", "plan", "hook"] as const)(
    "lets no grant answer what %s asks about",
    async (from) => {
      const approver = createApprover({ sources: [source("terminal")], grants: noGrants() })
      const reevaluate = () => decision("allow", "allow")
      const guarded = approver.approve(request("g", "main", from), { signal: live(), reevaluate })
      const plain = approver.approve(request("p"), { signal: live(), reevaluate })
      approver.answer("p", { behavior: "allow", remember: "session" }, "terminal")
      await plain
      await started()
      expect(approver.open().map(({ id }) => id)).toEqual(["g"])
      approver.answer("g", { behavior: "deny" }, "terminal")
      expect((await guarded)?.behavior).toBe("deny")
    },
  )

  it("starts no classifier for what the safety classifier stopped, and lets hooks answer it", async () => {
    const yes: ApprovalAnswer = { behavior: "allow" }
    const sources = [answering("classifier", "classifier", yes), answering("hook", "hook", yes)]
    const approver = createApprover({ sources, grants: noGrants() })
    expect(await approver.approve(request("a", "main", "mode"), { signal: live() })).toMatchObject({ by: "hook" })
  })

  it("keeps no grant for a denial, an input that the answer changed, a word that it does not know", async () => {
    const grants = noGrants()
    const answers = [{ behavior: "deny" }, { behavior: "allow", input: {} }, { behavior: "allow", remember: "ever" }]
    for (const answer of answers) {
      const given = { remember: "session", ...answer } as ApprovalAnswer
      const approver = createApprover({ sources: [answering("person", "person", given)], grants })
      await approver.approve(request("a"), { signal: live() })
    }
    expect(textsOf(grants, "main")).toEqual([])
  })

  it("takes no answer once the run was aborted, not even one that came in the same moment", async () => {
    const grants = noGrants()
    const run = new AbortController()
    const approver = createApprover({ sources: [source("terminal")], grants })
    const settled = approver.approve(request("a"), { signal: run.signal })
    approver.answer("a", { behavior: "allow", remember: "project" }, "terminal")
    run.abort()
    expect(await settled).toBeUndefined()
    expect(textsOf(grants, "main")).toEqual([])
    expect(await approver.approve(request("b"), { signal: run.signal })).toBeUndefined()
  })
})

/** What may happen to the questions of a run, in any order. */
type Happening =
  | { kind: "source"; question: number; source: number; does: "allow" | "deny" | "always" | "decline" | "fail" }
  | { kind: "outside"; question: number; does: "allow" | "deny" }
  | { kind: "abort" }

const QUESTIONS = 3
const SOURCES = ["person", "hook", "hook"] as const

describe("createApprover() laws", () => {
  const happening: fc.Arbitrary<Happening> = fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        kind: fc.constant("source" as const),
        question: fc.nat(QUESTIONS - 1),
        source: fc.nat(SOURCES.length - 1),
        does: fc.constantFrom("allow", "deny", "always", "decline", "fail"),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("outside" as const),
        question: fc.nat(QUESTIONS - 1),
        does: fc.constantFrom("allow", "deny"),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ kind: "abort" as const }) },
  )

  it("whatever the order, the first answer of each question counts and nothing after it does", async () => {
    const personal = fc.array(fc.boolean(), { minLength: QUESTIONS, maxLength: QUESTIONS })
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 14 }), personal, async (happenings, guarded) => {
        const real = await play(happenings, guarded)
        expect(real).toEqual(foretell(happenings, guarded))
      }),
      { numRuns: 400 },
    )
  })
})

/** Lets it happen, one after another. Says what became of each question, and what was granted. */
async function play(happenings: readonly Happening[], guarded: readonly boolean[]) {
  const run = new AbortController()
  const grants = noGrants()
  const sources = SOURCES.map((kind, index) => source(`s${index}`, kind))
  const approver = createApprover({ sources, grants })
  const results: (string | undefined)[] = Array.from({ length: QUESTIONS })
  const id = (question: number) => `q${question}`
  for (let question = 0; question < QUESTIONS; question++) {
    const asked = request(id(question), "main", guarded[question] ? "ask" : "approval")
    void approver.approve(asked, { signal: run.signal }).then((answer) => {
      results[question] = answer === undefined ? "none" : `${answer.behavior} ${answer.by}`
    })
  }
  await started()
  const used = new Set<string>()
  for (const one of happenings) {
    if (one.kind === "abort") run.abort()
    else if (one.kind === "outside") approver.answer(id(one.question), { behavior: one.does }, "outside")
    else if (!used.has(`${one.question} ${one.source}`)) {
      used.add(`${one.question} ${one.source}`)
      const open = sources[one.source]!.asked.find((asked) => asked.id === id(one.question))!
      if (one.does === "fail") open.fail()
      else if (one.does === "decline") open.settle()
      else if (one.does === "deny") open.settle({ behavior: "deny" })
      else open.settle({ behavior: "allow", ...(one.does === "always" ? { remember: "session" } : {}) })
    }
    await started()
  }
  run.abort()
  await started()
  return { results, granted: textsOf(grants, "main").sort() }
}

/** The same by the rules of the page alone. */
function foretell(happenings: readonly Happening[], guarded: readonly boolean[]) {
  const results = guarded.map((isGuarded, question) => {
    const left = new Set(SOURCES.keys())
    for (const one of happenings) {
      if (one.kind === "abort") return "none"
      if (one.question !== question) continue
      if (one.kind === "outside") return `${one.does} outside`
      if (!left.delete(one.source)) continue
      const isVoid = isGuarded && SOURCES[one.source] === "hook" && one.does !== "deny"
      if (one.does !== "fail" && one.does !== "decline" && !isVoid) {
        return `${one.does === "deny" ? "deny" : "allow"} s${one.source}${one.does === "always" ? " always" : ""}`
      }
      if (left.size === 0) return "none"
    }
    return "none"
  })
  const granted = results.flatMap((result, question) => (result.endsWith("always") ? [`Bash(q${question})`] : []))
  return { results: results.map((result) => result.replace(" always", "")), granted }
}
