/**
 * `sous add SOURCE`: fetches a pack, shows what it may do, and takes it into the settings and the lock after a yes.
 *
 * Invariant: nothing of the pack runs; before the yes nothing is kept.
 */
import { isAbsolute } from "node:path"
import { SousError } from "../error.ts"
import { compareEntries } from "../pack/difference.ts"
import { type FetchedPack, fetchPack } from "../pack/install.ts"
import type { LockEntry } from "../pack/lock-shape.ts"
import { parseSource } from "../pack/source.ts"
import { describeEntry } from "../pack/words.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { refuseInside } from "./inside.ts"
import { askFor, differenceLines, keepInScope, packLines } from "./pack-consent.ts"
import {
  installing,
  interruptible,
  isCode,
  lockedPacks,
  openScope,
  type PackScope,
  refuseFrozen,
} from "./pack-place.ts"
import { isTrusted } from "./pack-trust.ts"

/** `sous add SOURCE`. */
export async function add(line: CommandLine, host: Host): Promise<number> {
  const [given = ""] = line.args
  refuseInside(host, "add")
  refuseFrozen("add", line, host)
  const scope = await openScope(line, host)
  const { base, home, cwd } = scope
  const writtenFrom = scope.scope === "user" || isAbsolute(given) ? undefined : base
  const source = parseSource(given, { base: cwd, home, writtenFrom })
  return await interruptible(host, async () => {
    const before = await lockedPacks(scope)
    const fetched = await fetchPack(source, installing(scope, host))
    await checkTools(fetched, host)
    const { name } = fetched
    const entry: LockEntry = line.values.inProcess ? { ...fetched.entry, inProcess: true } : fetched.entry
    const lines = linesFor(fetched, entry, before.get(name))
    const asked = { pack: name, command: `sous add ${given}`, question: `Add ${name} ${entry.version}?` }
    if (!(await askFor(lines, asked, { line, host }))) return 1
    await keepInScope(fetched, entry, { scope, host })
    host.print(host.escape(`added ${name} ${entry.version} (${entry.source})\n`))
    if (isCode(scope)) host.tell(`Write it into ${scope.settings.file}: packs: { "${name}": "${entry.source}" }`)
    if (scope.scope === "project" && /^(?:\.\.\/|~|\/|file:)/.test(entry.source))
      host.tell(`! It comes from outside of this project: who clones the project cannot fetch it from ${entry.source}`)
    await tellTrust(scope, host)
    return 0
  })
}

/** Throws PACK_TOOL_TAKEN for a tool that would stand in for a built-in one. */
export async function checkTools({ name, entry }: FetchedPack, host: Host): Promise<void> {
  const shipped = (await host.shippedPlugins()).flatMap(({ tools = [] }) => tools.map((tool) => tool.name))
  const tool = entry.capabilities.tools?.find((one) => shipped.includes(one))
  if (tool !== undefined) throw new SousError("PACK_TOOL_TAKEN", { pack: name, tool })
}

function linesFor({ name, content }: FetchedPack, entry: LockEntry, before: LockEntry | undefined): string[] {
  const lines = packLines(describeEntry(name, entry))
  const notes = [...content.manifest.notes, ...content.hooks.notes].map((note) => `  . ${note}`)
  const nothing = lines.length === 0 ? ["  it adds nothing that runs"] : []
  const head = `? Pack ${name} ${entry.version}, from ${entry.resolved}`
  if (before === undefined) return [head, ...lines, ...notes, ...nothing]
  const replaced = `  it takes the place of ${name} ${before.version}, from ${before.source}.`
  return [head, ...lines, ...notes, ...nothing, replaced, ...differenceLines(compareEntries(name, before, entry))]
}

async function tellTrust(scope: PackScope, host: Host): Promise<void> {
  if (await isTrusted(scope, host)) return
  host.tell('The project is not trusted, so that its packs have no effect yet: run "sous trust"')
}
