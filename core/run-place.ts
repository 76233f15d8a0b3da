/**
 * The folders of one run, as real paths: where it works, what it may not touch, what configures it.
 *
 * Invariant: everything here is resolved once, before anything runs.
 */
import { realpath } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import type { KitParts } from "./kit.ts"
import type { PermissionFacts } from "./permission/decision.ts"
import { resolveWritten, scopeFolders } from "./settings/scopes.ts"

/** What the permission layer knows about folders, for the whole run. */
export type RunPlaces = Pick<PermissionFacts, "roots" | "home"> &
  Required<Pick<PermissionFacts, "namedRoots" | "stateFolders" | "configures">> & { cwd: string }

/** Finds them. A further folder that is not there is left out. */
export async function findPlaces(kit: KitParts): Promise<RunPlaces> {
  const { options, settings, state } = kit
  const cwd = await realpath(options.cwd)
  // Without a HOME there is still a home that `~` in a rule means.
  const home = await real(options.home ?? homedir())
  const further = await Promise.all(
    settings.permissions.additionalDirectories.map(async ({ value, base, origin }) => ({
      folder: await realpath(resolveWritten(value, base, options.home)).catch(() => undefined),
      isNamed: origin.scope === "cli" || origin.scope === "managed",
    })),
  )
  const found = further.flatMap(({ folder, isNamed }) => (folder === undefined ? [] : [{ folder, isNamed }]))
  const { managed, user } = scopeFolders({ cwd, env: options.env, home })
  return {
    cwd,
    home,
    roots: [cwd, ...found.map(({ folder }) => folder)],
    namedRoots: found.filter(({ isNamed }) => isNamed).map(({ folder }) => folder),
    stateFolders: await Promise.all([state, managed].map(real)),
    configures: user === undefined ? [] : [await real(user)],
  }
}

/** The real path, also of what does not exist yet: by its nearest folder that does. */
async function real(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(await real(parent), path.slice(parent.length))
  }
}
