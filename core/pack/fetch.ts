/**
 * A source, or the exact place that a lock names → the files of a pack in a folder, and where they came from.
 *
 * Invariant: no script of what is fetched runs, and nothing is read of the folder that somebody works in.
 */
import { mkdtemp, realpath } from "node:fs/promises"
import { join } from "node:path"
import { isSousError, SousError } from "../error.ts"
import { readTree } from "../session/tree.ts"
import { resolveWritten } from "../settings/scopes.ts"
import { downloadArchive, readArchive, unpackArchive } from "./archive.ts"
import type { Fetching } from "./fetching.ts"
import { fetchCommit, resolveCommit } from "./git.ts"
import { isInside } from "./isolate-grant.ts"
import { isWeb, type LockEntry, type LockedDependency } from "./lock-shape.ts"
import { npmOptions } from "./npm-config.ts"
import type { PackSource } from "./source.ts"

/** Where bytes came from, exactly. */
export interface Fetched {
  resolved: string
  /** Of archives. */
  integrity?: string
}

/** Resolves a source and brings its files into `target`, a folder that is not there yet. Throws PACK_FETCH_FAILED. */
export async function fetchSource(source: PackSource, target: string, fetching: Fetching): Promise<Fetched> {
  switch (source.kind) {
    case "npm": {
      const spec = `${source.name}@${source.range ?? "latest"}`
      return await named(source.written, fetching, async () => {
        const { _resolved, _integrity } = await (await library()).manifest(spec, optionsFor(fetching))
        checkArchive(_resolved)
        return await extract(
          { resolved: _resolved, ...(_integrity ? { integrity: _integrity } : {}) },
          target,
          fetching,
        )
      })
    }
    case "remote":
      return await named(source.written, fetching, () => extract({ resolved: source.url }, target, fetching))
    case "archive":
      return await named(source.written, fetching, async () => {
        const integrity = await extractFile(source.place, target, fetching)
        return { resolved: `file:${source.written}`, integrity }
      })
    case "folder":
      await named(source.written, fetching, () => copyFolder(source.place, target))
      return { resolved: `file:${source.written}` }
    case "git":
      return await named(source.written, fetching, async () => {
        const { url, commit } = await resolveCommit(source, fetching)
        const path = source.path === undefined ? "" : `::path:${source.path}`
        await fetchGit({ url, commit, ...(source.path === undefined ? {} : { path: source.path }) }, target, fetching)
        return { resolved: `git+${url}#${commit}${path}` }
      })
  }
}

/** What a source would come to now, without fetching its files: a version, a commit; undefined for folders and archives. */
export async function latestOf(source: PackSource, fetching: Fetching): Promise<string | undefined> {
  if (source.kind === "git")
    return await named(source.written, fetching, async () => (await resolveCommit(source, fetching)).commit)
  if (source.kind !== "npm") return undefined
  const spec = `${source.name}@${source.range ?? "latest"}`
  return await named(
    source.written,
    fetching,
    async () => (await (await library()).manifest(spec, optionsFor(fetching))).version,
  )
}

/** Brings exactly what a lock names into `target`. Throws PACK_FETCH_FAILED. */
export async function fetchLocked(
  { resolved, integrity }: Pick<LockEntry, "resolved" | "integrity">,
  target: string,
  fetching: Fetching,
): Promise<void> {
  await named(resolved, fetching, async () => {
    const [, url, commit, path] = /^git\+([^#]+)#([0-9a-f]+)(?:::path:(.+))?$/.exec(resolved) ?? []
    if (url !== undefined && commit !== undefined)
      return await fetchGit({ url, commit, ...(path === undefined ? {} : { path }) }, target, fetching)
    const place = /^file:(.*)$/.exec(resolved)?.[1]
    if (place === undefined) return void (await extract({ resolved, integrity: integrity! }, target, fetching))
    const file = resolveWritten(place, fetching.base, fetching.home)
    if (integrity === undefined) await copyFolder(file, target)
    else if ((await extractFile(file, target, fetching)) !== integrity) throw new Error(REASONS.EINTEGRITY)
  })
}

/** What a package of the registry is at the moment, and what it needs itself. */
export async function lookUp(
  spec: string,
  fetching: Fetching,
): Promise<{ dependency: LockedDependency; needs: Record<string, string> }> {
  return await named(spec, fetching, async () => {
    const {
      version,
      dependencies = {},
      _resolved,
      _integrity,
    } = await (await library()).manifest(spec, optionsFor(fetching))
    checkArchive(_resolved)
    if (!_integrity) throw new Error("its registry gives no integrity for it")
    return { dependency: { version, resolved: _resolved, integrity: _integrity }, needs: dependencies }
  })
}

/** A registry says where its archives lie, and the library would clone or read from this disk whatever it says. */
function checkArchive(resolved: string): void {
  if (!isWeb(resolved)) throw new Error(`its registry names "${resolved}", which is no address of an archive`)
}

/** Brings a package that was looked up into its folder; returns it with the strongest integrity that it has. */
export async function fetchDependency(
  dependency: LockedDependency,
  target: string,
  fetching: Fetching,
): Promise<LockedDependency> {
  const { integrity } = await named(dependency.resolved, fetching, () => extract(dependency, target, fetching))
  return { ...dependency, integrity: integrity! }
}

async function library() {
  return (await import("./npm.ts")).pacote
}

/** Nothing is kept from one start to the next, and no script is run whatever a package asks for. */
function optionsFor({ env, home, staging }: Pick<Fetching, "env" | "home" | "staging">): Record<string, unknown> {
  return {
    ...npmOptions(env, home),
    cache: join(staging, "cache"),
    tufCache: join(staging, "tuf"),
    ignoreScripts: true,
    preferOnline: true,
    fullMetadata: true,
    retry: { retries: 1, minTimeout: 500 },
  }
}

/** The integrity is checked where one is given, and is in any case one of sha512 afterwards. */
async function extract(from: Fetched, target: string, fetching: Fetching): Promise<Fetched> {
  const bytes = await downloadArchive(from, optionsFor(fetching))
  return { resolved: from.resolved, integrity: await unpack(bytes, target, fetching) }
}

/** An archive on this disk; returns its integrity. */
async function extractFile(file: string, target: string, fetching: Fetching): Promise<string> {
  return await unpack(await readArchive(file), target, fetching)
}

async function unpack(bytes: Buffer, target: string, { staging, env, home }: Fetching): Promise<string> {
  return await unpackArchive(bytes, target, { staging, options: optionsFor({ staging, env, home }) })
}

async function fetchGit(from: { url: string; commit: string; path?: string }, target: string, fetching: Fetching) {
  const clone = await mkdtemp(join(fetching.staging, "clone-"))
  await fetchCommit(from, clone, fetching)
  await copyFolder(from.path === undefined ? clone : await folderIn(clone, from.path), target)
}

/** A link in a repository may lead anywhere on this disk. */
async function folderIn(clone: string, path: string): Promise<string> {
  const [root, folder] = await Promise.all([realpath(clone), realpath(join(clone, path))])
  if (!isInside(folder, root)) throw new Error(`its folder "${path}" is a link that leads out of it`)
  return folder
}

/** Not what belongs to the workshop: the history, and packages, which are resolved anew. */
async function copyFolder(folder: string, target: string): Promise<void> {
  const tree = await readTree(folder, (path) => !/(?:^|\/)(?:\.git|node_modules)(?:\/|$)/.test(path))
  const { writeTree } = await import("./place-tree.ts")
  await writeTree(tree, target)
}

/** Does the work until somebody interrupts it; names the source in what it throws. */
async function named<T>(source: string, { signal }: Fetching, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener("abort", stop, { once: true })
  })
  try {
    return await Promise.race([work(), aborted])
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (isSousError(error)) throw error
    throw new SousError("PACK_FETCH_FAILED", { source, reason: reasonOf(error) }, { cause: error })
  } finally {
    signal.removeEventListener("abort", stop)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  E404: "there is no such package",
  ETARGET: "no version of it fits",
  EINTEGRITY: "its bytes do not have the integrity that they should",
  ENOTFOUND: "its host cannot be found",
  ECONNREFUSED: "nobody answers there",
  ENOENT: "it is not there",
  E401: "the registry wants to know who asks",
  E403: "the registry refuses",
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  const first = (message ?? String(error)).split("\n")[0]!
  return (code !== undefined ? REASONS[code] : undefined) ?? first.replace(/\.$/, "")
}
