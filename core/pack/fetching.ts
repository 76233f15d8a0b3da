/**
 * With what and where packs are fetched: a folder for everything on the way, the environment, and who is told.
 *
 * Invariant: what is on the way lies in one folder, so that an interruption leaves nothing half written anywhere else.
 */
import { randomBytes } from "node:crypto"
import { readdir, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { createFolder, createOwnFolder } from "../session/store.ts"

/** With what and where is fetched. */
export interface Fetching {
  /** A folder of its own for everything on the way, absolute; whoever made it removes it. */
  staging: string
  env: Readonly<Record<string, string | undefined>>
  home: string | undefined
  signal: AbortSignal
  /** What relative paths of a lock are relative to, absolute. */
  base: string
  /** Tells people what takes long. */
  tell(line: string): void
}

/** A folder that is older belongs to a command that was killed, ms. */
const STALE_MS = 24 * 3_600_000

/** Makes a folder below a data folder (absolute), does the work, and removes the folder whatever comes of it. */
export async function withStaging<T>(data: string, work: (staging: string) => Promise<T>): Promise<T> {
  const all = join(data, "staging")
  await createOwnFolder(data)
  await createFolder(all)
  await removeStale(all)
  const staging = join(all, randomBytes(8).toString("hex"))
  await createFolder(staging)
  try {
    return await work(staging)
  } finally {
    await rm(staging, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function removeStale(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const place = join(folder, name)
    const found = await stat(place).catch(() => undefined)
    if (found && Date.now() - found.mtimeMs > STALE_MS)
      await rm(place, { recursive: true, force: true }).catch(() => {})
  }
}
