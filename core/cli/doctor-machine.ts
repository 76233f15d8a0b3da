/**
 * The machine → the programs that a run needs, and what its terminal can do.
 *
 * Invariant: no program is started but to ask for its version, and that for a moment.
 */
import { accessSync, constants, existsSync, statSync } from "node:fs"
import { delimiter, isAbsolute, join } from "node:path"
import { runProcess } from "../process.ts"
import type { DoctorPlace, DoctorRow } from "./doctor-row.ts"

/** The oldest Node that runs this, as in package.json. */
const OLDEST_NODE = [20, 19] as const

/** The Node that runs this. */
export async function findNode(): Promise<DoctorRow[]> {
  const { node } = process.versions
  const [major = 0, minor = 0] = node.split(".").map(Number)
  const isNew = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])
  if (isNew) return [{ level: "ok", state: `Node ${node}`, mend: "" }]
  return [{ level: "fault", state: `Node ${node} is too old`, mend: `install Node ${OLDEST_NODE.join(".")} or newer` }]
}

/** Recipes and packs may need it. */
export async function findGit({ host }: DoctorPlace): Promise<DoctorRow[]> {
  const file = findProgram("git", host.env)
  if (file === undefined)
    return [{ level: "warning", state: "there is no git in PATH", mend: "install git for packs from repositories" }]
  const version = await versionOf(file, host.env)
  if (version === undefined) return [{ level: "warning", state: `"${file}" does not answer`, mend: "install git anew" }]
  return [{ level: "ok", state: version, mend: "" }]
}

/** What searches in files: the binary that came as a package, or the system's. */
export async function findSearch({ host }: DoctorPlace): Promise<DoctorRow[]> {
  const shipped = await import("@vscode/ripgrep").then(
    ({ rgPath }) => rgPath,
    () => undefined,
  )
  if (shipped !== undefined && isExecutable(shipped))
    return [{ level: "ok", state: "ripgrep, as it came along", mend: "" }]
  const file = findProgram("rg", host.env)
  if (file !== undefined) return [{ level: "ok", state: `ripgrep of the system, ${file}`, mend: "" }]
  const state = shipped !== undefined && existsSync(shipped) ? `"${shipped}" is not executable` : "there is no ripgrep"
  return [
    {
      level: "fault",
      state: `${state}, so agents cannot search in files`,
      mend: "install the package anew, or ripgrep",
    },
  ]
}

/** Who could be asked, and how it would look. */
export async function findTerminal({ host }: DoctorPlace): Promise<DoctorRow[]> {
  const { env, stdin } = host
  if (!stdin.isTTY) {
    const state = "stdin is no terminal, so nobody can be asked and what would need an answer is denied"
    return [{ level: "ok", state, mend: "" }]
  }
  const isPlain = env.TERM === undefined || env.TERM === "dumb" || (env.NO_COLOR ?? "") !== ""
  const state = `${env.TERM ?? "unknown"}, ${isPlain ? "without colours" : "with colours"}`
  return [{ level: "ok", state, mend: "" }]
}

type Env = Readonly<Record<string, string | undefined>>

/** Absolute; undefined: there is none in PATH. */
function findProgram(name: string, env: Env): string | undefined {
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => isAbsolute(folder))
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

async function versionOf(file: string, env: Env): Promise<string | undefined> {
  const known = Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value ? [[name, value]] : [])))
  const signal = AbortSignal.timeout(1_000)
  const { code, stdout } = await runProcess(
    { file, args: ["--version"] },
    { cwd: "/", env: known, signal, timeoutMs: 1_000 },
  )
  return code === 0 ? stdout.toString("utf8").trim().split("\n")[0] : undefined
}
