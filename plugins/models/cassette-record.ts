/**
 * Wraps any model and keeps what it answers in a cassette: `--record FILE`.
 *
 * Invariant: what passes through is passed on unchanged; models of one run share one cassette, written when the last of
 * them is closed; an answer that was aborted is not kept.
 */
import { access, constants } from "node:fs/promises"
import { dirname } from "node:path"
import {
  isModelFault,
  type Model,
  type ModelEvent,
  type ModelFault,
  type ModelOptions,
  type ModelRequest,
  SousError,
} from "sous"
import { type Cassette, type RecordedFault, type RecordedModel, saveCassette } from "./cassette-file.ts"
import { createFolders, createNormalizer, type Folders, keyOf, schemaKey } from "./cassette-key.ts"

/** `file` is absolute; what it holds is replaced. Throws MODEL_CASSETTE_UNWRITABLE. */
export async function recordModel(
  model: Model,
  file: string,
  options: Pick<ModelOptions, "cwd" | "env" | "signal">,
): Promise<Model> {
  await access(dirname(file), constants.W_OK).catch((cause: NodeJS.ErrnoException) => {
    throw new SousError("MODEL_CASSETTE_UNWRITABLE", { file, reason: cause.code ?? cause.message }, { cause })
  })
  const recorder = shareRecorder(file, options)
  const recorded = await describeModel(model)
  recorder.cassette.models.push(recorded)
  return {
    ...(model.knownLimits === undefined ? {} : { knownLimits: model.knownLimits }),
    ...(model.price === undefined ? {} : { price: model.price }),
    id: model.id,
    limits: () => model.limits(),
    structuredOutput(schema) {
      const { structuredOutput = false } = model
      const taken = typeof structuredOutput === "function" ? structuredOutput(schema) : structuredOutput
      recorded.structuredOutput[schemaKey(schema)] = taken
      return taken
    },
    warm: () => model.warm?.(),
    stream: (request, { signal }) => recorder.record(model, request, signal),
    ...(model.countTokens === undefined ? {} : { countTokens: (request) => model.countTokens!(request) }),
    async close() {
      await model.close?.()
      await recorder.close()
    },
  }
}

interface Recorder {
  cassette: Cassette
  record(model: Model, request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent>
  close(): Promise<void>
}

/** Recorders by run (whose signal all its models share) and file. */
const recorders = new WeakMap<AbortSignal, Map<string, Recorder & { users: number }>>()

function shareRecorder(file: string, options: Pick<ModelOptions, "cwd" | "env" | "signal">): Recorder {
  const ofRun = recorders.get(options.signal) ?? new Map<string, Recorder & { users: number }>()
  recorders.set(options.signal, ofRun)
  const recorder = ofRun.get(file) ?? { ...createRecorder(file, createFolders(options)), users: 0 }
  ofRun.set(file, recorder)
  recorder.users += 1
  return {
    ...recorder,
    async close() {
      recorder.users -= 1
      if (recorder.users === 0) await recorder.close()
    },
  }
}

function createRecorder(file: string, folders: Folders): Recorder {
  const normalise = createNormalizer(folders)
  const cassette: Cassette = { models: [], entries: [] }
  return {
    cassette,
    async *record(model, request, signal) {
      const elements = normalise(request)
      const entry = { key: keyOf(elements), model: model.id, elements }
      const events: ModelEvent[] = []
      const keep = (fault?: RecordedFault) => {
        cassette.entries.push({ ...entry, events: folders.hide(events), ...(fault === undefined ? {} : { fault }) })
      }
      try {
        for await (const event of model.stream(request, { signal })) {
          append(events, event)
          yield event
        }
      } catch (error) {
        if (isModelFault(error) && error.fault !== "no_answer") keep(recordFault(error))
        throw error
      }
      keep()
    },
    close: () => saveCassette(file, cassette),
  }
}

async function describeModel(model: Model): Promise<RecordedModel> {
  const limits = model.knownLimits ?? (await model.limits())
  return { id: model.id, limits, ...(model.price ? { price: model.price } : {}), structuredOutput: {} }
}

type BlockDelta = Extract<ModelEvent, { type: "content_block_delta" }>

/** Neighbouring pieces of one text become one, so that a cassette reads well and folders in it are found. */
function append(events: ModelEvent[], event: ModelEvent): void {
  if (event.type === "retry") return
  const last = events.at(-1)
  if (event.type === "content_block_delta" && last?.type === "content_block_delta" && last.index === event.index) {
    const joined = join(last.delta, event.delta)
    if (joined !== undefined) return void events.splice(-1, 1, { ...event, delta: joined })
  }
  events.push(event)
}

function join(a: BlockDelta["delta"], b: BlockDelta["delta"]): BlockDelta["delta"] | undefined {
  if (a.type === "text_delta" && b.type === "text_delta") return { ...a, text: a.text + b.text }
  if (a.type === "thinking_delta" && b.type === "thinking_delta") return { ...a, thinking: a.thinking + b.thinking }
  if (a.type === "input_json_delta" && b.type === "input_json_delta") {
    return { ...a, partial_json: a.partial_json + b.partial_json }
  }
  return undefined
}

function recordFault({ fault, message, status, retryAfterMs, excessTokens, mend }: ModelFault): RecordedFault {
  return JSON.parse(JSON.stringify({ fault, message, status, retryAfterMs, excessTokens, mend }))
}
