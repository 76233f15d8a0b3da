/**
 * The scope of packs that a command changes → how its project stays trusted, and whether it is.
 *
 * Invariant: only the settings and the lock may change meanwhile.
 */
import { loadSettings } from "../settings/load.ts"
import { keepTrust } from "../settings/trust-keep.ts"
import type { Host } from "./host.ts"
import type { PackScope } from "./pack-place.ts"

/** Does a change; a project that was trusted stays so. */
export async function keepProjectTrust(scope: PackScope, change: () => Promise<void>, host: Host): Promise<void> {
  if (scope.scope === "user") return await change()
  await keepTrust({ ...placesOf(scope, host), files: [scope.settings.file, scope.lock] }, change)
}

/** True when the packs of a scope have an effect. */
export async function isTrusted(scope: PackScope, host: Host): Promise<boolean> {
  return scope.scope === "user" || (await loadSettings(placesOf(scope, host))).trust.isTrusted
}

function placesOf({ cwd, home, state, data }: PackScope, { env }: Host) {
  return { cwd, env, home, state, data }
}
