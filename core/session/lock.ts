/**
 * One small file that several processes change at once: read, change and replace it while nobody else does.
 *
 * Invariant: a reader finds the old text or the new one, never a part; a lock whose holder died holds up nobody for long.
 */
import { randomBytes } from "node:crypto"
import type { Stats } from "node:fs"
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises"
import { setTimeout as delay } from "node:timers/promises"
import { FILE_MODE } from "./store.ts"

/** A lock is held for milliseconds; one that is older than this was left by a process that died, ms. */
const STALE_MS = 10_000
/** How long a lock is waited for that does not change hands, ms. */
const PATIENCE_MS = 20_000
/** How long a lock is waited for that others take in turn, ms. */
const QUEUE_MS = 120_000
/** Between two tries at most, ms: at first, and when many have waited for long. */
const PAUSE_MS = { first: 20, last: 500 }

/** Does the work while no other process holds the lock of this file. Throws an Error when it stays taken. */
export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const lock = `${file}.lock`
  const begin = performance.now()
  let [holder, since] = [0, begin]
  let pause = PAUSE_MS.first
  while (!(await isTaken(lock))) {
    const now = performance.now()
    const found = await stat(lock).catch(() => undefined)
    if (found !== undefined && found.mtimeMs !== holder) [holder, since] = [found.mtimeMs, now]
    if (now > since + PATIENCE_MS || now > begin + QUEUE_MS) throw new Error(`"${lock}" stays locked`)
    await breakStale(lock, found)
    await delay(Math.random() * pause)
    // A crowd that looks all the time would leave the holder no processor to work on.
    pause = Math.min(pause * 1.5, PAUSE_MS.last)
  }
  try {
    return await work()
  } finally {
    await rm(lock, { force: true })
  }
}

export interface ReplaceOptions {
  /** Of the new file, less what the process's mask takes away. Default: readable by its owner only. */
  mode?: number
  /** The file whose mode, owner and group the new one gets, as far as this process may give them. */
  like?: Pick<Stats, "mode" | "uid" | "gid"> | undefined
  /** Asked when all is written: false leaves the old file in its place. */
  isWanted?(): Promise<boolean>
}

/** Puts a new text in the place of a file, on the disk before it is seen. False: it was not wanted any more. */
export async function replaceFile(file: string, text: string, options: ReplaceOptions = {}): Promise<boolean> {
  const { mode = FILE_MODE, like, isWanted } = options
  const fresh = besides(file)
  try {
    const handle = await open(fresh, "wx", like === undefined ? mode : FILE_MODE)
    try {
      await handle.writeFile(text)
      if (like) await resemble(handle, like)
      await handle.sync()
    } finally {
      await handle.close()
    }
    const isKept = (await isWanted?.()) ?? true
    await (isKept ? rename(fresh, file) : rm(fresh))
    return isKept
  } catch (error) {
    await rm(fresh, { force: true })
    throw error
  }
}

async function resemble(handle: FileHandle, { mode, uid, gid }: NonNullable<ReplaceOptions["like"]>): Promise<void> {
  const own = await handle.stat()
  // Only root may give a file away, and others only to groups of theirs.
  if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid).catch(() => {})
  await handle.chmod(mode & 0o777)
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
async function breakStale(lock: string, found: Stats | undefined): Promise<void> {
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
