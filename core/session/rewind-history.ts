/**
 * The log of a session → what stood at each path when, who put it there, and where in the log each turn ended.
 *
 * Invariant: it is computed from the log alone; a rewind is a change like any other, so that it can be gone back over too.
 */
import { sep } from "node:path"
import type { CallAfter, CallBefore, LogRecord, RewindBegun } from "./checkpoint-log.ts"
import { type FileState, isSameContent, isSameState } from "./checkpoint-state.ts"

/** A log, understood. A place in it is the number of records before it. */
export interface RewindHistory {
  /** Where the log ends. */
  end: number
  /** The place at which a turn (from 0) had ended. */
  endOf(turn: number): number
  /** For each path that was changed behind a place: what stood there then. */
  statesAt(place: number): Map<string, PathState>
  /** What may stand at a path when nobody but this session has changed it; more than one where something was cut off. */
  known(path: string): readonly FileState[]
  /** Calls of a turn, in order, with the paths that each changed; all that it might have, where it was cut off. */
  callsOf(turn: number): readonly { call: CallBefore; changed: readonly string[] }[]
  /** Calls behind a place. */
  callsAfter(place: number): readonly CallBefore[]
  /** Calls behind a place that never ended. */
  unendedAfter(place: number): readonly CallBefore[]
  /** The last rewind, when nothing came after it and it never ended. */
  cutOff: RewindBegun | undefined
  /** The last rewind that was not taken back. */
  undoable: RewindBegun | undefined
}

export interface PathState {
  state: FileState
  /** Somebody else changed it between two calls: that goes away with what the calls did. */
  others: boolean
}

/** Reads a log. */
export function createRewindHistory(records: readonly LogRecord[]): RewindHistory {
  const { changes, known } = walk(records)
  const marks = marksOf(records)
  const calls = records.flatMap((record, at) => (record.type === "before" ? [{ record, at }] : []))
  const after = new Map(records.flatMap((record) => (record.type === "after" ? [[record.id, record] as const] : [])))
  const last = records.at(-1)
  return {
    end: records.length,
    endOf: (turn) => Math.max(0, ...marks.filter((mark) => mark.turn <= turn).map(({ place }) => place)),
    statesAt(place) {
      const found = new Map<string, PathState>()
      for (const { at, path, before, others } of changes) {
        if (at < place) continue
        const first = found.get(path)
        if (first === undefined) found.set(path, { state: before, others: false })
        else first.others ||= others
      }
      return found
    },
    known: (path) => known.get(path) ?? [],
    callsOf(turn) {
      const own = marks.flatMap((mark) => (mark.turn === turn && mark.call ? [mark.call] : []))
      return own.map((call) => ({ call, changed: changedBy(call, after.get(call.id)) }))
    },
    callsAfter: (place) => calls.filter(({ at }) => at >= place).map(({ record }) => record),
    unendedAfter: (place) => calls.flatMap(({ at, record }) => (at >= place && !after.has(record.id) ? [record] : [])),
    cutOff: last?.type === "rewind" ? last : undefined,
    undoable: undoableOf(records),
  }
}

function changedBy({ files }: CallBefore, done: CallAfter | undefined): string[] {
  if (done === undefined) return files.map(({ path }) => path)
  const before = new Map(files.map((file) => [file.path, file.before]))
  const isChanged = ({ path, after }: CallAfter["files"][number]) => {
    return !isSameState(before.get(path) ?? { kind: "none" }, after)
  }
  return done.files.filter(isChanged).map(({ path }) => path)
}

interface Change {
  at: number
  path: string
  before: FileState
  /** It is not what the change before it had left. */
  others: boolean
}

function walk(records: readonly LogRecord[]): { changes: Change[]; known: Map<string, FileState[]> } {
  const changes: Change[] = []
  const known = new Map<string, FileState[]>()
  const begun = new Map<string, RewindBegun>()
  for (const [at, record] of records.entries()) {
    if (record.type === "log") continue
    if (record.type === "rewind") begun.set(record.id, record)
    const files: readonly Moved[] = record.type === "rewound" ? doneBy(begun.get(record.id)) : record.files
    for (const { path, before, after } of files) {
      const states = known.get(path)
      if (before !== undefined) {
        const others = states !== undefined && !states.some((state) => isSameContent(state, before))
        changes.push({ at, path, before, others })
      }
      known.set(path, record.type === "rewind" ? halfway(before!, after!) : [after ?? before!])
    }
    if (record.type !== "before") continue
    for (const file of record.files) known.set(file.path, cutOffStates(file, record))
  }
  return { changes, known }
}

/** What may stand at a path when the call was cut off. */
function cutOffStates({ path, before, may = [] }: CallBefore["files"][number], { files }: CallBefore): FileState[] {
  const written = may.map((hash): FileState => ({ kind: "file", mode: 0, size: 0, hash }))
  const isAbove = before.kind === "none" && files.some((file) => file.path.startsWith(path + sep))
  return [before, ...written, ...(isAbove ? [{ kind: "folder", mode: 0 } as const] : [])]
}

/** A file of any record. */
interface Moved {
  path: string
  before?: FileState
  after?: FileState
}

function doneBy(begun: RewindBegun | undefined): Moved[] {
  return (begun?.files ?? []).map(({ path, after }) => ({ path, after }))
}

/** What may stand there when a rewind was cut off. */
function halfway(before: FileState, after: FileState): FileState[] {
  return before.kind === after.kind ? [before, after] : [before, after, { kind: "none" }]
}

/** From which turn on the conversation stood behind which place of the log; of a call, that it is one of the turn's. */
interface Mark {
  turn: number
  place: number
  call?: CallBefore
}

function marksOf(records: readonly LogRecord[]): Mark[] {
  let marks: Mark[] = []
  const turns = new Map<string, number>()
  const before = new Map<string, Mark[]>()
  for (const [at, record] of records.entries()) {
    const place = at + 1
    if (record.type === "before") {
      turns.set(record.id, record.turn)
      marks.push({ turn: record.turn, place, call: record })
    }
    if (record.type === "after") marks.push({ turn: turns.get(record.id) ?? 0, place })
    if (record.type !== "rewind") continue
    // What was cut off and is finished now counts as one.
    const here = before.get(record.finishes ?? "") ?? marks
    before.set(record.id, here)
    // Where only files are put back, the turns since then stay.
    const then = (record.conversation && before.get(record.undoes ?? "")) ?? here
    marks = [...then.filter(({ turn }) => turn <= record.turns), { turn: record.turns + 1, place }]
  }
  return marks
}

function undoableOf(records: readonly LogRecord[]): RewindBegun | undefined {
  const rewinds = records.filter((record) => record.type === "rewind")
  const ended = new Set(records.flatMap((record) => (record.type === "rewound" ? [record.id] : [])))
  const gone = new Set<string>()
  for (const { id, undoes } of rewinds) if (undoes !== undefined && ended.has(id)) gone.add(undoes)
  // What another one finished is undone with it.
  const finished = new Set(rewinds.flatMap(({ finishes }) => finishes ?? []))
  return rewinds.filter(({ id, undoes }) => undoes === undefined && !gone.has(id) && !finished.has(id)).at(-1)
}
