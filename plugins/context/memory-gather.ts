/**
 * Places of memory files → their texts, with what they import, each file once.
 *
 * Invariant: an import never leads a file of the project out of it, whatever links and `..` there are; what a rule or
 * the settings keep from being read is not opened; what is left out for a fault is told to the person.
 */
import { dirname, isAbsolute, join, resolve } from "node:path"
import type { ContextStart } from "sous"
import { parseGlobs } from "./memory-glob.ts"
import { type Place, projectOf, projectRoots } from "./memory-place.ts"
import { isInside, type Read, readText, realOf, statOf } from "./memory-read.ts"
import { createRuleBudget, pathsOf, type RuleBudget, type RulePaths } from "./memory-rule.ts"
import { parseMemory, splitFrontMatter } from "./memory-text.ts"

/** A memory file that was read. */
export interface Memory extends Place {
  real: string
  /** Without comments and front matter. */
  text: string
  /** As written after `@`. */
  imports: readonly string[]
  /** The file that names it. */
  importedBy?: string
  /** A rule that is told only when a file that fits is touched. */
  paths?: RulePaths
}

/** Reads memory files for one run; remembers what it read and what it warned of. */
export interface Gatherer {
  /** `seen`: real paths of what is told already; those that come are added. Rules with `paths` are apart, and not in it. */
  gather(places: readonly Place[], seen: Set<string>): Promise<{ told: Memory[]; rules: Memory[] }>
  /** The same for what memory read before imports, behind it. */
  withImports(memories: readonly Memory[], seen: Set<string>): Promise<Memory[]>
}

type Where = Pick<ContextStart, "startedIn" | "places" | "roots" | "mayRead" | "warn">
type Candidate = Place & { importedBy?: Memory }
type Judged = Candidate & { real: string }

const MOST_HOPS = 4
const MOST_IMPORTS = 200
const MOST_IMPORTS_TOGETHER = 2000
const MOST_CHARACTERS = 4 * 2 ** 20
const AT_ONCE = 16

/** Makes one; what it reads is as the files are now. */
export function createGatherer(context: Where): Gatherer {
  const isExcluded = excluder(context)
  const readAll = createReader(context)
  const takeImports = limitImports(context)

  async function readLevel(candidates: readonly Candidate[], seen: Set<string>) {
    const reals = await Promise.all(candidates.map(({ path }) => realOf(path)))
    const judged = candidates.flatMap((candidate, at) => judge(candidate, reals[at], { context, isExcluded }) ?? [])
    const memories = await readAll(judged.filter(({ real }) => !seen.has(real) && seen.add(real)))
    const rules = memories.filter(({ paths, importedBy }) => paths !== undefined && importedBy === undefined)
    // An import may tell a rule before a file that fits is touched.
    for (const { real } of rules) seen.delete(real)
    return { told: memories.filter((memory) => !rules.includes(memory)), rules }
  }

  async function withImports(memories: readonly Memory[], seen: Set<string>): Promise<Memory[]> {
    const behind = new Map<string, Memory[]>()
    let level = memories
    for (let hop = 0; level.length > 0; hop++) {
      const candidates = takeImports(level.flatMap((memory) => importsOf(memory, { hop, context })))
      level = (await readLevel(candidates, seen)).told
      for (const memory of level) behind.set(memory.importedBy!, [...(behind.get(memory.importedBy!) ?? []), memory])
    }
    const inOrder = (memory: Memory): Memory[] => [memory, ...(behind.get(memory.path) ?? []).flatMap(inOrder)]
    return memories.flatMap(inOrder)
  }

  return {
    async gather(places, seen) {
      const { told, rules } = await readLevel(places, seen)
      return { told: await withImports(told, seen), rules }
    },
    withImports,
  }
}

/** Undefined for a candidate that is not to be read. `real`: where it leads. */
function judge(
  candidate: Candidate,
  real: string | undefined,
  { context, isExcluded }: { context: Where; isExcluded: (path: string) => boolean },
): Judged | undefined {
  const { path, scope } = candidate
  if (real === undefined) return warnMissing(candidate, context)
  if (scope !== "managed" && (isExcluded(path) || isExcluded(real))) return undefined
  if (!context.mayRead(path) || !context.mayRead(real)) return undefined
  const bounds = boundsOf(candidate, context)
  if (bounds !== undefined && !bounds.some((root) => isInside(real, root))) return warnOutside(candidate, real, context)
  return { ...candidate, real, scope: scopeOf(candidate, real, context) }
}

/** What the project holds speaks for the project, and imports no more than it may, whoever imports it. */
function scopeOf({ scope, importedBy }: Candidate, real: string, context: Where): Place["scope"] {
  if (importedBy === undefined || scope === "local") return scope
  const { user, managed } = context.places
  const isTheirs = [...user, ...managed].some((folder) => isInside(real, folder))
  return !isTheirs && projectRoots(context).some((root) => isInside(real, root)) ? "project" : scope
}

/** The first so many of all, over all levels. */
function limitImports({ warn }: Where): (candidates: Candidate[]) => Candidate[] {
  let left = MOST_IMPORTS_TOGETHER
  return (candidates) => {
    if (candidates.length > left)
      warn(`Memory files name more than ${MOST_IMPORTS_TOGETHER} imports: the others are left out`)
    const taken = candidates.slice(0, left)
    left -= taken.length
    return taken
  }
}

/** Reads a few at a time and in their order, so that the same files are left out each time when they are too many. */
function createReader(context: Where): (judged: readonly Judged[]) => Promise<Memory[]> {
  const reads = new Map<string, Promise<Read>>()
  const isStrange = strangers(context)
  const budget = createRuleBudget()
  let room = MOST_CHARACTERS

  function read(real: string): Promise<Read> {
    const known = reads.get(real) ?? readText(real)
    reads.set(real, known)
    return known
  }
  return async (judged) => {
    const memories: Memory[] = []
    for (let at = 0; at < judged.length && room > 0; at += AT_ONCE) {
      const some = judged.slice(at, at + AT_ONCE)
      const results = await Promise.all(some.map(({ real }) => read(real)))
      for (const [index, result] of results.entries()) {
        const candidate = some[index]!
        if ("problem" in result) warnProblem(candidate, result.problem, context)
        else if (isStrange(candidate, result.owner)) warnProblem(candidate, "belongs to another user", context)
        else {
          room -= result.text.length
          if (room < 0) return warnFull(candidate, memories, context)
          memories.push(await parse(candidate, result.text, { ...context, budget }))
        }
      }
    }
    return memories
  }
}

/** True for a file of the project that neither its owner nor this user nor root wrote: anybody can put one into /tmp. */
function strangers(context: Where): (candidate: Candidate, owner: number) => boolean {
  const folders = [...new Set([projectOf(context), context.startedIn])]
  const known = new Set([process.getuid?.(), 0, ...folders.map((folder) => statOf(folder)?.uid)])
  return ({ scope }, owner) => (scope === "project" || scope === "local") && !known.has(owner)
}

async function parse(candidate: Judged, source: string, context: Where & { budget: RuleBudget }): Promise<Memory> {
  const { importedBy, ...place } = candidate
  const { head, body } = place.ruleOf === undefined ? { head: undefined, body: source } : splitFrontMatter(source)
  const paths = head === undefined ? undefined : await pathsOf(head, place, context)
  return {
    ...place,
    ...parseMemory(body),
    ...(importedBy ? { importedBy: importedBy.path } : {}),
    ...(paths ? { paths } : {}),
  }
}

/** The files that it names, unless it is too deep itself. */
function importsOf(memory: Memory, { hop, context }: { hop: number; context: Where }): Candidate[] {
  const { path, scope, imports } = memory
  if (imports.length === 0) return []
  if (hop === MOST_HOPS) {
    context.warn(`What "${path}" imports is left out: it is ${MOST_HOPS} imports deep itself`)
    return []
  }
  if (imports.length > MOST_IMPORTS)
    context.warn(`"${path}" names ${imports.length} imports; those after the first ${MOST_IMPORTS} are left out`)
  return imports.slice(0, MOST_IMPORTS).map((written) => ({
    path: written.startsWith("~/")
      ? join(context.places.home, written.slice(2))
      : resolve(dirname(memory.real), written),
    scope,
    importedBy: memory,
  }))
}

/** The folders that a file must really lie in; undefined for what the person or the organisation put where it is. */
function boundsOf({ scope, importedBy }: Candidate, context: Where): string[] | undefined {
  const roots = projectRoots(context)
  if (scope === "project" || scope === "local") return roots
  if (importedBy === undefined) return undefined
  const { home, user, managed } = context.places
  return [home, ...user, ...managed, ...roots, dirname(importedBy.real)]
}

function warnOutside({ path, importedBy }: Candidate, real: string, { warn }: Where): undefined {
  const led = real === path ? "" : `, for it leads to "${real}"`
  if (importedBy)
    warn(`The import "${path}" of "${importedBy.path}" is left out: it lies outside of the trusted folders${led}`)
  else warn(`The memory file "${path}" is left out: it leads out of the project, to "${real}"`)
}

/** Only what can be nothing but a file was meant as one; `@name` may be a person or a package. */
function warnMissing({ path, importedBy }: Candidate, { warn }: Where): undefined {
  if (importedBy && path.endsWith(".md"))
    warn(`The import "${path}" of "${importedBy.path}" is left out: there is no such file`)
}

function warnProblem({ path, importedBy }: Candidate, problem: string, { warn }: Where): undefined {
  // A folder, or what a package is called.
  if (importedBy && problem === "is no file") return
  warn(`The memory file "${path}" is left out: it ${problem}`)
}

function warnFull({ path }: Candidate, before: Memory[], { warn }: Where): Memory[] {
  warn(`"${path}" and the memory files behind it are left out: together they hold more than 4 MiB`)
  return before
}

/** A test for absolute paths: the globs of the settings. A relative one counts from the project; a mere name, anywhere. */
function excluder(context: Where): (path: string) => boolean {
  const { exclude } = context.places.memory
  if (exclude.length === 0) return () => false
  const [home, project] = [context.places.home, projectOf(context)].map((path) =>
    path.replace(/[*?[\]{},\\!]/g, "\\$&"),
  )
  const absolute = exclude.map((glob) => {
    if (glob.startsWith("~/")) return `${home}${glob.slice(1)}`
    if (isAbsolute(glob) || glob.startsWith("**")) return glob
    return glob.includes("/") ? `${project}/${glob.replace(/^\.\//, "")}` : `**/${glob}`
  })
  const globs = parseGlobs(absolute)
  for (const glob of globs.refused) context.warn(`The glob "${glob}" in the settings "memory.exclude" fits nothing`)
  return (path) => globs.fits(path.replaceAll("\\", "/"))
}
