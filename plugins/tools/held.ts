/**
 * An open file or folder → where it lies, and a way to what is in it that a swapped link does not lead astray.
 *
 * Invariant: on Linux the kernel says where something lies that is open (proc_pid_fd(5)), so a folder that is exchanged
 * for a link and back changes nothing. Elsewhere the path is looked at a second time, which leaves a moment.
 */
import { closeSync, constants, existsSync, fstatSync, lstatSync, openSync, readlinkSync, realpathSync } from "node:fs"
import { join } from "node:path"

/** True when what is open lies at this real path, links followed, now. */
export function liesAt(descriptor: number, real: string): boolean {
  const known = handleOf(descriptor)
  if (known !== undefined) return readlinkSync(known) === real
  const [open, named] = [fstatSync(descriptor), lstatSync(real, { throwIfNoEntry: false })]
  return realpathSync.native(real) === real && named?.ino === open.ino && named.dev === open.dev
}

/**
 * Holds a folder open while `use` works in it; undefined, without a call, when a link stands at its real path or above.
 * `at` makes the path of one of its entries.
 */
export async function withFolder<T>(
  real: string,
  use: (at: (name: string) => string) => Promise<T>,
): Promise<T | undefined> {
  const descriptor = openSync(real, HOLD | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    if (!liesAt(descriptor, real)) return undefined
    const base = handleOf(descriptor) ?? real
    return await use((name) => join(base, name))
  } finally {
    closeSync(descriptor)
  }
}

/** O_PATH of open(2), which Node does not name: holds a folder that may be entered and not be listed. */
const HOLD = process.platform === "linux" ? 0o10000000 : constants.O_RDONLY

function handleOf(descriptor: number): string | undefined {
  if (process.platform !== "linux") return undefined
  const path = `/proc/self/fd/${descriptor}`
  return existsSync(path) ? path : undefined
}
