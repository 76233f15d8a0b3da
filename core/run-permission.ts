/**
 * A kit and the options of a run → the permissions that the run would start with: its mode, its rules, its grants.
 *
 * Invariant: the same lists that a run compiles, in the order of who counts first; nothing is run and nothing written.
 */
import type { SousError } from "./error.ts"
import type { KitParts, RunOptions } from "./kit.ts"
import type { RuleSource } from "./permission/decision.ts"
import { compileFlags } from "./permission/flag.ts"
import { openProjectGrants } from "./run-grant.ts"
import { startMode } from "./run-mode.ts"
import { findPlaces } from "./run-place.ts"
import { compileRunRules, flagsThatCount, listRunRules } from "./run-rule.ts"
import type { PermissionMode } from "./tool.ts"

/** What a run would start with. */
export interface RunPermissions {
  mode: PermissionMode
  /** Deny, ask, the ordered list, allow; flags are written as flags. Grants are not among them. */
  rules: RuleSource[]
  /** What persons always allow in this project, oldest first. */
  grants: RuleSource[]
  /** Absolute: the file that the grants lie in; it need not exist. */
  grantsFile: string
  /** Why the file grants nothing. */
  fault?: SousError
  /** What is odd about the rules, one sentence each. */
  warnings: readonly string[]
}

/** Lists them. Throws PERMISSION_RULE_INVALID, CLI_BYPASS_REFUSED. */
export async function listPermissions(kit: KitParts, options: RunOptions): Promise<RunPermissions> {
  const places = await findPlaces(kit)
  const recipe = { name: "permissions" }
  const { rules: grants, file, fault } = await openProjectGrants(kit, places)
  const more = [...(options.rules ?? []), ...grants]
  const { warnings } = compileRunRules(kit, recipe, { ...options, places, rules: more })
  const given = flagsThatCount(kit.settings, options.flags).flags
  const flags = given ? compileFlags(given, places.cwd).map(({ source }) => source) : []
  const rules = [...flags, ...listRunRules(kit, recipe, options)].sort((a, b) => rankOf(a) - rankOf(b))
  const start = startMode(kit.settings, options.mode)
  const said = [...start.warnings, ...places.warnings, ...warnings]
  return { mode: start.mode, rules, grants, grantsFile: file, warnings: said, ...(fault ? { fault } : {}) }
}

/** In the order in which the pipeline asks them. */
function rankOf({ behavior, ordered }: RuleSource): number {
  return ordered ? 2 : { deny: 0, ask: 1, allow: 3 }[behavior]
}
