/**
 * TodoWrite: the list of tasks that an agent keeps, told again when it is forgotten, and after a compaction.
 *
 * Invariant: the list is a note of its session and nothing else; a list that is done is never told again.
 */
import { type ContextMoment, type ContextSource, defineTool, type Notebook, z } from "sous"
import { frame } from "./frame.ts"
import { count, headOf } from "./text.ts"

/** Turns in which a list with open tasks may lie untouched. */
const QUIET_TURNS = 10
/** Characters of the tasks in a reminder, and in a scene. */
const MOST_CHARS = { reminder: 4000, scene: 40_000 }

const input = z.strictObject({
  todos: z.array(
    z.strictObject({
      content: z.string().min(1),
      status: z.enum(["pending", "in_progress", "completed"]),
      activeForm: z.string().optional(),
    }),
  ),
})
type Task = z.output<typeof input>["todos"][number]

/** The list as it was last written; `version` counts its writings. */
interface TaskList {
  version: number
  tasks: readonly Task[]
}

/** Keeps the list. */
export const todoWriteTool = defineTool({
  name: "TodoWrite",
  description: "Replace your task list, for work of several steps. Mark each task as you start and as you end it.",
  input,
  readOnly: true,
  concurrencySafe: false,
  async execute({ todos: tasks }: z.output<typeof input>, { signal, notes }) {
    signal.throwIfAborted()
    const lists = listsOf(notes)
    const version = (lists.get(LIST)?.version ?? 0) + 1
    lists.set(LIST, { version, tasks })
    const open = tasks.filter(isOpen).length
    return { content: `${count(tasks.length, "task")}, ${open} open`, data: { tasks: tasks.length, open } }
  },
})

/** Tells of open tasks. */
export const taskSource: ContextSource = {
  name: "tasks",
  remind(moment) {
    const list = listsOf(moment.notes).get(LIST)
    if (!list?.tasks.some(isOpen)) return undefined
    const quiet = moment.turn - turnOf(moment, list)
    if (quiet < QUIET_TURNS) return undefined
    const words = `These tasks are open, and the list was not touched for ${quiet} turns. Bring it up to date with TodoWrite, or go on if it is.`
    const text = frame("system-reminder", `${words}\n${textOf(list, MOST_CHARS.reminder)}`)
    return [{ key: `tasks ${list.version} ${Math.floor(quiet / QUIET_TURNS)}`, text }]
  },
  scene(moment) {
    const list = listsOf(moment.notes).get(LIST)
    if (!list?.tasks.some(isOpen)) return undefined
    seenOf(moment.notes).set(LIST, { version: list.version, turn: moment.turn })
    return frame("tasks", `Your task list:\n${textOf(list, MOST_CHARS.scene)}`)
  },
}

const LIST = "list"

function listsOf(notes: Notebook) {
  return notes<TaskList>("tasks")
}

function seenOf(notes: Notebook) {
  return notes<{ version: number; turn: number }>("tasks seen")
}

/** The turn in which this version was first seen, noted when that is now: a tool is not told which turn it is. */
function turnOf({ notes, turn }: ContextMoment, { version }: TaskList): number {
  const seen = seenOf(notes).get(LIST)
  if (seen?.version === version) return seen.turn
  seenOf(notes).set(LIST, { version, turn })
  return turn
}

function isOpen({ status }: Task): boolean {
  return status !== "completed"
}

const SIGNS = { pending: "[ ]", in_progress: "[>]", completed: "[x]" } as const

/** All of them; where they are too long, the open ones as far as they fit. */
function textOf({ tasks }: TaskList, most: number): string {
  const all = linesOf(tasks)
  if (all.length <= most) return all
  const open = linesOf(tasks.filter(isOpen))
  const shown = open.length <= most ? open : `${headOf(open, most)} …`
  return `${shown}\n(cut: the list has ${count(tasks.length, "task")})`
}

function linesOf(tasks: readonly Task[]): string {
  return tasks.map(({ content, status }) => `${SIGNS[status]} ${content}`).join("\n")
}
