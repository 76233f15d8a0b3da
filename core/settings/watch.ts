/**
 * The settings that a start went by → whether any file of theirs is another one by now; asked before calls are decided.
 *
 * Invariant: a look costs a few calls of stat, reads no file and takes microseconds; a change between the reading of the
 * settings and the first look is seen as well.
 */
import { readdirSync, type Stats, statSync } from "node:fs"
import { basename, join } from "node:path"
import type { LoadedSettings, LoadSettingsOptions } from "./load.ts"

/** Settings that may change while a run is at work. What tightens holds from the next decision on, nothing else does. */
export interface SettingsReload {
  /** What the kit's settings and hooks were taken from. */
  loaded: LoadedSettings
  /** Reads everything again, by the same options and `more`. Throws SETTINGS_… errors. */
  load(more: Pick<LoadSettingsOptions, "trust" | "load" | "instead">): Promise<LoadedSettings>
}

/** Looks after the files of one reading. */
export interface SettingsWatch {
  /** True once after each change. */
  hasChanged(): boolean
  /** False when a reading has come upon files that are not watched over. */
  covers(loaded: LoadedSettings): boolean
}

/** Watches over the files that were read, and over those that are not there yet. `cwd`: where a project could come to be. */
export function watchSettings(loaded: LoadedSettings, { cwd }: { cwd: string }): SettingsWatch {
  const paths = watchedPaths(loaded, cwd)
  const marks = new Float64Array(paths.length * MARKS)
  const names = new Map(paths.map((path) => [path, namesIn(path)]))
  look(paths, marks)
  let isStale = latestOf(marks) > loaded.at - GRANULARITY_MS
  return {
    hasChanged() {
      const changed = look(paths, marks)
      if (changed === undefined && !isStale) return false
      const isReal = isStale || (changed ?? []).filter((path) => concernsSettings(path, names)).length > 0
      isStale = false
      return isReal
    },
    covers: (other) => watchedPaths(other, cwd).every((path) => names.has(path)),
  }
}

/** Times of files lag behind the clock by a tick of the system, ms. */
const GRANULARITY_MS = 20

/** What the names of files with settings begin with; in the folder of an organisation's drop-ins they are as they like. */
const NAMES = /^(?:managed-)?settings\b|^\.hooks\.json$/
const DROP_INS = "managed-settings.d"

/** The files that were read, and the folders that others would appear in. */
function watchedPaths({ folders, files }: LoadedSettings, cwd: string): string[] {
  const { managed, user, root = cwd, claude } = folders
  const own = [managed, user, join(root, ".sous"), join(root, ".hooks.json")]
  const foreign = [claude.managed, join(claude.managed, DROP_INS), claude.user, join(root, ".claude")]
  const read = files.map(({ file }) => file)
  // What would lie in a folder that is not there comes with that folder.
  const isThere = (path: string) => path !== join(claude.managed, DROP_INS) || statOf(claude.managed) !== undefined
  return [...new Set([...own, ...foreign, ...read])].filter((path) => path !== undefined).filter(isThere)
}

/** Numbers that tell one state of a file from another: two times, the size, the inode. */
const MARKS = 4

/** Takes the marks anew; returns the paths whose marks differ, undefined when none does. */
function look(paths: readonly string[], marks: Float64Array): string[] | undefined {
  let changed: string[] | undefined
  for (let index = 0; index < paths.length; index++) {
    const path = paths[index]!
    if (!setMarks(marks, index * MARKS, statOf(path))) continue
    changed ??= []
    changed.push(path)
  }
  return changed
}

function setMarks(marks: Float64Array, at: number, stats: Stats | undefined): boolean {
  const [modified, changed, size, inode] = stats ? [stats.mtimeMs, stats.ctimeMs, stats.size, stats.ino] : ABSENT
  if (marks[at] === modified && marks[at + 1] === changed && marks[at + 2] === size && marks[at + 3] === inode)
    return false
  marks.set([modified, changed, size, inode], at)
  return true
}

const ABSENT = [0, 0, -1, 0] as const
const QUIET = { throwIfNoEntry: false } as const

/** Undefined for what is not there, or cannot be looked at. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, QUIET)
  } catch {
    return undefined
  }
}

/** When any of them last changed, ms since the epoch; the second mark of each. */
function latestOf(marks: Float64Array): number {
  return marks.reduce((latest, mark, index) => (index % MARKS === 1 ? Math.max(latest, mark) : latest), 0)
}

/** A file that is another one, or a folder in which settings came or went: others may write there what they like. */
function concernsSettings(path: string, names: Map<string, string | undefined>): boolean {
  const [before, now] = [names.get(path), namesIn(path)]
  names.set(path, now)
  return now === undefined || before !== now
}

/** The entries of a folder that settings lie in; undefined for what is no folder. */
function namesIn(path: string): string | undefined {
  try {
    const names = readdirSync(path).sort()
    return (basename(path) === DROP_INS ? names : names.filter((name) => NAMES.test(name))).join("\0")
  } catch {
    return undefined
  }
}
