/**
 * The `hooks` of one file, flat and nested entries alike → one handler each, with the place where it stands.
 *
 * Invariant: the form of an entry settles its protocol; an entry that is not understood stops the start, for a misspelt
 * guard must not be a missing guard.
 */
import { nearestName, SousError, suggest } from "../error.ts"
import { HOOKS, type HookEvent } from "../hook.ts"
import type { HookDialect, HookForm, HookSource } from "../hook-source.ts"
import type { Origin } from "../permission/decision.ts"
import { parseRule } from "../permission/rule.ts"
import { checkPart, invalidValue, type Part } from "./check.ts"
import type { SettingsDocument } from "./document.ts"
import { given } from "./given.ts"
import { FLAT, FOREIGN_EVENTS, GROUP, HANDLERS, type Handler, type HandlerType, timeoutMsOf } from "./hook-schema.ts"
import type { SettingsScope } from "./merge.ts"

/** The value of `hooks` in one file. */
export interface HookFile {
  scope: SettingsScope
  /** Left out: given on the command line. */
  file?: string
  /** What was read of the file, when it holds hooks alone. */
  text?: string
  hooks: Readonly<Record<string, unknown>>
  at: SettingsDocument["at"]
}

/** One handler as it stands in a file, before anything is said about whether it may run. */
export interface HookDraft {
  source: HookSource
  /** Environment variables that an HTTP handler asks for. */
  wantedEnv: readonly string[]
  /** Written for a shell that is not here. */
  foreignShell?: string
}

/** A hook for an event that is not raised here. */
export interface NotRaised {
  event: string
  origin: Origin
}

/** Reads all entries, in their order. Throws SETTINGS_KEY_UNKNOWN or SETTINGS_VALUE_INVALID. */
export function readHooks(file: HookFile): { drafts: HookDraft[]; notRaised: NotRaised[] } {
  const drafts: HookDraft[] = []
  const notRaised: NotRaised[] = []
  for (const [event, entries] of Object.entries(file.hooks)) {
    const part = partOf(file, ["hooks", event])
    const known = Object.hasOwn(HOOKS, event)
    if (!known && !FOREIGN_EVENTS.some((name) => name === event)) throw unknownEvent(event, part)
    if (!Array.isArray(entries)) throw invalidValue("expected a list of hooks", part)
    const read = entries.flatMap((entry, index) =>
      // A hole stands where an entry was left out, so that the others keep their place.
      entry === undefined ? [] : readEntry(entry, { ...part, path: [...part.path, index] }),
    )
    if (known) drafts.push(...read.map((one) => draftOf(event as HookEvent, one, file)))
    else notRaised.push(...read.map(({ path }) => ({ event, origin: originOf(file, path) })))
  }
  return { drafts, notRaised }
}

function partOf({ file = "--settings", at }: HookFile, path: Part["path"]): Omit<Part, "meant"> {
  return { file, at, path }
}

function unknownEvent(event: string, { file, at, path }: Omit<Part, "meant">): SousError {
  const mend = suggest(event, Object.keys(HOOKS))
  return new SousError("SETTINGS_KEY_UNKNOWN", { file, key: path.join("."), mend, ...at(path) })
}

/** A checked handler with what its group says. */
interface ReadHandler {
  type: HandlerType
  handler: Handler
  matcher?: string | undefined
  dialect: HookDialect
  description?: string | undefined
  path: Part["path"]
}

function readEntry(entry: unknown, part: Omit<Part, "meant">): ReadHandler[] {
  if (!isObject(entry)) throw invalidValue("expected an object with a command, or with hooks", part)
  if (!("hooks" in entry)) return [readFlat(entry, part)]
  const group = checkPart(GROUP, entry, { ...part, meant: meantInGroup })
  return group.hooks.flatMap((handler, index) => {
    const path = [...part.path, "hooks", index]
    return handler === undefined ? [] : [readNested(handler, group, { ...part, path })]
  })
}

function readFlat(entry: object, part: Omit<Part, "meant">): ReadHandler {
  const type = typeOf(entry, part)
  const { matcher, ...handler } = checkPart(FLAT[type], entry, { ...part, meant: meantAmong(FLAT[type].shape) })
  return { type, handler: handler as Handler, matcher, dialect: handler.dialect ?? "native", path: part.path }
}

function readNested(
  entry: unknown,
  group: Pick<ReadHandler, "matcher" | "description"> & { dialect?: HookDialect | undefined },
  part: Omit<Part, "meant">,
): ReadHandler {
  if (!isObject(entry)) throw invalidValue("expected an object with a type", part)
  if (!("type" in entry)) throw invalidValue(`expected a type: ${Object.keys(HANDLERS).join(", ")}`, part)
  const type = typeOf(entry, part)
  const among = meantAmong(HANDLERS[type].shape)
  const meant: Part["meant"] = (path, key) => (key === "matcher" ? 'write "matcher" beside "hooks"' : among(path, key))
  const handler = checkPart(HANDLERS[type], entry, { ...part, meant }) as Handler
  const dialect = handler.dialect ?? group.dialect ?? "claude-code"
  const description = handler.description ?? group.description
  return { type, handler, matcher: group.matcher, dialect, description, path: part.path }
}

/** The type that an entry names or, of a flat one, the one that its key tells. */
function typeOf(entry: object, part: Omit<Part, "meant">): HandlerType {
  const known = Object.keys(HANDLERS) as HandlerType[]
  if ("type" in entry) {
    const type = known.find((name) => name === entry.type)
    if (type !== undefined) return type
    const problem = `expected one of ${known.join(", ")}`
    throw invalidValue(problem, { ...part, path: [...part.path, "type"] })
  }
  if ("command" in entry) return "command"
  if ("url" in entry) return "http"
  if ("prompt" in entry) return "prompt"
  const wrong = Object.keys(entry).find((key) => nearestName(key, ["command", "hooks", "url", "prompt"]))
  if (wrong !== undefined) {
    const path = [...part.path, wrong]
    const mend = suggest(wrong, ["command", "hooks", "url", "prompt"])
    throw new SousError("SETTINGS_KEY_UNKNOWN", { file: part.file, key: path.join("."), mend, ...part.at(path) })
  }
  throw invalidValue("expected a command, a url or a prompt", part)
}

function meantAmong(shape: object): Part["meant"] {
  return (_, key) => suggest(key, Object.keys(shape))
}

const meantInGroup: Part["meant"] = (_, key) => {
  const ofHandlers = Object.values(HANDLERS).some(({ shape }) => key in shape)
  return ofHandlers ? `write "${key}" on each handler in "hooks"` : suggest(key, Object.keys(GROUP.shape))
}

function draftOf(event: HookEvent, read: ReadHandler, file: HookFile): HookDraft {
  const { handler, dialect, matcher, path } = read
  checkHandler(handler, partOf(file, path))
  const { timeout, onFailure, statusMessage, once, async, asyncRewake } = handler
  const background = asyncRewake ? "rewake" : async ? true : undefined
  const source = {
    event,
    dialect,
    form: formOf(read),
    origin: originOf(file, path),
    ...given({
      matcher,
      timeoutMs: timeout === undefined ? undefined : timeoutMsOf(timeout),
      onFailure: onFailure === "continue" ? "allow" : onFailure,
      if: handler.if,
      // The other protocol knows it in the front matter of skills alone.
      once: dialect === "native" && once ? true : undefined,
      async: background,
      description: read.description ?? handler.description,
      statusMessage,
    }),
  } as HookSource
  const shell = "shell" in handler && handler.shell !== "bash" ? handler.shell : undefined
  const wantedEnv = "allowedEnvVars" in handler ? (handler.allowedEnvVars ?? []) : []
  return { source, wantedEnv, ...given({ foreignShell: shell }) }
}

function formOf({ type, handler }: ReadHandler): HookForm {
  const fields: Record<string, unknown> = { type }
  const own = ["command", "args", "url", "headers", "prompt", "model", "continueOnBlock", "server", "tool", "input"]
  for (const key of own) {
    const value = (handler as Record<string, unknown>)[key]
    if (value !== undefined) fields[key] = value
  }
  return fields as unknown as HookForm
}

/** Checks what the shape of a handler does not say. Throws SETTINGS_VALUE_INVALID. */
export function checkHandler(handler: Handler, part: Omit<Part, "meant">): void {
  checkCondition(handler, { ...part, path: [...part.path, "if"] })
  checkUrl(handler, { ...part, path: [...part.path, "url"] })
}

/** A condition that does not parse would be met by every call. */
function checkCondition({ if: rule }: Handler, part: Omit<Part, "meant">): void {
  if (rule === undefined) return
  try {
    parseRule(rule)
  } catch (error) {
    throw invalidValue(`expected one permission rule: ${(error as Error).message}`, part)
  }
}

function checkUrl(handler: Handler, part: Omit<Part, "meant">): void {
  if (!("url" in handler)) return
  const url = URL.canParse(handler.url) ? new URL(handler.url) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw invalidValue("expected an http or https address", part)
  if (url.username !== "" || url.password !== "")
    throw invalidValue("expected an address without a user; put secrets into headers", part)
}

function originOf({ scope, file, at }: HookFile, path: Part["path"]): Origin {
  return { scope, ...(file === undefined ? {} : { file }), ...at(path) }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
