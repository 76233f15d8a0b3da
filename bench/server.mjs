/**
 * A child process around the toolkit's own loopback server: zero delay, and the time and size of each request kept.
 *
 * Invariant: the same answers, at the same cost, for whoever asks. Times are on clock.mjs's clock.
 */
import { createModelServer } from "../dist/testing.js"
import { clock } from "./clock.mjs"

let script = { turns: 1, parallel: 0, files: [], tool: "", key: "" }
let kept = {}

// The server counts from its own start; `begun` is that moment on the shared clock.
const begun = clock()
const server = await createModelServer(answer, { keep: "none" })
process.send({ url: server.url })

process.on("message", (message) => {
  if (message.script !== undefined) {
    script = message.script
    kept = {}
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
  if (request === 1) kept.first = body
  if (request < script.turns) return { content: uses(request), usage: { input_tokens: 10, output_tokens: 20 } }
  kept.last = body
  return { text: "FINAL", usage: { input_tokens: 10, output_tokens: 20 } }
}

function uses(request) {
  return Array.from({ length: script.parallel || 1 }, (_, i) => ({
    type: "tool_use",
    id: `toolu_${request}_${i}`,
    name: script.tool,
    input: { [script.key]: script.files[(request + i) % script.files.length] },
  }))
}
