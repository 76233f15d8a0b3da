/**
 * Capabilities → what Node is told when it starts the process of a plugin: paths, switches, environment.
 *
 * Invariant: what a manifest does not name is not granted; what Node cannot narrow is said in words, never passed over.
 * Source: https://nodejs.org/api/permissions.html#permission-model
 */
import { existsSync, lstatSync, realpathSync } from "node:fs"
import { isAbsolute, join, relative, resolve, sep } from "node:path"
import { SousError } from "../error.ts"
import type { Capabilities } from "../plugin.ts"
import { dataFolderFor, stateFolderFor } from "../session/store.ts"

/** Where paths of capabilities are relative to. */
export interface GrantGround {
  /** The plugin, in messages. */
  plugin: string
  /** Absolute: the project. */
  cwd: string
  env: Readonly<Record<string, string | undefined>>
  home?: string | undefined
  /** Absolute: what the plugin may always read. */
  reads: readonly string[]
}

/** How the process is started. */
export interface Grant {
  args: string[]
  env: Record<string, string>
}

/** What this Node can do. */
export interface NodeLimits {
  /** The switch that turns the permission model on. */
  switch: "--permission" | "--experimental-permission"
  /** The network is closed unless it is opened. */
  limitsNet: boolean
}

/** Looks at the Node that runs; `flags`: those that it takes. */
export function nodeLimits(flags: { has(flag: string): boolean } = process.allowedNodeEnvironmentFlags): NodeLimits {
  return {
    switch: flags.has("--permission") ? "--permission" : "--experimental-permission",
    limitsNet: flags.has("--allow-net"),
  }
}

/** Throws ISOLATION_CAPABILITY_INVALID. */
export function grantOf(capabilities: Capabilities, ground: GrantGround, limits = nodeLimits()): Grant {
  const { exec = [], net = [], env = [], read = [], write = [] } = capabilities
  const reads = [...ground.reads.flatMap(bothEnds), ...read.flatMap((path) => pathsOf("read", path, ground))]
  const writes = write.flatMap((path) => pathsOf("write", path, ground))
  const args = [
    limits.switch,
    ...unique(reads).map((path) => `--allow-fs-read=${path}`),
    ...unique(writes).map((path) => `--allow-fs-write=${path}`),
    ...(exec.length > 0 ? ["--allow-child-process"] : []),
    ...(limits.limitsNet && net.length > 0 ? ["--allow-net"] : []),
    // It opens files by itself, whatever the permission model says.
    ...(process.allowedNodeEnvironmentFlags.has("--experimental-sqlite") ? ["--no-experimental-sqlite"] : []),
    `--max-old-space-size=${HEAP_MB}`,
    ...QUIET,
  ]
  const names = [...LOCALE, ...(exec.length > 0 ? FOR_PROGRAMS : []), ...env.map((name) => envName(name, ground))]
  return { args, env: pick(ground.env, names) }
}

/** The part of an environment that a plugin with these capabilities sees. */
export function visibleEnv(
  { exec = [], env = [] }: Capabilities,
  from: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return pick(from, [...LOCALE, ...(exec.length > 0 ? FOR_PROGRAMS : []), ...env])
}

/** What a plugin with these capabilities can do that they do not say, one sentence each. */
export function openEnds(
  { exec = [], net = [], read = [], write = [] }: { [K in keyof Capabilities]?: readonly string[] | undefined },
  limits = nodeLimits(),
): string[] {
  const said: string[] = []
  if (exec.length > 0) {
    said.push(
      `it can start any program, not just ${exec.join(", ")}, and what it starts has all rights of this user: Node cannot narrow that`,
    )
  }
  if (net.length > 0) said.push(`it can reach any host, not just ${net.join(", ")}: Node cannot narrow that`)
  else if (!limits.limitsNet) {
    said.push(
      `it is kept from the network only loosely, since Node ${process.version} cannot close it (25 can): code that sets out to get around that reaches any host`,
    )
  }
  if (read.length + write.length > 0) said.push("links in the folders that it names are followed to wherever they lead")
  return said
}

/** Megabytes of objects that it may hold. */
const HEAP_MB = 1024

const QUIET = ["--disable-warning=ExperimentalWarning", "--disable-warning=SecurityWarning"]

/** How dates and texts are written; nothing of them is secret. */
const LOCALE = ["LANG", "LC_ALL", "LC_CTYPE", "TZ"]

/** What programs cannot do without. */
const FOR_PROGRAMS = ["PATH", "HOME", "TMPDIR"]

/** Names that would change what Node or the loader does, before any limit is in force. */
const REDIRECTING = /^(?:NODE_|LD_|DYLD_|OPENSSL_|SSL_)/i

function envName(name: string, { plugin }: GrantGround): string {
  if (!REDIRECTING.test(name)) return name
  const problem = "a variable of that name changes how Node itself starts"
  throw new SousError("ISOLATION_CAPABILITY_INVALID", { plugin, kind: "env", value: name, problem })
}

/** Characters of patterns; the one that Node knows would match more than people mean. */
const PATTERN = /[*?{}[\]\0]/

/** The paths that stand for one of a manifest: as written and, where links lead elsewhere, the real one. */
function pathsOf(kind: "read" | "write", written: string, ground: GrantGround): string[] {
  const { plugin, cwd, home } = ground
  const refuse = (problem: string) => {
    throw new SousError("ISOLATION_CAPABILITY_INVALID", { plugin, kind, value: written, problem })
  }
  const plain = written.replace(/\/\*\*$/, "")
  if (plain === "" || PATTERN.test(plain)) refuse('a path may be no pattern, but for "/**" at its end')
  if (/^~(?:\/|$)/.test(plain) && home === undefined) refuse("there is no home folder")
  if (/^~[^/]/.test(plain)) refuse("the home of another user cannot be named")
  const path = /^~(?:\/|$)/.test(plain) ? join(home!, plain.slice(1)) : resolve(cwd, plain)
  const paths = bothEnds(path)
  const real = paths.at(-1)!
  if (!isAbsolute(plain) && !plain.startsWith("~") && isInside(path, cwd) && !isInside(real, realOf(cwd)))
    refuse(`a link leads out of the project, to ${real}: name that path`)
  if (isDangling(path)) refuse("it is a link that leads nowhere yet")
  if (kind === "write") refuseOwn(paths, ground, refuse)
  return existsSync(path) ? paths : paths.flatMap((one) => [one, join(one, "*")])
}

function isDangling(path: string): boolean {
  return !existsSync(path) && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}

/** Whoever writes there decides what is trusted. */
function refuseOwn(paths: readonly string[], { env, home }: GrantGround, refuse: (problem: string) => void): void {
  const config = env["XDG_CONFIG_HOME"] ?? (home && join(home, ".config"))
  const own = [stateFolderFor(env, home), dataFolderFor(env, home), ...(config ? [join(config, "sous")] : [])]
  for (const folder of own.flatMap(bothEnds)) {
    if (paths.some((path) => isInside(path, folder) || isInside(folder, path)))
      refuse(`the folder ${folder} belongs to the toolkit itself, and no plugin may write there`)
  }
}

/** A path and, where it differs, the one that links lead to; what is not there yet is looked up by the folder above it. */
export function bothEnds(path: string): string[] {
  return unique([path, realOf(path)])
}

function realOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const above = resolve(path, "..")
    return above === path ? path : join(realOf(above), relative(above, path))
  }
}

/** True for the folder itself, too. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

function pick(env: Readonly<Record<string, string | undefined>>, names: readonly string[]): Record<string, string> {
  const set = names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]))
  return Object.fromEntries(set)
}

function unique(list: readonly string[]): string[] {
  return [...new Set(list)]
}
