/**
 * A command line about packs → the scope that it is about: its settings, its lock, and where packs are kept.
 *
 * Invariant: nothing is read of the project but its settings and its lock, and no code of it runs; nothing may be changed
 * from inside a run.
 */
import { isAbsolute } from "node:path"
import { SousError, suggest } from "../error.ts"
import type { Installing } from "../pack/install.ts"
import { lockFileOf, type PackLock, readLock } from "../pack/lock.ts"
import { type PackSource, parseSource } from "../pack/source.ts"
import { dataFolderFor, stateFolderFor } from "../session/store.ts"
import { checkSettings } from "../settings/check.ts"
import { parseDocument } from "../settings/document.ts"
import { homeFolder, type ScopeFolders, scopeFolders } from "../settings/scopes.ts"
import { isThere, readSettingsText } from "../settings/text-file.ts"
import { type WritePlace, writePlace } from "../settings/write.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"

/** Packs of one scope. */
export interface PackScope {
  scope: "project" | "user"
  settings: WritePlace
  /** Absolute. */
  lock: string
  /** What relative paths in settings and lock are relative to, absolute. */
  base: string
  folders: ScopeFolders
  /** The data and the state folder, absolute. */
  data: string
  state: string
  cwd: string
  home: string | undefined
}

/** The scope that a command is about: the project's, or with `--user` the person's. Throws PACK_PLACE_MISSING. */
export async function openScope(line: CommandLine, host: Host): Promise<PackScope> {
  const scope = line.values.user ? "user" : "project"
  const found = await findScope(scope, host)
  if (found === undefined) throw new SousError("PACK_PLACE_MISSING", { scope })
  return found
}

/** Where everything lies for a command that was given here. */
export type PackGround = Pick<PackScope, "folders" | "data" | "state" | "cwd" | "home">

/** Finds the folders; nothing in them is read. */
export async function packGround(host: Host): Promise<PackGround> {
  const { env } = host
  const [cwd, home] = [await host.cwd(), homeFolder(env)]
  const [data, state] = [dataFolderFor(env, home), stateFolderFor(env, home)]
  return { folders: scopeFolders({ cwd, env, home }), data, state, cwd, home }
}

async function findScope(scope: PackScope["scope"], host: Host): Promise<PackScope | undefined> {
  const ground = await packGround(host)
  const { folders, home } = ground
  const settings = writePlace(scope, folders, { home })
  const lock = lockFileOf(scope, folders)
  const base = scope === "user" ? folders.user : folders.root
  if (settings === undefined || lock === undefined || base === undefined) return undefined
  return { ...ground, scope, settings, lock, base }
}

/** True where the settings are code: a person writes them by hand. */
export function isCode({ settings: { file } }: PackScope): boolean {
  return file.endsWith(".ts")
}

/** The packs that the settings of a scope name, by name: their sources; of code, those that are locked. Throws SETTINGS_… errors. */
export async function namedPacks(scope: PackScope): Promise<Map<string, string>> {
  const { file } = scope.settings
  if (isCode(scope)) return new Map([...(await lockedPacks(scope))].map(([name, { source }]) => [name, source]))
  if (!isThere(file)) return new Map()
  const values = checkSettings(file, await parseDocument(file, readSettingsText(file)))
  return new Map(Object.entries(values.packs ?? {}))
}

/** The packs to work on: the one that was named, or all. Throws PACK_UNKNOWN. */
export async function chosenPacks(scope: PackScope, name: string | undefined): Promise<[string, string][]> {
  const named = await namedPacks(scope)
  if (name === undefined) return [...named]
  const source = named.get(name)
  if (source !== undefined) return [[name, source]]
  throw new SousError("PACK_UNKNOWN", { pack: name, mend: suggest(name, named.keys()) })
}

/** Reads a source as it stands in settings. Throws PACK_SOURCE_… errors. */
export function settingsSource(written: string, { base, home, scope }: PackScope): PackSource {
  return parseSource(written, {
    base,
    home,
    ...(scope === "project" && !isAbsolute(written) ? { writtenFrom: base } : {}),
  })
}

/** The entries that are locked. */
export async function lockedPacks({ lock }: PackScope): Promise<PackLock> {
  return await readLock(lock)
}

/** With what packs of a scope are fetched. */
export function installing({ data, base, home }: Pick<PackScope, "data" | "base" | "home">, host: Host): Installing {
  const { env, signal } = host
  return { data, base, home, env, signal, tell: (line) => host.tell(line) }
}

/** Throws PACK_FROZEN where nothing may be resolved: with `--frozen`, and in CI unless `--no-frozen` is given. */
export function refuseFrozen(command: string, line: CommandLine, host: Host): void {
  const { frozen = isCI(host) } = line.values
  if (frozen) throw new SousError("PACK_FROZEN", { command })
}

/** Does work that takes its time: an interruption ends it cleanly, with the exit code that it means. */
export async function interruptible(host: Host, work: () => Promise<number>): Promise<number> {
  host.setRunning(true)
  try {
    return await work()
  } catch (error) {
    if (!host.signal.aborted) throw error
    host.tell("Interrupted: nothing more was changed")
    return host.signal.reason === "SIGTERM" ? 143 : 130
  } finally {
    host.setRunning(false)
  }
}

function isCI({ env }: Host): boolean {
  return !["", "0", "false"].includes(env.CI ?? "")
}
