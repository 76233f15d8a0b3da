/**
 * The folders of one run, as real paths: where it works, what it may not touch, what configures it.
 *
 * Invariant: everything here is resolved once, before anything runs.
 */
import { existsSync } from "node:fs"
import { realpath } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { KitParts } from "./kit.ts"
import type { PermissionFacts } from "./permission/decision.ts"
import { once } from "./permission/specifier.ts"
import type { ContextPlaces } from "./plugin.ts"
import { dataFolderFor, projectFolder } from "./session/store.ts"
import { resolveWritten, type ScopeFolders, scopeFolders } from "./settings/scopes.ts"

/** What the permission layer knows about folders, for the whole run. */
export type RunPlaces = Pick<PermissionFacts, "roots" | "home"> &
  Required<Pick<PermissionFacts, "namedRoots" | "stateFolders" | "configures" | "hookFiles" | "toolkit">> & {
    cwd: string
    /** The project that `cwd` lies in: what `/x` in a rule of its settings starts from. */
    project?: string
    /** Where context comes from. */
    context: ContextPlaces
    /** For `gitRuns` of the facts about a call: loads what looks, once. */
    openGitRuns(): Promise<NonNullable<PermissionFacts["gitRuns"]>>
    /** What is odd about them, one sentence each. */
    warnings: readonly string[]
  }

/** Finds them. A further folder that is not there is left out, and named in a warning. */
export async function findPlaces(kit: KitParts): Promise<RunPlaces> {
  const { options, settings, state } = kit
  const cwd = await realpath(options.cwd)
  // Without a HOME there is still a home that `~` in a rule means.
  const home = await real(options.home ?? homedir())
  const further = await Promise.all(
    settings.permissions.additionalDirectories.map(async ({ value, base, origin }) => ({
      value,
      folder: await realpath(resolveWritten(value, base, options.home)).catch(() => undefined),
      isNamed: origin.scope === "cli" || origin.scope === "managed",
    })),
  )
  const missing = further.filter(({ folder }) => folder === undefined)
  const found = further.flatMap(({ folder, isNamed }) => (folder === undefined ? [] : [{ folder, isNamed }]))
  const folders = scopeFolders({ cwd, env: options.env, home })
  const { managed, user, root, claude } = folders
  const configures = [...(user ? [user] : []), ...(claude.user ? [join(claude.user, "settings.json")] : [])]
  return {
    cwd,
    home,
    context: contextPlaces(kit, { cwd, home, folders }),
    roots: [cwd, ...found.map(({ folder }) => folder)],
    namedRoots: found.filter(({ isNamed }) => isNamed).map(({ folder }) => folder),
    stateFolders: await Promise.all(
      [state, dataFolderFor(options.env, options.home), managed, claude.managed].map(real),
    ),
    configures: await Promise.all(configures.map(real)),
    hookFiles: await hookFiles(kit, { cwd, home }),
    ...(root === undefined ? {} : { project: root }),
    openGitRuns: once(async () => {
      const { createGitRuns } = await import("./git/runs.ts")
      return createGitRuns({ home, gitDir: options.env.GIT_DIR })
    }),
    toolkit: await real(toolkitFolder(fileURLToPath(import.meta.url))),
    warnings: missing.map(({ value }) => `The further folder "${value}" is left out: there is no such folder`),
  }
}

function contextPlaces(
  { state, settings }: KitParts,
  { cwd, home, folders: { managed, user, root, claude } }: { cwd: string; home: string; folders: ScopeFolders },
): ContextPlaces {
  const { files, auto, exclude } = settings.memory
  return {
    home,
    project: root ?? cwd,
    managed: [managed, claude.managed],
    user: [user, claude.user].filter((folder) => folder !== undefined),
    state: projectFolder(state, cwd),
    claude: settings.compat.claude,
    memory: { files, auto, exclude: exclude.map(({ value }) => value) },
  }
}

/** The scripts of the hooks that may run, as they are written and as real paths. */
export async function hookFiles(
  { options }: Pick<KitParts, "options">,
  { cwd, home }: { cwd: string; home: string },
): Promise<string[]> {
  if (!options.hooks?.length) return []
  const { filesOf } = await import("./hook-launch.ts")
  const projectDir = options.projectDir ?? cwd
  const env = { HOME: options.env.HOME ?? home, CLAUDE_PROJECT_DIR: projectDir, SOUS_PROJECT_DIR: projectDir }
  const files = options.hooks.flatMap(({ form, dialect }) =>
    form.type === "command" ? filesOf(form, { cwd: dialect === "claude-code" ? cwd : projectDir, env }) : [],
  )
  const bound = options.hooks.flatMap(({ expects }) => Object.keys(expects?.files ?? {}))
  return [...new Set([...files, ...bound, ...(await Promise.all(files.map(real)))])]
}

/** The nearest folder above this file with a package: that of the toolkit, bundled or not. */
function toolkitFolder(path: string): string {
  const parent = dirname(path)
  return parent === path || existsSync(join(parent, "package.json")) ? parent : toolkitFolder(parent)
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
