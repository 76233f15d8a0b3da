/**
 * The peer that everybody has: the SDK's own tool runner, streaming, with one tool that reads a file.
 *
 * Invariant: no more than its documentation shows; no permissions, no hooks, no record.
 */
import { readFile } from "node:fs/promises"
import Anthropic from "@anthropic-ai/sdk"

const runner = new Anthropic().beta.messages.toolRunner({
  model: "claude-opus-5",
  max_tokens: 4096,
  stream: true,
  max_iterations: 10_000,
  messages: [{ role: "user", content: process.argv[2] }],
  tools: [
    {
      type: "custom",
      name: "read_file",
      description: "Read a file",
      input_schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      parse: (input) => input,
      run: ({ path }) => readFile(path, "utf8"),
    },
  ],
})
let last
for await (const stream of runner) last = await stream.finalMessage()
process.stdout.write(`${last.content.map((block) => block.text ?? "").join("")}\n`)
