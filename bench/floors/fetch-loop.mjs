/**
 * The floor: an agent loop over fetch and server-sent events with no packages and one tool that reads a file.
 *
 * Invariant: nothing here checks, asks, records or retries; whatever sous does beyond it is what sous costs.
 *
 * With REPLAY naming a request body, every turn sends that body's system, tools and messages as far as its turn had
 * them: the same bytes on the wire as another program's, from a loop that does nothing else.
 */
import { readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"

const { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, REPLAY } = process.env
const replay = REPLAY === undefined ? undefined : JSON.parse(readFileSync(REPLAY, "utf8"))
const headers = {
  "content-type": "application/json",
  "x-api-key": ANTHROPIC_API_KEY,
  "anthropic-version": "2023-06-01",
}
const readFileTool = {
  name: "read_file",
  description: "Read a file",
  input_schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
}
const frame = replay ?? { model: "claude-opus-5", max_tokens: 4096, stream: true, tools: [readFileTool] }
const messages = [{ role: "user", content: process.argv[2] }]

for (let turn = 0; ; turn++) {
  const sent = replay === undefined ? messages : replay.messages.slice(0, 2 * turn + 1)
  const response = await fetch(`${ANTHROPIC_BASE_URL}/v1/messages`, {
    method: "POST",
    headers,
    body: JSON.stringify({ ...frame, messages: sent }),
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  const { content, stopReason } = await readMessage(response.body)
  messages.push({ role: "assistant", content })
  if (stopReason !== "tool_use") break
  messages.push({ role: "user", content: await Promise.all(content.filter(isToolUse).map(answer)) })
}
process.stdout.write(
  `${messages
    .at(-1)
    .content.map((block) => block.text ?? "")
    .join("")}\n`,
)

async function readMessage(body) {
  const content = []
  const decoder = new TextDecoder()
  let stopReason
  let rest = ""
  for await (const chunk of body) {
    const events = (rest + decoder.decode(chunk, { stream: true })).split("\n\n")
    rest = events.pop()
    for (const event of events) stopReason = take(event, content) ?? stopReason
  }
  for (const block of content.filter(isToolUse)) block.input = JSON.parse(block.input || "{}")
  return { content, stopReason }
}

/** Adds one event to the message so far; returns the reason to stop, when it brings one. */
function take(event, content) {
  const data = JSON.parse(event.slice(event.indexOf("data: ") + 6))
  if (data.type === "content_block_start") content[data.index] = start(data.content_block)
  if (data.type === "content_block_delta") {
    const block = content[data.index]
    if (data.delta.type === "text_delta") block.text += data.delta.text
    if (data.delta.type === "input_json_delta") block.input += data.delta.partial_json
  }
  return data.type === "message_delta" ? data.delta.stop_reason : undefined
}

function start(block) {
  return block.type === "tool_use" ? { ...block, input: "" } : { ...block }
}

function isToolUse(block) {
  return block.type === "tool_use"
}

async function answer({ id, input }) {
  const text = await readFile(input.path ?? input.file_path, "utf8")
  return { type: "tool_result", tool_use_id: id, content: text }
}
