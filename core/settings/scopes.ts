/**
 * A current directory and a home → the folders that settings, plugins and recipes of each scope come from.
 *
 * Invariant: the project is never the home folder or above it, nor a folder that belongs to another user.
 */
import { realpathSync, statSync } from "node:fs"
import { userInfo } from "node:os"
import { dirname, isAbsolute, join, relative, resolve } from "node:path"

/** What tells a project's root. */
const PROJECT_MARKS = [".sous", ".claude", ".git"]

/** The folders of the scopes that have one; all absolute. */
export interface ScopeFolders {
  managed: string
  /** Left out without a home folder. */
  user?: string
  /** The `.sous` folder of the project; local settings lie there too. It need not exist. */
  project?: string
  /** The project itself. Left out when the current directory belongs to none. */
  root?: string
  /** Where Claude Code keeps its settings in these scopes; none of them need exist. */
  claude: { managed: string; user?: string; project?: string }
}

export interface ScopeOptions {
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  /** Absolute; undefined: none. `loadSettings` takes the one of `env` when it is left out. */
  home?: string | undefined
  /** Default: this process's user; undefined where there are none (Windows). */
  uid?: number | undefined
  platform?: NodeJS.Platform
  /** The folder of the managed scope. Default: the platform's. */
  managed?: string | undefined
  /** The same of Claude Code. */
  managedClaude?: string | undefined
}

/** Finds the folders of all scopes. */
export function scopeFolders(options: ScopeOptions): ScopeFolders {
  const root = findProjectRoot(options.cwd, options)
  const fixed = fixedFolders(options)
  if (root === undefined) return fixed
  const claude = { ...fixed.claude, project: join(root, ".claude") }
  return { ...fixed, root, project: join(root, ".sous"), claude }
}

/** The folders that are the same whatever the project; nothing is looked up for them. */
export function fixedFolders(
  options: Omit<ScopeOptions, "cwd">,
): Pick<ScopeFolders, "managed" | "user"> & { claude: Omit<ScopeFolders["claude"], "project"> } {
  const { platform = process.platform } = options
  const [user, userClaude] = [userFolder(options), userClaudeFolder(options)]
  return {
    managed: options.managed ?? managedFolder(platform),
    ...(user === undefined ? {} : { user }),
    claude: {
      managed: options.managedClaude ?? managedClaudeFolder(platform),
      ...(userClaude === undefined ? {} : { user: userClaude }),
    },
  }
}

/** The nearest folder upwards with `.sous`, `.claude` or `.git`, as a real path. */
export function findProjectRoot(cwd: string, options: Pick<ScopeOptions, "home" | "uid"> = {}): string | undefined {
  const uid = "uid" in options ? options.uid : process.getuid?.()
  const home = options.home === undefined ? undefined : realPath(options.home)
  let folder = realPath(cwd)
  for (;;) {
    const parent = dirname(folder)
    if (parent === folder || (home !== undefined && isWithin(home, folder))) return undefined
    if (PROJECT_MARKS.some((mark) => ownerOf(join(folder, mark)) !== undefined)) {
      return uid === undefined || ownerOf(folder) === uid ? folder : undefined
    }
    folder = parent
  }
}

/** The user's home folder, absolute: `$HOME`, or what the system knows. Undefined: there is none. */
export function homeFolder(env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (env.HOME !== undefined && isAbsolute(env.HOME)) return env.HOME
  try {
    const home = userInfo().homedir
    return isAbsolute(home) ? home : undefined
  } catch {
    return undefined
  }
}

/** Resolves a path as written in settings or a flag: `~/…`, absolute, or relative to `base`. */
export function resolveWritten(path: string, base: string, home: string | undefined): string {
  if (home !== undefined && (path === "~" || path.startsWith("~/"))) return join(home, path.slice(1))
  return resolve(base, path)
}

function userFolder({ env, home }: Pick<ScopeOptions, "env" | "home">): string | undefined {
  const config = env.XDG_CONFIG_HOME
  // The XDG base directory specification: a relative path is invalid and ignored.
  if (config !== undefined && isAbsolute(config)) return join(config, "sous")
  return home === undefined ? undefined : join(home, ".config", "sous")
}

function userClaudeFolder({ env, home }: Pick<ScopeOptions, "env" | "home">): string | undefined {
  const config = env.CLAUDE_CONFIG_DIR
  if (config !== undefined && isAbsolute(config)) return config
  return home === undefined ? undefined : join(home, ".claude")
}

/** Source: https://code.claude.com/docs/en/settings (managed settings). */
function managedClaudeFolder(platform: NodeJS.Platform): string {
  if (platform === "darwin") return "/Library/Application Support/ClaudeCode"
  return platform === "win32" ? "C:\\Program Files\\ClaudeCode" : "/etc/claude-code"
}

function managedFolder(platform: NodeJS.Platform): string {
  if (platform === "darwin") return "/Library/Application Support/Sous"
  return platform === "win32" ? "C:\\ProgramData\\Sous" : "/etc/sous"
}

/** True when `path` is `folder` or lies below it. */
function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === "" || !(way.startsWith("..") || isAbsolute(way))
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}

function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid
  } catch {
    return undefined
  }
}
