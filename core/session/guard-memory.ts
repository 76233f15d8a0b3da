/**
 * Which plugin files guarded something when they were loaded last: in one file of the state folder, and back.
 *
 * Invariant: a file that is broken or foreign is never taken for an empty one; several starts at once lose nothing; it
 * holds what guards and nothing else, and so it stays small.
 */
import { isSousError, SousError } from "../error.ts"
import { guardsFile } from "./guard-file.ts"
import { replaceFile, withLock } from "./lock.ts"
import { parseJson, readOwnFile, reasonOf } from "./own-file.ts"
import { createOwnFolder } from "./store.ts"

/** A plugin file that guarded something. */
export interface RememberedGuard {
  /** Absolute, real. */
  file: string
  /** How settings named it. */
  identity?: string
  name: string
  /** With what: `deny Bash(rm *)`, `hook PreToolUse`. */
  guards: string[]
  /** ISO 8601, UTC: when that was seen first. */
  at: string
}

/** What a start saw of a plugin file. */
export type SeenGuard = Omit<RememberedGuard, "at">

const VERSION = 1
/** A file that is longer was not written by us, bytes. */
const MAX_BYTES = 2 ** 20
/** Of more, those that were seen first are dropped. */
const MAX_GUARDS = 500
/** Of one plugin, and characters of one of them. */
const MAX_WORDS = 20
const MAX_CHARS = 200

/** Reads what is remembered. Throws PLUGIN_MEMORY_UNREADABLE. */
export async function loadGuards(state: string): Promise<RememberedGuard[]> {
  const file = guardsFile(state)
  try {
    const text = await readOwnFile(file, { mostBytes: MAX_BYTES })
    return text === undefined ? [] : parseGuards(text)
  } catch (error) {
    throw new SousError("PLUGIN_MEMORY_UNREADABLE", { file, reason: reasonOf(error) }, { cause: error })
  }
}

/**
 * Remembers what these plugin files guard with now: one without guards is forgotten. Writes only what changed. Throws
 * PLUGIN_MEMORY_UNREADABLE or PLUGIN_MEMORY_UNWRITABLE.
 */
export async function rememberGuards(
  state: string,
  seen: readonly SeenGuard[],
  options: { known: readonly RememberedGuard[] /** ms since the epoch. */; now: number },
): Promise<void> {
  const at = new Date(options.now).toISOString()
  if (merge(options.known, seen, at) === options.known) return
  await changeGuards(state, (known) => merge(known, seen, at))
}

/** Forgets what is remembered by this name or file; returns that. Throws as `rememberGuards` does. */
export async function forgetGuards(state: string, named: string): Promise<RememberedGuard[]> {
  let forgotten: RememberedGuard[] = []
  await changeGuards(state, (known) => {
    forgotten = known.filter(({ name, file }) => name === named || file === named)
    return forgotten.length === 0 ? known : known.filter((one) => !forgotten.includes(one))
  })
  return forgotten
}

async function changeGuards(
  state: string,
  change: (known: readonly RememberedGuard[]) => readonly RememberedGuard[],
): Promise<void> {
  const file = guardsFile(state)
  try {
    await createOwnFolder(state)
    await withLock(file, async () => {
      const known = await loadGuards(state)
      const next = change(known)
      if (next !== known) await replaceFile(file, printGuards(next))
    })
  } catch (error) {
    if (isSousError(error)) throw error
    throw new SousError("PLUGIN_MEMORY_UNWRITABLE", { file, reason: reasonOf(error) }, { cause: error })
  }
}

/** The same list when nothing has changed. */
function merge(known: readonly RememberedGuard[], seen: readonly SeenGuard[], at: string): readonly RememberedGuard[] {
  const short = seen.map((one) => ({ ...one, guards: shorten(one.guards) }))
  const isSame = short.every((one) => {
    const before = known.find(({ file }) => file === one.file)
    return before === undefined ? one.guards.length === 0 : sameText(before) === sameText(one)
  })
  if (isSame) return known
  const files = new Map(short.map((one) => [one.file, one]))
  const fresh = short
    .filter(({ guards }) => guards.length > 0)
    .map((one) => ({ ...one, at: known.find(({ file }) => file === one.file)?.at ?? at }))
  return [...known.filter(({ file }) => !files.has(file)), ...fresh].slice(-MAX_GUARDS)
}

function shorten(guards: readonly string[]): string[] {
  const some = guards.slice(0, MAX_WORDS).map((one) => one.slice(0, MAX_CHARS))
  return guards.length > MAX_WORDS ? [...some, `and ${guards.length - MAX_WORDS} more`] : some
}

function sameText({ identity, name, guards }: SeenGuard): string {
  return JSON.stringify([identity ?? "", name, guards])
}

function parseGuards(text: string): RememberedGuard[] {
  const value = parseJson(text) as { version?: unknown; guards?: unknown } | null | undefined
  if (typeof value !== "object" || value === null) throw new Error("it is no JSON object")
  if (value.version !== VERSION) {
    throw new Error(`its version is ${JSON.stringify(value.version)}, this program reads ${VERSION}`)
  }
  if (!Array.isArray(value.guards) || !value.guards.every(isGuard)) throw new Error("an entry is not as it was written")
  return value.guards
}

function isGuard(value: unknown): value is RememberedGuard {
  const { file, name, guards, at, identity = "" } = (value ?? {}) as Partial<RememberedGuard>
  const isListed = Array.isArray(guards) && guards.every((one) => typeof one === "string")
  return isListed && [file, name, at, identity].every((one) => typeof one === "string")
}

function printGuards(guards: readonly RememberedGuard[]): string {
  const lines = guards.map((guard) => `    ${JSON.stringify(guard)}`)
  const list = lines.length === 0 ? "[]" : `[\n${lines.join(",\n")}\n  ]`
  return `{\n  "version": ${VERSION},\n  "guards": ${list}\n}\n`
}
