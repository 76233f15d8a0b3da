/**
 * A line of a checkpoint log, as JSON → whether it is a record that can be gone by.
 *
 * Invariant: what passes has every field that is needed to put a file back, and names paths and contents only as we do.
 */
import { isAbsolute } from "node:path"
import type { LogRecord } from "./checkpoint-log.ts"

type Fields = Readonly<Record<string, unknown>>

/** True for what we write, and for what a later writer may add to it. */
export function isRecord(value: unknown): value is LogRecord {
  if (!isObject(value)) return false
  return typeof value.type === "string" && (CHECKS.get(value.type)?.(value) ?? false)
}

const CHECKS: ReadonlyMap<string, (record: Fields) => boolean> = new Map<string, (record: Fields) => boolean>([
  ["log", () => true],
  [
    "before",
    (record) => areTexts(record, "id", "at", "call", "tool") && isCount(record.turn) && areFiles(record, "before"),
  ],
  ["after", (record) => areTexts(record, "id") && areFiles(record, "after")],
  [
    "rewind",
    (record) => {
      const { turns, from, conversation } = record
      return (
        areTexts(record, "id", "at") &&
        [turns, from].every(isCount) &&
        (conversation === undefined || (isObject(conversation) && areTexts(conversation, "to", "undone"))) &&
        areFiles(record, "before", "after")
      )
    },
  ],
  ["rewound", (record) => areTexts(record, "id")],
])

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function areTexts(fields: Fields, ...names: readonly string[]): boolean {
  return names.every((name) => typeof fields[name] === "string")
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** `states`: those that each file has to have; another one may be missing. */
function areFiles({ files }: Fields, ...states: readonly string[]): boolean {
  return Array.isArray(files) && files.every((file) => isObject(file) && isFile(file, states))
}

function isFile({ path, may = [], ...file }: Fields, states: readonly string[]): boolean {
  const given = ["before", "after"].filter((name) => states.includes(name) || file[name] !== undefined)
  const isPath = typeof path === "string" && isAbsolute(path) && !path.includes("\0")
  return isPath && given.every((name) => isState(file[name])) && Array.isArray(may) && may.every(isHash)
}

const MOST_MODE = 0o7777

function isState(state: unknown): boolean {
  if (!isObject(state)) return false
  const { kind, mode, size, hash, target, missed } = state
  const hasMode = isCount(mode) && (mode as number) <= MOST_MODE
  if (missed !== undefined && typeof missed !== "string") return false
  if (kind === "file") return hasMode && isCount(size) && (hash === undefined || isHash(hash))
  if (kind === "folder") return hasMode
  return kind === "link" ? typeof target === "string" : kind === "none" || kind === "other"
}

function isHash(value: unknown): boolean {
  return typeof value === "string" && /^[0-9a-f]{64}$/.test(value)
}
