/**
 * A line of a transcript, as JSON → whether it is an entry that a conversation can be put together from.
 *
 * Invariant: what somebody wrote into a file by hand is a lost line at worst, and never the end of a run.
 */
import type { TranscriptEntry } from "./transcript.ts"

/** True for every entry of ours; what an entry of an unknown type holds is not looked at. */
export function isEntry(value: unknown): value is TranscriptEntry {
  if (!isObject(value) || typeof value.uuid !== "string" || typeof value.type !== "string") return false
  return CHECKS.get(value.type)?.(value) ?? true
}

type Fields = Readonly<Record<string, unknown>>

const USAGE = ["input", "output", "cacheRead", "cacheWrite"]
const CHECKS: ReadonlyMap<string, (entry: Fields) => boolean> = new Map<string, (entry: Fields) => boolean>([
  ["user", isMessage],
  ["assistant", isMessage],
  ["frame", ({ system = [], tools = [] }) => areBlocks(system) && isListOf(tools, (tool) => isText(tool.name))],
  [
    "usage",
    ({ usage, gauge }) => {
      return isObject(usage) && isObject(gauge) && USAGE.every((name) => Number.isFinite(usage[name]))
    },
  ],
  ["compaction", ({ keepFrom, opening }) => Number.isSafeInteger(keepFrom) && areBlocks(opening)],
  ["dropped", ({ results }) => isListOf(results, ({ id, text }) => isText(id) && isText(text))],
  ["note", ({ set, key }) => isText(set) && isText(key)],
  ["told", ({ keys }) => isListOf(keys, ({ key }) => isText(key))],
])

/** What no model takes would end every request of the conversation. */
function isMessage({ type, message }: Fields): boolean {
  if (!isObject(message) || message.role !== type) return false
  return isText(message.content) || areBlocks(message.content)
}

function areBlocks(value: unknown): boolean {
  return isListOf(value, (block) => isText(block.type))
}

function isListOf(value: unknown, isFit: (item: Fields) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => isObject(item) && isFit(item))
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === "string"
}
