/**
 * A folder → the repositories that git may take it for a part of: as `.git` says, or bare ones.
 *
 * Source: setup.c of git 2.47. Invariant: the one that git takes is among them; what may be none after all only adds one.
 */
import { accessSync, constants, lstatSync, readlinkSync, realpathSync } from "node:fs"
import { dirname, isAbsolute, join } from "node:path"
import { createFileMemory, statOf, UNREADABLE } from "./file-memory.ts"

/** Absolute paths. */
export interface Repository {
  /** What belongs to this working tree alone: HEAD, index. */
  gitDir: string
  /** What all working trees share: configuration, hooks. */
  commonDir: string
  /** Undefined: it is bare. */
  workTree: string | undefined
}

/** Those from the folder upwards to the first that surely is one. */
export function findRepositories(folder: string): Repository[] {
  const found: Repository[] = []
  for (let here = folder; ; here = dirname(here)) {
    const inside = repositoryIn(here)
    if (inside) found.push(inside)
    if (inside && isSure(inside)) return found
    const bare = bareIn(here)
    if (bare) found.push(bare)
    if ((bare && isSure(bare)) || dirname(here) === here) return found
  }
}

/** The folder itself, when it looks like one. */
function bareIn(folder: string): Repository | undefined {
  if (!isThere(join(folder, "HEAD"))) return undefined
  const bare = createRepository(folder, undefined)
  return isThere(join(bare.commonDir, "objects")) ? bare : undefined
}

/** The repository whose working tree the folder is the top of. */
export function repositoryIn(folder: string): Repository | undefined {
  const path = join(folder, ".git")
  const entry = statOf(path)
  if (entry === undefined || entry === UNREADABLE) return undefined
  const gitDir = entry.isDirectory() ? path : linkedFolder(path)
  return gitDir === undefined ? undefined : createRepository(gitDir, folder)
}

/** By its own folder. */
export function createRepository(gitDir: string, workTree: string | undefined): Repository {
  const common = readLine(join(gitDir, "commondir"))
  return { gitDir, commonDir: typeof common === "string" ? follow(gitDir, common) : gitDir, workTree }
}

/** A path from a folder as the system goes it: `..` goes up from where a link led. */
export function follow(folder: string, path: string): string {
  const raw = joined(folder, path)
  try {
    return realpathSync.native(raw)
  } catch {
    return raw
  }
}

/** The same with no link followed yet. */
export function joined(folder: string, path: string): string {
  return isAbsolute(path) ? path : `${folder}/${path}`
}

const readLine = createFileMemory((bytes) => bytes.toString("utf8").replace(/[\r\n]+$/, ""), 2 ** 20)

/** `gitdir: ../.git/worktrees/x`, relative to where the file lies. */
function linkedFolder(path: string): string | undefined {
  const text = readLine(path)
  return typeof text === "string" && text.startsWith("gitdir: ") ? follow(dirname(path), text.slice(8)) : undefined
}

/** git looks no further where it finds these three. */
function isSure({ gitDir, commonDir }: Repository): boolean {
  return hasHead(join(gitDir, "HEAD")) && isEntered(join(commonDir, "objects")) && isEntered(join(commonDir, "refs"))
}

function hasHead(path: string): boolean {
  try {
    if (lstatSync(path).isSymbolicLink()) return readlinkSync(path).startsWith("refs/")
  } catch {
    return false
  }
  const text = readLine(path)
  return typeof text === "string" && /^ref:[ \t\r\n]*refs\/|^[0-9a-f]{40}/.test(text)
}

function isEntered(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A link that leads nowhere is there too. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}
