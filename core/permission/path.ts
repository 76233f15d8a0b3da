/**
 * What a call names → where it leads: lexical and real paths, and every other spelling that a guard must look at.
 *
 * Invariant: the one place of the permission layer that looks at the disk; what it cannot resolve is left out, and what
 * is left out is never allowed without a question.
 */
import { basename, dirname, isAbsolute, resolve } from "node:path"
import type { Target } from "../tool.ts"
import { analyseCommand, areCommandsReady, prepareCommands } from "./command.ts"
import type { PermissionCall, PermissionFacts, ResolvedPath } from "./decision.ts"
import { ask, type Disk, joined, type Lookup, settle, disk as theDisk } from "./disk.ts"
import { commandPaths, operandsOf } from "./operand.ts"
import type { Analysis } from "./segment.ts"

/** Paths of one call that are looked up; what comes after them stays unknown. */
const MAX_PATHS = 200
/** Characters of a path that any system takes. */
const MAX_PATH_CHARS = 8192
const MAX_LINKS = 40
/** Parts of a path that do not exist yet. */
const MAX_MISSING = 128
/** It goes up somewhere. */
const UP = /(^|[\\/])\.\.([\\/]|$)/

/**
 * Looks up the paths of a call, those in its commands included (which loads the shell parser on first use).
 * `home`: what `~` means in a command; without it such paths stay unknown.
 */
export async function resolveTargets(
  targets: readonly Target[],
  cwd: string,
  options: { home?: string; disk?: Disk } = {},
): Promise<PermissionFacts["paths"]> {
  const found = new Map<string, ResolvedPath>()
  const wanted: [key: string, written: string][] = []
  const climbs: [key: string, raw: string][] = []
  for (const target of targets) {
    if (target.kind === "path") wanted.push([target.path, target.path])
    if (target.kind !== "command") continue
    if (!areCommandsReady()) await prepareCommands()
    const analysis = analyseCommand(target.text, { cwd, home: options.home ?? "" })
    for (const path of commandPaths(analysis)) if (isAbsolute(path)) wanted.push([path, path])
    climbs.push(...climbsOf(analysis))
  }
  const unique = [...new Map(wanted)].slice(0, MAX_PATHS)
  const looks = unique.map(([key, written]) => {
    const keep = (path: ResolvedPath | undefined) => void (path && found.set(key, path))
    const path = lookUpPath(written, cwd, options)
    return path instanceof Promise ? path.then(keep) : keep(path)
  })
  if (looks.some((look) => look !== undefined)) await Promise.all(looks)
  if (climbs.length > 0) await addClimbs(found, climbs.slice(0, MAX_PATHS), options.disk ?? theDisk)
  return found
}

/** The paths of a command that go up, as they were written, by the key under which they are looked up. */
function climbsOf({ all }: Analysis): [key: string, raw: string][] {
  return all.flatMap((segment) => {
    const guesses = operandsOf(segment).flatMap((operand) => operand.guesses.filter((guess) => UP.test(guess)))
    return guesses.flatMap((guess) => {
      const raws = isAbsolute(guess) ? [guess] : (segment.bases ?? []).map((base) => joined(base, guess))
      return raws.map((raw): [string, string] => [resolve(raw), raw])
    })
  })
}

/** Where they lead for the operating system, which goes up from where a link led; as one more place. */
async function addClimbs(
  found: Map<string, ResolvedPath>,
  climbs: readonly [key: string, raw: string][],
  disk: Disk,
): Promise<void> {
  for (const [key, raw] of climbs) {
    const known = found.get(key)
    if (known === undefined) continue
    const real = await settle(orUnknown(follow(raw, disk)))
    // What cannot be followed must not look as if it stayed.
    if (real === undefined) found.delete(key)
    else if (real !== known.real) found.set(key, { ...known, others: [...(known.others ?? []), real] })
  }
}

/** The same for everything that a call names, what it only hints at included. */
export function resolveCall(
  { targets, hints = [] }: PermissionCall,
  cwd: string,
  options: Parameters<typeof resolveTargets>[2] = {},
): Promise<PermissionFacts["paths"]> {
  return resolveTargets(hints.length === 0 ? targets : [...targets, ...hints], cwd, options)
}

/**
 * Where one path leads, relative ones from `cwd`; undefined when that cannot be said. With a `home`, `~/x` is what a
 * person means by it.
 */
export async function resolvePath(
  written: string,
  cwd: string,
  options: { home?: string; disk?: Disk } = {},
): Promise<ResolvedPath | undefined> {
  return await lookUpPath(written, cwd, options)
}

/** At once where the disk answers at once. */
function lookUpPath(
  written: string,
  cwd: string,
  { home, disk = theDisk }: { home?: string; disk?: Disk },
): ResolvedPath | undefined | Promise<ResolvedPath | undefined> {
  if (written.includes("\0") || written.length > MAX_PATH_CHARS) return undefined
  const isHome = home !== undefined && home !== "" && /^~(?:\/|$)/.test(written)
  return settle(orUnknown(isHome ? lookUpHome(written, cwd, { home, disk }) : lookUp(written, cwd, disk)))
}

/** What cannot be looked up is not known. */
function* orUnknown<T>(lookup: Lookup<T>): Lookup<T | undefined> {
  try {
    return yield* lookup
  } catch {
    return undefined
  }
}

function* lookUpHome(written: string, cwd: string, { home, disk }: { home: string; disk: Disk }): Lookup<ResolvedPath> {
  const path = yield* lookUp(`${home}${written.slice(1)}`, cwd, disk)
  const literal = yield* lookUp(written, cwd, disk)
  return { ...path, guarded: [literal.lexical, literal.real, ...(literal.others ?? [])] }
}

function* lookUp(written: string, cwd: string, disk: Disk): Lookup<ResolvedPath> {
  const lexical = resolve(cwd, written)
  const real = yield* follow(lexical, disk)
  const path: ResolvedPath = { lexical, real }
  const climbed = UP.test(written) ? yield* follow(joined(cwd, written), disk) : real
  if (climbed !== real) path.others = [climbed]
  if (real !== lexical && (yield* ask(disk.link(lexical))) !== undefined) path.link = true
  const kind = yield* ask(disk.kind(real))
  if (kind === "folder") path.directory = true
  if (kind === "file") path.file = true
  return path
}

/** The path with every link followed; a part that does not exist yet keeps its name below its nearest real parent. */
function* follow(path: string, disk: Disk, links = 0, missing = 0): Lookup<string> {
  const real = yield* ask(disk.real(path))
  if (real !== undefined) return real
  if (links > MAX_LINKS || missing > MAX_MISSING) throw new Error(`It cannot be followed: ${path}`)
  const target = yield* ask(disk.link(path))
  const parent = yield* follow(dirname(path), disk, target === undefined ? links : links + 1, missing + 1)
  if (target !== undefined) return yield* follow(joined(parent, target), disk, links + 1, missing)
  return basename(path) === ".." ? dirname(parent) : resolve(parent, basename(path))
}
