/**
 * What a call names → where it leads: lexical and real paths, and every other spelling that a guard must look at.
 *
 * Invariant: the one place of the permission layer that touches the disk; what it cannot resolve is left out, and what
 * is left out is never allowed without a question.
 */
import { readlink, realpath, stat } from "node:fs/promises"
import { basename, dirname, isAbsolute, resolve, sep } from "node:path"
import type { Target } from "../tool.ts"
import { analyseCommand, prepareCommands } from "./command.ts"
import type { PermissionFacts, ResolvedPath } from "./decision.ts"
import { commandPaths } from "./operand.ts"

/** Paths of one call that are looked up; what comes after them stays unknown. */
const MAX_PATHS = 200
/** Characters of a path that any system takes. */
const MAX_PATH_CHARS = 8192
const MAX_LINKS = 40
/** Parts of a path that do not exist yet. */
const MAX_MISSING = 128

/**
 * Looks up the paths of a call, those in its commands included (which loads the shell parser on first use).
 * `home`: what `~` means in a command; without it such paths stay unknown.
 */
export async function resolveTargets(
  targets: readonly Target[],
  cwd: string,
  options: { home?: string } = {},
): Promise<PermissionFacts["paths"]> {
  const found = new Map<string, ResolvedPath>()
  const wanted: [key: string, written: string][] = []
  for (const target of targets) {
    if (target.kind === "path") wanted.push([target.path, target.path])
    if (target.kind !== "command") continue
    await prepareCommands()
    const analysis = analyseCommand(target.text, { cwd, home: options.home ?? "" })
    for (const path of commandPaths(analysis)) if (isAbsolute(path)) wanted.push([path, path])
  }
  const unique = [...new Map(wanted)].slice(0, MAX_PATHS)
  await Promise.all(
    unique.map(async ([key, written]) => {
      const path = await resolvePath(written, cwd)
      if (path !== undefined) found.set(key, path)
    }),
  )
  return found
}

/** Where one path leads, relative ones from `cwd`; undefined when that cannot be said. */
export async function resolvePath(written: string, cwd: string): Promise<ResolvedPath | undefined> {
  if (written.includes("\0") || written.length > MAX_PATH_CHARS) return undefined
  try {
    const lexical = resolve(cwd, written)
    const real = await follow(lexical)
    const raw = isAbsolute(written) ? written : `${cwd}${sep}${written}`
    const physical = /(^|[\\/])\.\.([\\/]|$)/.test(written) ? await follow(raw) : real
    const path: ResolvedPath = { lexical, real }
    if (physical !== real) path.others = [physical]
    if (await isFolder(real)) path.directory = true
    return path
  } catch {
    return undefined
  }
}

/** The path with every link followed; a part that does not exist yet keeps its name below its nearest real parent. */
async function follow(path: string, links = 0, missing = 0): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if (links > MAX_LINKS || missing > MAX_MISSING || !isMissing(error)) throw error
  }
  const target = await readlink(path).catch(() => undefined)
  const parent = await follow(dirname(path), target === undefined ? links : links + 1, missing + 1)
  if (target !== undefined) return await follow(resolve(parent, target), links + 1, missing)
  return basename(path) === ".." ? dirname(parent) : resolve(parent, basename(path))
}

function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code
  return code === "ENOENT" || code === "ENOTDIR"
}

async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}
