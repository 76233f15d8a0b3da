/**
 * What context sources tell while a conversation is at work: reminders behind results, the scene after a compaction.
 *
 * Invariant: a reminder is told once for each key as long as it stands in the conversation; a source that fails or hangs
 * is left out with a warning.
 */
import type { ContextMoment, ContextSource, Reminder } from "../plugin.ts"
import type { AgentScope } from "../scope.ts"
import { askSource, type ContextScope, contextStart } from "./assemble.ts"
import type { Conversation } from "./conversation.ts"
import type { Pin } from "./history.ts"

/** The notes in which touched files are kept, the newest last. */
const FILES = "touched files"
/** How many of them a strategy is told. */
const MOST_FILES = 100

/** Reminders that are due. */
export interface Reminded {
  texts: string[]
  /** Which of the texts are pinned. */
  pins: Pin[]
  /** To be noted with `Conversation.tell` once the texts stand in the conversation. */
  keys: { key: string; pinned?: boolean }[]
}

/** Asks the sources what is due, to be appended behind results. */
export async function takeReminders(scope: AgentScope, conversation: Conversation): Promise<Reminded> {
  const sources = scope.engine.registry.context.filter(({ remind }) => remind !== undefined)
  const touched = scope.touched.splice(0)
  noteFiles(conversation, touched)
  if (sources.length === 0) return { texts: [], pins: [], keys: [] }
  const moment = momentOf(scope, conversation, touched)
  const asked = await Promise.all(
    sources.map(async (source) => {
      return (
        (await askSource(scope, source, async () => readReminders(await source.remind?.(moment(source)), source))) ?? []
      )
    }),
  )
  const due = asked.flat().filter(unlessTold(conversation))
  return {
    texts: due.map(({ text }) => text),
    pins: due.flatMap(({ pinned, source, key }, block) => (pinned ? [{ block, source: `${source} ${key}` }] : [])),
    keys: due.map(({ source, key, pinned }) => ({ key: `${source} ${key}`, ...(pinned ? { pinned } : {}) })),
  }
}

/** What the sources say about what is at work, in their order. */
export async function collectScene(scope: ContextScope, conversation: Conversation): Promise<string[]> {
  const moment = momentOf(scope, conversation, [])
  const sources = scope.engine.registry.context.filter(({ scene }) => scene !== undefined)
  const texts = await Promise.all(
    sources.map((source) => askSource(scope, source, async () => textsOf(await source.scene?.(moment(source))))),
  )
  return texts.flatMap((some) => some ?? [])
}

function textsOf(told: unknown): string[] {
  const texts: unknown[] = Array.isArray(told) ? told : [told]
  return texts.filter((text): text is string => typeof text === "string" && text.trim() !== "")
}

/** Files that calls have touched, absolute, the newest last. */
export function touchedFiles({ notes }: Pick<Conversation, "notes">): { read: string[]; changed: string[] } {
  const entries = notes<"read" | "write">(FILES).entries()
  const of = (wanted: string) =>
    entries.flatMap(([path, access]) => (access === wanted ? [path] : [])).slice(-MOST_FILES)
  return { read: of("read"), changed: of("write") }
}

function noteFiles({ notes }: Conversation, touched: ContextMoment["touched"]): void {
  const files = notes<"read" | "write">(FILES)
  const access = new Map<string, "read" | "write">()
  for (const one of touched) {
    const before = access.get(one.path) ?? files.get(one.path)
    access.delete(one.path)
    access.set(one.path, before === "write" ? "write" : one.access)
  }
  for (const [path, one] of access) files.set(path, one)
}

function momentOf(scope: ContextScope, conversation: Conversation, touched: ContextMoment["touched"]) {
  const start = contextStart(scope)
  return (source: ContextSource): ContextMoment => ({
    ...start,
    touched,
    turn: conversation.turns,
    told: (key) => conversation.told(`${source.name} ${key}`),
    notes: conversation.notes,
  })
}

type Told = Pick<Reminder, "key" | "text"> & { pinned: boolean; source: string }

/** Copied, for a plugin may say anything; what is no reminder is left out. Throws where that is no list. */
function readReminders(told: unknown, { name: source }: Pick<ContextSource, "name">): Told[] {
  if (told === undefined || told === null) return []
  if (!Array.isArray(told)) throw new Error("what it reminds of is no list")
  return told.flatMap((reminder: unknown) => {
    const { key, text, pinned } = (reminder ?? {}) as Record<string, unknown>
    if (typeof key !== "string" || typeof text !== "string" || text.trim() === "") return []
    return [{ key, text, pinned: pinned === true, source }]
  })
}

/** Also one that two calls of the same turn brought about is told once. */
function unlessTold(conversation: Conversation) {
  const seen = new Set<string>()
  return ({ source, key }: Told): boolean => {
    const name = `${source} ${key}`
    const isNew = !seen.has(name) && !conversation.told(name)
    seen.add(name)
    return isNew
  }
}
