/**
 * The packs that the settings name → plugins to load, hooks, rules and recipes, each from a copy that was verified.
 *
 * Invariant: a pack with one changed byte, or one that its lock does not describe, brings nothing; where it guards
 * something, nothing starts. Nothing is fetched here.
 */
import { join } from "node:path"
import { isSousError, SousError } from "../error.ts"
import type { HookSource } from "../hook-source.ts"
import type { RuleSource } from "../permission/decision.ts"
import { contentFolder, readContent } from "../session/content.ts"
import { hookPolicy, settleHook } from "../settings/hook-policy.ts"
import type { PlacedPack, SettingsScope, SettingsSource } from "../settings/merge.ts"
import type { PluginFile } from "../settings/plugin-find.ts"
import type { ScopeFolders } from "../settings/scopes.ts"
import { contentOf, guards, type PackContent, recipeName } from "./content.ts"
import { placeHook } from "./hooks.ts"
import { checkEntry } from "./install.ts"
import { lockFileOf, type PackLock, readLock } from "./lock.ts"
import type { LockEntry, LockedContent } from "./lock-shape.ts"
import { hasReceipt } from "./receipt.ts"

/** A recipe of a pack. */
export interface PackRecipe {
  /** `pack/name`. */
  name: string
  pack: string
  /** Absolute. */
  file: string
}

/** A pack that brings nothing. */
export interface PackFault {
  name: string
  fault: SousError
  /** What its lock says that it would bring; undefined: there is no such lock. */
  content?: LockedContent
}

/** What the packs of a start bring. */
export interface OpenedPacks {
  plugins: PluginFile[]
  hooks: HookSource[]
  rules: RuleSource[]
  recipes: PackRecipe[]
  /** Each of them is also a plugin that did not load. */
  faults: PackFault[]
  /** What the manifest of a pack lists; undefined: no such pack is open. */
  contentOf(pack: string): LockedContent | undefined
}

export interface OpenPacksOptions {
  folders: ScopeFolders
  /** The data folder, absolute. */
  data: string
  /** The settings of all scopes, for what they say about hooks, and which packs of theirs others beat. */
  sources: readonly SettingsSource[]
  /** Any pack that brings nothing stops the start. */
  strict?: boolean
}

/** Opens packs. Throws the fault of one that guards something, and of any where `strict` says so. */
export async function openPacks(packs: readonly PlacedPack[], options: OpenPacksOptions): Promise<OpenedPacks> {
  const opened = new Map<string, LockedContent>()
  const all: OpenedPacks = {
    plugins: [],
    hooks: [],
    rules: [],
    recipes: [],
    faults: [],
    contentOf: (pack) => opened.get(pack),
  }
  const locks = new Map<string, Promise<PackLock>>()
  for (const pack of packs) {
    let entry: LockEntry | undefined
    try {
      entry = await entryOf(pack, options, locks)
      await checkBeaten(pack, entry, { options, locks })
      addPack(all, { pack, entry, content: await verify(pack.name, entry, options), options })
      opened.set(pack.name, contentOf(entry))
    } catch (error) {
      if (!isSousError(error)) throw error
      // What nobody knows about may be a guard.
      const isGuard = entry === undefined || guards(contentOf(entry)) || error.code === "PACK_GUARD_BEATEN"
      if (options.strict || entry === undefined || isGuard) throw error
      all.faults.push({ name: pack.name, fault: error, content: contentOf(entry) })
      all.plugins.push({
        file: `pack ${pack.name}`,
        origin: { scope: "plugin", by: pack.name },
        pack: pack.name,
        fault: error,
      })
    }
  }
  return all
}

/** The fault that keeps a run from what it needs: a recipe `pack/name`, or a model that a pack would provide. */
export function faultFor(
  { faults }: Pick<OpenedPacks, "faults">,
  needs: { recipe?: string | undefined; models: readonly (string | undefined)[] },
): SousError | undefined {
  const isNeeded = ({ name, content }: PackFault) =>
    needs.recipe?.startsWith(`${name}/`) ||
    content?.adds?.models?.some((provider) =>
      needs.models.some((id) => id === provider || id?.startsWith(`${provider}:`)),
    )
  return faults.find(isNeeded)?.fault
}

async function entryOf(
  { name, value, origin }: PlacedPack,
  { folders }: OpenPacksOptions,
  locks: Map<string, Promise<PackLock>>,
): Promise<LockEntry> {
  const file = lockFileOf(origin.scope as SettingsScope, folders)
  if (file === undefined) throw new SousError("PACK_NOT_LOCKED", { pack: name, source: value, file: "sous.lock" })
  const entry = (await lockAt(file, locks)).get(name)
  if (entry === undefined) throw new SousError("PACK_NOT_LOCKED", { pack: name, source: value, file })
  if (entry.source !== value)
    throw new SousError("PACK_SOURCE_DIFFERS", { pack: name, source: value, locked: entry.source })
  return entry
}

/** A guard of a weaker scope is not lifted by another pack that takes its name. Throws PACK_GUARD_BEATEN. */
async function checkBeaten(
  { name, origin }: PlacedPack,
  entry: LockEntry,
  { options: { folders, sources }, locks }: { options: OpenPacksOptions; locks: Map<string, Promise<PackLock>> },
): Promise<void> {
  for (const { scope, values } of sources) {
    const file =
      scope === origin.scope || !Object.hasOwn(values.packs ?? {}, name) ? undefined : lockFileOf(scope, folders)
    const other = file === undefined ? undefined : (await lockAt(file, locks)).get(name)
    if (other === undefined || other.tree === entry.tree || !guards(other)) continue
    throw new SousError("PACK_GUARD_BEATEN", { pack: name, scope: String(origin.scope), beaten: scope })
  }
}

function lockAt(file: string, locks: Map<string, Promise<PackLock>>): Promise<PackLock> {
  const lock = locks.get(file) ?? readLock(file)
  locks.set(file, lock)
  return lock
}

async function verify(name: string, entry: LockEntry, { data }: OpenPacksOptions): Promise<PackContent> {
  const tree = await readContent(entry.tree, data)
  if (tree === undefined) {
    const { isThere, changed } = await (await import("./damage.ts")).lookAtContent(entry.tree, data)
    throw isThere
      ? new SousError("PACK_CHANGED", { pack: name, files: changed })
      : new SousError("PACK_MISSING", { pack: name })
  }
  const content = await checkEntry(name, entry, tree)
  if (!hasReceipt(name, entry, data)) throw new SousError("PACK_NOT_INSTALLED", { pack: name })
  return content
}

interface Verified {
  pack: PlacedPack
  entry: LockEntry
  content: PackContent
  options: OpenPacksOptions
}

function addPack(all: OpenedPacks, { pack, entry, content, options }: Verified): void {
  const { name } = pack
  const root = contentFolder(entry.tree, options.data)
  const origin = { scope: "plugin", by: name } as const
  const policy = hookPolicy(options.sources)
  const place = { name, root, data: join(options.data, "pack-data", name), files: content.files }
  const required = guards(entry) ? { required: true } : {}
  for (const file of entry.plugins ?? [])
    all.plugins.push({
      file: `${name}/${file}`,
      loadFrom: join(root, file),
      origin,
      pack: name,
      identity: `pack ${name} ${file}`,
      isolation: entry.inProcess ? "none" : "process",
      capabilities: content.manifest.capabilities,
      ...required,
    })
  for (const draft of content.hooks.drafts)
    all.hooks.push(placeHook(settleHook({ ...draft, source: { ...draft.source, origin } }, policy, true), place))
  for (const behavior of ["deny", "ask", "allow"] as const)
    for (const text of entry.permissions?.[behavior] ?? []) all.rules.push({ text, behavior, ...origin })
  for (const file of entry.recipes ?? [])
    all.recipes.push({ name: `${name}/${recipeName(file)}`, pack: name, file: join(root, file) })
}
