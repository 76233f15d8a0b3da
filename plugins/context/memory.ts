/**
 * CLAUDE.md, AGENTS.md and their like → what a conversation starts with, and what it is told when it comes to a folder.
 *
 * Invariant: each file is told once, whole, with the path it lies at; it is pinned, so no compaction takes it away.
 */
import { dirname } from "node:path"
import { type ContextMoment, type ContextPlaces, type ContextStart, definePlugin, type Reminder } from "sous"
import { createGatherer, type Memory } from "./memory-gather.ts"
import { foldersBetween, isForeign, type Place, placesAtStart, placesIn, projectOf } from "./memory-place.ts"
import { isInside } from "./memory-read.ts"

/** Characters that all memory files together should not exceed; those that are told after one turn may not. */
const MANY_CHARACTERS = 40_000
/** Characters beyond them for files that are only named. */
const MANY_NAMED = 10_000
/** Warnings of one run: a repository may hold thousands of files that are odd. */
const MOST_WARNINGS = 50

export default definePlugin({
  name: "context-memory",
  context: [{ name: "memory", pinned: true, start: tellStart, remind: tellTouched }],
})

async function tellStart(context: ContextStart): Promise<string | undefined> {
  if (!context.places.memory.files) return undefined
  const told = (await openBase(quietly(context))).told.filter(isSaying)
  if (told.length === 0) return undefined
  warnLong(told, quietly(context))
  return `<memory>\n${LEAD}\n${told.map(show).join("\n")}\n</memory>`
}

const LEAD = "Instructions of the people you work for, from files. Follow them where they bear on what you do."

/** What a conversation starts with, by where it starts; and the rules that are told later. */
interface Base {
  told: readonly Memory[]
  seen: ReadonlySet<string>
  rules: readonly Memory[]
}

const bases = new WeakMap<ContextPlaces, Map<string, Base>>()

/** Reads it anew, as a conversation that starts or was compacted has to. */
async function openBase(context: ContextStart): Promise<Base> {
  const seen = new Set<string>()
  const { told, rules } = await createGatherer(context).gather(await placesAtStart(context), seen)
  const base = { told, seen, rules }
  const known = bases.get(context.places) ?? new Map<string, Base>()
  bases.set(context.places, known.set(context.startedIn, base))
  return base
}

async function tellTouched(moment: ContextMoment): Promise<Reminder[] | undefined> {
  if (!moment.places.memory.files || moment.touched.length === 0) return undefined
  const context = quietly(moment)
  const base = bases.get(context.places)?.get(context.startedIn) ?? (await openBase(context))
  const visited = visitedBy(context)
  const gatherer = createGatherer(context)
  const seen = new Set(base.seen)
  const nested = await gatherer.gather(await newPlaces(context, visited), seen)
  visited.rules.push(...nested.rules)
  const rules = [...base.rules, ...visited.rules].filter(
    (rule) =>
      !seen.has(rule.real) && isPermitted(rule, context) && context.touched.some(({ path }) => rule.paths!.fits(path)),
  )
  for (const { real } of rules) seen.add(real)
  const told = [...nested.told, ...(await gatherer.withImports(rules, seen))]
  const fresh = told.filter((memory) => isSaying(memory) && !context.told(memory.real))
  return remindersOf(fresh, context)
}

/** A rule is read long before it is told, and the settings may be others by now. */
function isPermitted({ path, real }: Memory, { mayRead }: ContextMoment): boolean {
  return mayRead(path) && mayRead(real)
}

/** False for a file that holds comments alone. */
function isSaying({ text }: Memory): boolean {
  return text !== ""
}

/** Folders that a conversation has come to, and the rules that were found there. */
interface Visited {
  folders: Set<string>
  rules: Memory[]
}

const visits = new WeakMap<ContextMoment["notes"], Visited>()

function visitedBy({ notes }: ContextMoment): Visited {
  const visited = visits.get(notes) ?? { folders: new Set(), rules: [] }
  visits.set(notes, visited)
  return visited
}

/** The memory files of folders that a call has come to for the first time, the outer ones first. */
async function newPlaces(context: ContextMoment, { folders }: Visited): Promise<Place[]> {
  const project = projectOf(context)
  const atStart = foldersBetween(project, context.startedIn)
  const found: Place[] = []
  for (const { path } of context.touched) {
    if (path === project || !isInside(path, project) || isForeign(path, project)) continue
    for (const folder of foldersBetween(project, dirname(path))) {
      if (folders.has(folder) || atStart.includes(folder)) continue
      folders.add(folder)
      found.push(...(await placesIn(folder, context)))
    }
  }
  return found
}

/** Whole as long as there is room, then by name; those for which there is not even room to be named are left out. */
function remindersOf(memories: readonly Memory[], { warn }: ContextMoment): Reminder[] {
  const reminders: Reminder[] = []
  let room = MANY_CHARACTERS
  for (const memory of memories) {
    const text = `Instructions ${aboutOf(memory)}:\n${showShort(memory, room)}`
    room -= text.length
    if (room < -MANY_NAMED) {
      warn(`The memory file "${memory.path}" and those behind it are left out: too many are due at once`)
      break
    }
    reminders.push({ key: memory.real, text, pinned: true })
  }
  return reminders
}

function aboutOf({ path, paths, importedBy }: Memory): string {
  if (importedBy !== undefined) return `that ${quoted(importedBy)} imports`
  return paths ? "for files like those that you touched" : `for the files in ${quoted(dirname(path))}`
}

/** A name may hold line breaks, and what looks like the end of all this. */
function quoted(path: string): string {
  return asText(JSON.stringify(path))
}

function showShort(memory: Memory, room: number): string {
  const { length } = memory.text
  if (length <= room) return show(memory)
  return show({
    ...memory,
    text: `(${length} characters, which is too long to be shown: read the file where you need it)`,
  })
}

function show({ path, scope, importedBy, paths, text }: Memory): string {
  const facts = [
    `path=${JSON.stringify(path)}`,
    `scope="${scope}"`,
    ...(importedBy === undefined ? [] : [`imported-by=${JSON.stringify(importedBy)}`]),
    ...(paths === undefined ? [] : [`for=${JSON.stringify(paths.written.join(", "))}`]),
  ]
  return `<memory-file ${facts.map(asText).join(" ")}>\n${asText(text)}\n</memory-file>`
}

/** A file cannot end what it stands in, and go on as somebody else's, or as what sous itself tells. */
function asText(text: string): string {
  return text.replace(/<(?=\s*\/?\s*(?:memory|memory-file|auto-memory|system-reminder|environment)\b)/gi, "&lt;")
}

function warnLong(told: readonly Memory[], { warn }: ContextStart): void {
  const total = told.reduce((sum, { text }) => sum + text.length, 0)
  if (total <= MANY_CHARACTERS) return
  const [longest] = [...told].sort((a, b) => b.text.length - a.text.length)
  const most = `the longest is "${longest!.path}" with ${longest!.text.length}`
  warn(`The memory files hold ${total} characters together, more than ${MANY_CHARACTERS}: ${most}`)
}

const warned = new WeakMap<ContextPlaces, Set<string>>()

/** The same, but each warning is told once in a run, however many agents read the file. */
function quietly<C extends ContextStart>(context: C): C {
  const told = warned.get(context.places) ?? new Set<string>()
  warned.set(context.places, told)
  return {
    ...context,
    warn(message) {
      if (told.has(message) || told.size > MOST_WARNINGS) return
      told.add(message)
      const isLast = told.size > MOST_WARNINGS
      context.warn(isLast ? "More is odd about the memory files: no further warnings of them are told" : message)
    },
  }
}
