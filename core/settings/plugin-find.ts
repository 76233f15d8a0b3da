/**
 * The folders and settings of the scopes → the plugin files to load, in the order in which they will be registered.
 *
 * Invariant: a file reached by two paths is one plugin, under the stricter of the two wishes; nothing of a project is
 * found unless the person trusts it, and then its code is read from where it was hashed.
 */
import { existsSync, realpathSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { nearestName, SousError } from "../error.ts"
import type { Origin } from "../permission/decision.ts"
import type { Capabilities } from "../plugin.ts"
import { given } from "./given.ts"
import type { EffectiveSettings, PlacedPlugin } from "./merge.ts"
import { isFolder, PLUGIN_ENDING, pluginPathsIn } from "./plugin-folder.ts"
import { entryOf, resolvePackage } from "./plugin-package.ts"
import type { ProjectTrust } from "./project-trust.ts"
import { resolveWritten, type ScopeFolders } from "./scopes.ts"

/** A plugin to load. */
export interface PluginFile extends Pick<PlacedPlugin, "isolation" | "required" | "collision"> {
  /** Absolute, real; or as it was written, when it was not found or lies in no file. */
  file: string
  origin: Origin
  /** Where its code is read, absolute. Default: `file`. */
  loadFrom?: string
  /** How settings name it, with what that is relative to. Left out: it lies in a folder of plugins. */
  identity?: string
  /** The name of the pack that it came in. */
  pack?: string
  /** What its pack says that it needs. */
  capabilities?: Capabilities
  /** It comes with the toolkit, and lies in no file. */
  isShipped?: true
  /** Why it cannot be loaded, when that is known before trying. */
  fault?: SousError
}

export interface FindOptions {
  home?: string | undefined
  /** Whether plugins of the project count, and where they are loaded from. Left out: they do not. */
  trust?: Pick<ProjectTrust, "isTrusted" | "copyOf" | "state"> | undefined
  /** Names of plugins that lie in no file: they are asked for by these. */
  shipped?: readonly string[] | undefined
  /** Those that packs bring; they come last. */
  packed?: readonly PluginFile[] | undefined
}

/** Finds the plugins of all scopes: `plugins` of the settings, then the `plugins/` folders, weakest scope last, then packs. */
export function findPlugins(
  settings: EffectiveSettings,
  folders: ScopeFolders,
  options: FindOptions = {},
): PluginFile[] {
  const { trust, packed = [] } = options
  const named = settings.plugins.map((placed) => locate(placed, options))
  const lying = [
    ...pluginsIn(folders.managed, { scope: "managed" }),
    ...(trust?.isTrusted ? pluginsIn(folders.project, { scope: "project" }) : []),
    ...pluginsIn(folders.user, { scope: "user" }),
  ]
  const found = new Map<string, PluginFile>()
  for (const one of [...named, ...lying, ...packed]) {
    const before = found.get(one.file)
    found.set(one.file, before === undefined ? fromCopy(one, trust) : stricter(before, one))
  }
  return [...found.values()]
}

/** The plugins that lie in the `plugins/` folder of a scope, by name. */
function pluginsIn(folder: string | undefined, origin: Origin): PluginFile[] {
  const base = join(folder ?? "", "plugins")
  return pluginPathsIn(folder).map((path) => {
    const { identity: _, ...found } = locate({ value: path, origin, base }, {})
    return found
  })
}

function locate(placed: PlacedPlugin, { home, shipped = [] }: FindOptions): PluginFile {
  const { value, origin, base, ...wishes } = placed
  const known = { origin, ...given(wishes) }
  if (shipped.includes(value)) return { file: value, isShipped: true, ...known }
  const named = {
    ...known,
    identity: isPath(value) ? resolveWritten(plainPath(value), base, home) : `${base} ${value}`,
  }
  try {
    return { file: realpathSync(findFile(value, base, home)), ...named }
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === "ENOENT" ? "there is no such file" : messageOf(cause)
    const details = { plugin: value, base, reason, near: nearOf(value, shipped) }
    return { file: value, ...named, fault: new SousError("PLUGIN_NOT_FOUND", details, { cause }) }
  }
}

function findFile(value: string, base: string, home: string | undefined): string {
  if (!isPath(value)) return resolvePackage(value, base)
  const path = resolveWritten(plainPath(value), base, home)
  if (isFolder(path)) return entryOf(path)
  // `guard/dist/main.js` may be a file of a package, too.
  const mayBePackage = !/^(\.|~|\/|file:)/.test(value) && !existsSync(path)
  return mayBePackage && value.includes("/") ? resolvePackage(value, base) : path
}

function isPath(value: string): boolean {
  return (
    /^(\.{1,2}$|(\.{0,2}|~)\/|file:|[A-Za-z]:[\\/])/.test(value) || (PLUGIN_ENDING.test(value) && !/^[@#]/.test(value))
  )
}

function plainPath(value: string): string {
  return value.startsWith("file:") ? fileURLToPath(value) : value
}

function nearOf(value: string, shipped: readonly string[]): string | undefined {
  return shipped.find((name) => name.endsWith(`/${value}`)) ?? nearestName(value, shipped)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Code of a project runs from the bytes that a person trusted. */
function fromCopy(one: PluginFile, trust: FindOptions["trust"]): PluginFile {
  if (trust === undefined || one.fault || one.isShipped || one.loadFrom !== undefined) return one
  if (one.origin.scope !== "project" && one.origin.scope !== "local") return one
  const copy = trust.copyOf(one.file)
  if (copy !== one.file) return { ...one, loadFrom: copy }
  // Nobody would notice that it is another one by now.
  return trust.state === "trusted" ? { ...one, fault: new SousError("PLUGIN_OUTSIDE", { file: one.file }) } : one
}

function stricter(one: PluginFile, other: PluginFile): PluginFile {
  const isolation = [one.isolation, other.isolation].includes("process")
    ? "process"
    : (one.isolation ?? other.isolation)
  const required = one.required || other.required || (other.origin.scope === "cli" ? true : undefined)
  return { ...one, ...given({ isolation, required, collision: one.collision ?? other.collision }) }
}

/** What to call a plugin that has no name yet: its file, or the folder that its entry lies in. */
export function plainName(file: string): string {
  const [folder = "", name = file] = file.split(/[\\/]/).slice(-2)
  const plain = basename(name).replace(PLUGIN_ENDING, "")
  return plain === "index" && folder !== "" ? folder : plain
}
