/**
 * Tables of calls, each with the decision that it must get → the groups and cases that they list.
 *
 * Invariant: what a table says and nobody reads is a fault of the table.
 */
import { readFileSync } from "node:fs"
import { parse } from "yaml"
import { z } from "zod"
import { DECISION_SOURCES } from "../../core/permission/decision.ts"
import { PERMISSION_MODES } from "../../core/permission/mode.ts"

const call = { because: z.string().min(1), source: z.enum(DECISION_SOURCES).optional() }
const tableCase = z
  .strictObject({
    ...call,
    tool: z.string().optional(),
    command: z.string().optional(),
    path: z.string().optional(),
    url: z.string().optional(),
    input: z.record(z.string(), z.unknown()).optional(),
    expect: z.enum(["allow", "ask", "deny", "not-allow"]),
  })
  .refine(
    ({ command, path, url, input }) => [command, path, url].filter((one) => one !== undefined).length === 1 || input,
  )
const permissions = z.strictObject({
  allow: z.array(z.string()).optional(),
  ask: z.array(z.string()).optional(),
  deny: z.array(z.string()).optional(),
  rules: z.array(z.string()).optional(),
  defaultMode: z.enum(PERMISSION_MODES).optional(),
  additionalDirectories: z.array(z.string()).optional(),
})
const settings = z.strictObject({ permissions })
const group = z.strictObject({
  about: z.string().min(1),
  settings: settings.optional(),
  scopes: z.partialRecord(z.enum(["managed", "cli", "local", "user"]), settings).optional(),
  flags: z.array(z.string().regex(/^-A$|^--(?:allow|deny)-(?:read|write|run|net|env)(?:=.+)?$/)).optional(),
  mode: z.enum(PERMISSION_MODES).optional(),
  headless: z.boolean().optional(),
  tools: z.array(z.string()).optional(),
  cwd: z.string().optional(),
  cases: z.array(tableCase).min(1),
})

export type TableGroup = z.output<typeof group>
export type TableCase = z.output<typeof tableCase>

/** Reads a table. Throws when it holds what no table may hold. */
export function readTable(file: string): TableGroup[] {
  return z
    .array(group)
    .min(1)
    .parse(parse(readFileSync(file, "utf8")))
}

/** Puts folders for `{{CWD}}` and the like, in every text at any depth. */
export function fillTable<T>(value: T, folders: Readonly<Record<string, string>>): T {
  if (typeof value === "string") return value.replaceAll(/\{\{([A-Z]+)\}\}/g, (all, name) => folders[name] ?? all) as T
  if (Array.isArray(value)) return value.map((one) => fillTable(one, folders)) as T
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fillTable(one, folders)])) as T
}

/** The tool and the whole input of a case. */
export function callOfCase({ tool, command, path, url, input = {} }: TableCase): {
  tool: string
  input: Record<string, unknown>
} {
  if (command !== undefined) return { tool: tool ?? "Bash", input: { command, ...input } }
  if (url !== undefined) return { tool: tool ?? "WebFetch", input: { url, prompt: "x", ...input } }
  if (path === undefined) return { tool: tool ?? "Bash", input }
  const name = tool ?? "Read"
  return { tool: name, input: { ...FURTHER[name], [PATH_KEYS[name] ?? "file_path"]: path, ...input } }
}

const PATH_KEYS: Readonly<Record<string, string>> = { NotebookEdit: "notebook_path", Grep: "path", Glob: "path" }
const FURTHER: Readonly<Record<string, Record<string, unknown>>> = {
  Write: { content: "x" },
  Edit: { old_string: "a", new_string: "b" },
  NotebookEdit: { new_source: "x" },
  Grep: { pattern: "x" },
  Glob: { pattern: "**/*" },
}
