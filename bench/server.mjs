/**
 * A child process around the toolkit's own loopback server: zero delay, and the time and size of each request kept.
 *
 * Invariant: the same answers, at the same cost, for whoever asks. Times are on clock.mjs's clock.
 */
import { createModelServer } from "../dist/testing.js"
import { clock } from "./clock.mjs"

let script = { turns: 1, parallel: 0, files: [], tool: "", key: "", output: 0 }
let kept = {}
let calls = 0

// The server counts from its own start; `begun` is that moment on the shared clock.
const begun = clock()
const server = await createModelServer(answer, { keep: "none" })
process.send({ url: server.url })

process.on("message", (message) => {
  if (message.script !== undefined) {
    script = message.script
    kept = {}
    calls = 0
    server.requests.length = 0
    server.use(answer)
    process.send({ ready: true })
  }
  if (message.report) process.send({ log: server.asked().map(timed), kept })
})
// Ends with its parent.
process.on("disconnect", () => process.exit(0))

function timed({ at, doneAt, headers }) {
  return { arrived: begun + at, done: begun + (doneAt ?? Number.NaN), bytes: Number(headers["content-length"]) }
}

/** The turn for a request: a read of the next file, or of several at once, and in the end a text. */
function answer(body, request) {
  if (script.output > 0) return answerLong(body)
  if (request === 1) kept.first = body
  if (request < script.turns) return { content: uses(request), usage: { input_tokens: 10, output_tokens: 20 } }
  kept.last = body
  return { text: "FINAL", usage: { input_tokens: 10, output_tokens: 20 } }
}

/** A command that prints much, again and again; what a conversation is summed up with when that is asked for. */
function answerLong({ messages }) {
  // As many tokens as a model would count for so many bytes.
  const usage = {
    input_tokens: Math.ceil(Number(server.requests.at(-1).headers["content-length"]) / 3.6),
    output_tokens: 60,
  }
  const last = messages.at(-1).content
  if (typeof last !== "string" && /^## Goal$/m.test(last.at(-1).text ?? "")) return { text: SUMMARY, usage }
  if (calls === script.turns) return { text: "FINAL", usage }
  calls++
  const command = `echo ${calls}; yes 'line of text that a command prints' | head -c ${script.output}`
  return { content: [{ type: "tool_use", id: `toolu_${calls}`, name: "Bash", input: { command } }], usage }
}

const SUMMARY = ["Goal", "Constraints", "Files", "Decisions", "Errors", "Open tasks", "Next step"]
  .map((name) => `**${name}** none so far`)
  .join("\n")

function uses(request) {
  return Array.from({ length: script.parallel || 1 }, (_, i) => ({
    type: "tool_use",
    id: `toolu_${request}_${i}`,
    name: script.tool,
    input: { [script.key]: script.files[(request + i) % script.files.length] },
  }))
}
