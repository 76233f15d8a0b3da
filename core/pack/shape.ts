/**
 * What a pack is in its own words, and how files of it are read: bytes of a tree → a value that fits its schema.
 *
 * Invariant: an unknown key is refused with the nearest known one; a file is read from the bytes that were hashed.
 */
import { z } from "zod"
import { isSousError, SousError, suggest } from "../error.ts"
import type { Capabilities } from "../plugin.ts"
import type { Tree } from "../session/tree.ts"
import { parseDocument } from "../settings/document.ts"

/** The version of the interface between packs and the toolkit. */
export const PACK_API = 1

/** A pack in its own words. */
export interface PackManifest {
  name: string
  version: string
  /** The file that says so, relative. */
  file: string
  apiVersion: number
  plugins: string[]
  recipes: string[]
  /** Files with hooks (relative), and hooks that stand in the manifest itself. */
  hooks: (string | Record<string, unknown>)[]
  permissions: { allow: string[]; ask: string[]; deny: string[] }
  capabilities: Capabilities
  adds: PluginAdds
  /** What has no use here yet, by kind. */
  unused: Record<string, string[]>
  /** A plugin of Claude Code: its hooks speak that protocol, and what is foreign in them is left out. */
  dialect?: "claude-code"
  /** What was left out, one sentence each. */
  notes: string[]
}

/** What the plugins of a pack add beside tools (which are capabilities) and rules. */
export interface PluginAdds {
  /** Events that they handle. */
  hooks?: string[]
  models?: string[]
  agents?: string[]
  recipes?: string[]
  context?: string[]
  compaction?: string[]
  /** They say of calls that they are safe. */
  judges?: boolean
}

/** The value of a JSON or YAML file of the tree; undefined: there is none. Throws PACK_MANIFEST_INVALID. */
export async function readFile(tree: Tree, file: string): Promise<unknown> {
  const found = tree.files.get(file)
  if (found === undefined) return undefined
  try {
    return (await parseDocument(file, found.bytes.toString("utf8"))).value
  } catch (error) {
    throw invalid(file, problemOfDocument(error), `correct ${file} of the pack`, error)
  }
}

/** Checks a value against its schema. Throws PACK_MANIFEST_INVALID, for an unknown key with the nearest known one. */
export function checkShape<S extends z.ZodObject>(schema: S, value: unknown, file: string): z.output<S> {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  const issue = checked.error.issues.find(({ code }) => code === "unrecognized_keys") ?? checked.error.issues[0]!
  const at = issue.path.join(".")
  if (issue.code !== "unrecognized_keys") {
    const problem = issue.message.replace(/^Invalid (input|option|string): /, "")
    throw invalid(
      file,
      at === "" ? problem : `"${at}": ${problem}`,
      `correct ${at === "" ? file : `"${at}"`} of the pack`,
    )
  }
  const key = issue.keys[0]!
  throw invalid(file, `unknown key "${[...issue.path, key].join(".")}"`, suggest(key, keysAt(schema, issue.path)))
}

/** The fault of a manifest. */
export function invalid(file: string, problem: string, mend: string, cause?: unknown): SousError {
  return new SousError("PACK_MANIFEST_INVALID", { file, problem, mend }, { cause })
}

/** The fields of an object; of anything else none. */
export function asFields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

function keysAt(schema: z.ZodType, at: readonly PropertyKey[]): string[] {
  let inner: z.ZodType = schema
  for (const name of ["", ...at]) {
    while (inner instanceof z.ZodOptional) inner = inner.unwrap() as z.ZodType
    if (name !== "" && inner instanceof z.ZodObject) inner = inner.shape[String(name)] as z.ZodType
  }
  while (inner instanceof z.ZodOptional) inner = inner.unwrap() as z.ZodType
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : []
}

function problemOfDocument(error: unknown): string {
  if (!isSousError(error)) return (error as Error).message
  return error.message.replace(/^Cannot read settings "[^"]*" at /, "at ")
}
