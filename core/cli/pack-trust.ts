/**
 * A change of a scope's packs → the same change, after which a project that a person trusts is trusted as it is now.
 *
 * Invariant: a project that was not trusted before is not trusted after, nor is one in which anything else has changed.
 */
import { loadSettings } from "../settings/load.ts"
import type { ProjectTrust } from "../settings/project-trust.ts"
import { keepTrust as keepTrustOf } from "../settings/trust-keep.ts"
import type { Host } from "./host.ts"
import type { PackScope } from "./pack-place.ts"

/**
 * Does the work; a trusted project stays trusted, and so does one that brought nothing to trust before. `brings`: the
 * folder or archive that a pack comes from, absolute.
 */
export async function keepTrust(
  scope: PackScope,
  work: () => Promise<void>,
  { host, brings = [] }: { host: Host; brings?: readonly string[] },
): Promise<void> {
  if (scope.scope === "user") return await work()
  const { cwd, home, state, data } = scope
  await keepTrustOf({ cwd, env: host.env, home, state, data, files: [scope.settings.file, scope.lock, ...brings] }, work)
}

/** True when the packs of a scope have an effect. */
export async function isTrusted(scope: PackScope, host: Host): Promise<boolean> {
  return scope.scope === "user" || (await trustOf(scope, host)).isTrusted
}

async function trustOf({ cwd, home, state, data }: PackScope, { env }: Host): Promise<ProjectTrust> {
  return (await loadSettings({ cwd, env, home, state, data })).trust
}
