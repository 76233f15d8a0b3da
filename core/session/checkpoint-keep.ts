/**
 * A call with the paths that it may change → their contents in the store and two lines in the log.
 *
 * Invariant: the call starts when the disk has the line before it; calls that overlap write whole lines, one by one.
 */
import { randomUUID } from "node:crypto"
import { readdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { CheckpointPlace, CheckpointStore } from "./checkpoint.ts"
import { keepBytes } from "./checkpoint-content.ts"
import { hashesOf, replacedHashes, wordsOf } from "./checkpoint-likely.ts"
import { appendRecord, type CallAfter, type LogRecord, mendLog } from "./checkpoint-log.ts"
import { type FileState, lookAt } from "./checkpoint-state.ts"

/** Entries below one folder that are kept. */
const MOST_ENTRIES = 1000
/** Bytes below one folder that are kept. */
const MOST_BYTES = 256 * 2 ** 20
/** Files of one call of which is known what its words would make of them. */
const MOST_REPLACED = 8
/** Files that are looked at at once. */
const WIDTH = 4

/** Opens the store of a session. */
export async function createKeeper(place: CheckpointPlace, clock: { now(): number }): Promise<CheckpointStore> {
  await mendLog(place.log)
  let last: Promise<void> = Promise.resolve()
  function append(record: LogRecord, options: { sync?: boolean } = {}): Promise<void> {
    const turn = last.then(() => appendRecord(place.log, record, options))
    last = turn.catch(() => {})
    return turn
  }
  const keep = (hash: string, bytes: Buffer) => keepBytes(place.content, hash, bytes)
  return {
    async before({ toolUseId, tool, turn, command, input }, paths) {
      const id = randomUUID()
      const words = wordsOf(input)
      const replaced = new Map<string, readonly string[]>()
      const found = await lookAround(paths, async (hash, bytes) => {
        await keep(hash, bytes)
        if (words.length > 0 && replaced.size < MOST_REPLACED) replaced.set(hash, replacedHashes(bytes, words))
      })
      const likely = createLikely(words, replaced)
      const named = new Set(paths)
      const files = [...found].map(([path, before]) => ({ path, before, ...(named.has(path) ? likely(before) : {}) }))
      const at = new Date(clock.now()).toISOString()
      const call = { call: toolUseId, tool, turn, ...(command ? { command } : {}) }
      await append({ type: "before", id, at, ...call, files }, { sync: files.length > 0 })
      return async () => {
        if (files.length > 0) await append({ type: "after", id, files: await lookAgain(paths, found) })
      }
    },
  }
}

/** What a call may make of what stood there. */
function createLikely(words: readonly string[], replaced: ReadonlyMap<string, readonly string[]>) {
  const whole = hashesOf(words)
  return (before: FileState): { may?: readonly string[] } => {
    if (before.kind !== "none" && before.kind !== "file") return {}
    const more = before.kind === "file" ? (replaced.get(before.hash ?? "") ?? []) : []
    const may = [...new Set([...whole, ...more])]
    return may.length > 0 ? { may } : {}
  }
}

async function lookAgain(
  paths: readonly string[],
  before: ReadonlyMap<string, FileState>,
): Promise<CallAfter["files"][number][]> {
  const found = await lookAround(paths)
  // What was not looked at before may have been there before.
  const isWhole = ![...before.values()].some((state) => state.kind === "folder" && state.missed !== undefined)
  const after = [...before.keys()].filter((path) => !found.has(path))
  for (const path of after) found.set(path, await lookAt(path))
  return [...found].flatMap(([path, after]) => {
    if (before.has(path)) return [{ path, after }]
    return isWhole ? [{ path, after, before: { kind: "none" } as const }] : []
  })
}

/** The paths, the folders above them that are missing, and all that is in those which are folders. */
async function lookAround(
  paths: readonly string[],
  keep?: (hash: string, bytes: Buffer) => Promise<void>,
): Promise<Map<string, FileState>> {
  const found = new Map<string, FileState>()
  const named = [...new Set(paths)]
  for (let start = 0; start < named.length; start += WIDTH) {
    const part = named.slice(start, start + WIDTH)
    const states = await Promise.all(part.map((path) => lookAt(path, keep)))
    for (const [index, path] of part.entries()) found.set(path, states[index]!)
  }
  for (const [path, state] of [...found]) {
    if (state.kind === "none") await lookAbove(path, found)
    if (state.kind === "folder") await lookBelow(path, { found, keep, state })
  }
  return found
}

async function lookAbove(path: string, found: Map<string, FileState>): Promise<void> {
  for (let above = dirname(path); !found.has(above); above = dirname(above)) {
    const state = await lookAt(above)
    if (state.kind !== "none") return
    found.set(above, state)
  }
}

interface Folder {
  found: Map<string, FileState>
  keep: ((hash: string, bytes: Buffer) => Promise<void>) | undefined
  state: FileState & { kind: "folder" }
}

async function lookBelow(path: string, { found, keep, state }: Folder): Promise<void> {
  const folders = [path]
  let [entries, bytes] = [0, 0]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const name of await readdir(folder).catch(() => [])) {
      if (++entries > MOST_ENTRIES || bytes > MOST_BYTES) {
        found.set(path, {
          ...state,
          missed: `it holds more than ${MOST_ENTRIES} entries or ${MOST_BYTES / 2 ** 20} MiB`,
        })
        return
      }
      const place = join(folder, name)
      const below = found.get(place) ?? (await lookAt(place, keep))
      found.set(place, below)
      if (below.kind === "folder") folders.push(place)
      if (below.kind === "file") bytes += below.size
    }
  }
}
