/**
 * What a handler meant: from whatever it returned, in either form, to one reply.
 *
 * Invariant: an answer that its event does not take, or that nobody can read, is never taken for "go on".
 */
import { type AnswerKind, HOOKS, type HookEvent } from "./hook.ts"

/** One handler's answer; all parts absent: go on. */
export interface HookReply {
  decision?: "allow" | "ask" | "block"
  reason?: string
  /** Text for the conversation. */
  inject?: string
  /** The input to use instead, in a box, because any JSON value may stand in for another. A copy. */
  input?: { value: unknown }
  /** The result to use instead. */
  result?: string
}

/** Keys of a JSON answer on stdout; an object with any other key is a script's own output. */
const ANSWER_KEYS = ["decision", "reason", "inject", "input", "result"]

const DECISIONS = new Map<unknown, HookReply["decision"]>([
  ["allow", "allow"],
  ["ask", "ask"],
  ["deny", "block"],
  ["block", "block"],
])

/** Reads a handler's answer. Throws an Error whose message goes on after "the hook failed: ". */
export function parseAnswer(raw: unknown, event: HookEvent): HookReply {
  const reply = parseReply(raw)
  const takes: readonly AnswerKind[] = HOOKS[event].answers
  for (const kind of kindsOf(reply)) {
    if (takes.includes(kind)) continue
    const allowed = takes.length === 0 ? "no answer" : takes.join(", ")
    throw new Error(`it answered "${kind}", and ${event} takes ${allowed}`)
  }
  return reply
}

/** The parts of a reply as kinds of answer. A new input may ride on an `allow`. */
function kindsOf({ decision, inject, input, result }: HookReply): AnswerKind[] {
  const kinds: AnswerKind[] = []
  if (decision !== undefined) kinds.push(decision)
  if (inject !== undefined) kinds.push("inject")
  if (input !== undefined && decision !== "allow") kinds.push("rewrite")
  if (result !== undefined) kinds.push("result")
  return kinds
}

function parseReply(raw: unknown): HookReply {
  if (raw === undefined) return {}
  if (typeof raw === "object" && raw !== null) {
    const answer = raw as Record<string, unknown>
    if ("kind" in answer) return fromAnswer(answer)
    if ("exit" in answer) return fromExit(answer)
  }
  throw new Error(`it returned ${describe(raw)}, which is no answer`)
}

function fromAnswer(answer: Record<string, unknown>): HookReply {
  switch (answer.kind) {
    case "pass":
      return {}
    case "block":
    case "ask":
      return { decision: answer.kind, ...text(answer, "reason") }
    case "allow":
      return { decision: "allow", ...text(answer, "reason"), ...boxed(answer) }
    case "inject":
      return { inject: required(answer, "text") }
    case "rewrite":
      if (answer.input === undefined) throw new Error(`its answer "rewrite" has no input`)
      return boxed(answer)
    case "result":
      return { result: required(answer, "content") }
    default:
      throw new Error(`it answered ${describe(answer.kind)}, which is no kind of answer`)
  }
}

/** The native protocol of commands (design: hooks): 0 go on, 1 block with stderr, 2 inject stdout. */
function fromExit(answer: Record<string, unknown>): HookReply {
  const stdout = text(answer, "stdout").stdout?.trim() ?? ""
  const stderr = text(answer, "stderr").stderr?.trim() ?? ""
  switch (answer.exit) {
    case 0:
      return fromOutput(stdout)
    case 1:
      return { decision: "block", ...(stderr ? { reason: stderr } : {}) }
    case 2:
      return stdout ? { inject: stdout } : {}
    default:
      throw new Error(`it ended with exit ${describe(answer.exit)}${stderr ? `: ${stderr}` : ""}`)
  }
}

function fromOutput(stdout: string): HookReply {
  const answer = parseObject(stdout)
  if (answer === undefined || !Object.keys(answer).every((key) => ANSWER_KEYS.includes(key))) return {}
  const decision = DECISIONS.get(answer.decision)
  if (answer.decision !== undefined && decision === undefined) {
    throw new Error(`its decision is ${describe(answer.decision)}, not allow, ask, deny or block`)
  }
  return {
    ...(decision === undefined ? {} : { decision }),
    ...text(answer, "reason"),
    ...text(answer, "inject"),
    ...text(answer, "result"),
    ...boxed(answer),
  }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith("{")) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The field, when it is there. Throws when it is no text. */
function text<K extends string>(answer: Record<string, unknown>, key: K): { [P in K]?: string } {
  const value = answer[key]
  if (value === undefined) return {}
  if (typeof value !== "string") throw new Error(`the "${key}" of its answer is ${describe(value)}, not a text`)
  return { [key]: value } as { [P in K]?: string }
}

function required(answer: Record<string, unknown>, key: string): string {
  const value = text(answer, key)[key]
  if (value === undefined) throw new Error(`its answer "${answer.kind}" has no ${key}`)
  return value
}

/** A copy, so that the handler cannot change the input after it was judged. */
function boxed(answer: Record<string, unknown>): { input?: { value: unknown } } {
  return answer.input === undefined ? {} : { input: { value: structuredClone(answer.input) } }
}

function describe(value: unknown): string {
  if (typeof value === "string") return `"${value}"`
  if (typeof value === "function") return "a function"
  if (typeof value !== "object" || value === null) return String(value)
  return Array.isArray(value) ? "an array" : "an object"
}
