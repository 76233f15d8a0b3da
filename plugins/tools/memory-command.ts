/**
 * A call of Memory → a note kept, shown or gone; the folder of the notes → what a conversation starts with.
 *
 * Invariant: a name is a name: nothing outside of the memory folder is opened, and a note is never replaced by an agent
 * that has not seen it as it is.
 */
import type { ToolContext, ToolOutput } from "sous"
import { frame } from "./frame.ts"
import { checkName, type MemoryFolder, type Note, openMemory } from "./memory-folder.ts"
import { INDEX, type MemoryInput } from "./memory-input.ts"
import { Refused } from "./refusal.ts"
import { replaceText } from "./replace.ts"
import { count, headOf } from "./text.ts"

/** What a conversation starts with of the index. */
const INDEX_LINES = 200
const INDEX_BYTES = 25_000
/** Characters of a note that a result surely shows, its list of other notes included. */
const MOST_SHOWN = 25_000

/** Runs one call. */
export async function runMemory(input: MemoryInput, context: ToolContext): Promise<ToolOutput> {
  const name = checkName(input.name ?? INDEX)
  if (context.memoryFolder === undefined) throw new Refused("The settings (memory.auto) say that no notes are kept")
  const { mayRead } = context
  const memory = await openMemory(context.memoryFolder, { creates: input.command === "write", mayRead })
  if (memory === undefined) throw new Refused("There are no notes yet: write one if something is worth keeping")
  if (!memory.isOpen(name)) throw new Refused(`A rule keeps the note "${name}" from being read: go on without it`)
  return await COMMANDS[input.command](input, { name, memory, context })
}

/** What a conversation starts with; undefined where there are no notes, or the index may not be read. */
export async function describeMemory(folder: string, mayRead: (path: string) => boolean): Promise<string | undefined> {
  const memory = await openMemory(folder, { creates: false, mayRead })
  if (memory === undefined || !memory.isOpen(INDEX)) return undefined
  const [index, names] = [await memory.read(INDEX), await memory.names()]
  const text = index === undefined ? "" : startOf(index.bytes)
  const others = names.filter((name) => name !== INDEX)
  if (text === "" && others.length === 0) return undefined
  const list = others.length === 0 ? "" : `\n\n(other notes, for Memory: ${listOf(others)})`
  const words = "Your notes from earlier conversations in this project; they may be out of date."
  return frame("auto-memory", `${words}\n\n${text}${list}`)
}

interface Found {
  name: string
  memory: MemoryFolder
  context: ToolContext
}

const COMMANDS: Record<MemoryInput["command"], (input: MemoryInput, found: Found) => Promise<ToolOutput>> = {
  async view(_, { name, memory, context }) {
    const note = await memory.read(name)
    const others = (await memory.names()).filter((other) => other !== name)
    const list = others.length === 0 ? "" : `(other notes: ${listOf(others)})`
    if (note === undefined) {
      if (name !== INDEX || list === "") throw missing(name, others)
      return `There is no ${INDEX} yet ${list}`
    }
    const text = note.bytes.toString("utf8")
    if (text.length <= MOST_SHOWN) seenOf(context).set(name, note.hash)
    return name === INDEX && list !== "" ? `${text.trimEnd()}\n\n${list}` : text || "(the note is empty)"
  },
  async write({ content }, { name, memory, context }) {
    if (content === undefined) throw new Refused("write needs content: the whole note")
    const before = await memory.read(name)
    if (before !== undefined && context.caller === "model" && seenOf(context).get(name) !== before.hash) {
      const next =
        before.bytes.toString("utf8").length > MOST_SHOWN
          ? "it is too long for one look, so use edit or delete"
          : "view it first, or use edit"
      throw new Refused(`The note "${name}" exists, and you have not seen it as it is: ${next}`)
    }
    return await keep({ name, memory, context }, Buffer.from(content), before)
  },
  async edit({ old_string: oldText, new_string: newText }, { name, memory, context }) {
    if (!oldText || newText === undefined) throw new Refused("edit needs old_string (not empty) and new_string")
    const before = await memory.read(name)
    if (before === undefined) throw missing(name, await memory.names())
    const places = before.bytes.toString("utf8").split(oldText).length - 1
    if (places !== 1) {
      throw new Refused(
        `old_string occurs ${places} times in the note "${name}": view it and take text that occurs once`,
      )
    }
    const { bytes } = replaceText(before.bytes, { oldText, newText, all: false }, name)
    return await keep({ name, memory, context }, bytes, before)
  },
  async delete(_, { name, memory, context }) {
    if (!(await memory.remove(name))) throw missing(name, await memory.names())
    seenOf(context).delete(name)
    return `Deleted the note "${name}"`
  },
}

/** What it knows of the notes that it has seen or written whole: name → hash. */
function seenOf({ notes }: ToolContext) {
  return notes<string>("memory seen")
}

async function keep({ name, memory, context }: Found, bytes: Buffer, before: Note | undefined): Promise<ToolOutput> {
  const { hash } = await memory.write(name, bytes, before)
  const knew = before === undefined || seenOf(context).get(name) === before.hash
  // An edit of a note that was not seen leaves the rest of it unseen.
  if (knew) seenOf(context).set(name, hash)
  const text = bytes.toString("utf8")
  const lines = lineCount(text)
  const isOver = name === INDEX && (lines > INDEX_LINES || bytes.length > INDEX_BYTES)
  const warning = `. Warning: a conversation starts with its first ${INDEX_LINES} lines or ${INDEX_BYTES / 1000} KB only, and this is more: move detail into other notes`
  return {
    content: `Kept the note "${name}" (${count(lines, "line")}, ${count(bytes.length, "byte")})${isOver ? warning : ""}`,
    data: { name, lines, bytes: bytes.length },
  }
}

function missing(name: string, names: readonly string[]): Refused {
  const others = names.length === 0 ? "there are none yet" : `there are ${listOf(names)}`
  return new Refused(`There is no note "${name}": ${others}`)
}

function lineCount(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0)
}

function startOf(bytes: Buffer): string {
  const head = bytes.subarray(0, INDEX_BYTES).toString("utf8")
  // A character that the cut went through comes out as this one.
  const whole = bytes.length > INDEX_BYTES ? head.replace(/\uFFFD+$/, "") : head
  const lines = whole.trimEnd().split("\n").slice(0, INDEX_LINES)
  const total = lineCount(bytes.toString("utf8"))
  const isCut = bytes.length > INDEX_BYTES || total > INDEX_LINES
  const note = isCut ? `\n(cut: ${INDEX} has ${count(total, "line")} and ${count(bytes.length, "byte")})` : ""
  return lines.join("\n") + note
}

/** Characters of a list of names. */
const LIST_CHARS = 4000

function listOf(names: readonly string[]): string {
  const list = names.join(", ")
  return list.length > LIST_CHARS ? `${headOf(list, LIST_CHARS)} … (${names.length} in all)` : list
}
