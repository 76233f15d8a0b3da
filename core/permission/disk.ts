/**
 * What the permission layer asks the disk about a path: where it leads, and what stands there.
 *
 * Invariant: it looks names up and never opens a file; nothing of what it finds outlives one look at the disk.
 */
import { lstatSync, readlinkSync, realpathSync, type Stats } from "node:fs"
import { readlink, realpath, stat } from "node:fs/promises"
import { basename, dirname, isAbsolute, join, sep } from "node:path"

type Found<T> = T | Promise<T>

/** Lookups of absolute paths. */
export interface Disk {
  /** The path with every link followed; undefined when it does not exist. Throws for whatever else is in the way. */
  real(path: string): Found<string | undefined>
  /** Where a link points, as it was written; undefined for what is no link. */
  link(path: string): Found<string | undefined>
  /** What stands there; undefined when nothing does, or nobody can tell. */
  kind(path: string): Found<"folder" | "file" | undefined>
}

/** Questions to the disk, one after the other, that end in a value. */
export type Lookup<T> = Generator<Promise<unknown>, T, unknown>

/** The answer to one question; waits only where it has to. */
export function* ask<T>(found: Found<T>): Lookup<T> {
  return found instanceof Promise ? ((yield found) as T) : found
}

/** The value of a lookup: at once, unless a question has to wait. */
export function settle<T>(lookup: Lookup<T>): Found<T> {
  const { done, value } = lookup.next()
  return done ? value : settleLater(lookup, value)
}

async function settleLater<T>(lookup: Lookup<T>, first: Promise<unknown>): Promise<T> {
  for (let waiting = first; ; ) {
    const { done, value } = await waiting.then(
      (answer) => lookup.next(answer),
      (error: unknown) => lookup.throw(error),
    )
    if (done) return value
    waiting = value
  }
}

/** The disk as it is at each question. */
export const disk: Disk = {
  async real(path) {
    try {
      return await realpath(path)
    } catch (error) {
      return passMissing(error)
    }
  },
  link: async (path) => await readlink(path).catch(() => undefined),
  kind: async (path) =>
    await stat(path).then(
      (found) => (found.isDirectory() ? "folder" : "file"),
      () => undefined,
    ),
}

/**
 * One look at the disk for many calls that are decided at the same moment: no question is asked twice, and none waits
 * for a thread of its own. Made anew for the next calls.
 */
export function createDiskLook(): Disk {
  const entries = new Map<string, Stats | undefined>()
  const places = new Map<string, string | undefined>()
  const entry = (path: string) => {
    if (!entries.has(path)) entries.set(path, entryOf(path))
    return entries.get(path)
  }
  return {
    real(path) {
      // Asking for a name that is not there costs less than failing to follow it.
      if (!places.has(path)) places.set(path, entry(path) && realOf(path))
      return places.get(path)
    },
    link: (path) => (entry(path)?.isSymbolicLink() ? readlinkSync(path) : undefined),
    // Links are followed already in the paths that this is asked about, as a rule.
    kind: (path) => {
      const found = entry(path)
      return found?.isSymbolicLink() ? kindBehind(path) : kindOf(found)
    },
  }
}

function entryOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (error) {
    return passMissing(error)
  }
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch (error) {
    return passMissing(error)
  }
}

function kindBehind(path: string): "folder" | "file" | undefined {
  const real = realOf(path)
  return real === undefined ? undefined : kindOf(entryOf(real))
}

function kindOf(found: Stats | undefined): "folder" | "file" | undefined {
  return found && (found.isDirectory() ? "folder" : "file")
}

function passMissing(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException
  if (code !== "ENOENT" && code !== "ENOTDIR") throw error
}

/** What is deeper than this, or leads through more links, is not followed. */
const MAX_STEPS = 160
const MAX_PATH_CHARS = 8192

/**
 * Where an absolute path leads right now, also one that does not exist yet: by its nearest parent that does. Undefined
 * when that cannot be said. For what is looked up once, before anything runs.
 */
export function followNow(path: string): string | undefined {
  if (path.length > MAX_PATH_CHARS || path.includes("\0")) return undefined
  try {
    return followStep(path, MAX_STEPS)
  } catch {
    return undefined
  }
}

function followStep(path: string, left: number): string | undefined {
  if (left === 0) return undefined
  try {
    return realpathSync.native(path)
  } catch {
    const parent = dirname(path)
    const folder = parent === path ? undefined : followStep(parent, left - 1)
    if (folder === undefined) return undefined
    const here = join(folder, basename(path))
    const isLink = lstatSync(here, { throwIfNoEntry: false })?.isSymbolicLink()
    return isLink ? followStep(joined(folder, readlinkSync(here)), left - 1) : here
  }
}

/** A path from a folder, without taking `..` away, which goes up from where a link led. */
export function joined(folder: string, path: string): string {
  return isAbsolute(path) ? path : `${folder}${sep}${path}`
}
