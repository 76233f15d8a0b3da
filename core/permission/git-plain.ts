/**
 * A simple command of git → whether it only reads, in the repository that it works in: its words alone do not say so.
 *
 * Invariant: where the facts say what git runs in a folder, a command of git that runs anything is no plain reading.
 */
import type { PermissionFacts } from "./decision.ts"
import { isGit, programOf } from "./program/table.ts"
import { isReadOnly } from "./read-only.ts"
import type { Segment } from "./segment.ts"
import type { Unit } from "./unit.ts"

/** One call is judged by one look at its folders. */
const looked = new WeakMap<PermissionFacts, Map<string, string | undefined>>()

/** True when it only reads the files that it names, and nothing that a repository brings is run by it. */
export function surelyReads(segment: Segment, facts: PermissionFacts): boolean {
  return isReadOnly(segment) && whatGitRuns(segment, facts) === undefined
}

/** Of a command of git: what it would run because the repository says so. */
export function whatGitRuns({ words, bases }: Segment, facts: PermissionFacts): string | undefined {
  if (facts.gitRuns === undefined || !isGit(programOf(words))) return undefined
  const known = looked.get(facts) ?? new Map<string, string | undefined>()
  looked.set(facts, known)
  for (const folder of bases ?? [facts.cwd]) {
    if (!known.has(folder)) known.set(folder, facts.gitRuns(folder))
    const found = known.get(folder)
    if (found !== undefined) return found
  }
  return undefined
}

/** The first thing that turns a command of the call which only looks into one that is asked about. */
export function whatLooksRun(units: readonly Unit[], facts: PermissionFacts): string | undefined {
  if (facts.gitRuns === undefined) return undefined
  const segments = units.flatMap((unit) => (unit.kind === "command" ? unit.analysis.all : []))
  return segments
    .filter(isReadOnly)
    .map((segment) => whatGitRuns(segment, facts))
    .find(Boolean)
}
