/**
 * What a handler meant: from whatever it returned, in either form, to one reply.
 *
 * Invariant: an answer that its event does not take, or that nobody can read, is never taken for "go on".
 */
import { type AnswerKind, HOOKS, type HookEvent } from "./hook.ts"
import { EXITS } from "./hook-table.ts"

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
  /** Variables for the commands of the conversation. */
  env?: Readonly<Record<string, string>>
  /** Allow rules for the conversation, beside an `allow`. */
  rules?: readonly string[]
  /** For a person, and not for the model. */
  say?: string
  /** Why the whole agent is to stop. */
  stop?: string
}

/** Keys of a JSON answer on stdout; an object with any other key is a script's own output. */
const ANSWER_KEYS = ["decision", "reason", "inject", "input", "result"]

/** No script prints this but to answer in the other protocol: such a decision must not pass for a script's own output. */
const FOREIGN_KEY = "hookSpecificOutput"

const DECISIONS = new Map<unknown, HookReply["decision"]>([
  ["allow", "allow"],
  ["ask", "ask"],
  ["deny", "block"],
  ["block", "block"],
])

/** Reads a handler's answer. Throws an Error whose message goes on after "the hook failed: ". */
export function parseAnswer(raw: unknown, event: HookEvent): HookReply {
  return checkReply(parseReply(raw), event)
}

/** The reply, when its event takes all of its parts. Throws an Error like `parseAnswer`. */
export function checkReply(reply: HookReply, event: HookEvent): HookReply {
  const takes: readonly AnswerKind[] = HOOKS[event].answers
  for (const kind of kindsOf(reply)) {
    if (takes.includes(kind)) continue
    const allowed = takes.length === 0 ? "no answer" : takes.join(", ")
    throw new Error(`it answered "${kind}", and ${event} takes ${allowed}`)
  }
  return reply
}

/** The parts of a reply as kinds of answer. A new input may ride on an `allow`. */
function kindsOf({ decision, inject, input, result, env }: HookReply): AnswerKind[] {
  const kinds: AnswerKind[] = []
  if (decision !== undefined) kinds.push(decision)
  if (inject !== undefined) kinds.push("inject")
  if (input !== undefined && decision !== "allow") kinds.push("rewrite")
  if (result !== undefined) kinds.push("result")
  if (env !== undefined) kinds.push("env")
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
      return { decision: "allow", ...text(answer, "reason"), ...boxed(answer), ...ruleList(answer) }
    case "inject":
      return { inject: required(answer, "text") }
    case "rewrite":
      if (answer.input === undefined) throw new Error(`its answer "rewrite" has no input`)
      return boxed(answer)
    case "result":
      return { result: required(answer, "content") }
    case "env":
      return { env: variables(answer.set) }
    default:
      throw new Error(`it answered ${describe(answer.kind)}, which is no kind of answer`)
  }
}

function ruleList({ rules }: Record<string, unknown>): Pick<HookReply, "rules"> {
  if (rules === undefined) return {}
  if (Array.isArray(rules) && rules.every((rule) => typeof rule === "string")) return { rules }
  throw new Error(`the "rules" of its answer are ${describe(rules)}, not a list of texts`)
}

/** The native protocol of commands. */
function fromExit(answer: Record<string, unknown>): HookReply {
  const stdout = text(answer, "stdout").stdout?.trim() ?? ""
  const stderr = text(answer, "stderr").stderr?.trim() ?? ""
  const code = describe(answer.exit)
  switch (typeof answer.exit === "number" ? EXITS.native[answer.exit] : undefined) {
    case "answer":
      return fromOutput(stdout)
    case "block":
      return { decision: "block", ...(stderr ? { reason: stderr } : {}) }
    case "inject":
      // Shells and interpreters end with this code, too, when they cannot read a script; then there is nothing on stdout.
      if (stdout === "")
        throw new Error(`it ended with exit ${code}, and printed nothing to inject${afterColon(stderr)}`)
      if (SHELL_TROUBLE.test(stderr)) throw new Error(`its shell could not make sense of it${afterColon(stderr)}`)
      return { inject: stdout }
    default:
      throw new Error(`it ended with exit ${code}${afterColon(stderr)}`)
  }
}

/** What bash, dash and ksh say when they end with 2 on their own: in the middle of a script, too, after it has printed. */
const SHELL_TROUBLE =
  /^[^\n]*: (?:line )?\d+: (?:syntax error|Syntax error|unexpected EOF|[^\n]*: (?:numeric argument required|Illegal number))/m

function afterColon(stderr: string): string {
  return stderr === "" ? "" : `: ${stderr}`
}

/** A JSON answer of the native protocol; whatever else a script printed is its own affair. */
export function fromOutput(stdout: string): HookReply {
  const answer = parseObject(stdout)
  if (answer === undefined) return {}
  if (FOREIGN_KEY in answer)
    throw new Error(`it answered in the claude-code protocol (${FOREIGN_KEY}), and speaks the native one`)
  if (!Object.keys(answer).every((key) => ANSWER_KEYS.includes(key))) return {}
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

/** A JSON object that makes up the whole text, which starts with it. Throws on a key that would change what an object inherits. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith("{")) return undefined
  let odd = false
  let value: Record<string, unknown>
  try {
    value = JSON.parse(text, (key, one) => {
      odd ||= key === "__proto__"
      return one
    })
  } catch {
    return undefined
  }
  if (odd) throw new Error('its answer has a key "__proto__"')
  return value
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

function variables(set: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(Object(set))
  const bad = entries.find(([name, value]) => !/^[A-Za-z_]\w*$/.test(name) || typeof value !== "string")
  if (bad) throw new Error(`the variable "${bad[0]}" of its answer is no name with a text`)
  return Object.fromEntries(entries) as Record<string, string>
}

/** A value in a sentence. */
export function describe(value: unknown): string {
  if (typeof value === "string") return `"${value}"`
  if (typeof value === "function") return "a function"
  if (typeof value !== "object" || value === null) return String(value)
  return Array.isArray(value) ? "an array" : "an object"
}
