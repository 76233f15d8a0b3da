/**
 * A question about one call → the first answer of whoever may give one: a person, the host, a hook, a classifier.
 *
 * Invariant: the sources start together and one answer claims the question; what comes later changes nothing, and a
 * source that fails or declines has not answered.
 */
import type { ApprovalAnswer, ApprovalFloor, ApprovalRequest, Decision, RuleSource } from "./decision.ts"
import type { Grants } from "./grant.ts"

/** Somebody who may answer. `person`: a terminal or the embedding host. */
export interface ApprovalSource {
  /** Shown as who answered: `terminal`, `host`, `hook guard`. */
  name: string
  kind: "person" | "hook" | "classifier"
  /** An answer, or undefined to decline. `signal` fires when the question is settled or the run is aborted. */
  answer(request: ApprovalRequest, signal: AbortSignal, floor: ApprovalFloor): Promise<ApprovalAnswer | undefined>
}

/** An answer and who gave it: a source's name, `grant`, or the name given to `answer`. */
export type SettledAnswer = ApprovalAnswer & {
  by: string
  person?: boolean
  /** The rules that it granted and that were not granted before. */
  granted?: readonly RuleSource[]
}

export interface ApproveOptions {
  /** The run's: once it fires, the question is withdrawn. */
  signal: AbortSignal
  /** Sources that only this question has, beside the approver's own. */
  sources?: readonly ApprovalSource[]
  /** Judges the call again, after a grant to the same agent. */
  reevaluate?(): Decision | Promise<Decision>
}

export interface Approver {
  /** Asks all sources at once; undefined when all of them declined or the run was aborted. */
  approve(request: ApprovalRequest, options: ApproveOptions): Promise<SettledAnswer | undefined>
  /** Answers an open question from outside; false when there is none of that id any more. */
  answer(id: string, answer: ApprovalAnswer, by: string): boolean
  /** The questions that wait, in the order in which they were asked. */
  open(): ApprovalRequest[]
}

/** Makes an approver. What an answer is to be remembered for is added to `grants`. */
export function createApprover(options: { sources: readonly ApprovalSource[]; grants: Grants }): Approver {
  const waiting = new Map<string, Question>()
  return {
    async approve(request, asked) {
      if (asked.signal.aborted) return undefined
      const question = createQuestion(request, asked)
      waiting.set(question.key, question)
      try {
        askAll(question, [...options.sources, ...(asked.sources ?? [])], asked.signal)
        const answer = await question.settled
        if (answer === undefined || asked.signal.aborted) return undefined
        const granted = remember(answer, request, options.grants)
        if (granted.length === 0) return answer
        void reevaluateOthers(waiting)
        return { ...answer, granted }
      } finally {
        waiting.delete(question.key)
      }
    },
    answer(id, answer, by) {
      const question = [...waiting.values()].find(({ request }) => request.id === id)
      return question?.claim({ ...readAnswer(answer, { name: by }), by, person: true }) ?? false
    },
    open: () => [...waiting.values()].map(({ request }) => request),
  }
}

interface Question {
  key: string
  request: ApprovalRequest
  settled: Promise<SettledAnswer | undefined>
  /** True for the first answer, which settles the question. */
  claim(answer: SettledAnswer | undefined): boolean
  /** Claims it for somebody who is no person: at once, or when no person holds it any more. */
  offer(answer: SettledAnswer): boolean
  floor: ApprovalFloor
  reevaluate: ApproveOptions["reevaluate"]
  /** Fires when the question is settled. */
  over: AbortSignal
}

let asked = 0

function createQuestion(request: ApprovalRequest, { reevaluate }: ApproveOptions): Question {
  const over = new AbortController()
  const { promise, claim } = resolveOnce<SettledAnswer | undefined>(() => over.abort())
  const key = `${request.id}#${asked++}`
  return { key, request, settled: promise, claim, ...createFloor(claim), reevaluate, over: over.signal }
}

/** Nobody overtakes a person who has begun to answer. */
function createFloor(claim: Question["claim"]): Pick<Question, "offer" | "floor"> {
  let holders = 0
  let first: SettledAnswer | undefined
  const offer = (answer: SettledAnswer) => {
    if (holders === 0) return claim(answer)
    first ??= answer
    return true
  }
  const hold = () => {
    let held = true
    holders++
    return () => {
      if (!held) return
      held = false
      if (--holders === 0 && first !== undefined) claim(first)
    }
  }
  return { offer, floor: { hold } }
}

/** A promise that the first claim resolves; later claims are told that they came late. */
function resolveOnce<T>(onClaim: () => void): { promise: Promise<T>; claim(value: T): boolean } {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  let open = true
  return {
    promise,
    claim(value) {
      if (!open) return false
      open = false
      resolve(value)
      onClaim()
      return true
    },
  }
}

function askAll(question: Question, sources: readonly ApprovalSource[], signal: AbortSignal): void {
  const { request, claim, offer, floor, over } = question
  const personal = needsPerson(request.decision)
  // What the safety classifier stopped, no other classifier is asked about.
  const unclassified = personal || request.decision.source === "mode"
  const eligible = sources.filter(({ kind }) => !(unclassified && kind === "classifier"))
  const withdraw = () => claim(undefined)
  signal.addEventListener("abort", withdraw, { once: true })
  over.addEventListener("abort", () => signal.removeEventListener("abort", withdraw), { once: true })
  let left = eligible.length
  const declined = () => --left === 0 && claim(undefined)
  if (left === 0) claim(undefined)
  for (const source of eligible) {
    const answering = Promise.resolve()
      .then(() => source.answer(request, over, floor))
      .then((answer) => (answer === undefined ? undefined : readAnswer(answer, source)))
    answering.then((answer) => {
      const counts = answer !== undefined && mayAnswer(source, answer, personal)
      const person = source.kind === "person"
      if (!counts || !(person ? claim : offer)({ ...answer, by: source.name, person })) declined()
    }, declined)
  }
}

/** Only what says "allow" in so many words allows; whatever else was answered is a no. */
function readAnswer(answer: ApprovalAnswer, { name }: Pick<ApprovalSource, "name">): ApprovalAnswer {
  const { behavior } = (answer ?? {}) as Partial<ApprovalAnswer>
  if (behavior === "allow" || behavior === "deny") return answer
  return { behavior: "deny", message: `${name} gave an answer that is neither "allow" nor "deny"` }
}

/** Asked by a rule that asks, a protected path, a plan or a guard: only a person may say yes. */
export function needsPerson({ source }: Decision): boolean {
  return ["ask", "protected", "rules", "plan", "hook"].includes(source)
}

function mayAnswer({ kind }: ApprovalSource, { behavior }: ApprovalAnswer, personal: boolean): boolean {
  if (kind === "classifier") return behavior === "allow"
  return kind === "person" || behavior === "deny" || !personal
}

/** Keeps what was shown as rules. An input that the answer changed was not shown. */
function remember(answer: SettledAnswer, request: ApprovalRequest, grants: Grants): readonly RuleSource[] {
  const { behavior, remember: reach = answer.rules && "session", input } = answer
  if (behavior !== "allow" || input !== undefined || !REACHES.some((known) => known === reach)) return []
  return grants.add(request.agent, reach!, answer.rules ?? request.suggestions)
}

const REACHES = ["session", "project", "step"]

/** A grant may answer for what no rule allowed; what a rule, a guard or a plan asks about, only an answer does. */
async function reevaluateOthers(waiting: ReadonlyMap<string, Question>): Promise<void> {
  for (const question of [...waiting.values()]) {
    if (needsPerson(question.request.decision) || question.over.aborted) continue
    const decision = await Promise.resolve()
      .then(question.reevaluate)
      .catch(() => undefined)
    if (decision?.behavior === "allow") question.offer({ behavior: "allow", by: "grant" })
  }
}
