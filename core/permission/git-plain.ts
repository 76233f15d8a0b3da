/**
 * A simple command of git → whether it only reads, in the repository that it works in: its words alone do not say so.
 *
 * Invariant: where the facts say what git runs in a folder, a command of git that runs anything is no plain reading.
 */
import type { PermissionFacts } from "./decision.ts"
import { isGit, programOf } from "./program/table.ts"
import { isReadOnly } from "./read-only.ts"
import { flatten, type Segment } from "./segment.ts"

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

/** The first thing that keeps one of the commands, or one that they run in turn, from being a plain look. */
export function whatLooksRun(segments: readonly Segment[], facts: PermissionFacts): string | undefined {
  if (facts.gitRuns === undefined) return undefined
  return flatten(segments)
    .filter(isReadOnly)
    .map((segment) => whatGitRuns(segment, facts))
    .find(Boolean)
}
