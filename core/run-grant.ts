/**
 * What a person always allows in the project of a run: read when it starts, and added to when the person says so again.
 *
 * Invariant: the project is known by its real path; what is granted to it lies in the state folder, never inside of it.
 */
import type { KitParts } from "./kit.ts"
import type { RunPlaces } from "./run-place.ts"
import { addGrants, type LoadedGrants, loadGrants } from "./session/grants.ts"
import { findProjectRoot } from "./settings/scopes.ts"

/** The grants of a project, for one run. */
export interface ProjectGrants extends LoadedGrants {
  /** Keeps rules beyond this run. Throws PERMISSION_GRANTS_UNREADABLE or PERMISSION_GRANTS_UNWRITABLE. */
  keep(rules: readonly string[]): Promise<void>
}

/** Reads the grants of the project that a run works in, or of its folder when that is in none. */
export async function openProjectGrants(
  { state, clock }: Pick<KitParts, "state" | "clock">,
  { project: root, cwd }: Pick<RunPlaces, "project" | "cwd">,
): Promise<ProjectGrants> {
  const project = root ?? cwd
  const loaded = await loadGrants(state, project)
  return { ...loaded, keep: (rules) => addGrants(state, project, { rules, now: clock.now() }) }
}

/** The same project, by a folder (absolute, real) in it. */
export function projectOf(cwd: string, home: string | undefined): string {
  return findProjectRoot(cwd, home === undefined ? {} : { home }) ?? cwd
}
