/**
 * A cassette on disk: requests by key with their answers, as JSON that a person can read and a diff can show.
 *
 * Invariant: a request is kept as what it adds to an earlier one, so that a conversation of n turns takes n messages, not
 * n²; the file is replaced whole or not at all, and only its owner may read it.
 */
import { randomBytes } from "node:crypto"
import { readFile, rename, rm, writeFile } from "node:fs/promises"
import { type ModelEvent, type ModelFaultKind, type ModelLimits, type Price, SousError } from "sous"

const VERSION = 1

/** What the recorded model was. */
export interface RecordedModel {
  id: string
  limits: ModelLimits
  price?: Price
  /** By the key of an output schema: whether the model took it. */
  structuredOutput: Record<string, boolean>
}

/** One request and what became of it. */
export interface CassetteEntry {
  key: string
  model: string
  /** Normalised, JSON text each. */
  elements: string[]
  events: ModelEvent[]
  /** What the stream ended with, when it did not end well. */
  fault?: RecordedFault
}
export interface RecordedFault {
  fault: ModelFaultKind
  message: string
  status?: number
  retryAfterMs?: number
  excessTokens?: number
  mend?: string
}

export interface Cassette {
  models: RecordedModel[]
  entries: CassetteEntry[]
}

/** `like` names the entry whose first `keep` elements this one begins with. */
interface StoredEntry extends Omit<CassetteEntry, "elements"> {
  like?: number
  keep?: number
  then: unknown[]
}

/** Throws MODEL_CASSETTE_UNREADABLE. */
export async function loadCassette(file: string): Promise<Cassette> {
  const unreadable = (reason: string, cause?: unknown) =>
    new SousError("MODEL_CASSETTE_UNREADABLE", { file, reason }, { cause })
  const text = await readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw unreadable(cause.code ?? cause.message, cause)
  })
  const stored = parseJson(text)
  if (stored === undefined) throw unreadable("it is not JSON")
  if (stored.cassette !== VERSION) throw unreadable(`it is no cassette of version ${VERSION}`)
  const entries: CassetteEntry[] = []
  for (const { like, keep, then, ...entry } of stored.entries) {
    const kept = like === undefined ? [] : entries[like]?.elements.slice(0, keep)
    if (kept === undefined) throw unreadable(`entry ${entries.length + 1} begins like one that is not there`)
    entries.push({ ...entry, elements: [...kept, ...then.map((element) => JSON.stringify(element))] })
  }
  return { models: stored.models, entries }
}

/** Throws MODEL_CASSETTE_UNWRITABLE. */
export async function saveCassette(file: string, { models, entries }: Cassette): Promise<void> {
  const stored = { cassette: VERSION, models, entries: entries.map((entry, at) => store(entry, entries.slice(0, at))) }
  const beside = `${file}.${randomBytes(4).toString("hex")}.tmp`
  try {
    await writeFile(beside, `${JSON.stringify(stored, null, 1)}\n`, { mode: 0o600, flag: "wx" })
    await rename(beside, file)
  } catch (cause) {
    await rm(beside, { force: true })
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause)
    throw new SousError("MODEL_CASSETTE_UNWRITABLE", { file, reason }, { cause })
  }
}

/** How many elements two requests begin with in common. */
export function commonPrefix(a: readonly string[], b: readonly string[]): number {
  const at = a.findIndex((element, index) => element !== b[index])
  return at < 0 ? a.length : at
}

/** The newest entry that shares the longest beginning is the one before it in the same conversation. */
function store({ elements, ...entry }: CassetteEntry, earlier: readonly CassetteEntry[]): StoredEntry {
  let like = -1
  let keep = 0
  for (const [index, { elements: other }] of earlier.entries()) {
    const shared = commonPrefix(elements, other)
    if (shared >= keep && shared > 0) [like, keep] = [index, shared]
  }
  const then = elements.slice(keep).map((element) => JSON.parse(element) as unknown)
  return { ...entry, ...(like < 0 ? {} : { like, keep }), then }
}

function parseJson(text: string): { cassette: number; models: RecordedModel[]; entries: StoredEntry[] } | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
