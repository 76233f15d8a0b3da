/**
 * Tells the model where it is: folder, platform, date, git branch.
 *
 * Invariant: it only reads files. No git process is started: a repository's own configuration could make one run code.
 */
import { constants } from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { definePlugin } from "sous"

export default definePlugin({
  name: "context-environment",
  context: [
    {
      name: "environment",
      async start({ cwd, roots }) {
        const branch = await branchOf(cwd)
        const lines = [
          `Working directory: ${cwd}`,
          ...(roots.length > 1 ? [`Further folders: ${roots.slice(1).join(", ")}`] : []),
          `Platform: ${process.platform}`,
          `Date: ${new Date().toISOString().slice(0, 10)}`,
          ...(branch === undefined ? [] : [`Git branch: ${branch}`]),
        ]
        return `<environment>\n${lines.join("\n")}\n</environment>`
      },
    },
  ],
})

/** The checked-out branch, or the first letters of the commit; undefined outside of a repository. */
async function branchOf(cwd: string): Promise<string | undefined> {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const head = await headOf(join(folder, ".git"), folder)
    if (head !== undefined) return /^ref: refs\/heads\/(.{1,200})$/.exec(head)?.[1] ?? head.slice(0, 12)
    if (dirname(folder) === folder) return undefined
  }
}

async function headOf(git: string, folder: string): Promise<string | undefined> {
  const head = await readText(join(git, "HEAD"))
  if (head !== undefined) return head
  // In a linked worktree `.git` is a file that names the folder.
  const link = /^gitdir: (.+)$/.exec((await readText(git)) ?? "")?.[1]
  return link === undefined ? undefined : await readText(join(resolve(folder, link), "HEAD"))
}

/** What git writes there is a line. A folder may bring a pipe in its place, and opening that would wait for ever. */
async function readText(file: string): Promise<string | undefined> {
  let handle: FileHandle | undefined
  try {
    handle = await open(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const stats = await handle.stat()
    if (!stats.isFile() || stats.size > MOST_BYTES) return undefined
    return (await handle.readFile("utf8")).trim()
  } catch {
    return undefined
  } finally {
    await handle?.close()
  }
}

const MOST_BYTES = 64 * 1024
