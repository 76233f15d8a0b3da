/**
 * `sous update [NAME]`: fetches what the sources of packs come to now, shows what is different, and takes it after a yes.
 *
 * Invariant: every change is shown and asked about, and one that lets a pack do more says so.
 */
import { SousError } from "../error.ts"
import { differingFiles } from "../pack/damage.ts"
import { compareEntries, type PackDifference } from "../pack/difference.ts"
import { type FetchedPack, fetchPack } from "../pack/install.ts"
import type { LockEntry } from "../pack/lock-shape.ts"
import { checkTools } from "./add.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import { askFor, differenceLines, keepInScope } from "./pack-consent.ts"
import {
  chosenPacks,
  installing,
  interruptible,
  lockedPacks,
  openScope,
  type PackScope,
  refuseFrozen,
  settingsSource,
} from "./pack-place.ts"

/** `sous update [NAME]`. Returns 1 when a person said no to one of them. */
export async function update(line: CommandLine, host: Host): Promise<number> {
  refuseInside(host, "update")
  refuseFrozen("update", line, host)
  const scope = await openScope(line, host)
  return await interruptible(host, async () => {
    const chosen = await chosenPacks(scope, line.args[0])
    if (chosen.length === 0) host.tell("There are no packs here")
    let code = 0
    for (const [name, source] of chosen) if (!(await updateOne(name, source, { scope, line, host }))) code = 1
    return code
  })
}

/** False: a person said no. */
async function updateOne(
  name: string,
  written: string,
  { scope, line, host }: { scope: PackScope; line: CommandLine; host: Host },
): Promise<boolean> {
  const before = (await lockedPacks(scope)).get(name)
  const source = settingsSource(written, scope)
  const fetched = await fetchPack(source, installing(scope, host))
  if (fetched.name !== name) throw new SousError("PACK_RENAMED", { pack: name, found: fetched.name, source: written })
  await checkTools(fetched, host)
  const entry: LockEntry = { ...fetched.entry, source: written, ...(before?.inProcess ? { inProcess: true } : {}) }
  if (before?.tree === entry.tree && before.resolved === entry.resolved && before.integrity === entry.integrity) {
    host.print(host.escape(`${name} ${entry.version} is up to date\n`))
    return true
  }
  const difference: PackDifference = compareEntries(name, before ?? NOTHING, entry)
  const lines = [
    `? Pack ${name} ${versions(before, entry)}`,
    ...differenceLines(difference).map((one) => `  ${one.trimStart()}`),
    ...(await changedLines(before, fetched, scope)),
  ]
  const asked = { pack: name, command: `sous update ${name}`, question: `Update ${name}?` }
  if (!(await askFor(lines, asked, { line, host }))) return false
  await keepInScope(fetched, entry, { scope, host })
  host.print(host.escape(`updated ${name} ${versions(before, entry)}\n`))
  return true
}

/** Which files are different: those of the pack by name, those of its dependencies by number. */
async function changedLines(before: LockEntry | undefined, { tree }: FetchedPack, scope: PackScope): Promise<string[]> {
  const files = before && (await differingFiles(before.tree, tree, scope.data))
  if (files === undefined) return before === undefined ? [] : ["  Its content is different"]
  const own = files.filter((file) => !file.includes("node_modules/"))
  const others = files.length - own.length
  const more = others === 0 ? "" : `${own.length === 0 ? "" : ", and "}${others} files of its dependencies`
  return [`  Changed: ${own.join(", ")}${more}`]
}

/** What a pack may do that is not locked. */
const NOTHING: LockEntry = {
  version: "0.0.0",
  source: "-",
  resolved: "file:-",
  tree: "",
  apiVersion: 1,
  capabilities: {},
}

function versions(before: LockEntry | undefined, { version, resolved }: LockEntry): string {
  if (before === undefined) return version
  const short = (from: string) => /#([0-9a-f]{7})/.exec(from)?.[1]
  const commits = [short(before.resolved), short(resolved)]
  const isSame = before.version === version
  return isSame && commits[0] !== commits[1]
    ? `${version} (${commits.join(" → ")})`
    : isSame
      ? version
      : `${before.version} → ${version}`
}
