/**
 * What of a project can execute or widen, as a table: where each kind of it lies.
 *
 * Invariant: a kind of file that is loaded or started and stands in no row is one that nobody trusted; logs and caches
 * beside them stand in none.
 */
import { lstatSync, readdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import type { HookForm } from "../hook-source.ts"
import type { HookFile } from "./hook-entry.ts"
import type { SettingsSource } from "./merge.ts"
import { isPluginFolder } from "./plugin-folder.ts"
import { resolveWritten } from "./scopes.ts"
import { MODULE_ENDING } from "./trust-module.ts"

/** A project with what was read of it: what trust is about. */
export interface TrustSubject {
  /** The project's root, a real path. */
  root: string
  home: string | undefined
  /** Sources of the scopes project and local, as they were read. */
  sources: readonly SettingsSource[]
  /** The hooks of these and of `.hooks.json`. */
  hooks: readonly HookFile[]
  /** Files of code that settings lie in (`settings.ts`), absolute. */
  code: readonly string[]
}

/** What one row found. */
export interface TrustFound {
  /** Files and folders, absolute; what does not lie in the project, or is not there, does not count. */
  paths?: readonly string[]
  /** Packages by name, each as it is found from a folder (absolute). */
  packages?: readonly { name: string; base: string }[]
}

/** One kind of input. */
export interface TrustInput {
  what: string
  /** It runs in this process, so that it is loaded from a copy of what was hashed. */
  isLoaded?: true
  find(subject: TrustSubject): TrustFound | Promise<TrustFound>
}

/** All that counts. */
export const TRUST_INPUTS: readonly TrustInput[] = [
  { what: "settings", find: ({ sources }) => ({ paths: sources.flatMap(({ file }) => file ?? []) }) },
  { what: "settings that are code", isLoaded: true, find: ({ code }) => ({ paths: code }) },
  { what: "hooks", find: ({ hooks }) => ({ paths: hooks.flatMap(({ file }) => file ?? []) }) },
  { what: "scripts of hooks", find: findScripts },
  { what: "files that variables name", find: findVariables },
  { what: "plugins", isLoaded: true, find: lying(".sous/plugins") },
  { what: "plugins that settings name", isLoaded: true, find: findNamed },
  { what: "recipes", isLoaded: true, find: lying(".sous/recipes") },
  { what: "packs", find: findPacks },
]

/** In folders that are read whole: what appears beside code and is not loaded. */
export function isBeside(path: string): boolean {
  if (/(?:^|\/)(?:node_modules|\.git|\.cache)\/$/.test(path)) return true
  // Packages come whole.
  if (/(?:^|\/)node_modules\//.test(path)) return false
  return /(?:^|\/)(?:cache|logs?|te?mp|coverage)\/$/i.test(path) || BESIDE_FILE.test(path)
}

const BESIDE_FILE =
  /\.(?:log|te?mp|pid|lock|sw[op]|bak|orig|db|sqlite3?)$|~$|\.(?:test|spec)\.[mc]?[jt]sx?$|\.d\.[mc]?ts$|\.permissions\.ya?ml$|(?:^|\/)(?:\.DS_Store|\.#.*)$/i

function lying(folder: string): TrustInput["find"] {
  return ({ root }) => {
    const place = join(root, folder)
    if (!isThere(place)) return {}
    // A plugin may be called like what is left out elsewhere: log, cache.
    const plugins = namesIn(place).map((name) => join(place, name))
    return { paths: [place, ...plugins.filter((path) => isBeside(`${path}/`) && isPluginFolder(path))] }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name !== "node_modules" && !name.startsWith("."))
  } catch {
    return []
  }
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path) !== undefined
  } catch {
    return false
  }
}

async function findScripts({ root, home, hooks }: TrustSubject): Promise<TrustFound> {
  const forms = hooks.flatMap(({ hooks: events }) => commandsIn(events))
  if (forms.length === 0) return {}
  const { scriptsOf } = await import("./trust-script.ts")
  const found = await Promise.all(forms.map((form) => scriptsOf(form, { root, home })))
  return { paths: found.flat() }
}

async function findVariables({ root, sources }: TrustSubject): Promise<TrustFound> {
  const pairs = sources.flatMap(({ values }) => Object.entries(values.env ?? {}))
  if (pairs.length === 0) return {}
  const { filesOfVariable } = await import("./trust-word.ts")
  return { paths: pairs.flatMap(([name, value]) => filesOfVariable(name, { value, root })) }
}

/** The commands that stand anywhere in the entries of hooks, whether the entries are well made or not. */
export function commandsIn(value: unknown): Extract<HookForm, { type: "command" }>[] {
  if (typeof value !== "object" || value === null) return []
  const { command, args } = value as { command?: unknown; args?: unknown }
  const inner = Object.values(value).flatMap(commandsIn)
  if (typeof command !== "string") return inner
  const list = Array.isArray(args) && args.every((arg) => typeof arg === "string") ? { args } : {}
  return [{ type: "command", command, ...list }, ...inner]
}

const PATH = /^(?:\.{1,2}$|(?:\.{0,2}|~)[\\/]|file:|[A-Za-z]:[\\/])/
const PACKAGE = /^(?:@[\w.~-]+\/)?[\w~-][\w.~-]*/

/** Settings name a plugin by its path, by a package, or by a file of one. */
function findNamed({ sources, home }: TrustSubject): TrustFound {
  const named = sources.flatMap(({ base, values }) =>
    (values.plugins ?? []).map((entry) => ({ base, value: typeof entry === "string" ? entry : entry.plugin })),
  )
  const packages = named.flatMap(({ base, value }) => {
    const name = PATH.test(value) ? undefined : PACKAGE.exec(value)?.[0]
    return name === undefined ? [] : [{ name, base }]
  })
  const written = named.filter(({ value }) => PATH.test(value) || MODULE_ENDING.test(value))
  return { paths: written.map(({ base, value }) => pathOf(value, base, home)), packages }
}

function pathOf(value: string, base: string, home: string | undefined): string {
  return value.startsWith("file://") ? fileURLToPath(value) : resolveWritten(value, base, home)
}

/** What says which content of packs was meant: that is loaded from copies of its own, wherever a pack came from. */
function findPacks({ root, sources }: TrustSubject): TrustFound {
  const hasPacks = sources.some(({ values }) => Object.keys(values.packs ?? {}).length > 0)
  return hasPacks ? { paths: [resolve(root, "sous.lock")] } : {}
}
