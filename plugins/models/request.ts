/**
 * Turns the kernel's request into the body of a Messages API request.
 *
 * Invariant: messages, tools and system go out as the very objects that came in; nothing old is copied.
 */
import type { Effort, JsonSchema, MessageParam, ModelRequest, TextBlockParam, ToolDeclaration } from "sous"

/** The body of `POST /v1/messages`, as far as it is used here. */
export interface RequestBody {
  model: string
  max_tokens: number
  messages: readonly MessageParam[]
  system?: string | readonly TextBlockParam[]
  tools?: readonly ToolDeclaration[]
  thinking?: { type: string; display?: string }
  output_config?: { effort?: Effort; format?: { type: "json_schema"; schema: JsonSchema } }
  stream?: boolean
}

/** What one model wants said differently. */
export interface BodyOptions {
  /** Turns an asked effort into one that the model has, or into none. */
  effort?: (asked: Effort) => Effort | undefined
  /** Turns an output schema into the form that the API takes. */
  schema?: (schema: JsonSchema) => JsonSchema
  thinking?: RequestBody["thinking"] | undefined
}

/** The body of one request. `stream` is left to who sends it. */
export function bodyOf(model: string, request: ModelRequest, options: BodyOptions = {}): RequestBody {
  const { system, tools, messages, maxTokens, effort, outputSchema } = request
  const body: RequestBody = { model, max_tokens: maxTokens, messages }
  if (system.length > 0) body.system = system
  if (tools.length > 0) body.tools = tools
  if (options.thinking !== undefined) body.thinking = options.thinking
  const asked = effort === undefined || options.effort === undefined ? effort : options.effort(effort)
  const schema = outputSchema && options.schema ? options.schema(outputSchema) : outputSchema
  if (asked === undefined && schema === undefined) return body
  body.output_config = {
    ...(asked === undefined ? {} : { effort: asked }),
    ...(schema === undefined ? {} : { format: { type: "json_schema", schema } }),
  }
  return body
}

/** The body as JSON text. What of the conversation was sent before is not written out anew, nor looked at. */
export function bodyText({ messages, ...rest }: RequestBody, { cacheLast = false } = {}): string {
  // The newest carries the cache breakpoint, which moves on: its text will not be wanted again.
  const newest = messages.at(-1)
  const older = olderText(messages)
  const comma = older === "" ? "" : ","
  const last = newest === undefined ? "" : jsonOf(cacheLast ? withBreakpoint(newest) : newest)
  return `${jsonOf(rest).slice(0, -1)},"messages":[${older}${comma}${last}]}`
}

/** JSON in which no character is halved: a text that was cut inside of one is refused by the API as no JSON. */
function jsonOf(value: unknown): string {
  const text = JSON.stringify(value)
  return text.includes("\\ud") ? text.replace(HALVED, "$1\ufffd") : text
}

/** What JSON.stringify writes for half of a character, behind an even number of backslashes. */
const HALVED = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g

/** The message with the cache breakpoint on its last block. */
function withBreakpoint(message: MessageParam): MessageParam {
  if (typeof message.content === "string") return message
  const block = message.content.at(-1)
  if (block === undefined || block.type === "thinking" || block.type === "redacted_thinking") return message
  const marked = { ...block, cache_control: { type: "ephemeral" } }
  return { ...message, content: [...message.content.slice(0, -1), marked] } as MessageParam
}

/** The text of all messages but the newest, by the array that holds them: it grows at its end and nowhere else. */
const written = new WeakMap<readonly MessageParam[], { count: number; text: string }>()

function olderText(messages: readonly MessageParam[]): string {
  const known = written.get(messages)
  let { count, text } = known ?? { count: 0, text: "" }
  // Adding up text copies none of it, unlike joining; it is copied once, when it is sent.
  for (; count < messages.length - 1; count++) text += `${count === 0 ? "" : ","}${jsonOf(messages[count])}`
  written.set(messages, { count, text })
  return text
}
