/**
 * The folder of an agent's notes → its notes by name.
 *
 * Invariant: only plain files of our own, with one name, directly in the folder; folders are 0700, files 0600.
 */

import { lstat, mkdir, readdir, realpath, rm } from "node:fs/promises"
import { join } from "node:path"
import { withLock } from "sous"
import { makeParents, readWhole, replaceFile, stampOf, swapped, withFile } from "./file.ts"
import { withFolder } from "./held.ts"
import { Refused } from "./refusal.ts"

const NOTE_BYTES = 1_000_000

/** The content of a note, and its hash. */
export interface Note {
  bytes: Buffer
  hash: string
}

/** Notes by name. Each refuses a note that is no plain file of our own. */
export interface MemoryFolder {
  /** False for a note that a rule keeps from being read. */
  isOpen(name: string): boolean
  /** Of those that are open; sorted. */
  names(): Promise<string[]>
  read(name: string): Promise<Note | undefined>
  /** `before`: the note as it was read. Refuses when it is another by now. */
  write(name: string, bytes: Buffer, before: Note | undefined): Promise<Note>
  /** False when there is none. */
  remove(name: string): Promise<boolean>
}

/** The name of a note, without `.md`. Refuses what is no name. */
export function checkName(written: string): string {
  const name = written.replace(/\.md$/, "")
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$/.test(name)) return name
  throw new Refused(`"${written}" is no name of a note: take letters, digits, "-" and "_", 80 at most, no folder`)
}

/** The folder, once it is certain that it is one; undefined when it is not there. Refuses a link in its place. */
export async function openMemory(
  folder: string,
  { creates, mayRead }: { creates: boolean; mayRead(path: string): boolean },
): Promise<MemoryFolder | undefined> {
  if (creates) await mkdir(folder, { recursive: true, mode: 0o700 })
  const stats = await lstat(folder).catch(() => undefined)
  if (stats === undefined) return undefined
  if (!stats.isDirectory()) throw new Refused(`"${folder}" is no folder: a person has to look at what stands there`)
  const real = await realpath(folder)
  const isOpen = (name: string) => [folder, real].every((path) => mayRead(join(path, `${name}.md`)))
  return folderAt(real, isOpen)
}

function folderAt(folder: string, isOpen: MemoryFolder["isOpen"]): MemoryFolder {
  const fileOf = (name: string) => join(folder, `${name}.md`)
  const read = async (name: string): Promise<Note | undefined> => {
    const { bytes, hash } = (await readFile(fileOf(name), name)) ?? {}
    return bytes && { bytes, hash: hash! }
  }
  const alone = <T>(work: () => Promise<T>) => withNotes(folder, work)
  return {
    isOpen,
    async names() {
      const entries = await readdir(folder, { withFileTypes: true })
      const files = entries.filter((entry) => entry.isFile() && /^[A-Za-z0-9][A-Za-z0-9_-]{0,79}\.md$/.test(entry.name))
      const names = files.map(({ name }) => name.slice(0, -3))
      return names.filter(isOpen).sort()
    },
    read,
    async write(name, bytes, before) {
      if (bytes.length > NOTE_BYTES) throw new Refused(`The note "${name}" would be too long: split it`)
      return await alone(async () => {
        const file = fileOf(name)
        const now = await readFile(file, name)
        if (now?.hash !== before?.hash) throw swapped(name)
        if (now === undefined) await makeParents(name, file)
        const target = { path: name, real: file, mode: 0o600, ...(now === undefined ? {} : { before: now.stats }) }
        return { bytes, hash: stampOf(await replaceFile(target, bytes), bytes).hash! }
      })
    },
    async remove(name) {
      return await alone(async () => {
        if ((await readFile(fileOf(name), name)) === undefined) return false
        const done = await withFolder(folder, async (at) => rm(at(`${name}.md`)).then(() => true))
        if (done === undefined) throw swapped(name)
        return true
      })
    },
  }
}

/** Another agent, or another process, may be at them. */
async function withNotes<T>(folder: string, work: () => Promise<T>): Promise<T> {
  let isOurs = false
  try {
    return await withLock(join(folder, "notes"), async () => {
      isOurs = true
      return await work()
    })
  } catch (error) {
    if (isOurs || (error as NodeJS.ErrnoException).code !== undefined) throw error
    throw new Refused("Others are writing notes all the time: nothing was done. Try again later")
  }
}

async function readFile(file: string, name: string) {
  if ((await lstat(file).catch(() => undefined)) === undefined) return undefined
  // As if judged: nothing on the way is followed.
  const where = { cwd: "/", judged: new Map([[file, { lexical: file, real: file }]]) }
  return await withFile(file, where, async (opened) => {
    const { nlink, uid } = opened.stats
    const isOwn = nlink === 1 && (process.getuid === undefined || uid === process.getuid())
    if (!isOwn) throw new Refused(`The note "${name}" is no plain file of its own: a person has to look at it`)
    const bytes = await readWhole(opened, NOTE_BYTES)
    return { bytes, stats: opened.stats, hash: stampOf(opened.stats, bytes).hash! }
  })
}
