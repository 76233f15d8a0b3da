/**
 * Calls that never ended → the temporary files that they left beside what they were about to write.
 *
 * Invariant: only what has a name that no person gives, beside a path of such a call and of its time, is one; it is kept
 * before it goes, as all else.
 */
import { lstat, readdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { CallBefore } from "./checkpoint-log.ts"
import { linkOnWay } from "./rewind-way.ts"

/** What replaces a file in one move is written under such a name first. */
const NAME = /^\.sous-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/
/** Between a call's beginning and its temporary file, ms. */
const MOST_MS = 10_000

/** Their paths, absolute. */
export async function leftoversOf(calls: readonly CallBefore[]): Promise<string[]> {
  const found = new Set<string>()
  for (const { at, files } of calls) {
    const begun = Date.parse(at)
    for (const folder of new Set(files.map(({ path }) => dirname(path)))) {
      for (const path of await temporariesIn(folder)) {
        const age = (await lstat(path).catch(() => undefined))?.mtimeMs ?? 0
        if (age > begun - MOST_MS && age < begun + MOST_MS) found.add(path)
      }
    }
  }
  return [...found]
}

async function temporariesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  const found = names.filter((name) => NAME.test(name)).map((name) => join(folder, name))
  return found.length === 0 || (await linkOnWay(found[0]!)) !== undefined ? [] : found
}
