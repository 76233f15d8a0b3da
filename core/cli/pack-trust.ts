/**
 * A change of a scope's packs → the same change, after which a project that a person trusts is trusted as it is now.
 *
 * Invariant: a project that was not trusted before is not trusted after, nor is one in which anything else has changed.
 */
import { relative } from "node:path"
import { printsOf, saveTrust } from "../session/trust.ts"
import { loadSettings } from "../settings/load.ts"
import { changesOf, type ProjectTrust, readSubject } from "../settings/project-trust.ts"
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
  const before = await trustOf(scope, host)
  const files = before.state === "trusted" ? await printsNow(before) : {}
  await work()
  if (before.state !== "trusted" && before.state !== "nothing") return
  const after = await trustOf(scope, host)
  const { root } = after.question
  if (root === undefined || after.state === "nothing") return
  const { tree } = await readSubject(after.question, root)
  const ours = [scope.settings.file, scope.lock, ...brings].map((path) => relative(root, path))
  const others = changesOf(files, printsOf(tree)).filter(({ file }) => !ours.some((one) => isAt(file, one)))
  if (others.length === 0)
    await saveTrust(scope.state, root, { at: new Date().toISOString(), hash: tree.hash, files: printsOf(tree) })
}

/** True when the packs of a scope have an effect. */
export async function isTrusted(scope: PackScope, host: Host): Promise<boolean> {
  return scope.scope === "user" || (await trustOf(scope, host)).isTrusted
}

async function trustOf({ cwd, home, state, data }: PackScope, { env }: Host): Promise<ProjectTrust> {
  return (await loadSettings({ cwd, env, home, state, data })).trust
}

async function printsNow({ question }: ProjectTrust): Promise<Record<string, string>> {
  return printsOf((await readSubject(question, question.root!)).tree)
}

function isAt(file: string, path: string): boolean {
  return file === path || file.startsWith(`${path}/`)
}
