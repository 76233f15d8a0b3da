/**
 * The dependencies that a pack names → packages in its own `node_modules`, each locked with its integrity.
 *
 * Invariant: only packages of a registry, by integrity; no script of them runs; a package that is there twice in two
 * versions lies where its own user finds it. What the toolkit brings itself is left out.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { SousError } from "../error.ts"
import type { Tree } from "../session/tree.ts"
import { fetchDependency, lookUp } from "./fetch.ts"
import type { Fetching } from "./fetching.ts"
import type { LockedDependency } from "./lock-shape.ts"
import { asFields, readFile } from "./shape.ts"

/** What a loaded file gets from the running toolkit, whatever version it asks for. */
const GIVEN = ["sous", "zod"]

/** More than any pack of sense needs. */
const MOST = 500

/** Resolves and fetches what a pack needs (`needsOf`) into its folder (absolute); by folder, relative. */
export async function installDependencies(
  folder: string,
  { pack, needs: own, fetching }: { pack: string; needs: Record<string, string>; fetching: Fetching },
): Promise<Record<string, LockedDependency>> {
  const placed = new Map<string, LockedDependency & { name: string }>()
  const waiting: { at: string; needs: Record<string, string> }[] = [{ at: "", needs: own }]
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    for (const [name, range] of Object.entries(next.needs).sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (GIVEN.includes(name) || existsSync(join(folder, next.at, "node_modules", name, "package.json"))) continue
      const { dependency, needs } = await lookUp(specOf(name, range, pack), fetching)
      const at = placeFor({ name, version: dependency.version }, next.at, placed)
      if (at === undefined) continue
      if (placed.size >= MOST) throw refused(pack, name, `the pack needs more than ${MOST} packages`)
      fetching.tell(`  fetching ${name} ${dependency.version}`)
      placed.set(at, { ...(await fetchDependency(dependency, join(folder, at), fetching)), name })
      waiting.push({ at, needs })
    }
  }
  const entries = [...placed].map(([at, { name: _, ...dependency }]) => [at, dependency] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Fetches what a lock names into a pack's folder (absolute). */
export async function fetchDependencies(
  folder: string,
  dependencies: Readonly<Record<string, LockedDependency>>,
  fetching: Fetching,
): Promise<void> {
  // A folder comes before those that lie in it, for it is emptied first.
  for (const [at, dependency] of Object.entries(dependencies).sort(([a], [b]) => a.length - b.length)) {
    fetching.tell(`  fetching ${at.replace(/^.*node_modules\//, "")} ${dependency.version}`)
    await fetchDependency(dependency, join(folder, at), fetching)
  }
}

/** What the package.json of a pack says that it needs: name and range. Throws PACK_MANIFEST_INVALID. */
export async function needsOf(tree: Tree): Promise<Record<string, string>> {
  const needs = asFields(asFields(await readFile(tree, "package.json")).dependencies)
  return Object.fromEntries(Object.entries(needs).map(([name, range]) => [name, String(range)]))
}

/** What the registry is asked for. Throws PACK_DEPENDENCY_REFUSED for what comes from anywhere else. */
function specOf(name: string, range: string, pack: string): string {
  const isName = /^(?:@[\w.~-]+\/)?[\w~-][\w.~-]*$/.test(name) && !name.split("/").includes("..")
  if (!isName) throw refused(pack, name, "it is no name of a package")
  const alias = /^npm:((?:@[\w.~-]+\/)?[\w.~-]+(?:@[^/:]+)?)$/.exec(range)?.[1]
  if (alias !== undefined) return alias
  if (/[/:]/.test(range)) throw refused(pack, name, `it comes from "${range}", not from a registry`)
  return `${name}@${range === "" ? "*" : range}`
}

/** The folder for a package that one at `from` needs; undefined: it finds this very version already. */
function placeFor(
  { name, version }: { name: string; version: string },
  from: string,
  placed: ReadonlyMap<string, { version: string }>,
): string | undefined {
  for (let at = from; ; at = at.replace(/(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+$/, "")) {
    const folder = at === "" ? `node_modules/${name}` : `${at}/node_modules/${name}`
    const found = placed.get(folder)
    if (found?.version === version) return undefined
    if (found !== undefined) return from === "" ? folder : `${from}/node_modules/${name}`
    if (at === "") return folder
  }
}

function refused(pack: string, dependency: string, why: string): SousError {
  return new SousError("PACK_DEPENDENCY_REFUSED", { pack, dependency, why })
}
