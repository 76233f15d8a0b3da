/**
 * `sous outdated`: what the sources of packs come to now, beside what is locked.
 *
 * Invariant: nothing is kept and nothing is changed.
 */
import { latestOf } from "../pack/fetch.ts"
import { withStaging } from "../pack/fetching.ts"
import { fetchPack } from "../pack/install.ts"
import type { LockEntry } from "../pack/lock-shape.ts"
import type { PackSource } from "../pack/source.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import {
  chosenPacks,
  installing,
  interruptible,
  lockedPacks,
  openScope,
  type PackScope,
  settingsSource,
} from "./pack-place.ts"

/** One pack: what is locked, what its source comes to, and for a package of a registry the newest one of all. */
interface Outdated {
  name: string
  locked: string | null
  wanted: string
  latest?: string
  outdated: boolean
}

/** `sous outdated [NAME]`. Returns 1 when there is something to update. */
export async function outdated(line: CommandLine, host: Host): Promise<number> {
  refuseInside(host, "outdated")
  const scope = await openScope(line, host)
  return await interruptible(host, async () => {
    const locked = await lockedPacks(scope)
    const found: Outdated[] = []
    for (const [name, written] of await chosenPacks(scope, line.args[0]))
      found.push(await lookAt(name, { source: settingsSource(written, scope), entry: locked.get(name), scope, host }))
    if (line.values.json) host.print(`${JSON.stringify(found)}\n`)
    else for (const one of found) host.print(host.escape(`${sayOutdated(one)}\n`))
    return found.some((one) => one.outdated) ? 1 : 0
  })
}

interface Question {
  source: PackSource
  entry: LockEntry | undefined
  scope: PackScope
  host: Host
}

async function lookAt(name: string, { source, entry, scope, host }: Question): Promise<Outdated> {
  const work = { ...installing(scope, host), tell: () => {} }
  if (source.kind !== "git" && source.kind !== "npm") {
    const { entry: now } = await fetchPack(source, work)
    return { name, locked: entry?.version ?? null, wanted: now.version, outdated: entry?.tree !== now.tree }
  }
  return await withStaging(scope.data, async (staging) => {
    const fetching = { ...work, staging }
    const wanted = (await latestOf(source, fetching))!
    const locked = entry === undefined ? null : source.kind === "git" ? commitOf(entry) : entry.version
    const found = { name, locked, wanted, outdated: locked !== wanted }
    if (source.kind === "git") return found
    const latest = await latestOf({ kind: "npm", name: source.name, written: source.written }, fetching)
    return latest === undefined ? found : { ...found, latest }
  })
}

function commitOf({ resolved }: LockEntry): string {
  return /#([0-9a-f]+)/.exec(resolved)?.[1] ?? resolved
}

function sayOutdated({ name, locked, wanted, latest, outdated: isOld }: Outdated): string {
  const short = (version: string | null) => (version === null ? "not locked" : version.slice(0, 40))
  const newest = latest === undefined || latest === wanted ? "" : `  (newest ${latest})`
  if (!isOld) return `ok        ${name} ${short(locked)}${newest}`
  const now = locked === wanted ? `${short(wanted)}, changed` : `${short(locked)} → ${short(wanted)}`
  return `outdated  ${name} ${now}${newest}`
}
