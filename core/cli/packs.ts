/**
 * `sous packs`: the packs of this place, and what keeps one of them from loading; `sous packs install` fetches exactly
 * what the locks name.
 *
 * Invariant: listing reads and changes nothing; installing resolves nothing.
 */
import { isSousError, SousError, suggest } from "../error.ts"
import { installLocked } from "../pack/install.ts"
import { openPacks } from "../pack/load.ts"
import type { LockEntry } from "../pack/lock-shape.ts"
import { describeEntry } from "../pack/words.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import { packLines } from "./pack-consent.ts"
import { findScope, installing, interruptible, lockedPacks, namedPacks, type PackScope } from "./pack-place.ts"

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
  scope: PackScope["scope"]
  source: string
  /** Why it brings nothing. */
  fault?: { code: string; message: string; mend: string }
  locked?: LockEntry
}

async function list(line: CommandLine, host: Host): Promise<number> {
  const found = (await Promise.all((await scopesOf(line, host)).map(listScope))).flat()
  if (line.values.json) host.print(`${JSON.stringify(found)}\n`)
  else if (found.length === 0) host.tell("There are no packs here")
  else for (const one of found) host.print(host.escape(`${sayListed(one).join("\n")}\n`))
  return 0
}

async function install(line: CommandLine, host: Host): Promise<number> {
  refuseInside(host, "packs install")
  return await interruptible(host, async () => {
    let count = 0
    for (const scope of await scopesOf(line, host))
      for (const [name, entry] of await lockedPacks(scope)) {
        const isNew = await installLocked(name, entry, installing(scope, host))
        host.print(host.escape(`${isNew ? "installed" : "ok"}  ${name} ${entry.version}\n`))
        if (isNew) for (const one of packLines(describeEntry(name, entry))) host.tell(one)
        count++
      }
    if (count === 0) host.tell("No pack is locked here")
    return 0
  })
}

async function scopesOf(line: CommandLine, host: Host): Promise<PackScope[]> {
  const scopes = line.values.user ? (["user"] as const) : (["project", "user"] as const)
  const found = await Promise.all(scopes.map((scope) => findScope(scope, host)))
  return found.filter((scope) => scope !== undefined)
}

async function listScope(scope: PackScope): Promise<Listed[]> {
  const locked = await lockedPacks(scope)
  const listed: Listed[] = []
  for (const [name, source] of await namedPacks(scope)) {
    const entry = locked.get(name)
    const fault = await faultOf(name, source, scope)
    listed.push({ name, scope: scope.scope, source, ...(fault ? { fault } : {}), ...(entry ? { locked: entry } : {}) })
  }
  return listed
}

async function faultOf(
  name: string,
  value: string,
  { scope, folders, data, base }: PackScope,
): Promise<Listed["fault"]> {
  try {
    const pack = { name, value, base, origin: { scope } }
    await openPacks([pack], { folders, data, sources: [], strict: true })
    return undefined
  } catch (error) {
    if (!isSousError(error)) throw error
    const { code, message, mend } = error
    return { code, message, mend }
  }
}

function sayListed({ name, scope, source, fault, locked }: Listed): string[] {
  const version = locked === undefined ? "" : ` ${locked.version}`
  const lines = [`${name}${version}  ${source}  (${scope}${locked?.inProcess ? ", in the process" : ""})`]
  if (fault) lines.push(`  ! ${fault.message}`, `    ${fault.mend}`)
  return locked === undefined ? lines : [...lines, ...packLines(describeEntry(name, locked))]
}
