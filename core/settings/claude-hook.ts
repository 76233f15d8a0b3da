/**
 * `hooks` of a settings file of Claude Code → the same with what nobody could start left out, and every place kept.
 *
 * Invariant: an entry of a gate that is not understood stops the start, unless it could never have run in Claude Code
 * either; of the other events it is left out, listed and told.
 */
import { isSousError, nearestName, suggest } from "../error.ts"
import { HOOKS, type HookEvent, type HookSpec } from "../hook.ts"
import { checkPart } from "./check.ts"
import { type ClaudeReading, isFields, leaveOut, misplacedGuard, type Path, say, wrongGuard } from "./claude-reading.ts"
import { checkHandler } from "./hook-entry.ts"
import { FOREIGN_EVENTS, HANDLERS, type Handler, type HandlerType, MOST_SECONDS } from "./hook-schema.ts"

/** Reads them; a hole stands for what is left out. Throws SETTINGS_VALUE_INVALID or SETTINGS_KEY_UNKNOWN. */
export function readHookEntries(value: unknown, reading: ClaudeReading): Record<string, unknown> {
  if (!isFields(value)) throw wrongGuard(reading, ["hooks"], "expected an object")
  const hooks: Record<string, unknown[]> = {}
  for (const [event, entries] of Object.entries(value)) {
    const path = ["hooks", event]
    if (!isEvent(event)) readUnknownEvent(reading, event, entries)
    else if (!Array.isArray(entries)) refuse({ reading, event }, path, { value: entries, problem: "expected a list" })
    else hooks[event] = entries.map((entry, index) => readGroup({ reading, event }, [...path, index], entry))
  }
  return hooks
}

/** Whose hooks are being read. */
interface Hooks {
  reading: ClaudeReading
  event: string
}

function isEvent(event: string): boolean {
  return Object.hasOwn(HOOKS, event) || FOREIGN_EVENTS.some((name) => name === event)
}

function readUnknownEvent(reading: ClaudeReading, event: string, entries: unknown): void {
  const path = ["hooks", event]
  const near = nearestName(event, Object.keys(HOOKS))
  if (near !== undefined) throw misplacedGuard(reading, path, `write "${near}"`)
  // Claude Code raises no such event, so these hooks have never run.
  leaveOut(reading, path, entries, "no event has that name")
}

/** Of a gate: an error. Of the others: left out, as a hole. */
function refuse({ reading, event }: Hooks, path: Path, { value, problem }: { value: unknown; problem: string }): void {
  if (isGate(event)) throw wrongGuard(reading, path, problem)
  leaveOut(reading, path, value, problem)
}

function isGate(event: string): boolean {
  const spec: HookSpec | undefined = Object.hasOwn(HOOKS, event) ? HOOKS[event as HookEvent] : undefined
  return spec?.kind === "gate" || spec?.kind === "first"
}

/** Events that take no matcher; one that is given is ignored. */
const WITHOUT_MATCHER: readonly string[] = ["UserPromptSubmit", "Stop"]

function readGroup(hooks: Hooks, path: Path, entry: unknown): unknown {
  const { reading, event } = hooks
  if (!isFields(entry)) return refuse(hooks, path, { value: entry, problem: "expected an object with hooks" })
  if (!("hooks" in entry) && isFlat(entry)) {
    // Claude Code takes handlers in groups alone, so this one has never run.
    return leaveOut(reading, path, entry, 'it stands in no group; write { "hooks": [ … ] } around it')
  }
  if (!Array.isArray(entry.hooks)) return refuse(hooks, path, { value: entry, problem: "expected a list of hooks" })
  const { matcher, hooks: handlers, ...others } = entry
  if (matcher !== undefined && matcher !== null && typeof matcher !== "string")
    return refuse(hooks, [...path, "matcher"], { value: matcher, problem: "expected a text" })
  if (typeof matcher === "string" && !WITHOUT_MATCHER.includes(event) && !isMatcher(matcher)) {
    // Claude Code lets such a matcher match nothing, so these hooks have never run.
    const mend = /^[\w|]+\(/.test(matcher) ? `; write "${matcher.replace(/\(.*/s, "")}", and the rest as "if"` : ""
    const problem = `"${matcher}" is neither names nor a regular expression, and has never matched anything${mend}`
    return leaveOut(reading, [...path, "matcher"], entry, problem)
  }
  const known = readOthers(hooks, path, others)
  return {
    ...known,
    ...(typeof matcher === "string" ? { matcher } : {}),
    hooks: handlers.map((handler: unknown, index) => readHandler(hooks, [...path, "hooks", index], handler)),
  }
}

/** A handler as other tools write it, at the place of a group. */
function isFlat(entry: Record<string, unknown>): boolean {
  return ["command", "url", "prompt", "bash", "powershell"].some((key) => typeof entry[key] === "string")
}

/** True for what the other tool can use: everything, names, or a regular expression. */
function isMatcher(matcher: string): boolean {
  if (/^\s*\*?\s*$/.test(matcher)) return true
  try {
    new RegExp(matcher)
    return true
  } catch {
    return false
  }
}

/** Keys of ours without which a gate would let more through. */
const FIRM_KEYS = ["onFailure", "dialect"]

/** What stands beside a group's matcher and hooks; a misspelt matcher would make the hooks run for everything. */
function readOthers(hooks: Hooks, path: Path, others: Record<string, unknown>): Record<string, unknown> {
  const known: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(others)) {
    const at = [...path, key]
    if (key === "description" && typeof value === "string") known[key] = value
    else if (key === "dialect" && DIALECTS.some((name) => name === value)) known[key] = value
    else if (key === "dialect") refuse(hooks, at, { value, problem: `expected one of ${DIALECTS.join(", ")}` })
    else leaveOutKey(hooks, at, { value, known: ["matcher", "hooks"], what: "a group" })
  }
  return known
}

const DIALECTS = ["native", "claude-code"] as const

/** A key that Claude Code passes over; one that was meant to make a gate firmer is refused. */
function leaveOutKey(
  { reading, event }: Hooks,
  path: Path,
  { value, known, what }: { value: unknown; known: readonly string[]; what: string },
): void {
  const key = String(path.at(-1))
  const firm = nearestName(key, FIRM_KEYS)
  const near = what === "a group" ? nearestName(key, known) : undefined
  if (near !== undefined) throw misplacedGuard(reading, path, `write "${near}"`)
  if (firm !== undefined && isGate(event))
    throw misplacedGuard(reading, path, `write "${firm}" on a handler of "hooks"`)
  leaveOut(reading, path, value, `no key of ${what} has that name; ${suggest(key, known)}`)
}

function readHandler(hooks: Hooks, path: Path, entry: unknown): unknown {
  const { reading } = hooks
  if (!isFields(entry)) return refuse(hooks, path, { value: entry, problem: "expected an object with a type" })
  const type = (Object.keys(HANDLERS) as HandlerType[]).find((name) => name === entry.type)
  if (type === undefined) {
    const problem = `expected a type: ${Object.keys(HANDLERS).join(", ")}`
    return refuse(hooks, [...path, "type"], { value: entry, problem })
  }
  const handler = knownFields(hooks, path, { entry, shape: HANDLERS[type].shape })
  try {
    const part = { file: reading.file, at: reading.at, path }
    const checked = checkPart(HANDLERS[type], handler, { ...part, meant: (_, key) => suggest(key, []) })
    checkHandler(checked as Handler, part)
    return handler
  } catch (error) {
    if (!isSousError(error) || isGate(hooks.event)) throw error
    const { problem = error.message } = error.details as { problem?: string }
    return refuse(hooks, path, { value: entry, problem })
  }
}

/** The handler without what it need not have; it runs all the same, as it does there. */
function knownFields(
  hooks: Hooks,
  path: Path,
  { entry, shape }: { entry: Record<string, unknown>; shape: object },
): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(entry)) {
    const at = [...path, key]
    if (!Object.hasOwn(shape, key)) leaveOutKey(hooks, at, { value, known: Object.keys(shape), what: "a hook" })
    else if (key === "timeout" && typeof value === "number" && value > MOST_SECONDS) {
      say(hooks.reading, at, `is taken as ${MOST_SECONDS} seconds, the most that a hook may take`)
      fields[key] = MOST_SECONDS
    } else fields[key] = value
  }
  return fields
}
