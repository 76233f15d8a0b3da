/**
 * A folder, or files of it → one value: the bytes of each file, and one hash over all of them.
 *
 * Invariant: a file is read once, and what is hashed are the bytes that are kept. The hash knows neither the order of a
 * listing, nor the place of the folder, nor a date. Reading always ends: pipes are refused, and so is what is too much.
 */
import { createHash } from "node:crypto"
import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  type Stats,
} from "node:fs"
import { isAbsolute, join, relative, sep } from "node:path"
import { SousError } from "../error.ts"

/** One file of a tree. */
export interface TreeFile {
  bytes: Buffer
  /** Its owner may execute it. */
  executable: boolean
  /** Of the bytes, hex. */
  sha256: string
}

/** Files by their path, relative to the root and with `/`. */
export interface Tree {
  /** sha256, hex: over path, executability and bytes of each file, and over the links. */
  hash: string
  files: ReadonlyMap<string, TreeFile>
  /** Links inside the tree, to files or folders: the path of each → the path that it stands for; both relative. */
  links: ReadonlyMap<string, string>
}

/** How much a tree may hold. */
export interface TreeLimits {
  /** Default 20,000. */
  files?: number
  /** All files together. Default 128 MiB. */
  bytes?: number
}

/** What does not belong to folders that are named. */
export interface TreeOptions extends TreeLimits {
  skip?: TreeFilter
}

/**
 * Says of a path (relative, with `/`; that of a folder ends in `/`) whether it belongs to the tree. Links are asked about
 * by their own path.
 */
export type TreeFilter = (path: string) => boolean

const MOST_FILES = 20_000
const MOST_BYTES = 128 * 2 ** 20

/**
 * Reads a folder as far as a filter lets it, or the files (relative paths) that are named; of these, what is not there is
 * left out, and a folder is read whole. Throws TREE_FILE_UNREADABLE, TREE_LINK_OUTSIDE, TREE_TOO_LARGE.
 */
export async function readTree(
  root: string,
  wanted: readonly string[] | TreeFilter = () => true,
  { files = MOST_FILES, bytes = MOST_BYTES, skip = () => false }: TreeOptions = {},
): Promise<Tree> {
  const isList = typeof wanted !== "function"
  const reading: Reading = {
    root: realRoot(root),
    filter: isList ? (path) => !skip(path) : wanted,
    most: { files, bytes },
    bytes: 0,
    files: new Map(),
    links: new Map(),
    folders: new Set(),
  }
  if (!isList) walk("", reading)
  else for (const path of wanted) if (isInside(path)) readNamed(path, reading)
  return treeOf(reading.files, reading.links)
}

/** The tree of files whose bytes are known. */
export function treeOf(files: ReadonlyMap<string, TreeFile>, links: ReadonlyMap<string, string> = new Map()): Tree {
  const sum = createHash("sha256")
  // JSON keeps the parts of a line apart, whatever stands in a name.
  for (const [path, { executable, sha256 }] of byName(files))
    sum.update(`${JSON.stringify([path, executable, sha256])}\n`)
  for (const [path, target] of byName(links)) sum.update(`${JSON.stringify([path, target])}\n`)
  return { hash: sum.digest("hex"), files: new Map(byName(files)), links: new Map(byName(links)) }
}

/** A file of a tree from its bytes. */
export function treeFile(bytes: Buffer, { executable = false } = {}): TreeFile {
  return { bytes, executable, sha256: createHash("sha256").update(bytes).digest("hex") }
}

interface Reading {
  /** Absolute, real. */
  root: string
  filter: TreeFilter
  most: Required<TreeLimits>
  bytes: number
  files: Map<string, TreeFile>
  links: Map<string, string>
  /** Those that were walked, by their real path. */
  folders: Set<string>
}

function realRoot(root: string): string {
  try {
    return realpathSync(root)
  } catch (cause) {
    throw unreadable(root, reasonOf(cause), cause)
  }
}

/** By code units: the order of a language differs from machine to machine. */
function byName<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}

function isInside(path: string): boolean {
  return path !== "" && !isAbsolute(path) && !path.split("/").includes("..")
}

function walk(folder: string, reading: Reading): void {
  if (reading.folders.has(folder)) return
  reading.folders.add(folder)
  // Folders cost time as well, empty ones too.
  if (reading.folders.size > reading.most.files) throw tooLarge(reading)
  for (const entry of entriesOf(folder, reading)) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`
    if (!reading.filter(entry.isDirectory() ? `${path}/` : path)) continue
    if (entry.isDirectory()) walk(path, reading)
    else if (entry.isSymbolicLink()) follow(path, reading)
    else readFile(path, reading)
  }
}

function entriesOf(folder: string, { root }: Reading): Dirent[] {
  const place = join(root, folder)
  try {
    return readdirSync(place, { withFileTypes: true })
  } catch (cause) {
    throw unreadable(place, reasonOf(cause), cause)
  }
}

/** A link counts as what it leads to; it is an error when that lies elsewhere, or nowhere. */
function follow(path: string, reading: Reading): void {
  const target = targetOf(path, reading)
  if (target === undefined) throw unreadable(join(reading.root, path), "it is a link that leads nowhere")
  reading.links.set(path, target)
  readReal(target, reading)
}

/** Relative; `""` for the root. Undefined: the link leads nowhere. */
function targetOf(path: string, { root }: Reading): string | undefined {
  const file = join(root, path)
  let real: string
  try {
    real = realpathSync(file)
  } catch (cause) {
    if (isGone(cause)) return undefined
    throw unreadable(file, reasonOf(cause), cause)
  }
  const way = relative(root, real)
  if (way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way)) {
    throw new SousError("TREE_LINK_OUTSIDE", { file, target: real, root })
  }
  return sep === "/" ? way : way.split(sep).join("/")
}

function readReal(path: string, reading: Reading): void {
  if (lookAt(path, reading)?.isDirectory()) walk(path, reading)
  else readFile(path, reading)
}

/** A path that somebody named may lead over links: each of them is a part of the tree. */
function readNamed(path: string, reading: Reading): void {
  let real = ""
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue
    const next = real === "" ? part : `${real}/${part}`
    const found = lookAt(next, reading)
    if (found === undefined) return
    const target = found.isSymbolicLink() ? targetOf(next, reading) : next
    if (target === undefined) return
    if (target !== next) reading.links.set(next, target)
    real = target
  }
  readReal(real, reading)
}

/** What lies there, links not followed; undefined: nothing. */
function lookAt(path: string, { root }: Reading): Stats | undefined {
  const file = join(root, path)
  try {
    return lstatSync(file, { throwIfNoEntry: false })
  } catch (cause) {
    if (isGone(cause)) return undefined
    throw unreadable(file, reasonOf(cause), cause)
  }
}

function readFile(path: string, reading: Reading): void {
  if (reading.files.has(path)) return
  if (reading.files.size >= reading.most.files) throw tooLarge(reading)
  const file = join(reading.root, path)
  let descriptor: number | undefined
  try {
    // Opening a pipe would wait for its writer; a link that came in between is not followed.
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    const stats = fstatSync(descriptor)
    if (!stats.isFile()) throw unreadable(file, "it is neither a file nor a folder")
    const bytes = readBytes(descriptor, stats.size, reading)
    reading.bytes += bytes.length
    reading.files.set(path, treeFile(bytes, { executable: (stats.mode & 0o100) !== 0 }))
  } catch (cause) {
    if (cause instanceof SousError) throw cause
    throw unreadable(file, reasonOf(cause), cause)
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** All bytes, of a file that grows in the meantime too: it is what was read that counts. */
function readBytes(descriptor: number, size: number, reading: Reading): Buffer {
  const room = reading.most.bytes - reading.bytes
  if (size > room) throw tooLarge(reading)
  const chunks: Buffer[] = []
  for (let total = 0; ; ) {
    const chunk = Buffer.allocUnsafe(Math.max(1, size - total))
    const count = readSync(descriptor, chunk)
    if (count === 0) return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    total += count
    if (total > room) throw tooLarge(reading)
    chunks.push(chunk.subarray(0, count))
  }
}

function tooLarge({ root, most }: Reading): SousError {
  return new SousError("TREE_TOO_LARGE", { root, ...most })
}

function unreadable(file: string, reason: string, cause?: unknown): SousError {
  return new SousError("TREE_FILE_UNREADABLE", { file, reason }, { cause })
}

function isGone(cause: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes((cause as NodeJS.ErrnoException).code ?? "")
}

function reasonOf(cause: unknown): string {
  return (cause as NodeJS.ErrnoException).code ?? String(cause)
}
