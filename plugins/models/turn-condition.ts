/**
 * Conditions on a request: what a scripted turn expects of it, or which requests the turn is for.
 *
 * Invariant: a condition only reads; it says in words which of its parts does not hold, and what is there instead.
 */
import { z } from "sous"
import type { RequestBody } from "./request.ts"

const texts = z.union([z.string(), z.array(z.string())])

/** All parts must hold; of several texts in one part, all. */
export const condition = z.strictObject({
  /** Texts somewhere in the system prompt or the messages, tool results and inputs included. */
  contains: texts.optional(),
  not_contains: texts.optional(),
  system_contains: texts.optional(),
  /** The first user message: the prompt, which tells one agent from another. */
  first_user_contains: texts.optional(),
  /** The last user message: tool results, or what was said last. */
  last_user_contains: texts.optional(),
  last_user_not_contains: texts.optional(),
  /** Names of tools that are offered. */
  tools: texts.optional(),
  /** Names of tools that are not. */
  no_tools: texts.optional(),
  /** Whether the last user message holds a tool_result that is an error. */
  tool_error: z.boolean().optional(),
  /** How many messages there are. */
  messages: z.int().optional(),
  /** The model's id, as the request names it (a script is asked by its own). */
  model: z.string().optional(),
  effort: z.string().optional(),
  max_tokens: z.int().optional(),
  /** Whether the request carries an output schema. */
  output_schema: z.boolean().optional(),
})

export type Condition = z.infer<typeof condition>

/** The parts that do not hold, each as `last_user_contains "x" (it says "y")`; empty when all hold. */
export function failuresOf(wanted: Condition, body: RequestBody): string[] {
  return (Object.keys(wanted) as (keyof Condition)[]).flatMap((part) => {
    const want = wanted[part]
    return want === undefined ? [] : checks[part](want as never, body)
  })
}

type Check<K extends keyof Condition> = (want: NonNullable<Condition[K]>, body: RequestBody) => string[]
type Texts = string | string[]

const checks: { [K in keyof Required<Condition>]: Check<K> } = {
  contains: (want, body) => absent("contains", want, wholeText(body)),
  not_contains: (want, body) => present("not_contains", want, wholeText(body)),
  system_contains: (want, body) => absent("system_contains", want, systemText(body)),
  first_user_contains: (want, body) => absent("first_user_contains", want, userText(body, "first")),
  last_user_contains: (want, body) => absent("last_user_contains", want, userText(body, "last")),
  last_user_not_contains: (want, body) => present("last_user_not_contains", want, userText(body, "last")),
  tools: (want, body) =>
    list(want)
      .filter((name) => !offered(body).includes(name))
      .map((name) => differs(`tools ${quote(name)}`, offered(body))),
  no_tools: (want, body) =>
    list(want)
      .filter((name) => offered(body).includes(name))
      .map((name) => differs(`no_tools ${quote(name)}`, offered(body))),
  tool_error: (want, body) => equal("tool_error", want, hasToolError(body)),
  messages: (want, body) => equal("messages", want, body.messages.length),
  model: (want, body) => equal("model", want, body.model),
  effort: (want, body) => equal("effort", want, body.output_config?.effort),
  max_tokens: (want, body) => equal("max_tokens", want, body.max_tokens),
  output_schema: (want, body) => equal("output_schema", want, body.output_config?.format != null),
}

function absent(part: string, want: Texts, text: string): string[] {
  return list(want)
    .filter((one) => !text.includes(one))
    .map((one) => differs(`${part} ${quote(one)}`, text))
}

function present(part: string, want: Texts, text: string): string[] {
  return list(want)
    .filter((one) => text.includes(one))
    .map((one) => `${part} ${quote(one)}`)
}

function equal(part: string, want: unknown, found: unknown): string[] {
  return want === found ? [] : [differs(`${part} ${JSON.stringify(want)}`, found)]
}

function differs(wanted: string, found: unknown): string {
  return `${wanted} (it is ${quote(found)})`
}

function list(want: Texts): string[] {
  return typeof want === "string" ? [want] : want
}

/** The end of a long text says more than its beginning: results and questions stand there. */
function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? "absent"
  return text.length <= 240 ? text : `${text.slice(0, 60)} … ${text.slice(-170)}`
}

function wholeText(body: RequestBody): string {
  return [systemText(body), ...body.messages.map(({ content }) => textOf(content))].join("\n")
}

function systemText(body: RequestBody): string {
  return textOf(body.system ?? "")
}

function userText(body: RequestBody, which: "first" | "last"): string {
  const users = body.messages.filter(({ role }) => role === "user")
  return textOf((which === "first" ? users[0] : users.at(-1))?.content ?? "")
}

function offered(body: RequestBody): string[] {
  return (body.tools ?? []).map(({ name }) => name)
}

function hasToolError(body: RequestBody): boolean {
  const last = body.messages.filter(({ role }) => role === "user").at(-1)?.content
  return Array.isArray(last) && last.some((block) => block.type === "tool_result" && block.is_error === true)
}

/** All text in a message's content: results and arguments too. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content.map((block: Record<string, unknown>) => textOfBlock(block)).join("\n")
}

function textOfBlock(block: Record<string, unknown>): string {
  if (typeof block["text"] === "string") return block["text"]
  if (typeof block["thinking"] === "string") return block["thinking"]
  if ("input" in block) return `${block["name"]} ${JSON.stringify(block["input"])}`
  return textOf(block["content"])
}
