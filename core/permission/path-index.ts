/**
 * Path rules → for a path, those of them that may fit it, found by the names that their patterns begin with.
 *
 * Invariant: an index only leaves out rules that cannot fit, and keeps the order of the rules.
 */
import { isShortName, type PathParts, type PathPattern } from "./path-pattern.ts"
import type { CompiledRule } from "./specifier.ts"

/** The rules that may fit one of the paths, in their order. `cwd`: the agent's current folder, for rules that refuse. */
export type PathIndex = (paths: readonly PathParts[], cwd?: PathParts) => readonly CompiledRule[]

/** Names from the root down; a rule stands where what it says letter by letter ends. */
interface Branch {
  /** The places of the rules in their list. */
  here: number[]
  below: Map<string, Branch>
}

interface Tree {
  /** By the absolute folder that a pattern starts from. */
  root: Branch
  /** Of patterns that hold below the current folder too, from there. */
  local: Branch
  /** Of patterns that fit at any depth: by the name that has to stand somewhere. */
  floating: Map<string, number[]>
  /** What fits in no branch. */
  anywhere: number[]
}

/** Longer patterns and paths are held against everything: between them work is given up, whatever they say. */
const MAX_PATTERN_PARTS = 1000
const MAX_PATH_PARTS = 10_000

/** Indexes rules of one behaviour. Reads all of them as paths. */
export function createPathIndex(rules: readonly CompiledRule[]): PathIndex {
  const tree: Tree = { root: branch(), local: branch(), floating: new Map(), anywhere: [] }
  for (const [at, rule] of rules.entries()) {
    if (rule.bare) tree.anywhere.push(at)
    else for (let pattern = rule.path(); pattern; pattern = pattern.also) plant(tree, pattern, at)
  }
  const side = rules[0]?.source.behavior === "allow" ? "allow" : "refuse"
  return (paths, cwd) => {
    if (rules.length === 0) return rules
    const found = new Set(tree.anywhere)
    const folder = cwd?.[side]
    for (const path of paths) {
      const parts = path[side]
      if (parts.length > MAX_PATH_PARTS) return rules
      drift(tree.floating, parts, found)
      climb(tree.root, parts, 0, found)
      if (folder?.every((part, i) => parts[i] === part)) climb(tree.local, parts, folder.length, found)
    }
    return [...found].sort((a, b) => a - b).map((at) => rules[at]!)
  }
}

function branch(): Branch {
  return { here: [], below: new Map() }
}

function plant({ root, local, floating }: Tree, pattern: PathPattern, at: number): void {
  const names = literalParts(pattern)
  const name = names.length === 0 ? floatingName(pattern) : undefined
  if (name !== undefined) {
    const places = floating.get(name)
    if (places) places.push(at)
    else floating.set(name, [at])
    return
  }
  reach(root, [...pattern.base, ...names]).here.push(at)
  if (pattern.relative && pattern.side === "refuse") reach(local, names).here.push(at)
}

/** What a path has to begin with below the base. */
function literalParts({ floating, segments }: PathPattern): string[] {
  const names: string[] = []
  if (floating || segments.length > MAX_PATTERN_PARTS) return names
  for (const one of segments) {
    if (one === "**" || !("literal" in one)) break
    names.push(one.literal)
  }
  return names
}

/** The name that some part of a path has to have. */
function floatingName({ floating, segments }: PathPattern): string | undefined {
  if (segments.length > MAX_PATTERN_PARTS) return undefined
  const one = floating ? segments[0] : segments[0] === "**" ? segments[1] : undefined
  return one === undefined || one === "**" || !("literal" in one) ? undefined : one.literal
}

function reach(from: Branch, names: readonly string[]): Branch {
  let here = from
  for (const name of names) {
    let next = here.below.get(name)
    if (next === undefined) {
      next = branch()
      here.below.set(name, next)
    }
    here = next
  }
  return here
}

function drift(floating: Tree["floating"], parts: readonly string[], found: Set<number>): void {
  if (floating.size === 0) return
  for (const part of parts) {
    for (const at of floating.get(part) ?? []) found.add(at)
    if (!part.includes("~")) continue
    for (const [name, places] of floating) if (isShortName(part, name)) for (const at of places) found.add(at)
  }
}

function climb(from: Branch, parts: readonly string[], start: number, found: Set<number>): void {
  let here: Branch | undefined = from
  for (let i = start; here !== undefined; i++) {
    for (const at of here.here) found.add(at)
    const part: string | undefined = parts[i]
    if (part === undefined) return
    if (part.includes("~")) {
      for (const [name, next] of here.below) if (isShortName(part, name)) climb(next, parts, i + 1, found)
    }
    here = here.below.get(part)
  }
}
