/**
 * `sous init`: a folder → a project with settings that an editor understands, and a recipe with its offline test.
 *
 * Invariant: nothing that is there is written over; a file that is there is named and left. It asks nothing, and refuses
 * to run inside of a run, since what it writes may run.
 */
import { lstat, mkdir, open, readFile, realpath, stat } from "node:fs/promises"
import { basename, dirname, isAbsolute, join, relative } from "node:path"
import { SousError } from "../error.ts"
import { loadSettings } from "../settings/load.ts"
import { findProjectRoot, homeFolder } from "../settings/scopes.ts"
import { keepTrust } from "../settings/trust-keep.ts"
import type { CommandLine } from "./command-line.ts"
import type { Host } from "./host.ts"
import { INSTALLED_SCHEMA, initFiles } from "./init-file.ts"
import { ignoreLocal } from "./init-ignore.ts"
import { refuseInside } from "./inside.ts"

/** What came of it. */
interface Initiated {
  root: string
  /** Relative to the root, as are `kept` and `claude`. */
  written: string[]
  kept: string[]
  /** Files of Claude Code that are read as they are. */
  claude: string[]
}

/** The same, and what the next start will make of it. */
interface Answer extends Initiated {
  /** What lies here may run. */
  trusted: boolean
}

/** Returns 0. Throws CLI_INSIDE_RUN, CLI_INIT_REFUSED, CLI_INIT_FAILED, SETTINGS_WRITE_OUTSIDE. */
export async function init({ values }: CommandLine, host: Host): Promise<number> {
  refuseInside(host, "init")
  const root = await findRoot(host)
  // What a person sets up with it is what they trust.
  const files = ({ written }: Initiated) => written.map((path) => join(root, path))
  const start = { cwd: await host.cwd(), env: host.env, files }
  const initiated = await keepTrust(start, () => setUp(root, host, { isYaml: values.yaml ?? false }))
  const { trust } = await loadSettings({ cwd: root, env: host.env, load: async () => ({ default: {} }) })
  const result: Answer = { ...initiated, trusted: trust.isTrusted || trust.state === "nothing" }
  if (values.json) host.print(`${JSON.stringify(result)}\n`)
  else host.print(host.escape(forPeople(result)))
  return 0
}

/** The project that the folder belongs to, or the folder itself. Throws CLI_INIT_REFUSED. */
async function findRoot(host: Host): Promise<string> {
  const cwd = await realpath(await host.cwd())
  const home = homeFolder(host.env)
  const root = findProjectRoot(cwd, { home })
  if (root !== undefined) return root
  if (home !== undefined && isWithin(await realpath(home).catch(() => home), cwd)) {
    throw new SousError("CLI_INIT_REFUSED", {
      folder: cwd,
      reason: "your home folder and those above it are no projects",
    })
  }
  const uid = process.getuid?.()
  if (uid !== undefined && (await stat(cwd)).uid !== uid) {
    throw new SousError("CLI_INIT_REFUSED", { folder: cwd, reason: "it belongs to another user" })
  }
  return cwd
}

async function setUp(root: string, host: Host, { isYaml }: { isYaml: boolean }): Promise<Initiated> {
  const isInstalled = await isThere(join(root, INSTALLED_SCHEMA))
  const schema = isInstalled ? undefined : await readFile(host.packageFile("settings.schema.json"), "utf8")
  const result: Initiated = { root, written: [], kept: [], claude: [] }
  const settings = await settingsThere(root)
  for (const { path, text } of initFiles({ isYaml, schema })) {
    const there = /^\.sous\/settings\.(?:json|yaml)$/.test(path) ? settings : undefined
    const isNew = there === undefined && (await writeNew(root, path, text))
    if (isNew) result.written.push(path)
    else result.kept.push(there ?? path)
  }
  if (await ignoreLocal(root)) result.written.push(".gitignore")
  for (const path of [".claude/settings.json", ".claude/settings.local.json"]) {
    if (await isThere(join(root, path))) result.claude.push(path)
  }
  return result
}

/** The project's settings file, in whatever form. */
async function settingsThere(root: string): Promise<string | undefined> {
  for (const ending of ["json", "yaml", "yml", "ts"]) {
    const path = `.sous/settings.${ending}`
    if (await isThere(join(root, path))) return path
  }
  return undefined
}

/** False when something is there already. Throws SETTINGS_WRITE_OUTSIDE, CLI_INIT_FAILED. */
async function writeNew(root: string, path: string, text: string): Promise<boolean> {
  const file = join(root, path)
  try {
    await mkdir(dirname(file), { recursive: true })
    const real = join(await realpath(dirname(file)), basename(file))
    if (!isWithin(real, root)) throw new SousError("SETTINGS_WRITE_OUTSIDE", { file, real, reach: root })
    const handle = await open(file, "wx")
    await handle.writeFile(text).finally(() => handle.close())
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (error instanceof SousError) throw error
    if (code === "EEXIST" && (await isThere(file))) return false
    throw new SousError("CLI_INIT_FAILED", { file, reason: code ?? String(error) }, { cause: error })
  }
}

function forPeople({ root, written, kept, claude, trusted }: Answer): string {
  const lines = [
    ...written.map((path) => `${path === ".gitignore" ? "added to" : "wrote   "}  ${path}`),
    ...kept.map((path) => `left      ${path}, which was there already`),
    ...claude.map((path) => `read      ${path}, as it is: nothing has to be moved`),
  ]
  const steps = NEXT.filter(([command]) => !(trusted && command === "sous trust"))
  const next = steps.map(([command, what]) => `  ${command.padEnd(18)}${what}`)
  return [`Project ${root}`, ...lines, "", "Next", ...next, ""].join("\n")
}

const NEXT = [
  ["sous test", "runs the recipe's test: offline, without a key"],
  ["sous trust", "shows what lies here and may run once you trust it"],
  ["sous run hello", "runs the recipe; asks Claude, with ANTHROPIC_API_KEY set"],
  ["sous config", "shows which settings are in force, and who set them"],
] as const

async function isThere(file: string): Promise<boolean> {
  return await lstat(file).then(
    () => true,
    () => false,
  )
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return !way.startsWith("..") && !isAbsolute(way)
}
