/**
 * The one format of scripted answers: what a turn may say, in short forms or as the API's own blocks.
 *
 * Invariant: what a turn leaves out is filled in here and nowhere else; a key that is not listed here is refused.
 */
import { z } from "sous"
import { condition } from "./turn-condition.ts"

/** What may go wrong on purpose. */
const fault = z.strictObject({
  /**
   * `status`: an error response. `reset`: the connection is closed before a byte. `mute`: not a byte comes. `cut`: the
   * connection is closed in the stream. `end`: the stream ends too early. `stall`: the stream falls silent.
   * `error_event`: an `error` event in the stream. `garbage`: an event that is not JSON.
   */
  kind: z.enum(["status", "reset", "mute", "cut", "end", "stall", "error_event", "garbage"]),
  status: z.int().min(400).max(599).default(529),
  /** The API's error type; left out: the one that goes with the status. */
  type: z.string().optional(),
  message: z.string().optional(),
  /** Response headers, such as `retry-after` (seconds). */
  headers: z.record(z.string(), z.string()).default({}),
  /** Stream events sent before it. */
  after: z.int().min(0).default(0),
  /** Requests it befalls before the turn is answered. */
  times: z.int().min(1).default(1),
})

const usage = z.strictObject({
  input_tokens: z.int().min(0).optional(),
  output_tokens: z.int().min(0).optional(),
  cache_read_input_tokens: z.int().min(0).optional(),
  cache_creation_input_tokens: z.int().min(0).optional(),
})

const toolInputs = z.record(z.string(), z.unknown())
const shortBlocks = {
  text: z.strictObject({ text: z.string() }),
  thinking: z.strictObject({ thinking: z.string(), signature: z.string().optional() }),
  /** Any value, as the text of its JSON. */
  json: z.strictObject({ json: z.unknown() }),
  /** `{ Name: input }`; or a bare name beside `raw_input`, the arguments as text that need not be JSON. */
  tool: z.strictObject({
    tool: z.union([toolInputs, z.string()]),
    id: z.string().optional(),
    raw_input: z.string().optional(),
  }),
}
type ShortBlock = z.input<(typeof shortBlocks)[keyof typeof shortBlocks]>

/** A block as the API sends it; a tool_use may carry `raw_input`, its arguments as text. */
export type TurnBlock = { type: string } & Record<string, unknown>

const block = z.custom<ShortBlock | TurnBlock>().transform((value, context): TurnBlock[] => {
  const parsed = schemaOf(value).safeParse(value)
  if (parsed.success) return expand(parsed.data as ShortBlock | TurnBlock)
  for (const issue of parsed.error.issues) context.issues.push({ ...issue, input: value } as never)
  return z.NEVER
})

const turnObject = z.strictObject({
  /** For people; nothing reads it. */
  note: z.string().optional(),
  thinking: z.string().optional(),
  text: z.string().optional(),
  json: z.unknown().optional(),
  /** `{ Name: input, … }`, one tool_use for each entry. */
  tool: toolInputs.optional(),
  /** Blocks in order, in place of the short forms above. */
  content: z.array(block).optional(),
  /** Left out: `tool_use` when there is one, else `end_turn`. */
  stop_reason: z.string().optional(),
  stop_sequence: z.string().optional(),
  stop_details: z.unknown().optional(),
  /** Left out: estimated, four characters for a token. */
  usage: usage.default({}),
  /** What the request must be like; if it is not, the answer is a failure that says so. */
  expect: condition.optional(),
  /** Which requests this turn is for; turns without it go to all others, in order. */
  when: condition.optional(),
  /** How many requests it answers. */
  times: z.union([z.int().min(1), z.literal("always")]).default(1),
  /** Characters in one delta. */
  chunk: z.int().min(1).default(64),
  /** ms before the response begins. */
  delay_ms: z.number().min(0).default(0),
  /** ms between the response's headers and its first event. */
  first_byte_ms: z.number().min(0).default(0),
  /** ms after each event. */
  chunk_delay_ms: z.number().min(0).default(0),
  /** `ping` events once the first block has begun. */
  pings: z.int().min(0).default(1),
  /** Events of any type, after `message_start`. */
  events: z.array(z.looseObject({ type: z.string() })).default([]),
  fault: z.union([fault, z.array(fault)]).default([]),
})

const turn = turnObject.transform(({ text, thinking, json, tool, content, fault: faults, ...rest }, context) => {
  const short = [
    ...(thinking === undefined ? [] : [{ thinking }]),
    ...(text === undefined ? [] : [{ text }]),
    ...(json === undefined ? [] : [{ json }]),
    ...(tool === undefined ? [] : [{ tool }]),
  ]
  if (content !== undefined && short.length > 0) {
    context.addIssue({ code: "custom", message: `has "content" beside "${Object.keys(short[0] ?? {})}"` })
  }
  const blocks = content?.flat() ?? short.flatMap(expand)
  const stop_reason = rest.stop_reason ?? (blocks.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn")
  return { ...rest, blocks, stop_reason, faults: [faults].flat() }
})

const price = { input: z.number(), output: z.number(), cacheRead: z.number(), cacheWrite: z.number() }

/** A whole script: its turns, and what kind of model speaks them. */
const script = z.strictObject({
  note: z.string().optional(),
  /** `ignore`: turns that no request took are no failure. */
  unused: z.enum(["fail", "ignore"]).default("fail"),
  /**
   * True, as with Claude's models: a request carries its output schema wherever the API could hold it, and a turn answers
   * with `json`. False: the model is offered a submit tool instead.
   */
  structured_output: z.boolean().default(true),
  /** Tokens. */
  limits: z
    .strictObject({ contextWindow: z.int(), maxOutput: z.int() })
    .default({ contextWindow: 200_000, maxOutput: 32_000 }),
  /** USD per million tokens. Left out: free, so that a recipe with a budget in USD runs. */
  price: z.strictObject(price).default({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }),
  turns: z.array(turn),
})

/** The schemas, and the names that each place in a script may have. */
export const turnSchemas = {
  turn,
  script,
  names: {
    script: Object.keys(script.shape),
    turns: Object.keys(turnObject.shape),
    content: ["text", "thinking", "signature", "json", "tool", "id", "raw_input", "type"],
    fault: Object.keys(fault.shape),
    usage: Object.keys(usage.shape),
    expect: Object.keys(condition.shape),
    when: Object.keys(condition.shape),
    limits: ["contextWindow", "maxOutput"],
    price: Object.keys(price),
  } as Readonly<Record<string, readonly string[]>>,
}

/** A turn as a file or a test writes it; plugins/models/turn.ts explains each key. */
export type TurnInput = z.input<typeof turnObject>
/** A turn with everything filled in. */
export type Turn = z.output<typeof turn>
export type TurnFault = z.output<typeof fault>
/** A script as a file or a test writes it. */
export type ScriptInput = z.input<typeof script>
/** A script, checked. */
export type Script = z.output<typeof script>

function schemaOf(value: unknown): z.ZodType {
  if (typeof value !== "object" || value === null) return z.object({})
  if ("type" in value) return z.looseObject({ type: z.string() })
  const kind = (Object.keys(shortBlocks) as (keyof typeof shortBlocks)[]).find((key) => key in value)
  return kind === undefined ? z.strictObject({}) : shortBlocks[kind]
}

function expand(short: ShortBlock | TurnBlock): TurnBlock[] {
  if ("type" in short) return [short as TurnBlock]
  if ("text" in short) return [{ type: "text", text: short.text }]
  if ("json" in short) return [{ type: "text", text: JSON.stringify(short.json) }]
  if ("thinking" in short) {
    return [{ type: "thinking", thinking: short.thinking, signature: short.signature ?? "c2NyaXB0ZWQ=" }]
  }
  const { tool, ...extra } = short
  const uses = typeof tool === "string" ? { [tool]: {} } : tool
  return Object.entries(uses).map(([name, input]) => ({ type: "tool_use", name, input: input ?? {}, ...extra }))
}
