/**
 * `sous remove NAME`: takes a pack out of the settings and the lock.
 *
 * Invariant: the settings go first: a pack that nobody names any more brings nothing, whatever the lock says.
 */
import { SousError, suggest } from "../error.ts"
import { changeLock } from "../pack/lock.ts"
import { writeSetting } from "../settings/write.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import { lockedPacks, namedPacks, openScope } from "./pack-place.ts"
import { keepProjectTrust } from "./pack-trust.ts"

/** `sous remove NAME`. Throws PACK_UNKNOWN. */
export async function remove(line: CommandLine, host: Host): Promise<number> {
  const [name = ""] = line.args
  refuseInside(host, "remove")
  const scope = await openScope(line, host)
  const known = new Set([...(await namedPacks(scope)).keys(), ...(await lockedPacks(scope)).keys()])
  if (!known.has(name)) throw new SousError("PACK_UNKNOWN", { pack: name, mend: suggest(name, known) })
  const change = async (packs: Map<string, unknown>) => {
    await writeSetting(scope.settings, { how: "unset", path: ["packs", name] })
    packs.delete(name)
  }
  await changeLock(scope.lock, change, { around: (work) => keepProjectTrust(scope, work, host) })
  host.print(host.escape(`removed ${name}\n`))
  return 0
}
