/**
 * A project, a home and the folders of an organisation on the disk, and a source asked about them as the kernel asks.
 */
import { mkdirSync, realpathSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { ContextMoment, ContextPlaces, ContextSource, ContextStart, Notebook } from "sous"
import memory from "../../../plugins/context/memory.ts"
import { folder } from "../../harness.ts"

const source: ContextSource = memory.context![0]!

export interface MemoryPlace {
  /** Absolute; everything lies in it: `project`, `home`, `etc/sous`, `etc/claude`, `outside`. */
  root: string
  places: ContextPlaces
  /** Writes a file, by its path from the root. */
  put(path: string, text: string | Uint8Array): string
  /** What was warned of, the root taken out. */
  warnings: string[]
  /** What the source says first, the root taken out; "" for nothing. */
  start(options?: Partial<ContextStart>): Promise<string>
  /** What it says when files were touched, and remembers it as told. */
  touch(paths: string | string[], options?: Partial<ContextMoment>): Promise<string[]>
}

/** `startedIn`: from the root. */
export function memoryPlace(startedIn = "project", files: Record<string, string> = {}): MemoryPlace {
  const root = folder(files)
  for (const name of ["project", "home", "outside", startedIn]) mkdirSync(join(root, name), { recursive: true })
  const short = (text: string) => text.replaceAll(root, "")
  const warnings: string[] = []
  const cwd = realpathSync(join(root, startedIn))
  const context: ContextStart = {
    cwd,
    startedIn: cwd,
    roots: [cwd],
    signal: new AbortController().signal,
    agents: [],
    depth: 0,
    places: {
      home: join(root, "home"),
      project: join(root, "project"),
      managed: [join(root, "etc/sous"), join(root, "etc/claude")],
      user: [join(root, "home/.config/sous"), join(root, "home/.claude")],
      state: join(root, "state"),
      claude: true,
      memory: { files: true, auto: true, exclude: [] },
    },
    mayRead: () => true,
    warn: (message) => void warnings.push(short(message)),
  }
  const told = new Set<string>()
  const notes: Notebook = () => ({ get: () => undefined, set() {}, delete() {}, entries: () => [] })
  return {
    root,
    places: context.places,
    warnings,
    put(path, text) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), text)
      return join(root, path)
    },
    start: async (options = {}) => short((await source.start!({ ...context, ...options })) ?? ""),
    async touch(paths, options = {}) {
      const touched = [paths].flat().map((path) => ({ path: join(root, path), access: "read" as const }))
      const moment = { ...context, touched, turn: 1, notes, told: (key: string) => told.has(key), ...options }
      const reminders = (await source.remind!(moment)) ?? []
      for (const { key } of reminders) told.add(key)
      return reminders.map(({ text }) => short(text))
    },
  }
}

/** The paths of the files in a text, in order. */
export function pathsIn(text: string): string[] {
  return [...text.matchAll(/<memory-file path="([^"]*)"/g)].map(([, path]) => path!)
}
