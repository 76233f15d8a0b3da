/**
 * One test file → how it went on Node's own test runner, in a process of its own.
 *
 * Invariant: what the file imports as "sous" is the toolkit that runs; no package has to be installed beside it.
 */
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { runProcess } from "../process.ts"
import type { Host } from "./host.ts"
import { describeCount, type Tested } from "./tested.ts"

/** How long one file may take, ms. */
const LIMIT_MS = 300_000

/** Runs a file, relative to `cwd`. */
export async function runTestFile(file: string, { cwd, host }: { cwd: string; host: Host }): Promise<Tested> {
  const program = programFor(resolve(cwd, file), host.moduleFiles())
  const args = ["--test-reporter=spec", "--input-type=module", "--eval", program]
  const env = Object.fromEntries(
    Object.entries(host.env).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )
  const { code, stdout, stderr, error, timedOut } = await runProcess(
    { file: process.execPath, args },
    { cwd, env, signal: host.signal, timeoutMs: LIMIT_MS },
  )
  const output = stdout.toString()
  const ok = code === 0
  const late = timedOut ? [`It did not end within ${LIMIT_MS / 1000} s`] : []
  const failures = ok ? [] : [...late, error ?? `${output}${stderr.toString()}`]
  return { file, ok, count: countOf(output), failures }
}

/** Node's summary: `ℹ tests 3`, `ℹ fail 1`. */
function countOf(output: string): string {
  const read = (name: string) => Number(new RegExp(`^\\S+ ${name} (\\d+)$`, "m").exec(output)?.[1] ?? 0)
  return describeCount(read("tests"), read("fail"), "test")
}

/** A module that imports the file, and answers for the names in what it imports. */
function programFor(file: string, { modules, loader }: ReturnType<Host["moduleFiles"]>): string {
  return `import { createJiti } from ${JSON.stringify(loader)}
const load = (url) => (url.endsWith(".ts") ? createJiti(url).import(url) : import(url))
const names = Object.entries(${JSON.stringify(modules)})
const virtualModules = Object.fromEntries(await Promise.all(names.map(async ([name, url]) => [name, await load(url)])))
await createJiti(${JSON.stringify(pathToFileURL(file).href)}, { virtualModules, fsCache: false }).import(${JSON.stringify(file)})`
}
