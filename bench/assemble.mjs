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

const [FEW, MANY] = [100, 10_000]
/** Turns of one sample, and samples: few turns at a time, so that what else the machine does befalls both alike. */
const TURNS = 2
const SAMPLES = 60

/** Adds one sample for each figure. */
export async function measureAssembling(place, samples) {
  if (!place.wants("assemble")) return
  const folder = mkdtempSync(join(tmpdir(), "sous-bench-assemble-"))
  try {
    const { createConversation } = await load(folder)
    const [few, many] = [FEW, MANY].map((old) => createTurns(createConversation, old))
    const [first, second] = [[], []]
    for (let i = 0; i < SAMPLES; i++) {
      first.push(few())
      second.push(many())
    }
    samples.add("assemble", "sous", quiet(second) / quiet(first))
    samples.add("assemble-many", "sous", quiet(second))
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

/** Returns what takes some turns behind so many messages, and says how long one took, µs. */
function createTurns(createConversation, old) {
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
    const { messages } = conversation.request(32_000)
    if (conversation.inputTokens() > conversation.worstInputTokens()) throw new Error("The worst is less than what is")
    tokens += 700
    conversation.counted({ input: tokens, output: 100, cacheRead: 0, cacheWrite: 0 }, { model: "m", at: 0 })
    conversation.append("assistant", text(400))
    return messages.length
  }
  for (let i = 0; i < old / 2; i++) turn()
  return () => {
    const [begun, before] = [performance.now(), written]
    for (let i = 0; i < TURNS; i++) turn()
    const took = performance.now() - begun
    if (written === before) throw new Error("Nothing was written")
    return (took / TURNS) * 1000
  }
}

/** The lower quartile: what a busy machine does to some samples only ever adds. */
function quiet(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 4)]
}
