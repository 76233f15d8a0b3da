/**
 * `sous packs`: the packs of this place, and what keeps one of them from loading; `sous packs install` fetches exactly
 * what the locks name.
 *
 * Invariant: listing reads and changes nothing; installing resolves nothing.
 */
import { isSousError, SousError, suggest } from "../error.ts"
import { installLocked } from "../pack/install.ts"
import { openPacks } from "../pack/load.ts"
import { lockFileOf, type PackLock, readLock } from "../pack/lock.ts"
import type { LockEntry } from "../pack/lock-shape.ts"
import { describeEntry } from "../pack/words.ts"
import type { SettingsScope } from "../settings/merge.ts"
import { createReading, ownPlaces, readOwnFiles } from "../settings/scope-file.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import { packLines } from "./pack-consent.ts"
import { installing, interruptible, type PackGround, packGround } from "./pack-place.ts"

/** `sous packs [list|install]`. */
export async function packs(line: CommandLine, host: Host): Promise<number> {
  const [word = "list"] = line.args
  if (word === "list") return await list(line, host)
  if (word === "install") return await install(line, host)
  throw new SousError("CLI_ARGUMENT_UNEXPECTED", { argument: word, mend: suggest(word, ["list", "install"]) })
}

/** One pack as `--json` prints it. */
interface Listed {
  name: string
  scope: SettingsScope
  source: string
  /** Why it brings nothing. */
  fault?: { code: string; message: string; mend: string }
  locked?: LockEntry
}

async function list(line: CommandLine, host: Host): Promise<number> {
  const ground = await packGround(host)
  const named = (await namedHere(ground)).filter(({ scope }) => !line.values.user || scope === "user")
  const found = await Promise.all(named.map((one) => lookAt(one, ground)))
  if (line.values.json) host.print(`${JSON.stringify(found)}\n`)
  else if (found.length === 0) host.tell("There are no packs here")
  else for (const one of found) host.print(host.escape(`${sayListed(one).join("\n")}\n`))
  return 0
}

async function install(line: CommandLine, host: Host): Promise<number> {
  refuseInside(host, "packs install")
  const ground = await packGround(host)
  return await interruptible(host, async () => {
    const installed: { name: string; version: string; isNew: boolean }[] = []
    for (const scope of line.values.user ? (["user"] as const) : LOCKED_SCOPES) {
      const [file, base] = [lockFileOf(scope, ground.folders), baseOf(scope, ground)]
      if (file === undefined || base === undefined) continue
      for (const [name, entry] of await readLock(file)) {
        const isNew = await installLocked(name, entry, installing({ ...ground, base }, host))
        if (!line.values.json) host.print(host.escape(`${isNew ? "installed" : "ok"}  ${name} ${entry.version}\n`))
        if (isNew) for (const one of packLines(describeEntry(name, entry))) host.tell(one)
        installed.push({ name, version: entry.version, isNew })
      }
    }
    if (line.values.json) host.print(`${JSON.stringify(installed)}\n`)
    else if (installed.length === 0) host.tell("No pack is locked here")
    return 0
  })
}

/** Scopes that have a lock of their own; local settings share that of the project. */
const LOCKED_SCOPES = ["managed", "project", "user"] as const

function baseOf(scope: SettingsScope, { folders: { managed, root, user } }: PackGround): string | undefined {
  return scope === "managed" ? managed : scope === "user" ? user : root
}

/** What the settings of all scopes name, whoever trusts them; of settings that are code, what is locked. */
async function namedHere(ground: PackGround): Promise<Pick<Listed, "name" | "scope" | "source">[]> {
  const { sources, code } = await readOwnFiles(ownPlaces(ground.folders), createReading())
  const named = sources.flatMap(({ scope, values }) =>
    Object.entries(values.packs ?? {}).map(([name, source]) => ({ name, scope, source })),
  )
  for (const { scope } of code)
    for (const [name, { source }] of await lockOf(scope, ground)) named.push({ name, scope, source })
  return named
}

async function lockOf(scope: SettingsScope, { folders }: PackGround): Promise<PackLock> {
  const file = lockFileOf(scope, folders)
  return file === undefined ? new Map() : await readLock(file)
}

async function lookAt(one: Pick<Listed, "name" | "scope" | "source">, ground: PackGround): Promise<Listed> {
  const { name, scope, source } = one
  const { folders, data, cwd } = ground
  const locked = (await lockOf(scope, ground)).get(name)
  const known = locked === undefined ? one : { ...one, locked }
  try {
    const pack = { name, value: source, base: baseOf(scope, ground) ?? cwd, origin: { scope } }
    await openPacks([pack], { folders, data, sources: [], strict: true })
    return known
  } catch (error) {
    if (!isSousError(error)) throw error
    const { code, message, mend } = error
    return { ...known, fault: { code, message, mend } }
  }
}

function sayListed({ name, scope, source, fault, locked }: Listed): string[] {
  const version = locked === undefined ? "" : ` ${locked.version}`
  const lines = [`${name}${version}  ${source}  (${scope}${locked?.inProcess ? ", in the process" : ""})`]
  if (fault) lines.push(`  ! ${fault.message}`, `    ${fault.mend}`)
  return locked === undefined ? lines : [...lines, ...packLines(describeEntry(name, locked))]
}
