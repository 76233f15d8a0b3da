/**
 * The manifest and the files of a pack → all that the lock says about its content: capabilities, what it adds, rules.
 *
 * Invariant: made from the bytes alone, so that a start can make it again and compare.
 */
import { HOOKS } from "../hook.ts"
import type { Tree } from "../session/tree.ts"
import { given } from "../settings/given.ts"
import type { HookDraft } from "../settings/hook-entry.ts"
import { type PackHooks, readPackHooks, sayHook } from "./hooks.ts"
import type { LockEntry, LockedContent, LockedHook } from "./lock-shape.ts"
import { readManifest } from "./manifest.ts"
import { asFields, invalid, type PackManifest, readFile } from "./shape.ts"

/** A pack that was read. */
export interface PackContent {
  manifest: PackManifest
  hooks: PackHooks
  files: Tree["files"]
  /** As a lock holds it. */
  locked: LockedContent
}

/** Files of a pack that are code or recipes end like this. */
const CODE_ENDING = /(?<!\.d)\.[mc]?[jt]s$/
const RECIPE_ENDING = /(?<!\.test|\.d)\.(?:[mc]?[jt]s|ya?ml)$/

/** Reads a pack; `from` names it in errors. Throws PACK_… errors. */
export async function readPack(tree: Tree, from: string): Promise<PackContent> {
  const manifest = await readManifest(tree, from)
  for (const file of [...manifest.plugins, ...manifest.recipes])
    if (!tree.files.has(file) && !tree.links.has(file))
      throw invalid(manifest.file, `there is no file "${file}"`, `correct its path in ${manifest.file}`)
  checkEndings("plugins", manifest, CODE_ENDING)
  checkEndings("recipes", manifest, RECIPE_ENDING)
  const names = manifest.recipes.map(recipeName)
  const double = names.find((name, index) => names.indexOf(name) !== index)
  if (double !== undefined)
    throw invalid(manifest.file, `two of its recipes are called "${double}"`, "rename the file of one of them")
  const hooks = await readPackHooks(tree, manifest)
  return { manifest, hooks, files: tree.files, locked: await lockedOf(tree, manifest, hooks) }
}

/** The part of an entry that is about its content. */
export function contentOf(entry: LockEntry): LockedContent {
  const {
    source: _,
    resolved: __,
    integrity: ___,
    tree: ____,
    dependencies: _____,
    inProcess: ______,
    ...content
  } = entry
  return content as LockedContent
}

/** True for a pack without which something would pass that it is there to stop. */
export function guards({ permissions, hooks = [], adds }: LockedContent): boolean {
  if (permissions?.deny?.length || permissions?.ask?.length) return true
  return [...hooks.map(({ event }) => event), ...(adds?.hooks ?? [])].some(isGate)
}

/** The name of a recipe, as `sous run pack/name` says it. */
export function recipeName(file: string): string {
  return file.replace(/^.*\//, "").replace(RECIPE_ENDING, "")
}

function isGate(event: string): boolean {
  return Object.hasOwn(HOOKS, event) && HOOKS[event as keyof typeof HOOKS].kind === "gate"
}

function checkEndings(key: "plugins" | "recipes", manifest: PackManifest, ending: RegExp): void {
  const wrong = manifest[key].find((file) => !ending.test(file))
  if (wrong === undefined) return
  throw invalid(manifest.file, `"${wrong}" in "${key}" does not end like one`, `name files that are ${key}`)
}

async function lockedOf(tree: Tree, manifest: PackManifest, { drafts }: PackHooks): Promise<LockedContent> {
  const { version, apiVersion, capabilities, plugins, recipes, permissions, adds, unused } = manifest
  return given({
    version,
    apiVersion,
    capabilities: sorted(capabilities),
    plugins: listed(plugins),
    recipes: listed(recipes),
    hooks: listed(drafts.map(hookOf)),
    permissions: optional(sorted(permissions)),
    adds: optional(sorted(adds)),
    unused: optional(sorted(unused)),
    dialect: manifest.dialect,
    modules: optional(await modulesOf(tree)),
  }) as LockedContent
}

/** All that decides when it starts, what it is told, and what its end means. */
function hookOf({ source, wantedEnv }: HookDraft): LockedHook {
  const { event, matcher, dialect, onFailure, once, timeoutMs, form } = source
  const { headers, model, continueOnBlock } = form as { headers?: object; model?: string; continueOnBlock?: boolean }
  return given({
    event,
    matcher,
    dialect,
    does: sayHook(source),
    if: source.if,
    onFailure,
    async: source.async,
    once,
    timeoutMs,
    headers,
    env: listed(wantedEnv),
    model,
    continueOnBlock,
  }) as LockedHook
}

/** The packages that lie in the pack, by their folder: name and version. */
async function modulesOf(tree: Tree): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const file of tree.files.keys()) {
    const [, folder] = /^((?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(file) ?? []
    if (folder === undefined) continue
    const { name, version } = asFields(await readFile(tree, file))
    found[folder] = `${String(name)}@${String(version)}`
  }
  return found
}

function listed<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list
}

/** Keys and lists in one order whatever they were written in; without empty lists. */
function sorted(fields: object): Record<string, unknown> {
  const full = Object.entries(fields).filter(([, value]) => !Array.isArray(value) || value.length > 0)
  const entries = full.map(([key, value]) => [key, Array.isArray(value) ? [...new Set(value)].sort() : value] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function optional<T extends object>(fields: T): T | undefined {
  return Object.keys(fields).length === 0 ? undefined : fields
}
