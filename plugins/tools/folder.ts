/**
 * The working directory of a shell, from one command to the next.
 *
 * Invariant: it stays inside of the folders that the agent works in, links followed; a command that ends in any way is
 * asked for it, and one that cannot answer leaves it as it was.
 */
import { existsSync, realpathSync } from "node:fs"
import { readFile, rm } from "node:fs/promises"
import { isAbsolute, join, relative } from "node:path"
import type { ToolContext } from "sous"

/** Names the file in which a command leaves its last folder. */
const VARIABLE = "SOUS_CWD_FILE"

/** The command, on its own line numbers, that writes its last folder down when it ends (trap, POSIX 2.15). */
export function recordFolder(command: string): string {
  return `trap 'pwd -P 2>/dev/null >|"$${VARIABLE}"' EXIT; ${command}`
}

/** The environment that `recordFolder` needs. */
export function folderRecord(context: ToolContext): Record<string, string> {
  return { [VARIABLE]: recordFile(context) }
}

/** Where the next command starts: the agent's folder or, when that is gone, its first one, with a note. */
export function findFolder(context: ToolContext): { cwd: string; notes: string[] } {
  const { cwd, roots } = context
  const [first] = roots
  if (existsSync(cwd) || first === undefined) return { cwd, notes: [] }
  context.setCwd(first)
  return { cwd: first, notes: [`working directory: ${first}, since ${cwd} no longer exists`] }
}

/** Moves the agent to where a command that started in `cwd` ended. Returns a note when it moved, or may not. */
export async function followFolder(context: ToolContext, cwd: string): Promise<string[]> {
  const file = recordFile(context)
  const text = await readFile(file, "utf8").catch(() => "")
  await rm(file, { force: true })
  const folder = text.replace(/\n$/, "")
  if (folder === "" || !existsSync(folder) || (existsSync(cwd) && folder === realpathSync(cwd))) return []
  if (context.roots.some((root) => isInside(folder, root))) {
    context.setCwd(folder)
    return [`working directory: ${folder}`]
  }
  return [`working directory: ${cwd} again, since ${folder} is outside of the folders that this run works in`]
}

function recordFile(context: ToolContext): string {
  return join(context.runFolder, `cwd-${context.toolUseId.replace(/[^\w.-]+/g, "_").slice(0, 100)}`)
}

function isInside(folder: string, root: string): boolean {
  if (!existsSync(root)) return false
  const path = relative(realpathSync(root), folder)
  return !path.startsWith("..") && !isAbsolute(path)
}
