/**
 * Files and folders as given → the tests among them, in order.
 *
 * Invariant: what was named is a test or an error; below a folder only what can be told for a test of ours is one.
 */
import { readdir, readFile, stat } from "node:fs/promises"
import { join, relative, resolve } from "node:path"
import { SousError } from "../error.ts"

const TABLE = /\.permissions\.ya?ml$/
const CODE = /\.test\.(?:ts|mts|mjs|js)$/
/** Test files of other runners look alike, but for what they import. */
const OURS = /["'](?:node:test|sous\/testing)["']/

/** True for a permission table. */
export function isTable(file: string): boolean {
  return TABLE.test(file)
}

/** The tests that are named, or those below the folder; relative to it. Throws CLI_TEST_NONE and CLI_TEST_UNREADABLE. */
export async function findTests(given: readonly string[], cwd: string): Promise<string[]> {
  const found: string[] = []
  for (const name of given.length === 0 ? ["."] : given) {
    const path = resolve(cwd, name)
    const isFolder = await stat(path).then(
      (entry) => entry.isDirectory(),
      (error: NodeJS.ErrnoException) => {
        throw new SousError("CLI_TEST_UNREADABLE", { file: name, reason: error.code ?? error.message })
      },
    )
    const tests = isFolder ? await testsBelow(path) : [path]
    if (tests.length === 0) throw new SousError("CLI_TEST_NONE", { where: name === "." ? "this folder" : name })
    found.push(...tests)
  }
  return [...new Set(found)].map((path) => relative(cwd, path))
}

async function testsBelow(folder: string): Promise<string[]> {
  const entries = (await readdir(folder, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))
  const found: string[] = []
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && entry.name !== "node_modules" && entry.name !== ".git") {
      found.push(...(await testsBelow(path)))
    }
    if (!entry.isFile()) continue
    if (isTable(entry.name) || (CODE.test(entry.name) && OURS.test(await readFile(path, "utf8")))) found.push(path)
  }
  return found
}
