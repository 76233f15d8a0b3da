/**
 * A command of a project's hook → the file that is not what a person trusted, right before it would be started.
 *
 * Invariant: looking always ends; a file of the project that nobody hashed counts as one that was changed.
 */
import { createHash } from "node:crypto"
import { constants } from "node:fs"
import { open } from "node:fs/promises"
import { relative } from "node:path"
import { filesOf } from "./hook-launch.ts"
import type { HookForm, HookSource } from "./hook-source.ts"

/** A script is not longer, bytes. */
const MOST_BYTES = 128 * 2 ** 20

/** Its path, relative to the project; undefined when all is as it was. */
export async function unexpectedFile(
  form: Extract<HookForm, { type: "command" }>,
  { root, files }: NonNullable<HookSource["expects"]>,
  place: { cwd: string; env: Readonly<Record<string, string>> },
): Promise<string | undefined> {
  const started = filesOf(form, place).filter((file) => file.startsWith(`${root}/`))
  const found = [...new Set([...started, ...Object.keys(files)])]
  const hashes = await Promise.all(found.map(hashOf))
  const wrong = found.find((file, index) => hashes[index] !== (Object.hasOwn(files, file) ? files[file] : undefined))
  return wrong === undefined ? undefined : relative(root, wrong)
}

/** The sha256 of a file, hex. Undefined: there is none. */
async function hashOf(file: string): Promise<string | undefined> {
  try {
    const handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      const stats = await handle.stat()
      if (!stats.isFile() || stats.size > MOST_BYTES) return "none"
      return createHash("sha256")
        .update(await handle.readFile())
        .digest("hex")
    } finally {
      await handle.close()
    }
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? undefined : "none"
  }
}
