/**
 * What one more message takes behind few and behind many: written down, counted, and made part of the next request.
 *
 * Invariant: the same message and the same work each time, in turns; nothing is sent. Samples are in µs, and their ratio.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { build } from "esbuild"
import { median } from "./samples.mjs"

const [FEW, MANY] = [100, 10_000]
const TURNS = 200
const ROUNDS = 9

/** Adds one sample for each figure. */
export async function measureAssembling(place, samples) {
  if (!place.wants("assemble")) return
  const folder = mkdtempSync(join(tmpdir(), "sous-bench-assemble-"))
  try {
    const { createConversation } = await load(folder)
    const [few, many] = [[], []]
    for (let round = -2; round < ROUNDS; round++) {
      const [first, second] = [timeTurns(createConversation, FEW), timeTurns(createConversation, MANY)]
      if (round < 0) continue
      few.push(first)
      many.push(second)
    }
    samples.add("assemble", "sous", median(many) / median(few))
    samples.add("assemble-many", "sous", median(many))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The conversation is no part of the public surface, so it is bundled for this. */
async function load(folder) {
  const entry = fileURLToPath(new URL("../core/context/conversation.ts", import.meta.url))
  const outfile = join(folder, "conversation.mjs")
  await build({ entryPoints: [entry], outfile, bundle: true, format: "esm", platform: "node", logLevel: "error" })
  return await import(pathToFileURL(outfile).href)
}

const text = (length) => [{ type: "text", text: "line of text\n".repeat(length / 13) }]
const tools = Array.from({ length: 12 }, (_, i) => ({ name: `T${i}`, description: "d".repeat(300), input_schema: {} }))

/** µs of a turn behind so many messages. */
function timeTurns(createConversation, old) {
  let written = 0
  const transcript = {
    append: (type, fields) => {
      written += JSON.stringify({ type, ...fields }).length
      return ""
    },
    flush: async () => {},
  }
  const conversation = createConversation({ system: text(900), tools }, transcript)
  let tokens = 1000
  const turn = () => {
    conversation.append("user", text(2000))
    const request = conversation.request(32_000)
    if (conversation.inputTokens() > conversation.worstInputTokens()) throw new Error("The worst is less than what is")
    tokens += 700
    conversation.counted({ input: tokens, output: 100, cacheRead: 0, cacheWrite: 0 }, { model: "m", at: 0 })
    conversation.append("assistant", text(400))
    return request.messages.length
  }
  for (let i = 0; i < old / 2; i++) turn()
  const begun = performance.now()
  for (let i = 0; i < TURNS; i++) turn()
  const took = performance.now() - begun
  if (written === 0) throw new Error("Nothing was written")
  return (took / TURNS) * 1000
}
