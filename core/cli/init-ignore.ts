/**
 * A project's `.gitignore` → the same with a line for the settings of one person.
 *
 * Invariant: only where git is used, and only when the line is missing; everything else in the file stays.
 */
import { appendFile, lstat, readFile } from "node:fs/promises"
import { join } from "node:path"
import { IGNORED } from "./init-file.ts"

/** True when a line was added. */
export async function ignoreLocal(root: string): Promise<boolean> {
  const file = join(root, ".gitignore")
  const found = await lstat(file).catch(() => undefined)
  const usesGit = found !== undefined || (await lstat(join(root, ".git")).catch(() => undefined)) !== undefined
  // A link may lead anywhere.
  if (!usesGit || (found !== undefined && !found.isFile())) return false
  const text = found === undefined ? "" : await readFile(file, "utf8")
  if (COVERED.some((line) => text.split(/\r?\n/).includes(line))) return false
  const eol = text.includes("\r\n") ? "\r\n" : "\n"
  await appendFile(file, `${text === "" || text.endsWith("\n") ? "" : eol}${IGNORED}${eol}`)
  return true
}

/** Lines that have the same effect. */
const COVERED = [IGNORED, `/${IGNORED}`, ".sous", ".sous/", "/.sous", "/.sous/", "settings.local.*"]
