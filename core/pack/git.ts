/**
 * A repository and what a person wrote behind it → one commit, and the files of it.
 *
 * Invariant: a commit is fetched by its sum, so that nobody can put another one in its place; no configuration of the
 * folder that somebody works in counts, no hook and no submodule.
 */
import { dirname } from "node:path"
import { runProcess } from "../process.ts"
import type { Fetching } from "./fetching.ts"
import type { PackSource } from "./source.ts"

type GitSource = Extract<PackSource, { kind: "git" }>

/** Time that one command of git may take, ms. */
const PATIENCE_MS = 10 * 60_000

/** Finds the commit; of several addresses the first that answers counts. Throws an Error that says why there is none. */
export async function resolveCommit(source: GitSource, fetching: Fetching): Promise<{ url: string; commit: string }> {
  const { ref } = source
  let fault: unknown
  for (const url of source.urls) {
    try {
      if (ref !== undefined && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(ref)) {
        await git(["ls-remote", "--exit-code", url, "HEAD"], fetching.staging, fetching)
        return { url, commit: ref }
      }
      const commit = ref?.startsWith("semver:")
        ? await resolveRange(url, ref, fetching)
        : await resolveRef(url, ref, fetching)
      return { url, commit }
    } catch (error) {
      fetching.signal.throwIfAborted()
      fault ??= error
    }
  }
  throw fault
}

/** Brings the files of a commit into `folder` (absolute, there and empty). Throws an Error that says why not. */
export async function fetchCommit(
  { url, commit }: { url: string; commit: string },
  folder: string,
  fetching: Fetching,
): Promise<void> {
  await git(["init", "--quiet"], folder, fetching)
  // Not every server hands out a commit by its sum.
  await git(["fetch", "--quiet", "--depth=1", url, commit], folder, fetching).catch(async (error) => {
    fetching.signal.throwIfAborted()
    await git(["fetch", "--quiet", "--tags", url, "+refs/*:refs/fetched/*"], folder, fetching).catch(() => {
      throw error
    })
  })
  await git(["checkout", "--quiet", "--detach", commit], folder, fetching)
}

async function resolveRef(url: string, ref: string | undefined, fetching: Fetching): Promise<string> {
  const lines = await git(["ls-remote", url], fetching.staging, fetching)
  const refs = new Map(lines.split("\n").map((line) => line.split("\t").reverse() as [string, string]))
  const wanted = ref === undefined ? ["HEAD"] : [`refs/tags/${ref}^{}`, `refs/tags/${ref}`, `refs/heads/${ref}`, ref]
  const found = wanted.map((name) => refs.get(name)).find(Boolean)
  const short =
    ref !== undefined && /^[0-9a-f]{7,39}$/.test(ref)
      ? [...refs.values()].find((sum) => sum.startsWith(ref))
      : undefined
  const commit = found ?? short
  if (commit === undefined) throw new Error(`it has no branch, tag or commit "${ref ?? "HEAD"}"`)
  return commit
}

async function resolveRange(url: string, ref: string, { staging, env }: Fetching): Promise<string> {
  const { pacote } = await import("./npm.ts")
  const options = { cache: `${staging}/cache`, cwd: staging, env: gitEnvironment(env, staging), ignoreScripts: true }
  const resolved = await pacote.resolve(`git+${url}#${ref}`, options)
  const commit = /#([0-9a-f]{40,64})/.exec(resolved)?.[1]
  if (commit === undefined) throw new Error(`no tag of it fits "${ref}"`)
  return commit
}

/** Nothing of these runs or fetches anything else. */
const SAFE = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "protocol.ext.allow=never", "submodule.recurse=false"]

async function git(args: readonly string[], cwd: string, { env, signal, staging }: Fetching): Promise<string> {
  const command = { file: "git", args: [...SAFE.flatMap((one) => ["-c", one]), ...args] }
  const result = await runProcess(command, {
    cwd,
    env: gitEnvironment(env, staging),
    signal,
    timeoutMs: PATIENCE_MS,
    keepBytes: 2 ** 24,
  })
  signal.throwIfAborted()
  if (result.code === 0) return result.stdout.toString("utf8").trim()
  const said = result.error ?? result.stderr.toString("utf8").trim().split("\n").at(-1) ?? ""
  throw new Error(said.replace(/\.$/, "") || "git failed")
}

/** Asks nobody for a password, and belongs to no repository that somebody works in. */
function gitEnvironment(env: Fetching["env"], staging: string): Record<string, string> {
  const own = Object.entries(env).filter(
    (pair): pair is [string, string] =>
      pair[1] !== undefined && (!/^GIT_/.test(pair[0]) || /^GIT_(?:SSH|ASKPASS|SSL|CONFIG)/.test(pair[0])),
  )
  // A repository that the folder of staging happens to lie in is not looked for.
  return { ...Object.fromEntries(own), GIT_TERMINAL_PROMPT: "0", GIT_CEILING_DIRECTORIES: dirname(staging) }
}
