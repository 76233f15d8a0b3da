/**
 * Answers requests from a cassette, by key; each recorded answer is given once, in the order of recording.
 *
 * Invariant: a request that was not recorded is never answered: the failure shows how it differs from the nearest one that
 * was. Answers that nobody asked for fail the run's end.
 */
import { createModelFault, type Model, type ModelFault, type ModelOptions, SousError } from "sous"
import { type Cassette, type CassetteEntry, commonPrefix, loadCassette } from "./cassette-file.ts"
import { createFolders, createNormalizer, keyOf, schemaKey } from "./cassette-key.ts"
import { abortError } from "./fault.ts"

/** Lines of difference that a miss shows. */
const DIFF_LINES = 60

/** `file` is absolute. Throws MODEL_CASSETTE_UNREADABLE. */
export async function replayModel(id: string, file: string, options: ModelOptions): Promise<Model> {
  const folders = createFolders(options)
  const normalise = createNormalizer(folders)
  const player = createPlayer(file, await loadCassette(file))
  const { limits, price } = player.model
  return {
    id,
    knownLimits: limits,
    limits: async () => limits,
    ...(price === undefined ? {} : { price }),
    structuredOutput: (schema) => player.model.structuredOutput[schemaKey(schema)] ?? false,
    async *stream(request, { signal }) {
      if (signal.aborted) throw abortError(signal)
      const { events, fault } = await player.take(normalise(request))
      for (const event of folders.show(events)) {
        if (signal.aborted) throw abortError(signal)
        yield event
      }
      if (fault !== undefined) throw createModelFault(fault.fault, fault.message, fault)
    },
    close() {
      if (!options.signal.aborted) player.checkUsed()
    },
  }
}

function createPlayer(file: string, { models, entries }: Cassette) {
  const unused = new Set(entries)
  let failed = false
  const [first] = models
  return {
    model: {
      limits: first?.limits ?? { contextWindow: 200_000, maxOutput: 32_000 },
      price: first?.price,
      structuredOutput: Object.assign({}, ...models.map(({ structuredOutput }) => structuredOutput)) as Record<
        string,
        boolean
      >,
    },
    async take(elements: readonly string[]): Promise<CassetteEntry> {
      const key = keyOf(elements)
      const entry = [...unused].find((one) => one.key === key)
      if (entry !== undefined) {
        unused.delete(entry)
        return entry
      }
      failed = true
      throw await miss(file, elements, { key, entries, unused })
    },
    checkUsed() {
      if (unused.size === 0 || failed) return
      throw new SousError("MODEL_CASSETTE_UNUSED", { file, unused: unused.size, entries: entries.length })
    },
  }
}

interface Recorded {
  key: string
  entries: readonly CassetteEntry[]
  unused: ReadonlySet<CassetteEntry>
}

async function miss(
  file: string,
  elements: readonly string[],
  { key, entries, unused }: Recorded,
): Promise<ModelFault> {
  const mend = "record it again with --record, or undo what changed the request"
  const times = entries.filter((entry) => entry.key === key).length
  if (times > 0) {
    return createModelFault(
      "no_answer",
      `The cassette "${file}" has ${times} answers to this request, and it was made once more`,
      { mend },
    )
  }
  const nearest = nearestOf(elements, unused.size > 0 ? [...unused] : entries)
  if (nearest === undefined) return createModelFault("no_answer", `The cassette "${file}" is empty`, { mend })
  const number = entries.indexOf(nearest) + 1
  const difference = await diffOf(nearest.elements, elements)
  return createModelFault(
    "no_answer",
    `The cassette "${file}" has no answer to this request. Nearest is entry ${number}:\n${difference}`,
    { mend },
  )
}

/** The one that begins alike for longest; of several, the one that is most alike in length. */
function nearestOf(elements: readonly string[], entries: readonly CassetteEntry[]): CassetteEntry | undefined {
  const distance = (entry: CassetteEntry) => Math.abs(entry.elements.length - elements.length)
  return [...entries].sort(
    (a, b) => commonPrefix(elements, b.elements) - commonPrefix(elements, a.elements) || distance(a) - distance(b),
  )[0]
}

async function diffOf(recorded: readonly string[], asked: readonly string[]): Promise<string> {
  const { createTwoFilesPatch } = await import("diff")
  const from = commonPrefix(recorded, asked)
  const patch = createTwoFilesPatch(
    "recorded",
    "asked",
    readable(recorded.slice(from)),
    readable(asked.slice(from)),
    "",
    "",
    { context: 2 },
  )
  const lines = patch.split("\n").slice(1)
  const rest = lines.length - DIFF_LINES
  return rest > 0 ? [...lines.slice(0, DIFF_LINES), `… ${rest} lines more`].join("\n") : lines.join("\n").trimEnd()
}

/** JSON with the line breaks of its texts as line breaks. */
function readable(elements: readonly string[]): string {
  return elements.map((element) => `${JSON.stringify(JSON.parse(element), null, 1).replaceAll("\\n", "\n")}\n`).join("")
}
