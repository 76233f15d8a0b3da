/**
 * A folder → what git would run there that the repository chose, even where git only looks: a key, a file, a hook.
 *
 * Invariant: only what is known to run nothing is left out; what the person's own configuration says is theirs and not
 * looked at. Nothing is written, no program is started.
 */
import { realpathSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { isHarmless } from "./config-key.ts"
import { type ConfigEntry, parseConfig } from "./config-text.ts"
import { createFileMemory, statOf, UNREADABLE } from "./file-memory.ts"
import { type IndexLinks, readGitlinks } from "./gitlink.ts"
import { createRepository, findRepositories, follow, joined, type Repository, repositoryIn } from "./repository.ts"

/** What the answers depend on beside the disk. */
export interface GitRunsOptions {
  /** What `~` means in a configuration. */
  home: string
  /** GIT_DIR of the environment that commands get. */
  gitDir?: string | undefined
}

/** Says what git would run in a folder (absolute, real) because its repository says so; undefined: nothing. */
export type GitRuns = (folder: string) => string | undefined

const MAX_CONFIG_BYTES = 2 ** 20
const MAX_INDEX_BYTES = 2 ** 28
/** Files that include one another; git itself follows ten. */
const MAX_INCLUDES = 10
/** Repositories within a repository that are looked at, all levels together. */
const MAX_INNER = 1000

/** The hook that git runs when it only looks: an index that it has refreshed is written. */
const HOOK = "post-index-change"

/** What is going on about one folder. */
interface Search {
  folder: string
  options: GitRunsOptions
  /** Repositories that were looked at. */
  seen: Set<string>
}

/** Made once for a run; a call costs looks at entries where no file changed. */
export function createGitRuns(options: GitRunsOptions): GitRuns {
  return (folder) => {
    const search: Search = { folder, options, seen: new Set() }
    const named = options.gitDir ? [createRepository(follow(folder, options.gitDir), folder)] : []
    return firstOf([...named, ...findRepositories(folder)], (one) => runsOfRepository(one, search))
  }
}

function firstOf<T>(items: Iterable<T>, find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}

function runsOfRepository(repository: Repository, search: Search): string | undefined {
  const { gitDir, commonDir } = repository
  if (isMisread(`${search.folder}${gitDir}${commonDir}`)) return UNSAYABLE
  const key = `${gitDir}\n${repository.workTree}`
  if (search.seen.has(key)) return undefined
  search.seen.add(key)
  if (search.seen.size > MAX_INNER) return `more than ${MAX_INNER} repositories within it`
  const files = [join(commonDir, "config"), join(gitDir, "config.worktree")]
  return (
    firstOf(files, (file) => runsOfFile(file, { repository, search, depth: 0 })) ??
    hookIn(join(commonDir, "hooks"), search) ??
    runsOfIndex(repository, search)
  )
}

const readEntries = createFileMemory((bytes) => {
  const entries = parseConfig(bytes.toString("latin1"))
  if (entries === undefined) return UNREADABLE
  // What runs nothing whatever stands around it is of no further use.
  return entries.filter((entry) => !isHarmless(entry) || entry.name === "extensions.objectformat")
}, MAX_CONFIG_BYTES)

interface Reading {
  repository: Repository
  search: Search
  depth: number
}

function runsOfFile(file: string, reading: Reading): string | undefined {
  const { search, depth } = reading
  const entries = readEntries(file)
  if (entries === undefined) return undefined
  if (entries === UNREADABLE || depth > MAX_INCLUDES) return `${shown(file, search)}, which cannot be read`
  return firstOf(entries, (entry) => runsOfEntry(entry, file, reading))
}

function runsOfEntry(entry: ConfigEntry, file: string, reading: Reading): string | undefined {
  const { repository, search, depth } = reading
  const { gitDir, workTree } = repository
  const path = pathOf(entry, search.options)
  switch (entry.sub === undefined || entry.section === "includeif" ? `${entry.section}.${entry.key}` : "") {
    case "extensions.objectformat":
      return undefined
    case "include.path":
    case "includeif.path":
      if (path === undefined) break
      return runsOfFile(joined(dirname(file), path), { repository, search, depth: depth + 1 })
    case "core.hookspath":
      if (path === undefined) break
      return hookIn(joined(workTree ?? gitDir, path), search)
    case "core.worktree":
      if (path !== undefined && workTree !== undefined && isSame(joined(gitDir, path), workTree)) return undefined
  }
  return `"${nameOf(entry)}" in ${shown(file, search)}`
}

/** A value that is a path; undefined when only git knows where that leads. */
function pathOf({ value }: ConfigEntry, { home }: GitRunsOptions): string | undefined {
  if (!value) return undefined
  const path = Buffer.from(value, "latin1").toString("utf8")
  if (isMisread(path) || /^(?:~[^/]|%\(|:\()/.test(path)) return undefined
  return /^~(?:\/|$)/.test(path) ? join(home, path.slice(1)) : path
}

const UNSAYABLE = "a path that cannot be read"

/** It holds bytes that are no text, so that it would lead elsewhere than for git. */
function isMisread(path: string): boolean {
  return path.includes("\ufffd")
}

function isSame(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other)
  } catch {
    return false
  }
}

/** What stands between section and key is the repository's own text: shown only where it cannot say anything. */
function nameOf({ section, sub, key }: ConfigEntry): string {
  if (sub === undefined) return `${section}.${key}`
  return `${section}.${/^[\w.:/@-]{1,60}$/.test(sub) ? sub : "*"}.${key}`
}

function hookIn(folder: string, search: Search): string | undefined {
  const file = `${folder}/${HOOK}`
  const entry = statOf(file)
  if (entry === undefined) return undefined
  if (entry !== UNREADABLE && (!entry.isFile() || (entry.mode & 0o111) === 0)) return undefined
  return `the hook ${shown(file, search)}`
}

const readIndex = {
  20: createFileMemory((bytes) => readGitlinks(bytes, 20) ?? UNREADABLE, MAX_INDEX_BYTES),
  32: createFileMemory((bytes) => readGitlinks(bytes, 32) ?? UNREADABLE, MAX_INDEX_BYTES),
}

/** git looks into the repositories that an index names, by starting itself there. */
function runsOfIndex(repository: Repository, search: Search): string | undefined {
  const { gitDir, workTree } = repository
  if (workTree === undefined) return undefined
  const read = readIndex[sumBytes(repository)]
  const own = read(join(gitDir, "index"))
  const shared = typeof own === "object" && own.shared ? read(join(gitDir, own.shared)) : undefined
  if (own === UNREADABLE || shared === UNREADABLE)
    return `${shown(join(gitDir, "index"), search)}, which cannot be read`
  return firstOf([own, shared], (links: IndexLinks | undefined) => {
    // What a folder holds that stands for itself is only known to git; as a rule it is not on the disk.
    const isOpen = links?.folders.some((path) => isMisread(path) || statOf(joined(workTree, path)) !== undefined)
    if (isOpen) return `${shown(join(gitDir, "index"), search)}, which cannot be read`
    return firstOf(links?.paths ?? [], (path) => {
      if (isMisread(path)) return UNSAYABLE
      const inner = repositoryIn(follow(workTree, path))
      return inner && runsOfRepository(inner, search)
    })
  })
}

function sumBytes({ commonDir }: Repository): 20 | 32 {
  const entries = readEntries(join(commonDir, "config"))
  if (!Array.isArray(entries)) return 20
  const format = entries.findLast(({ name }) => name === "extensions.objectformat")
  return format?.value?.toLowerCase() === "sha256" ? 32 : 20
}

/** A path in quotes, from the folder where it lies below. */
function shown(path: string, { folder }: Search): string {
  const below = relative(folder, path)
  const text = below.startsWith("..") ? path : below
  return `"${/^[\w./@+, -]{1,300}$/.test(text) ? text : "a file of the repository"}"`
}
