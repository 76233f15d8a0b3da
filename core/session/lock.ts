/**
 * One small file that several processes change at once: read, change and replace it while nobody else does.
 *
 * Invariant: a reader finds the old text or the new one, never a part; a lock whose holder died holds up nobody for long.
 */
import { randomBytes } from "node:crypto"
import { open, rename, rm, stat } from "node:fs/promises"
import { setTimeout as delay } from "node:timers/promises"
import { FILE_MODE } from "./store.ts"

/** A lock is held for milliseconds; one that is older than this was left by a process that died, ms. */
const STALE_MS = 10_000
/** How long a lock is waited for, ms. */
const PATIENCE_MS = 20_000
/** Between two tries at most, ms. */
const PAUSE_MS = 20

/** Does the work while no other process holds the lock of this file. Throws an Error when it stays taken. */
export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const lock = `${file}.lock`
  const until = performance.now() + PATIENCE_MS
  while (!(await isTaken(lock))) {
    if (performance.now() > until) throw new Error(`"${lock}" stays locked`)
    await breakStale(lock)
    await delay(Math.random() * PAUSE_MS)
  }
  try {
    return await work()
  } finally {
    await rm(lock, { force: true })
  }
}

/** Puts a new text in the place of a file, on the disk before it is seen; readable by its owner only. */
export async function replaceFile(file: string, text: string): Promise<void> {
  const fresh = besides(file)
  try {
    const handle = await open(fresh, "wx", FILE_MODE)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(fresh, file)
  } catch (error) {
    await rm(fresh, { force: true })
    throw error
  }
}

/** True when the lock is ours now. */
async function isTaken(lock: string): Promise<boolean> {
  try {
    await (await open(lock, "wx", FILE_MODE)).close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false
    throw error
  }
}

/** Several may find the same stale lock: it is moved away, and only who moved that very one has broken it. */
async function breakStale(lock: string): Promise<void> {
  const found = await stat(lock).catch(() => undefined)
  if (found === undefined || Date.now() - found.mtimeMs < STALE_MS) return
  const aside = besides(lock)
  const moved = await rename(lock, aside).then(
    () => stat(aside),
    () => undefined,
  )
  // A fresh lock of somebody else came in between: it goes back where it was.
  if (moved !== undefined && moved.ino !== found.ino) await rename(aside, lock)
  else await rm(aside, { force: true })
}

function besides(file: string): string {
  return `${file}.${randomBytes(6).toString("hex")}`
}
