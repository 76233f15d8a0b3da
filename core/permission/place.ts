/**
 * A resolved path → all spellings that a guard looks at, and whether it lies inside a folder.
 *
 * Invariant: refusing looks at every spelling and needs one; allowing needs every place, and takes no odd spelling.
 */
import { resolve } from "node:path"
import type { PermissionFacts, ResolvedPath } from "./decision.ts"
import { cutPath, type PathParts } from "./path-pattern.ts"

/** Longer paths open nothing on any system. */
const MAX_SPELT_CHARS = 40_000

/** A path as the pipeline sees it. */
export interface Place {
  /** As the call wrote it. */
  written: string
  /** Absolute, as far as it is known without the disk. */
  lexical: string
  /** Every place that it may mean, absolute; empty when its real path is unknown, which allows nothing. */
  known: readonly PathParts[]
  /** `known`, the lexical path, and other systems' spellings of them. */
  spellings: readonly PathParts[]
  directory: boolean
  /** Something stands there that is no folder. */
  file: boolean
  /** Of a path whose last part is a symlink: where it leads. */
  link?: PathParts
}

/**
 * Joins what was written with what the disk said. `lexical` is used where `resolved` is missing. `cwd`: the folder of
 * the process that opens it.
 */
export function createPlace(
  written: string,
  lexical: string,
  { resolved, cwd }: { resolved: ResolvedPath | undefined; cwd?: string },
): Place {
  const real = resolved ? [resolved.lexical, resolved.real, ...(resolved.others ?? [])] : []
  const odd = isOdd(written)
  const spellings = new Set([lexical, ...real, ...(resolved?.guarded ?? [])].flatMap((path) => spellingsOf(path, cwd)))
  return {
    written,
    lexical: resolved?.lexical ?? lexical,
    known: odd ? [] : [...new Set(real)].map(cutPath),
    spellings: [...spellings].map(cutPath),
    directory: resolved?.directory ?? false,
    file: resolved?.file ?? false,
    ...(resolved?.link ? { link: cutPath(resolved.real) } : {}),
  }
}

/** True when every place that the path may mean lies in one of the folders, or is one of them. */
export function isInside(place: Place, folders: readonly string[]): boolean {
  return place.known.length > 0 && place.known.every((path) => folders.some((folder) => isBelow(path, cutPath(folder))))
}

/** True when `path` is `folder` or lies below it. */
export function isBelow(path: PathParts, folder: PathParts, side: keyof PathParts = "allow"): boolean {
  return folder[side].every((part, i) => path[side][i] === part)
}

/** Folders that a call may read without a rule. */
export function readableFolders(facts: PermissionFacts): readonly string[] {
  return [...facts.roots, ...facts.readRoots]
}

/** Spellings that another system, or this one, takes for something else: no rule allows them unseen. */
function isOdd(written: string): boolean {
  if (PLAIN.test(written)) return false
  return (
    /\0|^["']?\\\\|^[A-Za-z]:[\\/]|\\\.\.|\.\.\\/.test(written) ||
    OPEN_FILE.test(written) ||
    STREAM.test(written) ||
    /\p{Surrogate}/u.test(written)
  )
}

/** Nothing that any of the below looks for. */
const PLAIN = /^(?!\/+(?:dev|proc)\/)[\w./~@+,= -]*$/
/** What a process has open already, whatever that is; its three usual ones aside. */
const OPEN_FILE = /^\/+(?:dev|proc\/+(?:self|thread-self|\d+)(?:\/+task\/+\d+)?)\/+fd\/+(?![012]$)/
/** A stream of a file or a folder (NTFS): `x::$DATA` is `x`. */
const STREAM = /:[^/\\:]*:?\$(?:DATA|INDEX_ALLOCATION|I30|BITMAP|ATTRIBUTE_LIST)(?=[/\\]|$)/i
/** How Linux lets a process name the root and its folder once more (proc(5)). */
const OWN_ROOT = /^(?:\/proc\/(?:self|thread-self|\d+)(?:\/task\/\d+)?\/root(?=\/|$))+/
const OWN_FOLDER = /^(?:\/proc\/(?:self|thread-self|\d+)(?:\/task\/\d+)?\/cwd(?=\/|$))/

/** A path without these has no other spelling. */
const RESPELT = /[\\:]|[. ](?:\/|$)|^\/proc\//

function spellingsOf(path: string, cwd: string | undefined): string[] {
  if (path.length > MAX_SPELT_CHARS || !RESPELT.test(path)) return [path]
  const found = [path]
  // Windows: both separators, device and drive prefixes; trailing dots and blanks do not count.
  if (path.includes("\\")) {
    const slashed = path.replaceAll("\\", "/")
    const drive = /\/([A-Za-z]):\/(.*)$/s.exec(slashed)
    found.push(resolve("/", drive ? `${drive[1]!.toLowerCase()}/${drive[2]}` : slashed))
  }
  const views = found.map((one) => {
    const rooted = one.startsWith("/proc/") ? one.replace(OWN_ROOT, "") || "/" : one
    return cwd === undefined ? rooted : rooted.replace(OWN_FOLDER, cwd)
  })
  const trimmed = views.map((one) => one.replace(STREAM, "").split("/").map(trimPart).join("/"))
  return [...found, ...views, ...trimmed]
}

function trimPart(part: string): string {
  if (part === "." || part === "..") return part
  let end = part.length
  while (end > 0 && (part[end - 1] === "." || part[end - 1] === " ")) end--
  return end === 0 ? part : part.slice(0, end)
}
