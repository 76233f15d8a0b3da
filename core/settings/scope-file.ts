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

/** What is said about files while they are read, one sentence each. */
export interface Said {
  /** At every start. */
  warnings: string[]
  /** To who asks. */
  notes: string[]
}

/** Where one settings file of a scope may lie. */
interface Place {
  scope: SettingsScope
  folder: string
  /** Without its ending. */
  name: string
  /** What relative paths in it are relative to. */
  base: string
}

/** Reads our files of all scopes, strongest first. Throws SETTINGS_… errors. */
export async function readOwnFiles(
  folders: ScopeFolders,
  said: Said,
): Promise<{ sources: SettingsSource[]; code: CodeFile[] }> {
  const lists: FolderLists = new Map()
  const sources: SettingsSource[] = []
  const code: CodeFile[] = []
  for (const place of ownPlaces(folders)) {
    const { found, warnings } = await findSettingsFile(place.folder, place.name, { lists })
    said.warnings.push(...warnings)
    const { scope, base } = place
    if (found?.file.endsWith(".ts")) code.push({ scope, base, file: found.file })
    else if (found) sources.push({ scope, base, file: found.file, ...(await readOwn(found.file, found.text)) })
  }
  return { sources, code }
}

/** Reads the text of a file of ours, or of what was given as one. Throws SETTINGS_… errors. */
export async function readOwn(file: string, text: string): Promise<Pick<SettingsSource, "values" | "at">> {
  const document = await parseDocument(file, text)
  return { values: checkSettings(file, document), at: document.at }
}

/** Reads one file of Claude Code's in a place. Throws SETTINGS_… errors. */
export async function readClaudeFile(
  { scope, folder, name, base }: Place,
  said: Said,
  lists: FolderLists,
): Promise<SettingsSource | undefined> {
  const { found, warnings } = await findSettingsFile(folder, name, { endings: CLAUDE_ENDINGS, lists })
  said.warnings.push(...warnings)
  if (found === undefined) return undefined
  const { file, text } = found
  const { readClaude } = await import("./claude.ts")
  const document = text.trim() === "" ? EMPTY : await parseDocument(file, text)
  const read = await readClaude(file, document, scope)
  said.warnings.push(...read.warnings)
  if (!isStrictJson(text)) said.notes.push(`"${file}" has comments or trailing commas, and Claude Code takes neither`)
  const { values, ignored, at } = read
  return { scope, base, file, dialect: "claude-code", values, ignored, at }
}

const CLAUDE_ENDINGS = [".json"]
/** Claude Code takes a file without text for one without settings. */
const EMPTY = { value: {}, at: () => undefined }

function isStrictJson(text: string): boolean {
  try {
    JSON.parse(text.replace(/^\uFEFF/, "") || "{}")
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

function ownPlaces({ managed, user, project, root }: ScopeFolders): Place[] {
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
