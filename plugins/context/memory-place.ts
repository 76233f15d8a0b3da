/**
 * The places of a conversation → the files in them that memory may stand in, in the order in which they are told.
 *
 * Invariant: only names are looked at here, nothing is opened; a folder without such files costs a few failed looks.
 */
import { readdir, stat } from "node:fs/promises"
import { dirname, join, relative, sep } from "node:path"
import type { ContextStart } from "sous"
import { isInside, realOf, statOf } from "./memory-read.ts"

/** Whose words they are. `local`: the person's own, for one project. */
export type MemoryScope = "managed" | "user" | "project" | "local"

/** A file that may hold memory. */
export interface Place {
  /** Absolute; as it is named, links not followed. */
  path: string
  scope: MemoryScope
  /** Set for a rule: the folders that its `paths` start from. */
  ruleOf?: readonly string[]
}

type Where = Pick<ContextStart, "startedIn" | "places" | "roots" | "warn">

/** What the organisation and the person say everywhere, then each folder from the project's root down. */
export async function placesAtStart(context: Where): Promise<Place[]> {
  const { places, startedIn } = context
  const above = [
    ...places.managed.map((folder, index) => configured(folder, "managed", { context, index })),
    ...places.user.map((folder, index) => configured(folder, "user", { context, index })),
  ]
  const folders = foldersBetween(projectOf(context), startedIn)
  return (await Promise.all([...above, ...folders.map((folder) => placesIn(folder, context))])).flat()
}

/** The folder that everything of the project lies in: where the agent started, when that is in no project. */
export function projectOf({ places, startedIn }: Where): string {
  return isInside(startedIn, places.project) ? places.project : startedIn
}

/** What no file of the project leads out of, by link or import. */
export function projectRoots(context: Where): string[] {
  return [projectOf(context), ...context.roots]
}

/** Those from a folder down to one in it, both included. */
export function foldersBetween(top: string, bottom: string): string[] {
  const folders = [bottom]
  while (folders[0] !== top && dirname(folders[0]!) !== folders[0]) folders.unshift(dirname(folders[0]!))
  return folders
}

/** What stands in a folder of the project. */
export async function placesIn(folder: string, context: Where): Promise<Place[]> {
  const named = (name: string, scope: MemoryScope = "project"): Place[] =>
    statOf(join(folder, name)) ? [{ path: join(folder, name), scope }] : []
  const rules = (name: string) => rulesIn(join(folder, name), { scope: "project", bases: [folder], context })
  const { claude } = context.places
  const isClaude = claude && statOf(join(folder, ".claude")) !== undefined
  const isOurs = statOf(join(folder, ".sous")) !== undefined
  return [
    ...(claude ? named("CLAUDE.md") : []),
    ...(isClaude ? named(join(".claude", "CLAUDE.md")) : []),
    ...named("AGENTS.md"),
    ...(isOurs ? named(join(".sous", "MEMORY.md")) : []),
    ...(isClaude ? await rules(join(".claude", "rules")) : []),
    ...(isOurs ? await rules(join(".sous", "rules")) : []),
    ...(claude ? named("CLAUDE.local.md", "local") : []),
  ]
}

/** What stands in a folder of configuration: ours first, then that of Claude Code. */
async function configured(
  folder: string,
  scope: "managed" | "user",
  { context, index }: { context: Where; index: number },
): Promise<Place[]> {
  const isClaude = index > 0
  if ((isClaude && !context.places.claude) || statOf(folder) === undefined) return []
  const names = isClaude ? ["CLAUDE.md"] : ["AGENTS.md", "MEMORY.md"]
  const found = names.map((name) => join(folder, name)).filter(statOf)
  const rules = isClaude && scope === "managed" ? join(".claude", "rules") : "rules"
  const bases = [...new Set([context.startedIn, projectOf(context)])]
  return [...found.map((path) => ({ path, scope })), ...(await rulesIn(join(folder, rules), { scope, bases, context }))]
}

interface Rules {
  scope: MemoryScope
  bases: readonly string[]
  context: Where
}

const MOST_RULES = 1000
const MOST_FOLDERS = 1000

/** All Markdown files below a folder of rules, by name. Each folder once, wherever links lead. */
async function rulesIn(top: string, { scope, bases, context }: Rules): Promise<Place[]> {
  const files: string[] = []
  const seen = new Set<string>()
  const warnFull = () =>
    context.warn(
      `Of the rules in "${top}" only ${MOST_RULES} in ${MOST_FOLDERS} folders are told: the others are left out`,
    )
  async function look(folder: string): Promise<void> {
    const real = await realOf(folder)
    if (real === undefined || seen.has(real)) return
    if (seen.size >= MOST_FOLDERS) return warnFull()
    seen.add(real)
    if (scope === "project" && !projectRoots(context).some((root) => isInside(real, root))) {
      context.warn(`The rules in "${folder}" are left out: a link leads out of the project, to "${real}"`)
      return
    }
    const entries = await readdir(real, { withFileTypes: true }).catch(() => [])
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, entry.name)
      const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && (await leadsToFolder(path)))
      if (isFolder) await look(path)
      else if (!entry.name.endsWith(".md")) continue
      else if (files.length >= MOST_RULES) return warnFull()
      else files.push(path)
    }
  }
  if (statOf(top)) await look(top)
  return files.map((path) => ({ path, scope, ruleOf: bases }))
}

async function leadsToFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}

/** True for what others wrote: installed packages, and git's own files. Their words are no memory of the project. */
export function isForeign(path: string, project: string): boolean {
  return relative(project, path)
    .split(sep)
    .some((part) => part === "node_modules" || part === ".git")
}
