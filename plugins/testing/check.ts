/**
 * Laws that the requests of a loop must obey, as checks that throw: a valid conversation, and one that only grows.
 *
 * Invariant: a check says which message or element breaks the law, and how.
 */
import type { MessageParam } from "sous"

/** Throws unless every tool_use is answered by exactly one tool_result, in the very next user message. */
export function checkConversation(messages: readonly MessageParam[]): void {
  messages.forEach((message, at) => {
    const asked = blocksOf(message, "tool_use").map(({ id }) => String(id))
    const given = blocksOf(messages[at + 1], "tool_result").map(({ tool_use_id }) => String(tool_use_id))
    if (message.role === "assistant") checkAnswered(at, asked, { given, next: messages[at + 1] })
    else checkAsked(at, blocksOf(message, "tool_result"), messages[at - 1])
  })
  const ids = messages.flatMap((message) => blocksOf(message, "tool_use").map(({ id }) => String(id)))
  const twice = ids.find((id, at) => ids.indexOf(id) !== at)
  if (twice !== undefined) throw new Error(`The tool_use id "${twice}" stands in the conversation twice`)
  if (messages[0]?.role !== "user")
    throw new Error(`The conversation begins with a message of the ${messages[0]?.role}`)
}

/** A request body, as far as its growth is concerned. */
export interface GrowingRequest {
  system?: unknown
  tools?: unknown
  messages: readonly unknown[]
}

/** Throws unless the elements of each request are the beginning of the next one's, cache breakpoints left out. */
export function checkAppendOnly(requests: readonly GrowingRequest[]): void {
  requests.slice(1).forEach((request, at) => {
    for (const part of ["tools", "system", "messages"] as const) {
      const before = elementsOf(requests[at]![part])
      const after = elementsOf(request[part])
      const wrong = before.findIndex((element, index) => element !== after[index])
      if (wrong < 0) continue
      const found = after[wrong] ?? "nothing"
      throw new Error(
        `Request ${at + 2} changes ${part}[${wrong}]\n  from ${excerpt(before[wrong]!, found)}\n  to   ${excerpt(found, before[wrong]!)}`,
      )
    }
  })
}

type Block = Record<string, unknown>

function blocksOf(message: MessageParam | undefined, type: string): Block[] {
  if (message === undefined || typeof message.content === "string") return []
  return (message.content as unknown as Block[]).filter((block) => block["type"] === type)
}

interface Answers {
  given: readonly string[]
  next: MessageParam | undefined
}

function checkAnswered(at: number, asked: readonly string[], { given, next }: Answers): void {
  if (asked.length > 0 && next?.role !== "user")
    throw new Error(`Message ${at} asks for tools and no user message follows`)
  for (const id of asked) {
    const results = given.filter((one) => one === id).length
    if (results !== 1)
      throw new Error(`Message ${at + 1} has ${results} results for the tool_use "${id}" of message ${at}`)
  }
}

function checkAsked(at: number, results: readonly Block[], before: MessageParam | undefined): void {
  const asked = blocksOf(before, "tool_use").map(({ id }) => id)
  const stray = results.find(({ tool_use_id }) => !asked.includes(tool_use_id))
  if (stray)
    throw new Error(
      `Message ${at} has a result for "${stray["tool_use_id"]}", which message ${at - 1} does not ask for`,
    )
}

/** A string is one text element, as the API reads it. */
function elementsOf(part: unknown): string[] {
  const list = Array.isArray(part) ? part : part === undefined ? [] : [part]
  return list.map((element) => JSON.stringify(element, (key, value) => (key === "cache_control" ? undefined : value)))
}

/** The place where a text begins to differ from another. */
function excerpt(text: string, other: string): string {
  const at = [...text].findIndex((character, index) => character !== other[index])
  return text.slice(Math.max(0, at - 60), Math.max(0, at) + 160)
}
