/**
 * The folders of the scopes → the settings files that lie in them, ours and those of Claude Code, each read once.
 *
 * Invariant: a folder is listed once and a file read once for each start; what is code is found and not loaded here.
 */
import { basename, join } from "node:path"
import { checkSettings } from "./check.ts"
import { parseDocument } from "./document.ts"
import { type FolderLists, findSettingsFile, listFolder } from "./find.ts"
import type { SettingsScope, SettingsSource } from "./merge.ts"
import type { ScopeFolders } from "./scopes.ts"

/** Settings that lie in a file of code. */
export interface CodeFile {
  scope: SettingsScope
  /** Absolute. */
  file: string
  base: string
}

/** How the files of one start are read. */
export interface Reading {
  /** Of all folders that were listed. */
  lists: FolderLists
  /** Files (absolute) that are not read, each with what it said when it was good. */
  instead: ReadonlyMap<string, SettingsSource | undefined>
  /** One sentence each, told at every start. */
  warnings: string[]
  /** The same, told to who asks. */
  notes: string[]
}

/** Reads nothing yet. */
export function createReading(instead: Reading["instead"] = new Map()): Reading {
  return { lists: new Map(), instead, warnings: [], notes: [] }
}

/** Where one settings file of a scope may lie. */
export interface Place {
  scope: SettingsScope
  folder: string
  /** Without its ending. */
  name: string
  /** What relative paths in it are relative to. */
  base: string
}

/** Reads our files in places, in their order. Throws SETTINGS_… errors. */
export async function readOwnFiles(
  places: readonly Place[],
  reading: Reading,
): Promise<{ sources: SettingsSource[]; code: CodeFile[] }> {
  const sources: SettingsSource[] = []
  const code: CodeFile[] = []
  // Side by side: most of the time goes into waiting for the disk.
  const all = await Promise.all(places.map(async (place) => ({ place, ...(await findIn(place, reading)) })))
  for (const { place, found, warnings } of all) {
    const { scope, base } = place
    reading.warnings.push(...warnings)
    if (found === undefined) continue
    const { file, text } = found
    if (reading.instead.has(file)) sources.push(keptOf(file, place, reading))
    else if (file.endsWith(".ts")) code.push({ scope, base, file })
    else sources.push({ scope, base, file, text, ...(await readOwn(file, text)) })
  }
  return { sources, code }
}

/** Reads the text of a file of ours, or of what was given as one. Throws SETTINGS_… errors. */
export async function readOwn(file: string, text: string): Promise<Pick<SettingsSource, "values" | "at">> {
  const document = await parseDocument(file, text)
  return { values: checkSettings(file, document), at: document.at }
}

/** Reads one file of Claude Code's. Throws SETTINGS_… errors. */
export async function readClaudeFile(place: Place, reading: Reading): Promise<SettingsSource | undefined> {
  const { found, warnings: odd } = await findIn(place, reading, CLAUDE_ENDINGS)
  reading.warnings.push(...odd)
  if (found === undefined) return undefined
  const { scope, base } = place
  const { file, text } = found
  if (reading.instead.has(file)) return { dialect: "claude-code", ...keptOf(file, place, reading) }
  const { readClaude } = await import("./claude.ts")
  const document = text.trim() === "" ? EMPTY : await parseDocument(file, text)
  const { values, ignored, at, warnings } = await readClaude(file, document, scope)
  reading.warnings.push(...warnings)
  if (!isStrictJson(text)) reading.notes.push(`"${file}" has comments or trailing commas: Claude Code does not read it`)
  return { scope, base, file, text, dialect: "claude-code", values, ignored, at }
}

const CLAUDE_ENDINGS = [".json"]
/** Claude Code takes a file without text for one without settings. */
const EMPTY = { value: {}, at: () => undefined }

async function findIn({ folder, name }: Place, { lists, instead }: Reading, endings?: readonly string[]) {
  const options = { lists, isKept: (file: string) => instead.has(file), ...(endings ? { endings } : {}) }
  return await findSettingsFile(folder, name, options)
}

/** Without its text: what lies in the file now need not be that. */
function keptOf(file: string, { scope, base }: Place, { instead }: Reading): SettingsSource {
  const { text: _before, ...kept } = instead.get(file) ?? { scope, file, base, values: {} }
  return kept
}

function isStrictJson(text: string): boolean {
  try {
    JSON.parse(text.replace(/^\uFEFF/, ""))
    return true
  } catch {
    return text.trim() === ""
  }
}

/** The places of Claude Code's files, strongest first; those of the organisation: the last in the alphabet first. */
export function claudePlaces({ claude, root }: ScopeFolders, cwd: string, lists: FolderLists): Place[] {
  const base = root ?? cwd
  return [
    ...managedPlaces(claude.managed, lists).map((place) => ({ ...place, scope: "managed" as const, base })),
    ...(claude.project === undefined
      ? []
      : [
          { scope: "local" as const, folder: claude.project, name: "settings.local", base },
          { scope: "project" as const, folder: claude.project, name: "settings", base },
        ]),
    ...(claude.user === undefined ? [] : [{ scope: "user" as const, folder: claude.user, name: "settings", base }]),
  ]
}

function managedPlaces(folder: string, lists: FolderLists): Pick<Place, "folder" | "name">[] {
  const present = listFolder(folder, lists)
  const parts = join(folder, DROP_INS)
  const names = present.includes(DROP_INS) ? listFolder(parts, lists) : []
  const dropIns = names.filter((name) => name.endsWith(".json") && !name.startsWith(".")).sort()
  return [
    ...dropIns.reverse().map((name) => ({ folder: parts, name: basename(name, ".json") })),
    { folder, name: "managed-settings" },
  ]
}

const DROP_INS = "managed-settings.d"

/** The places of our files, strongest first. */
export function ownPlaces({ managed, user, project, root }: ScopeFolders): Place[] {
  return [
    { scope: "managed", folder: managed, name: "settings", base: managed },
    ...(project && root
      ? ([
          { scope: "local", folder: project, name: "settings.local", base: root },
          { scope: "project", folder: project, name: "settings", base: root },
        ] as const)
      : []),
    ...(user ? [{ scope: "user", folder: user, name: "settings", base: user } as const] : []),
  ]
}
